"""The hash of a file, remembered: gigabytes of weights are not read twice to know their name."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from lmprobe.errors import LmprobeError
from lmprobe.io import atomic
from lmprobe.io.folders import cache_folder
from lmprobe.io.sealed import seal, unseal

# Reading a smaller file takes no longer than remembering it.
_SMALL = 4_000_000


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file.

    A large file that has the size and the times of change it had before is not read again.
    """
    facts = path.stat()
    if facts.st_size < _SMALL:
        return _sha256(path)
    state = {
        "path": str(path.resolve()),
        "size": facts.st_size,
        "changed": facts.st_mtime_ns,
        # Copying and unpacking set the time above; nobody sets this one.
        "status_changed": facts.st_ctime_ns,
        "inode": facts.st_ino,
    }
    name = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
    memo = cache_folder() / "hashes" / f"{name}.json"
    try:
        memory = unseal(memo.read_text(encoding="utf-8"), name)
    except (OSError, UnicodeDecodeError):
        memory = None
    if memory is not None:
        return str(memory["content"])
    digest = _sha256(path)
    # Where nothing can be written, the file is read again next time.
    with suppress(OSError, LmprobeError):
        atomic.write_text(memo, seal({**state, "content": digest}, name))
    return digest


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
