"""The names that users rely on, and that they mean what they say however they are reached."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import lmprobe


@pytest.mark.parametrize("name", lmprobe.__all__)
def test_every_public_name_is_there_with_a_docstring(name: str) -> None:
    assert inspect.getdoc(getattr(lmprobe, name))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'prob'"):
        _ = lmprobe.prob


@pytest.mark.parametrize(
    "first",
    ["import lmprobe.probing.probe", "from lmprobe.probing.probe import probe", "import lmprobe"],
)
def test_probe_is_the_function_whatever_was_imported_before(first: str) -> None:
    program = f"{first}; from lmprobe import probe; print(callable(probe))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("True", "")
