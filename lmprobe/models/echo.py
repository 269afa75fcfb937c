"""What a server makes of a sentence: its tokens, where they are written, their log-probabilities.

A prompt that is echoed with log-probabilities is the likelihood of a text. Not every server that
answers with success echoes, and not every echo is right, so a server is checked first: what it
echoes must be what it says when it generates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median
from typing import Any

from lmprobe.errors import ModelError, shortened
from lmprobe.io.work import Progress, silent
from lmprobe.models.language_model import Span
from lmprobe.models.server import Server

SENTENCES = (
    "The nurse said that she would be late because the bus did not come.",
    "For many years he worked as a teacher in a small school near the river.",
    "On Monday morning the old man went to the market and bought bread and milk.",
    "The king and the queen lived in a castle on the other side of the mountain.",
)
"""What a server is checked with: everyday words, so that small models know them."""

# How many of the likeliest tokens every server gives: OpenAI's limit.
_TOP = 5

# Of log-probabilities. In bfloat16 two readings of a token differ by a few hundredths, rarely by
# more than a tenth; in float32 by 1e-4. Wrong ones differ by several units.
_MOST_DIFFERENCE, _MEDIAN_DIFFERENCE, _FEWEST_COMPARISONS = 0.3, 0.05, 8


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence as a server reads it: after its beginning-of-text token, or after a prompt."""

    sentence: str
    tokens: tuple[str, ...]
    """As the server writes them, those before the sentence too."""
    places: tuple[Span | None, ...]
    """Character offsets without white space; None before the sentence."""
    log_probability: tuple[float, ...]
    """Of each token after those before it; NaN for the first."""

    @property
    def first(self) -> int:
        """The number of tokens before the sentence."""
        return self.places.count(None)

    @property
    def pieces(self) -> tuple[str, ...]:
        """What each token adds to the sentence, white space included; nothing before it."""
        ends = [0, *(0 if place is None else place[1] for place in self.places)]
        return tuple(self.sentence[max(ends[:n]) : ends[n]] for n in range(1, len(ends)))


def read_echo(
    sentence: str, tokens: Sequence[str], log_probability: Sequence[float | None], prompt: str = ""
) -> Reading | None:
    """Return the reading of a sentence after a prompt; None unless the tokens write both.

    The server may have put tokens before them.

    >>> read_echo("She sat.", ["<s>", "She", " sat", "."], [None, -1.5, -2.0, -0.5]).pieces
    ('', 'She', ' sat', '.')
    """
    if None in log_probability[1:]:
        return None
    values = tuple(math.nan if value is None else value for value in log_probability)
    start = len(prompt)
    for first in range(len(tokens)):
        places = _places(tokens[first:], prompt + sentence)
        # A special token may be written as nothing.
        if places is None or (first == 0 and not tokens[0]):
            continue
        before = first + sum(right <= start for _, right in places) if prompt else first
        blank = [text[-1:].isspace() for text in (prompt, tokens[before - 1])]
        if blank == [True, False] and tokens[before][:1].isspace():
            return None  # A token of the sentence has the white space at the end of the prompt.
        inside = [(left - start, right - start) for left, right in places[before - first :]]
        if inside[0][0] < 0:
            return None
        return Reading(sentence, tuple(tokens), (*[None] * before, *inside), values)
    return None


def _places(tokens: Sequence[str], text: str) -> list[Span] | None:
    """Return where the tokens are written, if one after the other they write the whole text.

    Some servers leave out the space that a token begins with, and they write the parts of a
    letter of several bytes as nothing, or as marks of what cannot be shown.
    """
    # Parts in a row have one place.
    groups = [
        group
        for part, same in groupby(tokens, key=_is_part)
        for group in ([list(same)] if part else [[token] for token in same])
    ]
    pattern = "".join(
        # No part of a letter is ASCII.
        r"\s*([^\x00-\x7f]*?)" if _is_part(group[0]) else rf"\s*({re.escape(group[0].strip())})"
        for group in groups
    )
    match = re.fullmatch(rf"{pattern}\s*", text, re.IGNORECASE | re.DOTALL)
    if match is None:
        return None
    places: list[Span] = []
    for group, span in reversed(list(zip(groups, match.regs[1:], strict=True))):
        # Those that are nothing belong to the letter after them.
        nothing = _is_part(group[0]) and span[0] == span[1] and places
        places += [places[-1] if nothing else span] * len(group)
    return places[::-1]


def _is_part(token: str) -> bool:
    return not token or "\ufffd" in token


@dataclass(frozen=True, slots=True)
class Completion:
    """What a server answers to a text: the tokens that it echoes and generates."""

    text: str
    tokens: list[str]
    log_probability: list[float | None]
    top: dict[str, float]
    """The likeliest tokens at the last place."""

    def reading(self, prompt: str, sentence: str) -> Reading | None:
        """Return the reading of a sentence after a prompt; None if the tokens do not write it."""
        tokens, values = self.tokens, self.log_probability
        # As a rule the last token was generated.
        without = read_echo(sentence, tokens[:-1], values[:-1], prompt)
        return without or read_echo(sentence, tokens, values, prompt)


