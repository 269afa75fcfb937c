"""What a model is to the rest of lmprobe: something that gives log-probabilities of tokens.

Scorers say which tokens of a sentence are asked for; a model answers. Nothing outside this
package asks for the name of a model's kind: `lmprobe.models.kind` says what it can do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from lmprobe.core.tally import Floats
from lmprobe.io.progress import Progress, silent
from lmprobe.models.cloze import Cloze, EncodedCloze, TokenQuery
from lmprobe.models.encoding import WordTokens

Place = Literal["bundled", "folder", "file", "hub", "memory"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a model was found, and what was chosen to load it; its answers do not depend on it."""

    place: Place
    kind: str = "auto"
    """The kind that was asked for; what it turned out to be is the model's `kind`."""
    tokenizer: str | None = None
    """The folder or hub id of the tokenizer, where it is not the model's own."""


class LanguageModel(Protocol):
    """A model ready to be probed; `load_model` makes the ones that lmprobe has."""

    @property
    def name(self) -> str:
        """What the user called it."""

    @property
    def kind(self) -> str:
        """The name of its kind: "masked" fills masks, "causal" reads from left to right."""

    @property
    def revision(self) -> str | None:
        """The commit on the hub, for a model that came from there."""

    @property
    def origin(self) -> Origin:
        """Where it was found, and what was chosen to load it."""

    @property
    def content_hash(self) -> str:
        """The hash of all that decides its answers: weights, configuration, tokenizer."""

    @property
    def device(self) -> str:
        """Where it runs, such as "cpu" or "cuda:0"."""

    @property
    def dtype(self) -> str:
        """The precision it runs in, such as "float32"."""

    @property
    def tokenizer_name(self) -> str:
        """The class of its tokenizer."""

    @property
    def batch_policy(self) -> str:
        """How many sentences run together: "auto" or a number."""

    @property
    def threads(self) -> int:
        """How many threads its answers are computed with."""

    @property
    def word_tokens(self) -> WordTokens:
        """What is known of the tokens of its vocabulary."""

    def remember(self) -> None:
        """Keep what is needed to use its answers another time without opening it."""

    def encode(self, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
        """Return the tokens of each cloze; raise for words or sentences that do not fit."""

    def log_probabilities(
        self, queries: Sequence[TokenQuery], *, progress: Progress = silent
    ) -> Floats:
        """Return log P(token at its position | what the model reads there) of each query (n,)."""
