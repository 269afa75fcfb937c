"""What is known of a model that answered before: enough to use its answers without opening it."""

from __future__ import annotations

import platform
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lmprobe.errors import LmprobeError
from lmprobe.io import atomic
from lmprobe.io.folders import cache_folder
from lmprobe.io.sealed import seal, unseal
from lmprobe.models.cache import key_of


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """The kind of a model, the class of its tokenizer, and the device it ran on here."""

    kind: str
    tokenizer_name: str
    device: str


def record_key(content_hash: str, kind: str, device: str) -> str:
    """Return the name of the record of a model that was asked for in this way.

    The machine belongs to it: what "auto" means as a device depends on it.
    """
    asked = {"model": content_hash, "kind": kind, "device": device, "machine": platform.node()}
    return key_of(asked)


def read_record(key: str) -> ModelRecord | None:
    """Return the record, or None if there is none or it is damaged."""
    try:
        found = unseal(_path(key).read_text(encoding="utf-8"), key)
        if found is None:
            return None
        return ModelRecord(str(found["kind"]), str(found["tokenizer_name"]), str(found["device"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_record(key: str, record: ModelRecord) -> None:
    """Keep a record; where nothing can be written, the model is opened again next time."""
    content = {
        "kind": record.kind,
        "tokenizer_name": record.tokenizer_name,
        "device": record.device,
    }
    with suppress(OSError, LmprobeError):
        atomic.write_text(_path(key), seal(content, key))


def _path(key: str) -> Path:
    return cache_folder() / "models" / f"{key}.json"
