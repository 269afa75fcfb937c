"""Keeps transformers from talking while it loads, and gives it its voice back."""

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
    JSON document on standard output would begin with them, and they could command a terminal.
    """
    try:
        kept = os.dup(1)
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
        os.dup2(kept, 1)
        os.close(kept)
