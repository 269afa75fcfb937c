"""The kinds of language models, what they share, and which of them a configuration describes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lmprobe.errors import ModelError, plural
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats
from lmprobe.models.cache import write_record
from lmprobe.models.forward import (
    BatchSize,
    Reader,
    fast_products,
    most_positions,
    run_batch,
    suppress_out_of_memory,
)
from lmprobe.models.language_model import (
    Cloze,
    EncodedCloze,
    LanguageModel,
    TokenQuery,
    WordTokens,
    word_tokens,
)
from lmprobe.registry import Registry
from lmprobe.results import Note
from lmprobe.templates import AnySet, load_templates
from lmprobe.templates.items import ItemTable

if TYPE_CHECKING:
    from lmprobe.models.load import OpenableWeights

AUTO = "auto"

# No published model has near as many; building one from a damaged config would never end.
_MOST_LAYERS = 1000
_SIZES = "num_hidden_layers hidden_size num_attention_heads intermediate_size vocab_size"


class ModelKind:
    """What is known of every model of one kind."""

    kind: ClassVar[str]
    """The name under which the class is registered."""
    masks: ClassVar[bool]
    """Whether the words to guess are masks, so that the words behind them are read as well."""
    default_scorer: ClassVar[str]
    """What the scorer `auto` means."""
    default_templates: ClassVar[str] = "fitbert"
    """The template set by default; its sentences should expect the candidates. Empty if a
    model has templates of its own."""
    sentence_scorer: ClassVar[str]
    """The scorer of a whole sentence, from which the perplexity is computed."""
    chunk_sentences: ClassVar[int] = 1024
    """Different sentences that are scored together: an interrupted run loses at most these."""
    caveats: ClassVar[tuple[Note, ...]] = ()
    """What to know of every result of such a model."""
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers", "numpy", "scipy")
    """Those whose versions belong to the provenance."""
    chat: Sequence[str] | None = None
    """Turns of the user before the sentences of every probe that gives none."""
    system: str | None = None
    """The text of a system turn before them."""

    @classmethod
    def class_of(cls, config: Any) -> str | None:
        """Return the class of transformers for a configuration, None if it is another kind."""
        return None


class TransformersModel(ModelKind, ABC):
    """The facts of a model, and the limits of its input; see `LanguageModel`.

    `folder` is that of the checkpoint, None for a model in memory.
    """

    auto_class: ClassVar[str]
    """The class of transformers that reads the weights, such as AutoModelForMaskedLM."""
    architectures: ClassVar[str]
    """The table of transformers with the types of such models and their classes."""

    @classmethod
    def class_of(cls, config: Any) -> str | None:
        """Return the class of transformers for a configuration, None if it is another kind."""
        from transformers.models.auto import modeling_auto

        if _other_purpose(cls.kind, config):
            return None
        name = getattr(modeling_auto, cls.architectures).get(config.model_type)
        return None if name is None else str(name)

    def __init__(self, weights: OpenableWeights, *, batch_size: int | str) -> None:
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
        lengths = [len(cloze.ids) for cloze in encoded]
        length = max(lengths, default=0)
        limit = min(self.tokenizer.model_max_length, most_positions(self.weights.config) or length)
        if limit // 2 < length <= limit:
            limit = self._true_limit(limit)
        if length > limit:
            text = clozes[lengths.index(length)].text
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


class BatchedModel(TransformersModel):
    """A model whose network reads sentences in batches; a kind says how it reads them."""

    @abstractmethod
    def _encode(self, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
        """Return the tokens of each cloze; raise for words that cannot be found."""

    @abstractmethod
    def _reader(self, network: Any, queries: Sequence[TokenQuery]) -> Reader:
        """Return how the sentences of the queries are read, at least one."""

    def _as_read(self, query: TokenQuery) -> TokenQuery:
        """Return the query with the tokens alone that the model reads."""
        return query

    def encode(self, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
        """Return the tokens of each cloze; raise for words or sentences that do not fit."""
        encoded = self._encode(clozes)
        self._check_lengths(clozes, encoded)
        return encoded

    def log_probabilities(
        self, queries: Sequence[TokenQuery], *, progress: Progress = silent
    ) -> Floats:
        """Return log P(token at its position | what the model reads there) of each query (n,).

        `progress` counts the sentences that were run; equal ones run once.
        """
        if not queries:
            return np.empty(0)
        import torch

        read = [self._as_read(query) for query in queries]
        answers: dict[TokenQuery, float] = {}
        with self.weights.running() as network, torch.inference_mode(), fast_products(self.device):
            reader = self._reader(network, read)
            waiting, done = reader.sentences, 0
            while waiting:
                rows, waiting = reader.rows(waiting), []
                while rows and not waiting:
                    batch = rows[: reader.batch_rows(rows)]
                    sentences = sum(len(row.sentences) for row in batch)
                    values: dict[TokenQuery, float] = {}
                    with suppress_out_of_memory():
                        values = run_batch(network, reader.batch(batch))
                    if not values:
                        self._batch_size.halve(sentences, len(batch) * len(batch[0]))
                        waiting = [sentence for row in rows for sentence in row.sentences]
                        continue
                    answers |= values
                    rows = rows[len(batch) :]
                    done += sentences
                    progress(done, len(reader.sentences))
        log_probability = np.array([answers[query] for query in read])
        if wrong := int((~np.isfinite(log_probability)).sum()):
            raise ModelError(
                f"the model gave {plural(wrong, 'probability', 'probabilities')} of zero or not a "
                "number; its weights are damaged or need the dtype float32"
            )
        return log_probability


kinds: Registry[type[ModelKind]] = Registry("kinds", "lmprobe.models.kinds")
"""The kinds by name; each is a class that says what it can read and how it answers."""


def default_templates(*names: str) -> str:
    """Return the template set for models of these kinds; "" if all have templates of their own.

    A set for a model that reads from left to right serves those that fill masks too.
    """
    classes = [kinds.get(name) for name in names]
    with_sets = [made for made in classes if made.default_templates]
    if classes and not with_sets:
        return ""
    return min(with_sets, key=lambda made: made.masks, default=ModelKind).default_templates


def template_set_of(
    model: LanguageModel,
    given: AnySet | None,
    attributes: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> AnySet:
    """Return the templates that a model is probed with: those given, or its own, or its kind's."""
    own = getattr(model, "template_set", None)
    if own is not None:
        table: ItemTable = own(given, attributes, tasks)
        return table
    return given or load_templates(default_templates(model.kind))


