"""The kinds of language models, and which of them a configuration describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmprobe.errors import ModelError
from lmprobe.models.forward import most_positions
from lmprobe.models.transformers_model import TransformersModel, is_encoder_decoder, is_vision
from lmprobe.registry import Registry

AUTO = "auto"

# No published model has near as many; building one from a damaged config would never end.
_MOST_LAYERS = 1000
_SIZES = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "intermediate_size",
    "vocab_size",
)


kinds: Registry[type[TransformersModel]] = Registry("kinds", "lmprobe.models.kinds")
"""The kinds by name; each is a class that says what it can read and how it answers."""


def check_kind(kind: str) -> None:
    """Raise if `kind` is neither `auto` nor the name of a kind."""
    if kind != AUTO:
        kinds.get(kind)


def default_templates(*names: str) -> str:
    """Return the template set for models of these kinds.

    A set for a model that reads from left to right serves those that fill masks too.
    """
    classes = [kinds.get(name) for name in names]
    return min(classes, key=lambda made: made.masks, default=TransformersModel).default_templates


def kind_of(name: str, config: Any, wanted: str, architectures: Sequence[str] = ()) -> str:
    """Return the kind of the model that a configuration describes.

    `architectures` are the names of the model's class or those that its configuration gives; a
    type such as BERT can be of more than one kind, and they decide.
    """
    _check_sizes(name, config)
    classes = {kind: made for kind in kinds.names() if (made := kinds.get(kind).class_of(config))}
    if not classes:
        raise ModelError(_no_kind(name, config))
    masking = [kind for kind in classes if kinds.get(kind).masks]
    kind = wanted if wanted != AUTO else _likeliest(config, classes, masking, architectures)
    if kind not in classes:
        raise ModelError(f"{name} is a {config.model_type} model, which is not {kind}")
    if masking and kind not in masking and not _reads_one_way(config):
        # Every token would see those after it, the answer included.
        raise ModelError(
            f"{name} is a {config.model_type} model that reads in both directions (is_decoder is "
            f'not set in its configuration), so it cannot be probed as {kind}; "masked" would do'
        )
    return kind


def _likeliest(
    config: Any, classes: Mapping[str, str], masking: Sequence[str], architectures: Sequence[str]
) -> str:
    """Return the kind that is named, or that fits: to fill masks where nothing says otherwise."""
    others = [kind for kind in classes if kind not in masking]
    named = [kind for kind, made in classes.items() if made in architectures]
    if _reads_one_way(config) or not masking:
        return next(iter([kind for kind in named if kind in others] or others or masking))
    # One class may serve for both, as that of XLM does.
    return next(iter([kind for kind in named if kind in masking] or named or masking))


def _reads_one_way(config: Any) -> bool:
    return bool(getattr(config, "is_decoder", False) or getattr(config, "causal", False))


def _check_sizes(name: str, config: Any) -> None:
    """Raise if a size of the model is not a number that a model can have."""
    values = {size: getattr(config, size, None) for size in _SIZES}
    values["max_position_embeddings"] = most_positions(config)
    for size, value in values.items():
        if value is None or (isinstance(value, list) and value):
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ModelError(f"{name}: {size} is {value!r} in its configuration; it must be >= 1")
        if size == "num_hidden_layers" and value > _MOST_LAYERS:
            raise ModelError(
                f"{name}: {size} is {value} in its configuration; at most {_MOST_LAYERS} are read"
            )


def _no_kind(name: str, config: Any) -> str:
    if is_encoder_decoder(config):
        return (
            f"{name} is an encoder-decoder model ({config.model_type}), in which neither masks nor "
            "the next token have one probability; lmprobe probes masked and causal models"
        )
    if is_vision(config):
        return (
            f"{name} is a vision model ({config.model_type}); lmprobe probes language models, and "
            "measures the predictions of others with `lmprobe amplify`"
        )
    return (
        f"{name} is a {config.model_type} model, which neither fills masks nor continues "
        "text; lmprobe probes masked models such as BERT and causal ones such as GPT-2"
    )
