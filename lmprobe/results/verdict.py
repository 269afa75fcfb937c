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
    AMPLIFIES_MORE = "amplifies_more"
    AMPLIFIES_LESS = "amplifies_less"
    FOLLOWS_MORE = "follows_more"
    FOLLOWS_LESS = "follows_less"
    HIGHER = "higher"
    LOWER = "lower"
    LEAKS = "leaks"
    LEAKS_MORE = "leaks_more"
    LEAKS_LESS = "leaks_less"
    UNEVEN = "uneven"
    UNDECIDED = "undecided"
    UNINFORMED = "uninformed"

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
    Verdict.AMPLIFIES_MORE: VerdictWords("amplifies more", "amplifies {base} more", Tone.PLUS),
    Verdict.AMPLIFIES_LESS: VerdictWords("amplifies less", "amplifies {base} less", Tone.MINUS),
    Verdict.FOLLOWS_MORE: VerdictWords(
        "follows more", "follows the lean given for {base} more closely", Tone.PLUS
    ),
    Verdict.FOLLOWS_LESS: VerdictWords(
        "follows less", "follows the lean given for {base} less closely", Tone.MINUS
    ),
    Verdict.HIGHER: VerdictWords("higher", "is higher for the protected group", Tone.PLUS),
    Verdict.LOWER: VerdictWords("lower", "is lower for the protected group", Tone.MINUS),
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


def decide(
    interval: Interval,
    *,
    above: Verdict = Verdict.AMPLIFIES,
    below: Verdict = Verdict.REDUCES,
    reference: float = 0.0,
) -> Verdict:
    """Return the verdict: `above` or `below` if the whole interval is, else `UNDECIDED`."""
    if interval.low > reference:
        return above
    if interval.high < reference:
        return below
    return Verdict.UNDECIDED
