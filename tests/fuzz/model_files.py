"""Readers of a checkpoint: configuration, tokenizer, safetensors and GGUF."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache, partial
from pathlib import Path

from tests.fuzz import mutations
from tests.fuzz.reader import Reader

_OTHERS = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")


def readers() -> list[Reader]:
    """Return the readers of this file."""
    return [
        _reader("model-config", "config.json", mutations.damage_json),
        _reader("model-tokenizer", "tokenizer.json", mutations.damage_json),
        _reader("model-safetensors", "model.safetensors", mutations.damage_safetensors),
        Reader("model-gguf", "m.gguf", _gguf, mutations.damage_head, read_gguf, 0.03),
    ]


def _reader(name: str, file: str, damage: mutations.Mutation) -> Reader:
    return Reader(name, file, partial(_file, file), damage, read_folder, 0.03)


def _file(name: str) -> tuple[bytes, ...]:
    return ((_checkpoint() / name).read_bytes(),)


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


@cache
def _gguf() -> tuple[bytes, ...]:
    """Return a llama of one layer in GGUF."""
    import gguf
    import numpy as np

    path = Path(tempfile.mkdtemp(prefix="lmprobe-fuzz-")) / "m.gguf"
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    words = ["<unk>", "<s>", "</s>", *(chr(code) for code in range(33, 127)), "\u0120", "ab"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(8)
    writer.add_block_count(1)
    writer.add_feed_forward_length(16)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(4)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(words)
    writer.add_token_merges(["a b"])
    writer.add_token_types([3, 3, 3] + [1] * (len(words) - 3))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    rng = np.random.default_rng(0)
    shapes = {"token_embd": (len(words), 8), "output_norm": (8,), "output": (len(words), 8)}
    shapes |= {f"blk.0.{one}": (8, 8) for one in ("attn_q", "attn_k", "attn_v", "attn_output")}
    shapes |= {"blk.0.ffn_gate": (16, 8), "blk.0.ffn_up": (16, 8), "blk.0.ffn_down": (8, 16)}
    shapes |= {"blk.0.attn_norm": (8,), "blk.0.ffn_norm": (8,)}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", rng.normal(size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return (path.read_bytes(),)


def read_gguf(path: Path) -> None:
    """Load the model and let it answer."""
    from lmprobe import load_model

    model = load_model(path, device="cpu")
    model.network(model.tokenizer("ab", return_tensors="pt")["input_ids"])
