"""The files around the package agree with it: version, names, supported Pythons, commands."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import lmprobe

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
TEXTS = sorted(
    path
    for pattern in ("*.md", "*.cff", "docs/**/*.md", "lmprobe/**/*.py", ".github/**/*.yml")
    for path in ROOT.glob(pattern)
)


def read_yaml(name: str) -> dict[str, object]:
    # BaseLoader: every scalar stays the text that was written.
    loaded = yaml.load((ROOT / name).read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    assert isinstance(loaded, dict)
    return loaded


def test_no_page_installs_a_package_that_no_index_has() -> None:
    """`lmprobe` on the package index is another project, `lmprobe-bias` is not there."""
    wrong = re.compile(r"pip install(?: +-\S+)* +[\"']?lmprobe(?!-bias(?:\[\w+\])? @ git\+)")
    assert wrong.search('pip install "lmprobe-bias[ray]"')
    assert wrong.search("pip install -U lmprobe\n")
    assert not wrong.search('pip install "lmprobe-bias[ray] @ git+$LMPROBE_REPOSITORY"')
    actual = [str(path) for path in TEXTS if wrong.search(path.read_text(encoding="utf-8"))]
    assert (PROJECT["name"], actual) == ("lmprobe-bias", [])


def test_the_address_of_the_repository_is_the_same_everywhere() -> None:
    url = PROJECT["urls"]["Repository"]
    assert read_yaml("CITATION.cff")["repository-code"] == url
    stated = re.compile(r"LMPROBE_REPOSITORY(?:=|: *)(\S+)")
    found = {
        (path.name, actual)
        for path in TEXTS
        for actual in stated.findall(path.read_text(encoding="utf-8"))
    }
    assert {name for name, _ in found} == {"README.md", "quickstart.md", "ci-gate.md"}
    assert {actual for _, actual in found} == {url}


def test_the_version_is_written_in_the_package_and_in_the_citation_alone() -> None:
    assert PROJECT["dynamic"] == ["version"]
    assert read_yaml("CITATION.cff")["version"] == lmprobe.__version__.partition(".dev")[0]


def test_the_citation_has_what_its_format_requires() -> None:
    citation = read_yaml("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["license"] == PROJECT["license"]


def test_ci_runs_on_every_supported_python() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    jobs = yaml.load(workflow, Loader=yaml.BaseLoader)["jobs"]
    commands = {
        name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()
    }
    minors = [
        line.rpartition(" ")[2]
        for line in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", line)
    ]
    assert jobs["check"]["strategy"]["matrix"]["python-version"] == minors
    assert PROJECT["requires-python"] == f">={minors[0]}"
    assert commands["check"] == ["make lint", "make test"]
    assert commands["slow"] == ["make slow"]


def test_every_issue_form_is_complete() -> None:
    forms = list((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    assert len(forms) >= 3
    for path in forms:
        form = read_yaml(str(path.relative_to(ROOT)))
        if path.name != "config.yml":
            assert {"name", "description", "body"} <= set(form), path.name


def test_the_hooks_run_the_tools_of_the_checkout() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    tools = {hook["entry"].split()[0].rpartition("/")[2] for hook in hooks}
    assert tools == {"ruff", "mypy"}
    assert all(hook["language"] == "system" for hook in hooks)


def test_the_product_does_not_use_test_doubles() -> None:
    users = [path for path in ROOT.glob("lmprobe/**/*.py") if "mock" in path.read_text()]
    assert users == []


def test_torch_threads_are_given_back() -> None:
    torch = pytest.importorskip("torch")
    from lmprobe.models.forward import torch_threads

    before = torch.get_num_threads()
    with torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


def test_the_module_runs_as_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lmprobe", "--version"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout.startswith(f"lmprobe {lmprobe.__version__}\n")
