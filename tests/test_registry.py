"""Extensions are found by name, built in or installed."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from lmprobe import registry as module
from lmprobe.errors import InputError
from lmprobe.registry import Registry


@pytest.fixture
def kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[str]:
    """Give a registry whose package has one file, and one installed extension."""
    package = tmp_path / "some_kinds"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "built_in.py").write_text(
        "import some_registry\nsome_registry.kinds.register('inner')('built in')\n"
    )
    (tmp_path / "some_plugin.py").write_text("extension = 'installed'\n")
    monkeypatch.syspath_prepend(tmp_path)
    found: Registry[str] = Registry("kinds", "some_kinds")
    holder = type(sys)("some_registry")
    holder.kinds = found  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "some_registry", holder)
    entry = EntryPoint("outer", "some_plugin:extension", "lmprobe.kinds")
    monkeypatch.setattr(
        module, "entry_points", lambda group: [entry] if group == "lmprobe.kinds" else []
    )
    yield found
    for name in [name for name in sys.modules if name.startswith(("some_kinds", "some_plugin"))]:
        del sys.modules[name]


def test_both_kinds_of_extension_are_found(kinds: Registry[str]) -> None:
    assert kinds.names() == ("inner", "outer")
    assert kinds.get("inner") == "built in"
    assert kinds.get("outer") == "installed"


def test_an_unknown_name(kinds: Registry[str]) -> None:
    with pytest.raises(InputError, match='no kind called "iner"; did you mean "inner"'):
        kinds.get("iner")


def test_an_extension_that_does_not_load_is_one_clear_error(
    kinds: Registry[str], tmp_path: Path
) -> None:
    (tmp_path / "some_plugin.py").write_text("import no_such_library\n")
    with pytest.raises(InputError, match=r'"outer" cannot be loaded \(ModuleNotFoundError: No mod'):
        kinds.get("outer")
    assert kinds.get("inner") == "built in"


def test_two_of_the_same_name(kinds: Registry[str]) -> None:
    kinds.register("mine")("one")
    with pytest.raises(InputError, match='two kinds are called "mine"'):
        kinds.register("mine")("other")
