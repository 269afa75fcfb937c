"""Loads a model by name, path or object, or says in one line why it cannot be probed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, get_args

from lmprobe.errors import InputError, ModelError, did_you_mean
from lmprobe.metrics.direction import Dtype
from lmprobe.models.cache import ModelRecord, read_record, record_key
from lmprobe.models.checkpoint import Checkpoint, find_checkpoint, find_tokenizer
from lmprobe.models.forward import resolve_device
from lmprobe.models.kind import check_kind, kind_of, kinds
from lmprobe.models.language_model import LanguageModel, Origin
from lmprobe.models.transformers_model import TransformersModel
from lmprobe.models.weights import (
    CheckpointWeights,
    MemoryWeights,
    TokenizerFiles,
    Weights,
    model_and_tokenizer,
    model_classes,
    open_config,
    tokenizer_text,
)


def load_model(
    model: Any,
    *,
    kind: str = "auto",
    tokenizer: Any = None,
    device: str = "auto",
    dtype: str = "float32",
    batch_size: int | str = "auto",
    revision: str | None = None,
) -> TransformersModel:
    """Return a model that can be probed.

    Parameters
    ----------
    model
        A bundled model ("reference:faithful"), a folder, a GGUF file, or an id on the Hugging
        Face hub (only this uses the network); or a model, a PEFT model or a pipeline of
        transformers in memory, which is not changed.
    kind
        "masked", "causal" or that of a plug-in; "auto" is what its configuration says.
    tokenizer
        The tokenizer of a model in memory; for others a folder, a hub id or an object, if that
        of the checkpoint is missing or wrong.
    device
        "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1" or "mps".
    dtype
        "float32", "float64", "bfloat16" or "float16".
    batch_size
        A number of sentences, or "auto": as many as fit into memory.
    revision
        Branch, tag or commit of a hub id.
    """
    if dtype not in get_args(Dtype):
        raise InputError(f'no dtype "{dtype}"; {did_you_mean(dtype, get_args(Dtype))}')
    check_kind(kind)
    if isinstance(model, str | Path):
        checkpoint = find_checkpoint(model, revision=revision)
        weights = _from_checkpoint(checkpoint, kind, tokenizer, device, dtype)
    else:
        if revision is not None:
            raise ModelError("a revision belongs to a hub id; this model is in memory")
        weights = _from_memory(model, kind, tokenizer, device, dtype)
    return kinds.get(weights.kind)(weights, batch_size=batch_size)


def as_model(model: Any, **options: Any) -> LanguageModel:
    """Return a model as it is if it can answer queries, else load it with the options."""
    if callable(getattr(model, "log_probabilities", None)):
        answering: LanguageModel = model
        return answering
    return load_model(model, **options)


def find_kind(model: Any, *, kind: str = "auto", revision: str | None = None) -> str:
    """Return the kind of a model; of a hub id only the configuration is fetched."""
    if not isinstance(model, str | Path):
        return as_model(model, kind=kind).kind
    checkpoint = find_checkpoint(model, revision=revision, weights=False)
    config = open_config(checkpoint)
    return kind_of(checkpoint.name, config, kind, getattr(config, "architectures", None) or ())


def _from_checkpoint(
    checkpoint: Checkpoint, kind: str, tokenizer: Any, device: str, dtype: str
) -> Weights:
    """Return the weights, unopened if the model answered before."""
    files = _tokenizer_files(checkpoint, tokenizer)
    key = record_key(files.content_hash or checkpoint.content_hash, kind, device)
    record = read_record(key)
    opened: dict[str, Any] = {}
    if record is None:
        config = open_config(checkpoint)
        found = kind_of(checkpoint.name, config, kind, getattr(config, "architectures", None) or ())
        opened = {"config": config, "tokenizer": files.open(found)}
        name = type(opened["tokenizer"]).__name__
        record = ModelRecord(found, name, resolve_device(device))
    origin = Origin(checkpoint.place, kind, _name_of(tokenizer))
    weights = CheckpointWeights(
        checkpoint, origin=origin, dtype=dtype, tokenizer=files, record=(key, record)
    )
    vars(weights).update(opened)
    return weights


def _tokenizer_files(checkpoint: Checkpoint, tokenizer: Any) -> TokenizerFiles:
    if tokenizer is None:
        source = checkpoint
        if checkpoint.base is not None and not list(checkpoint.folder.glob("tokenizer*")):
            source = checkpoint.base
        return TokenizerFiles(checkpoint.name, source.folder, gguf=source.gguf)
    folder, made = checkpoint.folder, None
    if isinstance(tokenizer, str | Path):
        folder, digest = find_tokenizer(tokenizer)
    else:
        made = tokenizer
        digest = hashlib.sha256(tokenizer_text(tokenizer).encode()).hexdigest()
    both = hashlib.sha256(f"{checkpoint.content_hash} {digest}".encode()).hexdigest()
    return TokenizerFiles(checkpoint.name, folder, content_hash=both, made=made)


def _name_of(tokenizer: Any) -> str | None:
    return str(tokenizer) if isinstance(tokenizer, str | Path) else None


def _from_memory(model: Any, kind: str, tokenizer: Any, device: str, dtype: str) -> Weights:
    origin = Origin("memory", kind, _name_of(tokenizer))
    if isinstance(tokenizer, str | Path):
        folder, _ = find_tokenizer(tokenizer)
        tokenizer = TokenizerFiles(str(tokenizer), folder).open()
    network, made = model_and_tokenizer(model, tokenizer)
    classes = model_classes(network)
    found = kind_of(classes[-1], network.config, kind, classes)
    where = device if device == "auto" else resolve_device(device)
    return MemoryWeights(network, made, origin=origin, kind=found, device=where, dtype=dtype)
