"""A model that is already in memory: probed as it is, and left as it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lmprobe.errors import InputError, ModelError
from lmprobe.models.checkpoint_weights import checked_tokenizer
from lmprobe.models.language_model import Origin
from lmprobe.models.record import ModelRecord


class MemoryWeights:
    """A torch module of transformers with its tokenizer; mode and device are restored."""

    revision: str | None = None
    folder: Path | None = None
    record: tuple[str, ModelRecord] | None = None

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        *,
        origin: Origin,
        kind: str,
        device: str,
        dtype: str,
    ) -> None:
        """Check the choices and hash the weights, as they are now."""
        self.network = network
        self.origin = origin
        self.config = network.config
        self.name = f"{_name(network)} (in memory)"
        self.tokenizer = checked_tokenizer(self.name, tokenizer, kind)
        self.tokenizer_name = type(tokenizer).__name__
        self.device = str(network.device) if device == "auto" else device
        self.dtype = str(network.dtype).removeprefix("torch.")
        if dtype not in ("float32", self.dtype):
            raise InputError(
                f"the model in memory has the dtype {self.dtype} and is probed as it is; convert "
                f"it before, as in model.to(torch.{dtype})"
            )
        self.content_hash = _content_hash(network, tokenizer)

    @contextmanager
    def running(self) -> Iterator[Any]:
        """Give the network on its device in evaluation mode, and restore both afterwards."""
        modes = {module: module.training for module in self.network.modules()}
        before = str(self.network.device)
        try:
            self.network.eval()
            if self.device != before:
                self.network.to(self.device)
            yield self.network
        finally:
            if self.device != before:
                self.network.to(before)
            for module, mode in modes.items():
                module.training = mode


def model_and_tokenizer(model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """Return the torch module and the tokenizer of an object: a model, or a pipeline of both."""
    import torch

    inner = getattr(model, "model", None)
    if not isinstance(model, torch.nn.Module) and isinstance(inner, torch.nn.Module):
        tokenizer = getattr(model, "tokenizer", None) if tokenizer is None else tokenizer
        model = inner
    if not isinstance(model, torch.nn.Module) or not hasattr(model, "config"):
        raise ModelError(
            f"a model is a hub id, a folder, a .gguf file, or a model or pipeline of transformers; "
            f"found {type(model).__name__}, which gives no probabilities of a sentence"
        )
    if not callable(getattr(tokenizer, "convert_ids_to_tokens", None)):
        raise InputError(
            "a model in memory needs its tokenizer (`tokenizer=`), found "
            f"{type(tokenizer).__name__}"
        )
    return model, tokenizer


def model_classes(network: Any) -> list[str]:
    """Return the names of a model's class, and of the one that an adapter wraps."""
    inner = network.get_base_model() if hasattr(network, "get_base_model") else network
    return [type(network).__name__, type(inner).__name__]


def _name(network: Any) -> str:
    found = getattr(network, "name_or_path", "") or getattr(network.config, "_name_or_path", "")
    return found or model_classes(network)[-1]


def _content_hash(network: Any, tokenizer: Any) -> str:
    """Return the hash of weights, configuration, tokenizer and active adapters."""
    import torch

    whole = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        flat = tensor.detach().cpu().contiguous()
        whole.update(f"{name} {flat.dtype} {tuple(flat.shape)}\n".encode())
        whole.update(flat.reshape(-1).view(torch.uint8).numpy().tobytes())
    described = {
        key: value for key, value in network.config.to_dict().items() if not key.startswith("_")
    }
    whole.update(json.dumps(described, sort_keys=True, default=str).encode())
    whole.update(str(getattr(network, "active_adapters", "")).encode())
    whole.update(tokenizer_text(tokenizer).encode())
    return whole.hexdigest()


def tokenizer_text(tokenizer: Any) -> str:
    """Return a text that is the same for tokenizers that do the same."""
    if not hasattr(tokenizer, "special_tokens_map"):
        raise ModelError(
            "`tokenizer` must be a tokenizer of transformers, a folder or a hub id: found "
            f"{tokenizer!r}"
        )
    backend = getattr(tokenizer, "backend_tokenizer", None)
    inside = repr(tokenizer) if backend is None else backend.to_str()
    return f"{inside} {json.dumps(tokenizer.special_tokens_map, sort_keys=True, default=str)}"
