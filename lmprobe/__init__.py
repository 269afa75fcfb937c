"""Does a masked language model exaggerate the link between a group and what it does?

Names are loaded when they are first used, so `import lmprobe` is quick and never brings
torch with it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmprobe.association import Association
    from lmprobe.errors import LmprobeError
    from lmprobe.metrics.directional import directional_amplification

__version__ = "0.1.0"

_HOME = {
    "Association": "association",
    "LmprobeError": "errors",
    "directional_amplification": "metrics.directional",
}

__all__ = [
    "Association",
    "LmprobeError",
    "directional_amplification",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lmprobe' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"lmprobe.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
