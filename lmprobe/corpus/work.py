"""What a worker does: counts one part of a corpus."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from lmprobe.corpus.lexicon import Lexicon
from lmprobe.corpus.parts import Part
from lmprobe.corpus.rules.rule import Rule, rules

Counts = dict[tuple[int, int], int]
"""How many sentences counted for (attribute, task); pairs without any are left out."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is counted, the same for every part."""

    rule: str
    lexicon: Lexicon


def count_part(job: Job, part: Part) -> Counts:
    """Return the counts of one part."""
    rule = _prepared(job)
    counts: Counter[tuple[int, int]] = Counter()
    for block in part.blocks():
        counts.update(rule.pairs(block))
    return dict(counts)


@lru_cache(maxsize=4)
def _prepared(job: Job) -> Rule:
    """Return the rule, made ready once per process and job."""
    return rules.get(job.rule)(job.lexicon)
