"""Finds the folder of a checkpoint and says what is in it; reads no weights.

A name is a bundled model ("reference:NAME"), a folder, a GGUF file, or an id on the Hugging
Face hub. Only the last may use the network, and after that it is a folder like the others.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lmprobe.errors import Argument, LmprobeError, ModelError, did_you_mean
from lmprobe.io.files import parse_json
from lmprobe.models.cache import file_hash
from lmprobe.models.forward import first_line
from lmprobe.models.language_model import Place

_REFERENCE = "reference:"
_BUNDLED = Path(__file__).resolve().parent / "reference"
TRUTH_FILE, TRUTH_SCHEMA = "truth.json", "lmprobe.reference/1"
"""The file beside the weights of a reference model that says what was planted in it."""

_ADAPTER = "adapter_config.json"

_SAFE_WEIGHTS = ("model*.safetensors", "model.safetensors.index.json")
# Pickles, which are read with `weights_only`: a list of tensors, no code.
_PICKLED_WEIGHTS = ("pytorch_model*.bin", "pytorch_model.bin.index.json")
# One of these holds the vocabulary. Without any, transformers makes a tokenizer that knows no word.
_VOCABULARIES = ("tokenizer.json", "vocab*", "*.model", "*.txt", "*.tiktoken")
_DESCRIPTION = (
    "config.json",
    *("tokenizer*", "vocab*", "merges*", "special_tokens_map.json", "added_tokens.json"),
    *("*.model", "*.txt"),
)
# Fetched, but not hashed: what it writes before a sentence belongs to the sentence.
_CHAT = ("chat_template*",)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder with a model in it, and the name and revision it was asked for by."""

    name: str
    folder: Path
    revision: str | None
    """The commit on the hub, for a model that came from there."""
    place: Place
    content_hash: str
    """The commit of a hub model; else the SHA-256 of the files that decide its outputs."""
    gguf: str | None = None
    """The name of the file in the folder, for a model in GGUF."""
    base: Checkpoint | None = None
    """The model that a folder with only an adapter belongs to."""


def find_checkpoint(
    name_or_path: str | Path, *, revision: str | None = None, weights: bool = True
) -> Checkpoint:
    """Return the checkpoint that a name, a path or a hub id means.

    Without `weights`, only the configuration of a hub id is fetched.
    """
    name = str(name_or_path)
    if not name.strip():
        raise ModelError(
            f"a model needs a name: a hub id, a folder or a bundled one; {_similar(name)}"
        )
    path = Path(name).expanduser()
    bundled = name.startswith(_REFERENCE)
    if revision is not None and (bundled or path.exists()):
        what = "file" if path.is_file() else "folder"
        raise ModelError(f"a revision belongs to a hub id; {name} is a {what} on this machine")
    if bundled:
        return _local(name, _bundled(name), "bundled")
    if path.is_dir():
        if (path / _ADAPTER).is_file() and not (path / "config.json").is_file():
            return _adapter(name, path)
        return _local(name, path)
    if path.is_file():
        if path.suffix.lower() == ".gguf":
            return _gguf(name, path)
        raise ModelError(
            f"{name} is a file; a model is a hub id, a .gguf file, or a folder that has "
            "config.json, tokenizer and weights"
        )
    if isinstance(name_or_path, Path) or name.startswith((".", "/", "~")) or "\\" in name:
        raise ModelError(f"{name}: no such folder; give a folder with config.json, or a hub id")
    return _from_hub(name, revision, wanted="model" if weights else "config")


def _gguf(name: str, path: Path) -> Checkpoint:
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != b"GGUF":
        raise ModelError(f"{name} is no GGUF file: it begins with {magic!r}; copy it again")
    return Checkpoint(name, path.parent, None, "file", file_hash(path), gguf=path.name)


def _adapter(name: str, folder: Path) -> Checkpoint:
    """Return an adapter with the model that it was trained for, which must be on this machine."""
    try:
        described = parse_json((folder / _ADAPTER).read_text(encoding="utf-8"))
        wanted = described["base_model_name_or_path"]
        assert isinstance(wanted, str)
    except (OSError, ValueError, KeyError, TypeError, AssertionError) as problem:
        raise ModelError(f"{name}: {_ADAPTER} does not name its base model") from problem
    try:
        base = _base_of_adapter(folder, wanted)
    except LmprobeError as problem:
        raise ModelError(
            f"{name} is an adapter of {wanted}, which cannot be read here ({problem}). Fetch that "
            "model first (`hf download`), or merge the adapter into it (merge_and_unload) and "
            "give the merged folder"
        ) from problem
    own = _content_hash(folder, (_ADAPTER, "adapter_model.*", *_DESCRIPTION[1:]))
    whole = _combined(own, base.content_hash)
    return Checkpoint(name, folder, None, "folder", whole, base=base)


