"""Traces one command: `python docs/trace.py run ...` prints the modules of lmprobe that execute.

The JSON on the last line of standard output has `modules` (those in which a function runs, apart
from what runs while they are imported) and `frames` (from the command to the first call of a
network's `forward`, outermost first). docs/generate.py writes
docs/appendix/life-of-a-sentence.md with it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import lmprobe

ROOT = f"{Path(lmprobe.__file__).parent}/"


def trace(words: list[str]) -> dict[str, list[str]]:
    """Run a command line and return the modules and frames of lmprobe that it uses."""
    from lmprobe.cli.main import main

    modules: set[str] = set()
    frames: list[str] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call":
            return
        if code.co_filename.startswith(ROOT) and code.co_filename.endswith(".py"):
            if not any(name.startswith("<frozen importlib") for name, _ in callers(frame)):
                modules.add(code.co_filename.removeprefix(ROOT))
        elif code.co_name == "forward" and "/transformers/models/" in code.co_filename:
            own = [f"{name}: {function}" for name, function in callers(frame) if ".py" in name]
            frames[:] = frames or reversed(own)

    sys.argv = ["lmprobe", *words]
    sys.setprofile(note)
    try:
        main()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    return {"modules": sorted(modules), "frames": frames}


def callers(frame: FrameType | None) -> list[tuple[str, str]]:
    """Return file and function of the frames around this one that are lmprobe's or an import's."""
    around = []
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith((ROOT, "<frozen importlib")):
            around.append((name.removeprefix(ROOT), frame.f_code.co_qualname))
        frame = frame.f_back
    return around


if __name__ == "__main__":
    print(json.dumps(trace(sys.argv[1:])))
