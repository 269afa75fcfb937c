"""Loads a fill-mask model by name or path, or says in one line why it cannot be probed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmprobe.errors import InputError, ModelError, did_you_mean
from lmprobe.models.checkpoint import Checkpoint, find_checkpoint
from lmprobe.models.masked import MaskedModel
from lmprobe.models.quiet import quiet_transformers

DTYPES = ("float32", "float64", "bfloat16", "float16")


def load_model(
    name_or_path: str | Path,
    *,
    device: str = "auto",
    dtype: str = "float32",
    batch_size: int | str = "auto",
    revision: str | None = None,
) -> MaskedModel:
    """Return a model that can be probed.

    Parameters
    ----------
    name_or_path
        A bundled model ("reference:faithful"), a folder, or an id on the Hugging Face hub.
        Only a hub id uses the network.
    device
        "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1" or "mps".
    dtype
        "float32", "float64", "bfloat16" or "float16".
    batch_size
        A number of sentences, or "auto": what memory allows.
    revision
        Branch, tag or commit of a hub id.
    """
    if dtype not in DTYPES:
        raise InputError(f'no dtype "{dtype}"; {did_you_mean(dtype, DTYPES)}')
    checkpoint = find_checkpoint(name_or_path, revision=revision)
    with quiet_transformers():
        config = _config(checkpoint)
        tokenizer = _tokenizer(checkpoint)
    return MaskedModel(
        checkpoint,
        config=config,
        tokenizer=tokenizer,
        device=_device(device),
        dtype=dtype,
        batch_size=batch_size,
    )


def _config(checkpoint: Checkpoint) -> Any:
    from transformers import AutoConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    try:
        config = AutoConfig.from_pretrained(
            checkpoint.folder, local_files_only=True, trust_remote_code=False
        )
    # Not JSON, an unknown model type, code of its own: all make the config unreadable.
    except Exception as problem:
        raise ModelError(
            f"{checkpoint.name}: config.json cannot be read: {_first_line(problem)}"
        ) from problem
    if config.model_type not in MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        raise ModelError(
            f"{checkpoint.name} is a {config.model_type} model, which cannot fill a mask; "
            "lmprobe probes masked language models such as BERT, RoBERTa or ModernBERT"
        )
    if getattr(config, "is_decoder", False):
        raise ModelError(
            f"{checkpoint.name} is a causal model (is_decoder in config.json): it reads from left "
            "to right and cannot fill a mask"
        )
    return config


def _tokenizer(checkpoint: Checkpoint) -> Any:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            checkpoint.folder, local_files_only=True, trust_remote_code=False
        )
    # A missing file, a missing library, bad JSON: the user needs its first line.
    except Exception as problem:
        raise ModelError(
            f"{checkpoint.name}: the tokenizer cannot be loaded: {_first_line(problem)}"
        ) from problem
    if tokenizer.mask_token_id is None:
        raise ModelError(
            f"{checkpoint.name}: its tokenizer has no mask token, so there is nothing to fill"
        )
    if not tokenizer.is_fast:
        raise ModelError(
            f"{checkpoint.name}: its tokenizer ({type(tokenizer).__name__}) gives no character "
            "offsets, so the pieces of a word cannot be found; a tokenizer.json would do"
        )
    return tokenizer


def _device(wanted: str) -> str:
    """Return the device that `wanted` means on this machine."""
    import torch

    if wanted == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, number = wanted.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (number and not number.isdecimal()):
        raise InputError(f'no device "{wanted}"; use auto, cpu, cuda, cuda:0 or mps')
    if kind == "cuda" and not torch.cuda.is_available():
        raise ModelError(f'the device "{wanted}" needs CUDA, which this machine lacks; use cpu')
    if kind == "cuda" and number and int(number) >= torch.cuda.device_count():
        raise ModelError(f'no device "{wanted}"; this machine has {torch.cuda.device_count()} GPUs')
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ModelError('the device "mps" needs a Mac with an Apple GPU; use cpu')
    return wanted


def _first_line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0].rstrip(".:") if lines else type(problem).__name__
