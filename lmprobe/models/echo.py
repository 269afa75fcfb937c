"""What a server makes of a sentence: its tokens, where they are written, their log-probabilities.

A prompt that is echoed with log-probabilities is the likelihood of a text. Not every server that
answers with success echoes, and not every echo is right, so a server is checked first: what it
echoes must be what it says when it generates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from lmprobe.errors import ModelError, shortened
from lmprobe.io.work import Progress, silent
from lmprobe.models.language_model import Span
from lmprobe.models.server import Server, ServerRefusal

SENTENCES = (
    "The nurse said that she would be late because the bus did not come.",
    "For many years he worked as a teacher in a small school near the river.",
    "On Monday morning the old man went to the market and bought bread and milk.",
    "The king and the queen lived in a castle on the other side of the mountain.",
)
"""What a server is checked with: everyday words, so that small models know them."""

# How many of the likeliest tokens a server may be asked for: vLLM's limit, OpenAI's, the least.
_TOP = (20, 5, 1)

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
    lower = text.lower() if len(text.lower()) == len(text) else text
    places: list[Span] = []
    end = parts = 0
    for token in tokens:
        word = token.strip().lower()
        if not token or "\ufffd" in token:
            parts += 1
            continue
        if not word:
            end += len(token) * text.startswith(token, end)
        start = end + len(text[end:]) - len(text[end:].lstrip()) if word else end
        start = lower.find(word, start) if parts else start
        if start < 0 or not lower.startswith(word, start):
            return None
        span = start, start + len(word)
        places += [(end, start) if text[end:start].strip() else span] * parts + [span]
        end, parts = span[1], 0
    places += [(end, len(text))] * parts
    return places if parts or not text[end:].strip() else None


@dataclass(frozen=True, slots=True)
class _Choice:
    text: str
    tokens: list[str]
    log_probability: list[float | None]
    top: dict[str, float]
    """The likeliest tokens at the last place."""


class Completions:
    """The completions of one model of a server.

    A text is given in two parts, what is read before a sentence and the sentence.
    """

    def __init__(self, server: Server, model: str) -> None:
        """Ask for one prompt in a request, until more are known to work."""
        self.server, self.model, self.prompts = server, model, 1

    def read(
        self, sentences: Sequence[tuple[str, str]], *, progress: Progress = silent
    ) -> list[Reading | None]:
        """Return the readings of sentences; None where their tokens do not write them."""
        choices = self.complete(sentences, progress=progress, echo=True, logprobs=1)
        readings = []
        for (prompt, text), choice in zip(sentences, choices, strict=True):
            tokens, values = choice.tokens, choice.log_probability
            # As a rule the last token was generated.
            without = read_echo(text, tokens[:-1], values[:-1], prompt)
            readings.append(without or read_echo(text, tokens, values, prompt))
        return readings

    def next_tokens(self, sentences: Sequence[tuple[str, str]]) -> list[dict[str, float]]:
        """Return the likeliest tokens after each beginning, as many as the server gives."""
        for most in _TOP[:-1]:
            try:
                return [choice.top for choice in self.complete(sentences, logprobs=most)]
            except ServerRefusal:
                continue
        return [choice.top for choice in self.complete(sentences, logprobs=_TOP[-1])]

    def complete(
        self, sentences: Sequence[tuple[str, str]], *, progress: Progress = silent, **options: Any
    ) -> list[_Choice]:
        """Return what the server adds to texts: one token each, unless the options say else."""
        groups = [
            same[start : start + self.prompts]
            # A prompt has its special tokens written out, and more may not be added.
            for same in ([s for s in sentences if not s[0]], [s for s in sentences if s[0]])
            for start in range(0, len(same), self.prompts)
        ]
        bodies = []
        for group in groups:
            prompts = [prompt + text for prompt, text in group]
            body = {"model": self.model, "max_tokens": 1, "temperature": 0, **options}
            body["prompt"] = prompts if self.prompts > 1 else prompts[0]
            bodies.append(body | ({"add_special_tokens": False} if group[0][0] else {}))

        done: list[tuple[str, str]] = []

        def count(number: int) -> None:
            done.extend(groups[number])
            progress(len(done), len(sentences))

        received = self.server.ask_all("completions", bodies, count)
        answers: dict[tuple[str, str], _Choice] = {}
        for group, answer in zip(groups, received, strict=True):
            answers.update(zip(group, self._choices(answer, len(group)), strict=True))
        return [answers[sentence] for sentence in sentences]

    def _choices(self, answer: Mapping[str, Any], number: int) -> list[_Choice]:
        choices = []
        try:
            for choice in sorted(answer["choices"], key=lambda choice: choice.get("index", 0)):
                parts = choice.get("logprobs") or {}
                values = parts.get("token_logprobs") or ()
                numbers = [None if value is None else float(value) for value in values]
                likeliest: dict[Any, Any] = (parts.get("top_logprobs") or ({},))[-1] or {}
                tokens = list(map(str, parts.get("tokens") or ()))
                top = {str(token): float(value) for token, value in likeliest.items()}
                choices.append(_Choice(str(choice.get("text")), tokens, numbers, top))
        except (AttributeError, KeyError, TypeError, ValueError):
            choices = []
        if len(choices) != number:
            raise ModelError(
                f"{self.server.url}: the server's answer to {number} prompts is not as the "
                f"completions of OpenAI are: {shortened(answer, 200)}"
            )
        return choices


def check_echo(completions: Completions, prompt: str, prompts: int) -> list[Reading]:
    """Return the readings of the known sentences; raise if they are not what is generated.

    `prompt` is what is written before every sentence. `prompts` is how many prompts to send in one
    request from now on, if the server takes several.
    """
    sentences = [(prompt, sentence) for sentence in SENTENCES]
    known = []
    # One at a time, so that the numbers are the same every time.
    for sentence in sentences:
        (reading,) = completions.read([sentence])
        if reading is None:
            (choice,) = completions.complete([sentence], echo=True, logprobs=1)
            raise _refused(
                completions,
                f"asked to echo {sentence[1]!r} with log-probabilities, it answered "
                f"{shortened(choice.text, 100)!r} with those of {len(choice.tokens)} tokens",
            )
        known.append(reading)
    completions.prompts = prompts
    try:
        together = completions.read(sentences)
    except ModelError:
        together = []
    if [reading and reading.tokens for reading in together] != [one.tokens for one in known]:
        completions.prompts = 1
    comparisons = list(_comparisons(completions, prompt, known))
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
    return known


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
    because nothing could be compared, the likeliest tokens after some beginnings are echoed too.
    """
    beginnings = {"": (known[0], known[0].first)} if prompt else {}
    for reading in known:
        for number, (before, after) in enumerate(pairwise(reading.places), start=1):
            if before and after and before[1] < after[0]:
                beginnings[reading.sentence[: before[1]]] = reading, number
    generated = completions.next_tokens([(prompt, text) for text in beginnings])
    longer: dict[str, tuple[str, str, float]] = {}
    for (text, (reading, number)), top in zip(beginnings.items(), generated, strict=True):
        token, echoed = reading.tokens[number], reading.log_probability[number]
        if token in top:
            yield text, token, echoed, top[token]
        elif len(top) > 1 and echoed > min(top.values()):
            yield text, token, echoed, min(top.values())
        for likely in sorted(top, key=lambda token: -top[token])[:1]:
            if likely.strip().isalpha():
                longer[f"{text} {likely.strip()}".strip()] = text, likely, top[likely]
    read = completions.read([(prompt, text) for text in longer])
    for (text, token, value), whole in zip(longer.values(), read, strict=True):
        reading, number = beginnings[text]
        if whole is not None and whole.tokens == (*reading.tokens[:number], token):
            yield text, token, whole.log_probability[-1], value
