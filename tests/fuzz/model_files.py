"""Readers of a checkpoint: configuration, tokenizer, safetensors and GGUF."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from tests.fuzz import mutations
from tests.fuzz.reader import Reader, stored

_OTHERS = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")


def readers() -> list[Reader]:
    """Return the readers of this file."""
    # The GGUF is a llama of one layer with random weights.
    gguf = stored("llama.gguf")
    return [
        _reader("model-config", "config.json", mutations.damage_json),
        _reader("model-tokenizer", "tokenizer.json", mutations.damage_json),
        _reader("model-safetensors", "model.safetensors", mutations.damage_safetensors),
        Reader("model-gguf", "m.gguf", gguf, mutations.damage_head, read_gguf, 0.03),
    ]


def _reader(name: str, file: str, damage: mutations.Mutation) -> Reader:
    return Reader(
        name, file, lambda: ((_checkpoint() / file).read_bytes(),), damage, read_folder, 0.03
    )


@cache
def _checkpoint() -> Path:
    """Return the folder of a tiny model."""
    from tests.checkpoints import save_checkpoint

    folder = Path(tempfile.mkdtemp(prefix="lmprobe-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return save_checkpoint(folder, num_hidden_layers=1)


def read_folder(path: Path) -> None:
    """Load the model and let it answer; the other files are as they should be."""
    from lmprobe import load_model

    for name in _OTHERS:
        if name != path.name and not (path.parent / name).exists():
            shutil.copy(_checkpoint() / name, path.parent / name)
    model = load_model(path.parent, kind="masked", device="cpu")
    model.network(model.tokenizer("He is a nurse.", return_tensors="pt")["input_ids"])


def read_gguf(path: Path) -> None:
    """Load the model and let it answer."""
    from lmprobe import load_model

    model = load_model(path, device="cpu")
    model.network(model.tokenizer("ab", return_tensors="pt")["input_ids"])
