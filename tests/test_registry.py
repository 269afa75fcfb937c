"""Extensions are found by name, built in or installed."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from lmprobe import plugins, registry as module
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
    actual: Registry[str] = Registry("kinds", "some_kinds")
    holder = type(sys)("some_registry")
    holder.kinds = actual  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "some_registry", holder)
    entry = EntryPoint("outer", "some_plugin:extension", "lmprobe.kinds")
    monkeypatch.setattr(
        module, "entry_points", lambda group: [entry] if group == "lmprobe.kinds" else []
    )
    yield actual
    for name in [name for name in sys.modules if name.startswith(("some_kinds", "some_plugin"))]:
        del sys.modules[name]


def test_both_kinds_of_extension_are_found(kinds: Registry[str]) -> None:
    assert kinds.names() == ("inner", "outer")
    assert kinds.get("inner") == "built in"
    assert kinds.get("outer") == "installed"
    with pytest.raises(InputError, match='no kind called "iner"; did you mean "inner"'):
        kinds.get("iner")
    with pytest.raises(InputError, match='no sweep engine called "nope"'):
        plugins.registry("sweep_engines").get("nope")


def test_an_extension_that_does_not_load_is_one_clear_error(
    kinds: Registry[str], tmp_path: Path
) -> None:
    (tmp_path / "some_plugin.py").write_text("import no_such_library\n")
    with pytest.raises(
        InputError,
        match=r'"outer" of the package some_plugin cannot be loaded \(ModuleNotFoundError: No mod',
    ):
        kinds.get("outer")
    assert kinds.get("inner") == "built in"


def test_two_of_the_same_name(kinds: Registry[str], monkeypatch: pytest.MonkeyPatch) -> None:
    kinds.register("mine")("one")
    with pytest.raises(InputError, match='two kinds are called "mine"'):
        kinds.register("mine")("other")
    same = [EntryPoint("outer", f"{name}:x", "lmprobe.kinds") for name in ("one_plugin", "other")]
    monkeypatch.setattr(module, "entry_points", lambda group: same)
    with pytest.raises(InputError, match="in two packages, one_plugin and other; remove"):
        kinds.names()


def test_a_plug_in_that_raises_is_named(kinds: Registry[Any], tmp_path: Path) -> None:
    (tmp_path / "some_plugin.py").write_text(
        "import json\n\ndef extension(text):\n    return json.loads(text)\n"
    )
    extension = kinds.get("outer")
    with pytest.raises(ValueError, match="Expecting") as raised:
        extension("{")
    failure = module.plugin_failure(raised.value)
    # The json library raised, but the plug-in called it.
    assert failure is not None
    assert failure.startswith("the plug-in some_plugin failed in some_plugin, line 4: JSONDecode")


def test_an_error_of_lmprobe_is_not_blamed_on_a_plug_in(
    kinds: Registry[Any], tmp_path: Path
) -> None:
    (tmp_path / "some_plugin.py").write_text("def extension(call):\n    return call()\n")
    extension = kinds.get("outer")
    with pytest.raises(InputError) as raised:
        extension(lambda: kinds.get("iner"))
    assert module.plugin_failure(raised.value) is None
