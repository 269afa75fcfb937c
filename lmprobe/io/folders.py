"""Where lmprobe keeps files of its own: the folders that the platform has for such things."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

_NAME = "lmprobe"


def cache_folder() -> Path:
    """Return where scores are kept: $LMPROBE_CACHE, or the platform's folder for caches."""
    return _chosen("LMPROBE_CACHE") or platformdirs.user_cache_path(_NAME, appauthor=False)


def base_rates_folder() -> Path:
    """Return the folder of the user's own named tables.

    It is $LMPROBE_BASE_RATES, or `base_rates` in the platform's folder for the data of programs.
    """
    own = _chosen("LMPROBE_BASE_RATES")
    return own or platformdirs.user_data_path(_NAME, appauthor=False) / "base_rates"


def _chosen(variable: str) -> Path | None:
    folder = os.environ.get(variable)
    return Path(folder).expanduser() if folder else None
