"""What an interval establishes: a closed set of verdicts, and their words in one place."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lmprobe.results.interval import Interval


class Tone(StrEnum):
    """Which way a verdict points; renderers choose colours by it, never by the words."""

    PLUS = "plus"
    MINUS = "minus"
    EVEN = "even"
    WARNING = "warning"


class Verdict(StrEnum):
    """What an interval establishes; the values are the names used in JSON."""

    AMPLIFIES = "amplifies"
    REDUCES = "reduces"
    FOLLOWS = "follows"
    OPPOSES = "opposes"
    EQUIVALENT = "equivalent"
    DIFFERS = "differs"
    HIGHER = "higher"
    LOWER = "lower"
    LEAKS = "leaks"
    LEAKS_MORE = "leaks_more"
    LEAKS_LESS = "leaks_less"
    UNEVEN = "uneven"
    UNDECIDED = "undecided"
    UNINFORMED = "uninformed"

    @classmethod
    def _missing_(cls, value: object) -> Verdict | None:
        """Read the names that comparisons had in earlier versions."""
        return _EARLIER.get(str(value))

    @property
    def words(self) -> VerdictWords:
        """The words for the verdict."""
        return _WORDS[self]

    @property
    def label(self) -> str:
        """The verdict in two or three words, for a table."""
        return self.words.label

    @property
    def tone(self) -> Tone:
        """The sign of the verdict, for colours."""
        return self.words.tone

    @property
    def decisive(self) -> bool:
        """Whether the verdict is a claim, not a lack of evidence."""
        return self.tone in (Tone.PLUS, Tone.MINUS) or self is Verdict.EQUIVALENT


@dataclass(frozen=True, slots=True)
class VerdictWords:
    """The words of one verdict: `label` for a cell, `predicate` for a sentence about `{base}`."""

    label: str
    predicate: str
    tone: Tone


_WORDS = {
    Verdict.AMPLIFIES: VerdictWords("amplifies", "exaggerates the links in {base}", Tone.PLUS),
    Verdict.REDUCES: VerdictWords("reduces", "weakens the links in {base}", Tone.MINUS),
    Verdict.FOLLOWS: VerdictWords("follows", "follows the lean given for {base}", Tone.PLUS),
    Verdict.OPPOSES: VerdictWords("opposes", "goes against the lean given for {base}", Tone.MINUS),
    Verdict.EQUIVALENT: VerdictWords(
        "equivalent", "differs from {base} by less than the margin", Tone.EVEN
    ),
    Verdict.DIFFERS: VerdictWords("differs", "differs from {base}", Tone.PLUS),
    Verdict.HIGHER: VerdictWords("higher", "is higher than {base}", Tone.PLUS),
    Verdict.LOWER: VerdictWords("lower", "is lower than {base}", Tone.MINUS),
    Verdict.LEAKS: VerdictWords("leaks", "reveals the group better than chance", Tone.PLUS),
    Verdict.LEAKS_MORE: VerdictWords("leaks more", "reveals more than the labels", Tone.PLUS),
    Verdict.LEAKS_LESS: VerdictWords("leaks less", "reveals less than the labels", Tone.MINUS),
    Verdict.UNEVEN: VerdictWords("uneven", "treats the groups unevenly", Tone.PLUS),
    Verdict.UNDECIDED: VerdictWords(
        "not enough evidence",
        "shows no clear difference from {base}",
        Tone.EVEN,
    ),
    Verdict.UNINFORMED: VerdictWords(
        "uninformed",
        "gives the candidates too little probability to compare them",
        Tone.WARNING,
    ),
}


_EARLIER = {
    "amplifies_more": Verdict.HIGHER,
    "amplifies_less": Verdict.LOWER,
    "follows_more": Verdict.HIGHER,
    "follows_less": Verdict.LOWER,
}


class Obstacle(StrEnum):
    """What forbids a verdict; it travels with an estimate to everything made from it."""

    UNINFORMED = "uninformed"
    NO_LEAN = "no_lean"
    SMALL_BASE = "small_base"

    @property
    def reason(self) -> str:
        """Why no verdict is possible, in words."""
        return _REASONS[self]


_REASONS = {
    Obstacle.UNINFORMED: "the model gives the candidates no more probability than random words, "
    "so its shares mean nothing",
    Obstacle.NO_LEAN: "no lean is known for these words, so amplification has no direction, "
    "whatever the amount of data",
    Obstacle.SMALL_BASE: "the base has too few observations to show which way its pairs lean",
}


def decide(
    interval: Interval,
    *,
    above: Verdict = Verdict.AMPLIFIES,
    below: Verdict = Verdict.REDUCES,
    reference: float = 0.0,
    obstacle: Obstacle | None = None,
) -> Verdict:
    """Return the verdict: `above` or `below` if the whole interval is, else `UNDECIDED`.

    With an obstacle nothing is decided.
    """
    if obstacle is not None:
        return Verdict.UNINFORMED if obstacle is Obstacle.UNINFORMED else Verdict.UNDECIDED
    if interval.low > reference:
        return above
    if interval.high < reference:
        return below
    return Verdict.UNDECIDED
