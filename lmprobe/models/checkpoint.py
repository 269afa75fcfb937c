"""Finds the folder of a checkpoint and says what is in it; reads no weights.

A name is a bundled model ("reference:NAME"), a folder, or an id on the Hugging Face hub.
Only the last may use the network, and after that it is a folder like the others.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from lmprobe.errors import ModelError, did_you_mean

_REFERENCE = "reference:"
_BUNDLED = Path(__file__).resolve().parent / "reference"

_SAFE_WEIGHTS = ("model*.safetensors", "model.safetensors.index.json")
# Pickles, which are read with `weights_only`: a list of tensors, no code.
_PICKLED_WEIGHTS = ("pytorch_model*.bin", "pytorch_model.bin.index.json")
_DESCRIPTION = (
    "config.json",
    *("tokenizer*", "vocab*", "merges*", "special_tokens_map.json", "added_tokens.json"),
    *("*.model", "*.txt"),
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder with a model in it, and the name and revision it was asked for by."""

    name: str
    folder: Path
    revision: str | None
    """The commit on the hub, for a model that came from there."""
    content_hash: str
    """The commit of a hub model; else the SHA-256 of the files that decide its outputs."""


def find_checkpoint(name_or_path: str | Path, *, revision: str | None = None) -> Checkpoint:
    """Return the checkpoint that a name, a path or a hub id means."""
    name = str(name_or_path)
    if name.startswith(_REFERENCE):
        return _local(name, _bundled(name.removeprefix(_REFERENCE)), revision)
    path = Path(name).expanduser()
    if path.is_dir():
        return _local(name, path, revision)
    if path.is_file():
        raise ModelError(
            f"{name} is a file; give the folder that holds it, with config.json and tokenizer"
        )
    if isinstance(name_or_path, Path) or name.startswith((".", "/", "~")) or "\\" in name:
        raise ModelError(f"{name}: no such folder; give a folder with config.json, or a hub id")
    return _from_hub(name, revision)


def reference_names() -> tuple[str, ...]:
    """Return the names of the bundled models."""
    return tuple(sorted(path.parent.name for path in _BUNDLED.glob("*/config.json")))


def _bundled(name: str) -> Path:
    if name not in reference_names():
        known = [_REFERENCE + one for one in reference_names()]
        raise ModelError(
            f'no bundled model "{_REFERENCE}{name}"; {did_you_mean(_REFERENCE + name, known)}'
        )
    return _BUNDLED / name


def _local(name: str, folder: Path, revision: str | None) -> Checkpoint:
    if revision is not None:
        raise ModelError(f"a revision belongs to a hub id; {name} is a folder on this machine")
    _check(name, folder)
    return Checkpoint(name, folder, None, _content_hash(folder))


def _from_hub(name: str, revision: str | None) -> Checkpoint:
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import HFValidationError

    def fetch(*patterns: str) -> Path:
        return Path(
            snapshot_download(
                name, revision=revision, allow_patterns=[*patterns], ignore_patterns=["*/*"]
            )
        )

    try:
        folder = fetch(*_DESCRIPTION, *_SAFE_WEIGHTS)
        if not _files(folder, _SAFE_WEIGHTS):
            folder = fetch(*_DESCRIPTION, *_PICKLED_WEIGHTS)
    except HFValidationError as problem:
        raise ModelError(
            f'"{name}" is neither a folder here nor a hub id such as "org/name"'
        ) from (problem)
    # The hub's errors have many types (network, login, repository, cache); all mean this.
    except Exception as problem:
        at = f" at revision {revision}" if revision else ""
        hint = (
            "HF_HUB_OFFLINE is set and it is not in the hub's cache on this machine"
            if constants.HF_HUB_OFFLINE
            else f"the hub said: {_first_line(problem)}"
        )
        suggestion = did_you_mean(name, [_REFERENCE + one for one in reference_names()])
        raise ModelError(
            f'no model "{name}"{at}: no folder of that name here, and {hint}. Give a folder with '
            f"config.json, tokenizer and weights, a hub id, or a bundled model; {suggestion}"
        ) from problem
    _check(name, folder)
    return Checkpoint(name, folder, folder.name, folder.name)


def _check(name: str, folder: Path) -> None:
    """Raise if the folder has no model, or its weights are cut short."""
    if not (folder / "config.json").is_file():
        raise ModelError(f"{name}: no config.json in {folder}; that is no Hugging Face checkpoint")
    safe = _files(folder, _SAFE_WEIGHTS[:1])
    if not safe and not _files(folder, _PICKLED_WEIGHTS):
        raise ModelError(
            f"{name}: no weights in {folder}; they are model.safetensors or pytorch_model.bin"
        )
    from safetensors import SafetensorError, safe_open

    for path in safe:
        try:
            with safe_open(path, framework="np"):
                pass
        except (SafetensorError, OSError) as problem:
            raise ModelError(
                f"{name}: {path.name} is damaged ({_first_line(problem)}); copy it again"
            ) from problem


def _content_hash(folder: Path) -> str:
    """Return the SHA-256 of the files that decide what the model says, names included."""
    weights = _SAFE_WEIGHTS if _files(folder, _SAFE_WEIGHTS) else _PICKLED_WEIGHTS
    whole = hashlib.sha256()
    for path in _files(folder, (*_DESCRIPTION, *weights)):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        whole.update(f"{path.name} {digest}\n".encode())
    return whole.hexdigest()


def _files(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    found = {path for pattern in patterns for path in folder.glob(pattern)}
    return sorted(path for path in found if path.is_file())


def _first_line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0].rstrip(".:") if lines else type(problem).__name__
