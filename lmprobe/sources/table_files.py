"""Writes the two files of a base-rate table, the CSV and its TOML, as one step.

Two files cannot be renamed at once. The description is therefore first put under a name that
has the checksum of its table in it; renaming the CSV is the step that counts. From then on a
reader takes the description of that checksum, whether or not it got its usual name.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from lmprobe.errors import InputError
from lmprobe.io.atomic import replacing, write_text
from lmprobe.io.locks import locked

_WAITING = ".description"


def write_pair(path: Path, table: str, description: str, sha256: str) -> None:
    """Replace the CSV at `path` and the TOML beside it; `sha256` is that of the CSV."""
    waiting = _waiting(path, sha256)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent):
            _finish(path)
            try:
                with replacing(path) as temporary:
                    temporary.write_bytes(table.encode())
                    write_text(waiting, description)
            except BaseException:
                waiting.unlink(missing_ok=True)
                raise
            waiting.replace(path.with_suffix(".toml"))
    except OSError as problem:
        raise InputError(f"cannot write {path}: {problem.strerror or problem}") from problem


def description_path(path: Path, sha256: str) -> Path:
    """Return where the description is of the table at `path` that has this checksum."""
    waiting = _waiting(path, sha256)
    return waiting if waiting.is_file() else path.with_suffix(".toml")


def _waiting(path: Path, sha256: str) -> Path:
    return path.with_name(f".{path.stem}.{sha256}{_WAITING}")


def _finish(path: Path) -> None:
    """Complete what a killed writer began, or remove it if the table was not replaced."""
    name = re.compile(re.escape(f".{path.stem}.") + "[0-9a-f]{64}" + re.escape(_WAITING))
    begun = [one for one in path.parent.iterdir() if name.fullmatch(one.name)]
    if not begun:
        return
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
    for one in begun:
        if one == _waiting(path, sha256):
            one.replace(path.with_suffix(".toml"))
        else:
            one.unlink()
