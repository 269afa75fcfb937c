"""The published tables and texts that some tests compare with; they do not ship with lmprobe.

They lie in the folder that the environment variable LMPROBE_REFERENCE_DATA names, else in
`shared/data` beside the checkout. A test whose file is not there is skipped.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_NAMED = os.environ.get("LMPROBE_REFERENCE_DATA")
REFERENCE = Path(_NAMED) if _NAMED else Path(__file__).parents[2] / "shared" / "data"


def needs_reference(*names: str) -> pytest.MarkDecorator:
    """Return the mark of a test that reads these files of `REFERENCE`."""
    missing = [name for name in names if not (REFERENCE / name).is_file()]
    reason = f"not in the folder LMPROBE_REFERENCE_DATA: {', '.join(missing)}"
    return pytest.mark.skipif(bool(missing), reason=reason)
