"""What masked and causal models have in common: weights of transformers, and their facts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from lmprobe.errors import ModelError
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats
from lmprobe.models.cache import write_record
from lmprobe.models.encoding import word_tokens
from lmprobe.models.forward import BatchSize, most_positions
from lmprobe.models.language_model import Cloze, EncodedCloze, TokenQuery, WordTokens

if TYPE_CHECKING:
    from lmprobe.models.weights import Weights


def is_encoder_decoder(config: Any) -> bool:
    """Tell whether neither masks nor the next token have one probability in such a model."""
    return bool(getattr(config, "is_encoder_decoder", False))


def is_vision(config: Any) -> bool:
    """Tell whether a model reads pictures."""
    return hasattr(config, "vision_config") or hasattr(config, "image_size")


class TransformersModel(ABC):
    """The facts of a model, and the limits of its input; see `LanguageModel`.

    `folder` is that of the checkpoint, None for a model in memory.
    """

    kind: ClassVar[str]
    """The name under which the class is registered."""
    auto_class: ClassVar[str]
    """The class of transformers that reads the weights, such as AutoModelForMaskedLM."""
    architectures: ClassVar[str]
    """The table of transformers with the types of such models and their classes."""
    masks: ClassVar[bool]
    """Whether the words to guess are masks, so that the words behind them are read as well."""
    default_scorer: ClassVar[str]
    """What the scorer `auto` means."""
    default_templates: ClassVar[str] = "fitbert"
    """The template set by default; its sentences should expect the candidates."""
    sentence_scorer: ClassVar[str]
    """The scorer of a whole sentence, from which the perplexity is computed."""

    @classmethod
    def class_of(cls, config: Any) -> str | None:
        """Return the class of transformers for a configuration, None if it is another kind."""
        from transformers.models.auto import modeling_auto

        if is_encoder_decoder(config) or is_vision(config):
            return None
        name = getattr(modeling_auto, cls.architectures).get(config.model_type)
        return None if name is None else str(name)

    def __init__(self, weights: Weights, *, batch_size: int | str) -> None:
        """Keep what `load_model` found and checked; weights are read for the first query."""
        self.weights = weights
        self.name, self.revision, self.origin = weights.name, weights.revision, weights.origin
        self.content_hash, self.folder = weights.content_hash, weights.folder
        self.device, self.dtype = weights.device, weights.dtype
        self.tokenizer_name = weights.tokenizer_name
        self._batch_size = BatchSize(batch_size, self.device.split(":")[0])
        self.batch_policy = self._batch_size.policy

    @abstractmethod
    def encode(self, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
        """Return the tokens of each cloze; raise for words or sentences that do not fit."""

    @abstractmethod
    def log_probabilities(
        self, queries: Sequence[TokenQuery], *, progress: Progress = silent
    ) -> Floats:
        """Return log P(token at its position | what the model reads there) of each query (n,)."""

    def __repr__(self) -> str:
        """Return the name and where it runs."""
        return f"{type(self).__name__}({self.name!r}, device={self.device!r}, dtype={self.dtype!r})"

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers."""
        return self.weights.tokenizer

    @property
    def network(self) -> Any:
        """The torch module."""
        return self.weights.network

    @cached_property
    def word_tokens(self) -> WordTokens:
        """What is known of the tokens of its vocabulary."""
        return word_tokens(self.tokenizer)

    @property
    def threads(self) -> int:
        """How many threads its answers are computed with."""
        import torch

        return torch.get_num_threads()

    def remember(self) -> None:
        """Keep what is needed to use its answers another time without opening it."""
        if self.weights.record is not None:
            write_record(*self.weights.record)

    def _check_lengths(self, clozes: Sequence[Cloze], encoded: Sequence[EncodedCloze]) -> None:
        """Raise if the longest sentence is longer than the model allows."""
        longest = max(range(len(clozes)), key=lambda n: len(encoded[n].ids), default=None)
        if longest is None:
            return
        length, text = len(encoded[longest].ids), clozes[longest].text
        limit = min(self.tokenizer.model_max_length, most_positions(self.weights.config) or length)
        if limit // 2 < length <= limit:
            limit = self._true_limit(limit)
        if length > limit:
            raise ModelError(
                f"{self.name} reads at most {limit} tokens; a sentence has {length}: "
                f"{text if len(text) <= 80 else text[:77] + '...'!r}"
            )

    def _true_limit(self, limit: int) -> int:
        # Where positions are counted from the padding token's (as in RoBERTa), fewer are left
        # than the table has; only the network tells.
        tables = [
            module
            for name, module in self.network.named_modules()
            if name.endswith("position_embeddings")
            and getattr(module, "padding_idx", None) is not None
        ]
        return min([limit, *(int(len(table.weight) - table.padding_idx - 1) for table in tables)])
