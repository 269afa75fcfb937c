"""JSON with a checksum: a file that was damaged, or is another one's, is not taken for true."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from lmprobe.io.documents import parse_json


def checksum(content: Mapping[str, Any], name: str = "") -> str:
    """Return the SHA-256 of a document and of the name it is filed under."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(f"{name}\n{text}".encode()).hexdigest()


def seal(content: Mapping[str, Any], name: str) -> str:
    """Return the text of a file, checksum first."""
    return json.dumps({"sha256": checksum(content, name), **content})


def unseal(text: str, name: str) -> dict[str, Any] | None:
    """Return what was sealed under this name, None if it was changed or never was sealed.

    >>> unseal(seal({"a": 1}, "x"), "x")
    {'a': 1}
    >>> unseal(seal({"a": 1}, "x"), "y")
    """
    try:
        content = parse_json(text)
        if content.pop("sha256") != checksum(content, name):
            return None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return dict(content)