def kind_of(name: str, config: Any, wanted: str, architectures: Sequence[str] = ()) -> str:
    """Return the kind of the model that a configuration describes.

    `architectures` are the names of the model's class, by default those that its configuration
    gives; a type such as BERT can be of more than one kind, and they decide.
    """
    architectures = architectures or getattr(config, "architectures", None) or ()
    _check_sizes(name, config)
    classes = {kind: made for kind in kinds.names() if (made := kinds.get(kind).class_of(config))}
    if not classes:
        raise ModelError(
            _other_purpose(name, config)
            or f"{name} is a {config.model_type} model, which neither fills masks nor continues "
            "text; lmprobe probes masked models such as BERT and causal ones such as GPT-2"
        )
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
    values = {size: getattr(config, size, None) for size in _SIZES.split()}
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


def _other_purpose(name: str, config: Any) -> str:
    """Return why a model is no language model that has one probability of a token, or nothing."""
    if getattr(config, "is_encoder_decoder", False):
        return (
            f"{name} is an encoder-decoder model ({config.model_type}), in which neither masks "
            "nor the next token have one probability; lmprobe probes masked and causal models"
        )
    if hasattr(config, "vision_config") or hasattr(config, "image_size"):
        return (
            f"{name} is a vision model ({config.model_type}); lmprobe probes language models, "
            "and measures the predictions of others with `lmprobe amplify`"
        )
    return ""
