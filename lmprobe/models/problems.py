"""Says in one line what a library's error is about."""

from __future__ import annotations

_MOST = 300


def first_line(problem: BaseException) -> str:
    """Return the first line of an error, cut to a readable length.

    torch refuses a pickle with code in it and explains at length how to load it all the same;
    that advice is not passed on.
    """
    text = str(problem).strip()
    if "weights_only" in text or "Weights only load failed" in text:
        return "it holds more than tensors, and code in a checkpoint is not run"
    if "ignore_mismatched_sizes" in text:
        return "its tensors have other shapes than config.json says"
    lines = text.splitlines()
    line = lines[0].rstrip(".: ") if lines else type(problem).__name__
    return line if len(line) <= _MOST else f"{line[:_MOST]}..."