def _base_of_adapter(folder: Path, wanted: str) -> Checkpoint:
    for path in (Path(wanted).expanduser(), folder / wanted):
        if path.is_dir():
            return _local(wanted, path)
    # The adapter names a hub id, but the user did not ask for the network.
    return _from_hub(wanted, None, offline=True)


def reference_names() -> tuple[str, ...]:
    """Return the names of the bundled models."""
    return tuple(sorted(path.parent.name for path in _BUNDLED.glob("*/config.json")))


def _bundled(name: str) -> Path:
    short = name.removeprefix(_REFERENCE)
    if short not in reference_names():
        raise ModelError(f'no bundled model "{name}"; {_similar(name)}')
    return _BUNDLED / short


def _similar(name: str) -> str:
    return did_you_mean(name, [_REFERENCE + bundled for bundled in reference_names()])


def _local(name: str, folder: Path, place: Place = "folder") -> Checkpoint:
    _check(name, folder)
    weights = _SAFE_WEIGHTS if _files(folder, _SAFE_WEIGHTS) else _PICKLED_WEIGHTS
    return Checkpoint(name, folder, None, place, _content_hash(folder, (*_DESCRIPTION, *weights)))


def _from_hub(
    name: str,
    revision: str | None,
    *,
    offline: bool = False,
    wanted: Literal["model", "config", "tokenizer"] = "model",
) -> Checkpoint:
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import HFValidationError

    def fetch(*patterns: str) -> Path:
        return Path(
            snapshot_download(
                name,
                revision=revision,
                allow_patterns=[*patterns],
                ignore_patterns=["*/*"],
                local_files_only=offline,
            )
        )

    try:
        weights = _SAFE_WEIGHTS if wanted == "model" else ()
        described = _DESCRIPTION[:1] if wanted == "config" else (*_DESCRIPTION, *_CHAT)
        folder = fetch(*described, *weights)
        if weights and not _files(folder, _SAFE_WEIGHTS):
            folder = fetch(*_DESCRIPTION, *_PICKLED_WEIGHTS)
    except HFValidationError as problem:
        message = (
            f'"{name}" is neither a folder here nor a hub id such as "org/name"; {_similar(name)}'
        )
        raise ModelError(message) from problem
    # The hub's errors have many types (network, login, repository, cache); all mean this.
    except Exception as problem:
        at = f" at revision {revision}" if revision else ""
        hint = (
            "HF_HUB_OFFLINE is set and it is not in the hub's cache on this machine"
            if constants.HF_HUB_OFFLINE
            else "it is not in the hub's cache on this machine"
            if offline
            else f"the hub said: {first_line(problem)}"
        )
        what, files = "model", "config.json, tokenizer and weights"
        if wanted == "tokenizer":
            what = files = wanted
        raise ModelError(
            f'no {what} "{name}"{at}: no folder of that name here, and {hint}. Give a folder with '
            f"{files}, a hub id, or a bundled model; {_similar(name)}"
        ) from problem
    if wanted == "model":
        _check(name, folder)
    return Checkpoint(name, folder, folder.name, "hub", folder.name)


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
                f"{name}: {path.name} is damaged ({first_line(problem)}); copy it again"
            ) from problem


def _content_hash(folder: Path, patterns: tuple[str, ...]) -> str:
    """Return the SHA-256 of the files that decide what the model says, names included."""
    return _combined(*(f"{path.name} {file_hash(path)}" for path in _files(folder, patterns)))


def _combined(*parts: str) -> str:
    return hashlib.sha256("".join(f"{part}\n" for part in parts).encode()).hexdigest()


def find_tokenizer(name_or_path: str | Path) -> tuple[Path, str]:
    """Return the folder of a tokenizer, given as a folder or a hub id, and its hash."""
    name = str(name_or_path)
    path = Path(name).expanduser()
    if name.startswith(_REFERENCE):
        path = _bundled(name)
    elif not path.is_dir():
        if isinstance(name_or_path, Path) or name.startswith((".", "/", "~")) or path.is_file():
            raise ModelError(f"{name}: no such folder; a tokenizer is a folder or a hub id")
        path = _from_hub(name, None, wanted="tokenizer").folder
    return path, _content_hash(path, _DESCRIPTION[1:])


def check_vocabulary(name: str, folder: Path) -> None:
    """Raise if a folder has no file that holds a vocabulary."""
    if _files(folder, _VOCABULARIES):
        return
    names = ", ".join(path.name for path in _files(folder, ("*",)))
    raise ModelError(
        f"{name}: no tokenizer in {folder}, which holds {names or 'no file'}; it is "
        "tokenizer.json, vocab.txt or vocab.json with merges.txt. Save it there "
        "(tokenizer.save_pretrained), or name its folder or hub id (",
        Argument("tokenizer"),
        ")",
    )


def _files(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    matching = {path for pattern in patterns for path in folder.glob(pattern)}
    return sorted(path for path in matching if path.is_file())
