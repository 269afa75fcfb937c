"""Whether a model expects the candidates more than words drawn at random.

A model that has learned nothing gives every word about the same small probability; the
shares of he and she among the two then mean nothing, however firm they look. So the mass of
the candidates is compared with that of random words of the vocabulary: not candidates,
written with as many tokens, asked for in the same place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmprobe.core.direction import Direction
from lmprobe.models import cache as store
from lmprobe.models.cloze import Cloze, EncodedCloze, Span
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import LanguageModel
from lmprobe.probing.scores import Scores
from lmprobe.probing.sheet import Sheet, Words, described, model_facts
from lmprobe.scorers.mass import MassQueries, mass_queries
from lmprobe.scorers.scorer import Scorer, choose_scorer, sums
from lmprobe.templates import TemplateSet

LEAST_RATIO = 2.0
"""Below this the candidates are not expected more than random words.

Random checkpoints of ten masked and seven causal architectures, five seeds each, both
directions: with initial weights of 0.02 none of 170 ratios exceeded 1.5, with 0.1 one exceeded
2 (2.19). Trained models have hundreds and more.
"""

# Conditions (a template and a given word) that are looked at, and candidates in each.
_CONDITIONS = 8
_CANDIDATES = 32
_SEED = 0


@dataclass(frozen=True, slots=True)
class _Condition:
    """A template with the word that is given, by their places in the table of scores."""

    template: int
    given: int


def mass_ratio(
    model: LanguageModel,
    templates: TemplateSet,
    scores: Scores,
    *,
    cache: bool = True,
) -> float:
    """Return the mass of the candidates divided by that of as many random words.

    A fixed sample of conditions is asked about, so the number belongs to the model, the
    sentences and the words.
    """
    scorer = choose_scorer(scores.scorer, model.kind)
    conditions = _chosen_conditions(scores)
    places = {one: _candidates(scores, one) for one in conditions}
    clozes = {one: _clozes(templates, scores, pairs, one) for one, pairs in places.items()}
    key = store.key_of(
        {
            **model_facts(model),
            "scorer": (scorer.name, scorer.identity),
            "random words": (_SEED, _CANDIDATES),
            "clozes": [described(found) for found in clozes.values()],
        }
    )
    entry = store.read(key) if cache else None
    size = sum(map(len, places.values()))
    if entry is None or not entry.has({"log_mass": size}):
        values = _log_mass(model, list(clozes.values()), scorer.scorer)
        entry = store.Entry(model.name, {"log_mass": tuple(values)}, model.threads)
        if cache:
            store.write(key, entry)
            model.remember()
    table = scores.log_mass_table
    own = [
        table[one.template, attribute, task]
        for one, pairs in places.items()
        for attribute, task in pairs
    ]
    return float(np.exp(own).sum() / np.exp(entry.numbers["log_mass"]).sum())


def is_informed(scores: Scores, min_mass: float | None) -> bool:
    """Tell whether the candidates have enough probability for their shares to mean anything.

    With `min_mass` that is their mean mass; else they must have twice that of random words.
    """
    if min_mass is not None:
        return bool(scores.candidate_mass().mean() >= min_mass)
    return scores.mass_ratio is None or scores.mass_ratio >= LEAST_RATIO


def _chosen_conditions(scores: Scores) -> list[_Condition]:
    """Return a few templates and given words, spread over all by chance with a fixed seed."""
    rng = np.random.default_rng(_SEED)
    _, attributes, tasks = scores.log_probability.shape
    given = tasks if scores.direction is Direction.TASK_TO_ATTRIBUTE else attributes
    size = len(scores.templates) * given
    chosen = np.sort(rng.choice(size, min(size, _CONDITIONS), replace=False))
    return [_Condition(int(place) // given, int(place) % given) for place in chosen]


def _candidates(scores: Scores, condition: _Condition) -> list[tuple[int, int]]:
    """Return the places (attribute, task) of the candidates under a condition, or of some."""
    _, attributes, tasks = scores.log_probability.shape
    guess_attribute = scores.direction is Direction.TASK_TO_ATTRIBUTE
    count = attributes if guess_attribute else tasks
    rng = np.random.default_rng(_SEED)
    chosen = np.sort(rng.choice(count, min(count, _CANDIDATES), replace=False)).tolist()
    if guess_attribute:
        return [(place, condition.given) for place in chosen]
    return [(condition.given, place) for place in chosen]


def _clozes(
    templates: TemplateSet,
    scores: Scores,
    pairs: Sequence[tuple[int, int]],
    condition: _Condition,
) -> list[Cloze]:
    """Return the clozes of the candidates under a condition, without all others of the sheet."""
    words, given = scores.words, condition.given
    if scores.direction is Direction.TASK_TO_ATTRIBUTE:
        words = Words(words.attributes, (words.tasks[given],))
        asked = [(attribute, 0) for attribute, _ in pairs]
    else:
        words = Words((words.attributes[given],), words.tasks)
        asked = [(0, task) for _, task in pairs]
    sheet = Sheet(templates.templates[condition.template], words, (scores.direction,))
    return [sheet.cloze(scores.direction, *pair) for pair in asked]


def _log_mass(
    model: LanguageModel, conditions: Sequence[Sequence[Cloze]], scorer: Scorer
) -> list[float]:
    """Ask the model about one random word for every candidate."""
    rng = np.random.default_rng(_SEED)
    asked: list[MassQueries] = []
    for clozes in conditions:
        encoded = model.encode(clozes)
        taken = {one.pieces[0] for one in encoded}
        words = [_with_random_word(model, one, taken, rng) for one in encoded]
        asked += [
            mass_queries(one, model.kind)
            if scorer.whole_sentence
            else MassQueries(scorer.queries(one))
            for one in words
        ]
    values = sums(model, [one.added for one in asked])
    values -= sums(model, [one.subtracted for one in asked])
    return [float(value) for value in values]


def _with_random_word(
    model: LanguageModel, cloze: EncodedCloze, taken: set[int], rng: np.random.Generator
) -> EncodedCloze:
    """Put a random word of as many tokens in the place of the candidate.

    Each token is drawn among those made of letters that begin a word if the candidate's does.
    """
    known = model.word_tokens
    ids = list(cloze.ids)
    for place in range(*_place(model, cloze)):
        alike = known.letters & (known.begins == known.begins[ids[place]])
        pool = np.setdiff1d(np.flatnonzero(alike), list(taken))
        # A vocabulary without such tokens, as of bytes, has others.
        pool = pool if len(pool) else np.setdiff1d(np.arange(len(alike)), list(taken))
        ids[place] = int(rng.choice(pool))
    return replace(cloze, ids=tuple(ids))


def _place(model: LanguageModel, cloze: EncodedCloze) -> Span:
    """Return the tokens to replace: the word's, or all that the mass of a causal model is about."""
    first = cloze.differing[0]
    inside = first[0] <= cloze.word[0] and cloze.word[1] <= first[1]
    return cloze.word if kinds.get(model.kind).masks or inside else first