@dataclass(frozen=True, slots=True)
class Completions:
    """The completions of one model of a server, of what is read before a sentence and of it."""

    server: Server
    model: str

    def readings(
        self, sentences: Sequence[tuple[str, str]], progress: Progress = silent
    ) -> list[Reading | None]:
        """Return the readings of sentences; None where their tokens do not write them."""
        choices = self.complete(sentences, progress, echo=True, logprobs=1)
        return [choice.reading(*each) for choice, each in zip(choices, sentences, strict=True)]

    def read(
        self, sentences: Sequence[tuple[str, str]], progress: Progress = silent
    ) -> list[Reading]:
        """Return the readings of sentences; raise if their tokens do not write one."""
        readings = self.readings(sentences, progress)
        if None in readings:
            raise ModelError(
                f"{self.server.url}: the tokens that the server echoes do not write the sentence "
                f"{sentences[readings.index(None)][1]!r}; its tokenizer does not know all letters, "
                "or changes them"
            )
        return [reading for reading in readings if reading is not None]

    def complete(
        self, sentences: Sequence[tuple[str, str]], progress: Progress = silent, **options: Any
    ) -> list[Completion]:
        """Return what the server adds to texts: one token each, unless the options say else."""
        options = {"model": self.model, "max_tokens": 1, "temperature": 0, **options}
        bodies = [
            # A prompt has its special tokens written out, and more may not be added.
            options | {"prompt": prompt + text} | ({"add_special_tokens": False} if prompt else {})
            for prompt, text in sentences
        ]
        return list(map(self._choice, self.server.ask_all("completions", bodies, progress)))

    def _choice(self, answer: Mapping[str, Any]) -> Completion:
        try:
            (choice,) = answer["choices"]
            parts = choice.get("logprobs") or {}
            values = parts.get("token_logprobs") or ()
            likeliest: dict[Any, Any] = (parts.get("top_logprobs") or ({},))[-1] or {}
            return Completion(
                str(choice.get("text")),
                list(map(str, parts.get("tokens") or ())),
                [None if value is None else float(value) for value in values],
                {str(token): float(value) for token, value in likeliest.items()},
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ModelError(
                f"{self.server.url}: the server's answer is not as the completions of OpenAI are: "
                f"{shortened(answer, 200)}"
            ) from None


def check_echo(completions: Completions, prompt: str) -> list[Reading]:
    """Return the readings of the known sentences; raise if they are not what is generated.

    `prompt` is what is written before every sentence.
    """
    readings = []
    # One at a time, so that the numbers are the same every time.
    for sentence in SENTENCES:
        (choice,) = completions.complete([(prompt, sentence)], echo=True, logprobs=1)
        reading = choice.reading(prompt, sentence)
        if reading is None:
            raise _refused(
                completions,
                f"asked to echo {sentence!r} with log-probabilities, it answered "
                f"{shortened(choice.text, 100)!r} with those of {len(choice.tokens)} tokens",
            )
        readings.append(reading)
    comparisons = list(_comparisons(completions, prompt, readings))
    differences = [abs(echoed - generated) for _, _, echoed, generated in comparisons]
    if len(comparisons) < _FEWEST_COMPARISONS:
        raise _refused(
            completions,
            "it gives too few log-probabilities of the tokens that it generates "
            f"({len(comparisons)}) to check those that it echoes",
        )
    if max(differences) > _MOST_DIFFERENCE or median(differences) > _MEDIAN_DIFFERENCE:
        before, token, echoed, generated = comparisons[differences.index(max(differences))]
        wrong = sum(difference > _MEDIAN_DIFFERENCE for difference in differences)
        raise _refused(
            completions,
            f"after {before!r} it gives {token!r} the log-probability {generated:.2f} when it "
            f"generates and {echoed:.2f} when it echoes ({wrong} of {len(comparisons)} differ)",
        )
    return readings


def _refused(completions: Completions, reason: str) -> ModelError:
    return ModelError(
        f"{completions.server.url}: the log-probabilities of this server cannot be used: {reason}. "
        "A server that echoes prompts, such as vLLM's, would do; or give the weights: a folder, a "
        "hub id or a .gguf file, which lmprobe loads itself"
    )


def _comparisons(
    completions: Completions, prompt: str, known: Sequence[Reading]
) -> Iterator[tuple[str, str, float, float]]:
    """Yield a beginning, a token after it, and its log-probability as echoed and as generated.

    A known sentence is generated from each of its beginnings. Its next token is compared where it
    is among the likeliest; else it may not be likelier than these. So that no server is accepted
    because nothing could be compared, the likeliest token after each beginning is echoed too.
    """
    beginnings = {"": (known[0], known[0].first)} if prompt else {}
    for reading in known:
        for number, (before, after) in enumerate(pairwise(reading.places), start=1):
            if before and after and before[1] < after[0]:
                beginnings[reading.sentence[: before[1]]] = reading, number
    generated = completions.complete([(prompt, text) for text in beginnings], logprobs=_TOP)
    longer: dict[str, tuple[str, str, float]] = {}
    for (text, (reading, number)), choice in zip(beginnings.items(), generated, strict=True):
        token, echoed, top = reading.tokens[number], reading.log_probability[number], choice.top
        if token in top:
            yield text, token, echoed, top[token]
        elif len(top) > 1 and echoed > min(top.values()):
            yield text, token, echoed, min(top.values())
        likely = max(top, key=top.__getitem__, default="")
        if likely.strip().isalpha():
            longer[f"{text} {likely.strip()}".strip()] = text, likely, top[likely]
    echoes = completions.readings([(prompt, text) for text in longer])
    for (text, token, value), echo in zip(longer.values(), echoes, strict=True):
        reading, number = beginnings[text]
        if echo is not None and echo.tokens == (*reading.tokens[:number], token):
            yield text, token, echo.log_probability[-1], value
