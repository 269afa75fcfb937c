"""The wheel carries its data: built, installed elsewhere and used from another folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# One worker builds the wheel for all tests of this file.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


def run(*command: str | Path, folder: Path) -> str:
    # Without what would let the checkout be found again.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=clean, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the `bin` folder of an environment that has lmprobe from its wheel alone.

    What lmprobe needs is lent by this environment, whose folder comes after that of the
    wheel; the checkout that it may have installed in editable mode is not looked at,
    since `.pth` files work in site folders only.
    """
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    run(*build, folder=folder)
    (wheel,) = folder.glob("lmprobe_bias-*.whl")
    venv.create(folder / "env", with_pip=False, symlinks=True)
    scripts = folder / "env" / "bin"
    site = Path(
        run(
            scripts / "python",
            "-c",
            "import sysconfig; print(sysconfig.get_path('purelib'))",
            folder=folder,
        ).strip()
    )
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = (sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--quiet")
    run(*pip, "--no-deps", "--no-index", wheel, folder=folder)
    return scripts


def test_an_installed_wheel_finds_its_data_from_anywhere(installed: Path, tmp_path: Path) -> None:
    where = run(
        installed / "python", "-c", "import lmprobe; print(lmprobe.__file__)", folder=tmp_path
    )
    assert installed.parent in Path(where.strip()).parents
    listed = json.loads(run(installed / "lmprobe", "ls", "--json", folder=tmp_path))
    for kind, name in (("templates", "fitbert"), ("base-rates", "labor"), ("lexicons", "pronouns")):
        assert name in {row["name"] for row in listed[kind]}
    load = (
        "import lmprobe;"
        "print(len(lmprobe.load_templates('fitbert').templates));"
        "source = lmprobe.load_base_rates('labor');"
        "print(source.association(('he', 'she'), ('nurse', 'driver')).joint.shape)"
    )
    assert run(installed / "python", "-c", load, folder=tmp_path).split("\n")[:2] == [
        "20",
        "(2, 2)",
    ]
    shown = run(installed / "lmprobe", "reproduce", "compas", "--json", folder=tmp_path)
    assert any(round(row["value"], 6) == 0.056414 for row in json.loads(shown)["rows"])


def test_the_wheel_has_no_tests_and_every_data_file(installed: Path) -> None:
    site = next((installed.parent / "lib").glob("python*/site-packages"))
    for folder in ("templates", "base_rates"):
        shipped = {path.relative_to(ROOT / folder) for path in (ROOT / folder).rglob("*.*")}
        inside = site / "lmprobe" / "_data" / folder
        assert shipped <= {path.relative_to(inside) for path in inside.rglob("*.*")}
    assert not [*site.glob("tests*"), *site.glob("tools*")]
    assert not list((site / "lmprobe" / "models" / "reference").rglob("*.py")), "only data"
    assert (site / "lmprobe" / "py.typed").is_file()
