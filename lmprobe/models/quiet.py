"""Keeps transformers quiet while it loads, and says in one line what its errors are about."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence the log, the progress bars, deprecations and prints of transformers in the block.

    What its report would say, missing weights above all, lmprobe raises as an error.
    """
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if bars:
        logging.disable_progress_bar()
    try:
        # The reader of GGUF files draws a bar of its own.
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()), _no_standard_output():
            # What transformers' own code still calls is not the caller's to mend.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def _no_standard_output() -> Iterator[None]:
    """Discard what compiled code writes to standard output, past `sys.stdout`.

    The tokenizers library prints keys of a tokenizer's files that it does not know, as they are: a
    JSON document on standard output would begin with them, and they could control a terminal.
    """
    try:
        saved = os.dup(1)
    except OSError:
        # Standard output is closed: nothing can be written to it.
        yield
        return
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


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
    return line if len(line) <= 300 else f"{line[:300]}..."
