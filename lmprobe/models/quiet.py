"""Keeps transformers from talking while it loads, and gives it its voice back."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence the log, the progress bars and the deprecations of transformers in the block.

    What its report would say, missing weights above all, lmprobe raises as an error.
    """
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if bars:
        logging.disable_progress_bar()
    try:
        # The reader of GGUF files draws a bar of its own.
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            # What transformers' own code still calls is not the caller's to mend.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
