"""A causal model behind a server: the likelihoods of sentences over HTTP.

The tokens of a sentence and their log-probabilities come in one answer, the echo of the sentence.
So the sentences of a chunk are read first, and queries are answered from what was read; only
random words need further requests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lmprobe.errors import Argument, InputError, LmprobeError, ModelError, did_you_mean
from lmprobe.io.files import cache_folder, read_sealed, write_sealed
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats
from lmprobe.models.echo import SENTENCES, Completions, Reading, check_echo
from lmprobe.models.forward import BatchSize
from lmprobe.models.kind import kinds
from lmprobe.models.kinds.causal import CausalModel
from lmprobe.models.language_model import (
    TEMPLATE_OPTIONS,
    Cloze,
    EncodedCloze,
    Origin,
    TokenizedText,
    TokenQuery,
    WordTokens,
    chat_messages,
    encode_framed,
)
from lmprobe.models.server import Server, ServerRefusal, server_address
from lmprobe.results import Note, NoteKind

SERVED = "served"

# Requests at once: a server has enough to do.
_PARALLEL = 16

# Random words: known sentences are continued at the highest temperature that servers take, and
# whatever their defaults are, any token may be drawn. The first tokens still fit the sentence.
_ANY_TOKEN: dict[str, Any] = {
    **{"max_tokens": 32, "temperature": 2, "seed": 0, "logprobs": 1, "ignore_eos": True},
    **{"top_p": 1, "top_k": -1, "min_p": 0, "repetition_penalty": 1},
}
_FITTING, _MOST_WORDS = 4, 128

# Of the log-probabilities of the known sentences. The same server repeats them, but for rounding;
# other weights, or another quantisation of them, differ by more in one of the sixty tokens.
_SAME_MODEL = 0.01

# vLLM's number for a probability of zero, which JSON cannot write.
_ZERO = -9999.0

_Sentence = tuple[str, str]
"""What is read before a sentence, and the sentence."""


@dataclass(frozen=True, slots=True)
class ServedOrigin(Origin):
    """Where a served model was found."""

    url: str = ""
    served_as: str = ""
    """The name that the server has for it."""
    fingerprint: str = ""
    """Of the answers that it was checked with."""
    bos: str | None = None


@kinds.register(SERVED)
class ServedModel(CausalModel):
    """A causal model behind the URL of a server such as vLLM's; `load_model` makes it."""

    kind = SERVED
    chunk_sentences = 128
    packages = ("numpy", "scipy")
    caveats = (
        Note(
            NoteKind.MASS,
            "a server does not give whole distributions: the mass of a candidate is that of all "
            "texts which begin with its letters",
        ),
    )

    @classmethod
    def class_of(cls, config: Any) -> str | None:
        """Return None: no configuration describes it."""
        return None

    def __init__(
        self,
        url: str,
        *,
        served_model: str | None = None,
        bos: str | None = None,
        batch_size: int | str = "auto",
    ) -> None:
        """Check the server, and what it does with known sentences."""
        address, named = server_address(url)
        if named and served_model and named != served_model:
            raise InputError(Argument("served_model"), f' is not the "{named}" of the URL')
        self.batch_policy = BatchSize(batch_size, "cpu").policy
        parallel = _PARALLEL if self.batch_policy == "auto" else int(self.batch_policy)
        self._server = Server(address, parallel)
        entry = _served_entry(self._server, served_model or named)
        self._model, self._bos = str(entry["id"]), bos or ""
        self._completions = Completions(self._server, self._model)
        self._known = check_echo(self._completions, self._bos)
        if bos and self._known[0].first != 1:
            before = self._known[0].tokens[: self._known[0].first]
            raise InputError(
                Argument("bos", bos),
                f" is not the token with which this server begins a text: it reads {before}",
            )
        self.name, self.revision, self.folder = f"{address}#{self._model}", None, None
        facts = [address, self._model, entry.get("root"), entry.get("max_model_len"), bos]
        fingerprint = _fingerprint(facts, self._known)
        self.content_hash = _hash([*facts, fingerprint])
        self.device, self.dtype, self.tokenizer_name = "server", "of the server", "of the server"
        self.origin = ServedOrigin("server", "auto", None, address, self._model, fingerprint, bos)
        self._readings: dict[tuple[int, ...], tuple[str, Reading]] = {}
        # Numbers of tokens, ours, because a server gives texts: of those before a sentence by
        # what is written there, of the others by what they add to it.
        self._ids: dict[tuple[str, str], int] = {}

    @property
    def threads(self) -> int:
        """Unknown: 0."""
        return 0

    def remember(self) -> None:
        """Keep nothing: a server is checked every time."""

    def chat_prompt(self, turn: str, system: str | None = None) -> str:
        """Return what the model reads before its answer, as the server's chat template writes it.

        vLLM gives the tokens of the turns (/tokenize), and then their text (/detokenize).
        """
        turns = {"messages": chat_messages(turn, system), "add_generation_prompt": True}
        body: dict[str, Any] = {"model": self._model}
        try:
            options = {"chat_template_kwargs": TEMPLATE_OPTIONS}
            answer = self._server.ask("/tokenize", body | turns | options)
            answer = self._server.ask("/detokenize", body | {"tokens": answer.get("tokens")})
        except ServerRefusal as problem:
            raise ModelError(
                problem, "; without /tokenize of vLLM, leave out the turns (", Argument("chat"), ")"
            ) from None
        return str(answer.get("prompt") or "")

    def encode(self, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
        """Return the tokens of each cloze, which come with the log-probabilities of a sentence."""
        sentences = [(cloze.prompt or self._bos, cloze.text) for cloze in clozes]
        different = list(dict.fromkeys(sentences))
        readings = self._completions.read(different)
        texts: dict[_Sentence, tuple[TokenizedText, int]] = {}
        for (prompt, text), reading in zip(different, readings, strict=True):
            ids = tuple(
                self._id(f"{number} of {prompt}" if place is None else "", piece)
                for number, (place, piece) in enumerate(
                    zip(reading.places, reading.pieces, strict=True)
                )
            )
            self._readings[ids] = prompt, reading
            texts[prompt, text] = TokenizedText(text, ids, (), reading.places, ()), reading.first
        return encode_framed(
            [texts[sentence] for sentence in sentences],
            clozes,
            "the server puts no beginning-of-text token before a sentence",
            "write that of the model (",
            Argument("bos", "<s>"),
            "), or ",
        )

    def log_probabilities(
        self, queries: Sequence[TokenQuery], *, progress: Progress = silent
    ) -> Floats:
        """Return log P(token at its position | what the model reads there) of each query (n,).

        Tokens of sentences were read; other words are read after the same beginning.
        """
        pieces = list(self._ids)
        others: dict[TokenQuery, _Sentence] = {}
        for query in queries:
            if query.token != query.ids[query.position]:
                prompt, reading = self._readings[query.ids]
                beginning = "".join(reading.pieces[: query.position])
                others[query] = prompt, beginning + pieces[query.token][1]
        different = list(dict.fromkeys(others.values()))
        after = dict(zip(different, self._completions.read(different, progress), strict=True))
        values = []
        for query in queries:
            reading, place = self._readings[query.ids][1], query.position
            longer = after[others[query]] if query in others else reading
            values.append(longer.log_probability[place])
            if longer.tokens[:place] != reading.tokens[:place]:
                # The word has joined the token before it: P(both) / P(the beginning).
                before = sum(reading.log_probability[1:place])
                values[-1] = sum(longer.log_probability[1:]) - before
        if not all(value > _ZERO for value in values):
            raise ModelError(f"{self.name}: a token of a sentence has a probability of zero")
        # What was read to encode the sentences counts as well.
        progress(1, 1)
        return np.array(values, dtype=np.float64)

    @property
    def word_tokens(self) -> WordTokens:
        """What is known of its tokens: random words have letters; nothing if it gives none."""
        words = self._random_words
        pieces = [piece for _, piece in self._ids] if words else []
        begins = [not piece[:1].isalnum() for piece in pieces]
        letters = [piece in words for piece in pieces]
        return WordTokens(np.array(begins, dtype=bool), np.array(letters, dtype=bool))

    @cached_property
    def _random_words(self) -> set[str]:
        """Words that are one token at the beginning of a text, and after a space."""
        beginnings = [
            (self._bos, reading.sentence[: place[1]])
            for reading in self._known
            for place in reading.places[reading.first : -1 : 3]
            if place is not None
        ]
        try:
            drawn = self._completions.complete(beginnings, **_ANY_TOKEN)
        except ServerRefusal:
            return set()
        tokens = {token.strip() for choice in drawn for token in choice.tokens[_FITTING:]}
        words = sorted(filter(str.isalpha, tokens))
        words = np.random.default_rng(0).permutation(words)[:_MOST_WORDS].tolist()
        first = SENTENCES[0].split()[0]
        alone = self._completions.readings([(self._bos, word) for word in words])
        later = self._completions.readings([(self._bos, f"{first} {word}") for word in words])
        single = set()
        for word, a, b in zip(words, alone, later, strict=True):
            if a and b and (len(a.places) - a.first, len(b.places) - b.first) == (1, 2):
                single |= {word, f" {word}"}
        for word in sorted(single):
            self._id("", word)
        return single

    def _id(self, before: str, piece: str) -> int:
        return self._ids.setdefault((before, piece), len(self._ids))


def _served_entry(server: Server, wanted: str) -> dict[str, Any]:
    """Return what the server says of the model with a name, or of its only one."""
    # Whoever names a server that is down should hear it at once.
    listed = server.ask("models", attempts=1).get("data")
    entries = {
        str(entry.get("id")): entry
        for entry in (listed if isinstance(listed, list) else ())
        if isinstance(entry, dict)
    }
    if not wanted and len(entries) == 1:
        return next(iter(entries.values()))
    if wanted not in entries:
        lacking = f'no model "{wanted}"' if wanted else f"{len(entries)} models, so name one"
        raise ModelError(
            f"{server.url}: the server has {lacking} (",
            Argument("served_model"),
            f"); {did_you_mean(wanted, entries)}",
        )
    return entries[wanted]


def _hash(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _fingerprint(facts: Sequence[Any], known: Sequence[Reading]) -> str:
    """Return a hash that stays the same as long as the answers to the known sentences do.

    Answers differ by rounding, so those of before are kept, and compared.
    """
    numbers = [value for reading in known for value in reading.log_probability[1:]]
    name = _hash([*facts, SENTENCES, [reading.tokens for reading in known]])
    path = cache_folder() / "servers" / f"{name}.json"
    before: list[list[float]] = (read_sealed(path, name) or {}).get("answers", [])
    for earlier in before:
        if max(abs(a - b) for a, b in zip(earlier, numbers, strict=True)) <= _SAME_MODEL:
            return _hash(earlier)
    # Where nothing can be written, rounding makes it another model next time.
    with suppress(OSError, LmprobeError):
        write_sealed(path, {"answers": [*before, numbers]}, name)
    return _hash(numbers)
