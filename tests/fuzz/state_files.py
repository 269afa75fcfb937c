"""Readers of what lmprobe keeps for itself, and of the files of a model."""

from __future__ import annotations

import atexit
import json
import math
import random
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from lmprobe import load_model
from lmprobe.io.files import seal
from lmprobe.models import cache as models_cache
from lmprobe.sources.counting.corpus import plan
from lmprobe.sources.counting.count import count, count_words
from tests.checkpoints import save_checkpoint
from tests.fuzz import mutations
from tests.fuzz.reader import Reader, WrongNumber, stored

_KEY = "0" * 64
_OTHERS = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")


def readers() -> list[Reader]:
    """Return the readers of this file."""
    # The GGUF is a llama of one layer with random weights.
    gguf, tree = stored("llama.gguf"), mutations.damage_json
    return [
        Reader("cache-entry", "entry.json", _entries, damage_entry, read_cache_entry),
        Reader("count-checkpoint", "state.json", lambda: _counted()[2:3], tree, read_checkpoint),
        _part_of_model("model-config", "config.json", tree),
        _part_of_model("model-tokenizer", "tokenizer.json", tree),
        _part_of_model("model-safetensors", "model.safetensors", mutations.damage_safetensors),
        Reader("model-gguf", "m.gguf", gguf, mutations.damage_head, read_gguf, 0.03),
    ]


def _folder() -> Path:
    """Return a new folder that is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="lmprobe-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _entries() -> tuple[bytes, ...]:
    numbers = {"log": [-1.0, -2.5], "mass": [0.5]}
    entry = {"model": "reference:amplified", "threads": 1, "numbers": numbers}
    return (seal(entry, _KEY).encode(),)


def damage_entry(rng: random.Random, content: bytes) -> bytes:
    """Damage an entry; half of the time with a checksum that fits the damage."""
    changed = mutations.damage_json(rng, content)
    if rng.random() < 0.5:
        return changed
    try:
        document = json.loads(changed)
        document.pop("sha256", None)
        return seal(document, _KEY).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):
        return changed


def read_cache_entry(path: Path) -> None:
    """An entry that is damaged is no entry; what is read has finite numbers."""
    entry = models_cache.read(_KEY, path)
    if entry is None:
        return
    if not all(math.isfinite(number) for row in entry.numbers.values() for number in row):
        raise WrongNumber("a number of the cache is not finite")


@cache
def _counted() -> tuple[Any, Any, bytes, list[list[int]]]:
    """Return a plan and its words, the state of the finished count, and its counts."""
    folder = _folder()
    text, state = folder / "counted.txt", folder / "state.json"
    text.write_text("He is a nurse. She is a cook.\n" * 50)
    words = count_words(attributes={"he": ["he"], "she": ["she"]}, tasks=["nurse", "cook"])
    planned = plan(str(text))
    counts = count(planned, words, checkpoint=state).counts.tolist()
    return planned, words, state.read_bytes(), counts


def read_checkpoint(path: Path) -> None:
    """A count that goes on from a checkpoint gives the counts of one without, or refuses it."""
    planned, words, _, counts = _counted()
    result = count(planned, words, checkpoint=path).counts.tolist()
    if result != counts:
        raise WrongNumber(f"{result}, without the checkpoint {counts}")


def _part_of_model(name: str, file: str, damage: mutations.Mutation) -> Reader:
    return Reader(
        name, file, lambda: ((_checkpoint() / file).read_bytes(),), damage, read_folder, 0.03
    )


@cache
def _checkpoint() -> Path:
    """Return the folder of a tiny model."""
    return save_checkpoint(_folder(), num_hidden_layers=1)


def read_folder(path: Path) -> None:
    """Load the model and let it answer; the other files are as they should be."""
    for name in _OTHERS:
        if name != path.name and not (path.parent / name).exists():
            shutil.copy(_checkpoint() / name, path.parent / name)
    model = load_model(path.parent, kind="masked", device="cpu")
    model.network(model.tokenizer("He is a nurse.", return_tensors="pt")["input_ids"])


def read_gguf(path: Path) -> None:
    """Load the model and let it answer."""
    model = load_model(path, device="cpu")
    model.network(model.tokenizer("ab", return_tensors="pt")["input_ids"])
