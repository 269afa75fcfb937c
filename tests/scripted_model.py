"""A language model that needs no weights: made-up answers that depend on all that it reads."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from lmprobe.io.work import Progress, silent
from lmprobe.models import Cloze, EncodedCloze, TokenQuery
from lmprobe.models.language_model import Origin, Span, WordTokens

MASK = 1
_SPECIAL = ("<s>", "[MASK]")
_PIECE = re.compile(r"\w+|[^\w\s]")


class ScriptedModel:
    """Words of more than `longest` letters are split in two; every new piece gets the next id."""

    name = "scripted"
    revision: str | None = None
    origin = Origin("memory")
    content_hash = "scripted"
    dtype = "float32"
    tokenizer_name = "none"
    batch_policy = "auto"

    def __init__(
        self, vocabulary: Sequence[str], kind: str = "masked", device: str = "cpu", longest: int = 7
    ) -> None:
        """Know these words; `asked` counts the queries, `remembered` the calls."""
        self.kind, self.device, self.longest, self.threads = kind, device, longest, 1
        self.asked = self.remembered = 0
        self.pieces = list(_SPECIAL)
        for word in vocabulary:
            self._ids(word)

    def _ids(self, word: str) -> list[int]:
        parts = [word[: self.longest], *([f"##{rest}"] if (rest := word[self.longest :]) else [])]
        for part in parts:
            if part not in self.pieces:
                self.pieces.append(part)
        return [self.pieces.index(part) for part in parts]

    @property
    def word_tokens(self) -> WordTokens:
        """What is known of the tokens."""
        begins = [not piece.startswith("##") for piece in self.pieces]
        letters = [piece.removeprefix("##").isalpha() for piece in self.pieces]
        return WordTokens(np.array(begins), np.array(letters))

    def remember(self) -> None:
        """Count the call."""
        self.remembered += 1

    def encode(self, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
        """Return the tokens of each cloze."""
        return [self._encoded(cloze) for cloze in clozes]

    def _encoded(self, cloze: Cloze) -> EncodedCloze:
        ids, places, words = [0], [(0, 0)], []
        for match in _PIECE.finditer(cloze.text):
            result = self._ids(match.group().lower())
            words.append((len(ids), len(ids) + len(result)))
            ids += result
            places += [match.span()] * len(result)

        def tokens(start: int, end: int) -> Span:
            inside = [n for n, (left, right) in enumerate(places) if left < end and start < right]
            return inside[0], inside[-1] + 1

        for span in cloze.hidden:
            for place in range(*tokens(*span)):
                ids[place] = MASK
        word = tokens(cloze.start, cloze.end)
        lead = word if cloze.article is None else tokens(*cloze.article)
        differing: list[Span] = []
        for start, end in sorted(tokens(*span) for span in cloze.differing):
            if differing and differing[-1][1] >= start:
                start = differing.pop()[0]
            differing.append((start, end))
        phrase = (lead[0], word[1])
        return EncodedCloze(tuple(ids), word, tuple(differing), phrase, tuple(words), MASK)

    def log_probabilities(
        self, queries: Sequence[TokenQuery], *, progress: Progress = silent
    ) -> np.ndarray:
        """Return the made-up answers, and report the progress half way and at the end."""
        self.asked += len(queries)
        progress(1, 2)
        progress(2, 2)
        return np.array([self.answer(query) for query in queries])

    def answer(self, query: TokenQuery) -> float:
        """Return a number between -6 and -1 that depends on all that the model may read."""
        whole = self.kind == "masked"
        read = query.ids if whole else query.ids[: query.position]
        text = " ".join(self.pieces[item] for item in read)
        queried = self.pieces[query.token] if query.token >= 0 else "any word"
        digest = hashlib.sha256(f"{text}|{query.position}|{queried}".encode()).digest()
        return -1 - 5 * int.from_bytes(digest[:4], "big") / 2**32
