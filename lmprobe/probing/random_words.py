"""Whether a model expects the candidates more than words drawn at random.

A model that has learned nothing gives every word about the same small probability; the
shares of he and she among the two then mean nothing, however firm they look. So the mass of
the candidates is compared with that of random words of the vocabulary: not candidates,
written with as many tokens, asked for in the same place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.models.cloze import Cloze, EncodedCloze, Span
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import LanguageModel
from lmprobe.probing.scores import Scores
from lmprobe.probing.sheet import SEED, Sheet, answers, described, sampled
from lmprobe.results import Note, NoteKind
from lmprobe.results.format import format_percent
from lmprobe.scorers.mass import MassQueries, mass_queries
from lmprobe.scorers.scorer import Scorer, choose_scorer, sums
from lmprobe.templates import TemplateSet

LEAST_RATIO = 2.0
"""Below this the candidates are not expected more than random words.

Random checkpoints of ten masked and seven causal architectures, five seeds each, both
directions: with initial weights of 0.02 none of 170 ratios exceeded 1.5, with 0.1 one exceeded
2 (2.19). Trained models have hundreds and more.
"""

TINY_MASS = 1e-3
"""With less, the candidates for a blank of one word are answers that a model hardly ever gives."""

# Conditions (a template and a given word) that are looked at, and candidates in each.
_CONDITIONS = 8
_CANDIDATES = 32


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
    conditions = _conditions(scores)
    used = {template for places in conditions for template, _, _ in places}
    sheets = {
        template: Sheet(templates.templates[template], scores.words, (scores.direction,))
        for template in used
    }
    clozes = [
        [sheets[template].cloze(scores.direction, *pair) for template, *pair in places]
        for places in conditions
    ]
    log_mass = answers(
        model,
        {
            "scorer": (scorer.name, scorer.identity),
            "random words": (SEED, _CANDIDATES),
            "clozes": [described(candidates) for candidates in clozes],
        },
        lambda: _log_mass(model, clozes, scorer.scorer),
        cache=cache,
    )
    own = [scores.log_mass_table[place] for places in conditions for place in places]
    return float(np.exp(own).sum() / np.exp(log_mass).sum())


def is_informed(scores: Scores, min_mass: float | None) -> bool:
    """Tell whether the candidates have enough probability for their shares to mean anything.

    With `min_mass` that is their mean mass; else they must have twice that of random words.
    """
    if min_mass is not None:
        return bool(scores.candidate_mass().mean() >= min_mass)
    return scores.mass_ratio is None or scores.mass_ratio >= LEAST_RATIO


def tiny_mass_notes(scores: Scores) -> tuple[Note, ...]:
    """Return the warning that the model expects other words than the candidates, if it does.

    Where candidates differ in several words, their mass is small by nature.
    """
    mass = float(scores.candidate_mass().mean())
    if not scores.one_word or mass >= TINY_MASS:
        return ()
    text = (
        f"the candidates together have {format_percent(mass)} of the probability: the model "
        "expects other words, so the value is about answers that it hardly ever gives"
    )
    return (Note(NoteKind.MASS, text),)


def _conditions(scores: Scores) -> list[list[tuple[int, int, int]]]:
    """Return the places (template, attribute, task) of some candidates under some conditions."""
    _, attributes, tasks = scores.log_probability.shape
    forward = scores.direction is Direction.TASK_TO_ATTRIBUTE
    guessed, given = (attributes, tasks) if forward else (tasks, attributes)
    candidates = sampled(guessed, _CANDIDATES)
    conditions = [divmod(n, given) for n in sampled(len(scores.templates) * given, _CONDITIONS)]
    return [
        [(template, word, other) if forward else (template, other, word) for word in candidates]
        for template, other in conditions
    ]


def _log_mass(
    model: LanguageModel, conditions: Sequence[Sequence[Cloze]], scorer: Scorer
) -> Floats:
    """Ask the model about one random word for every candidate."""
    rng = np.random.default_rng(SEED)
    asked: list[MassQueries] = []
    for clozes in conditions:
        encoded = model.encode(clozes)
        taken = {cloze.pieces[0] for cloze in encoded}
        for cloze in encoded:
            other = _with_random_word(model, cloze, taken, rng)
            whole = scorer.whole_sentence
            asked.append(
                mass_queries(other, model.kind) if whole else MassQueries(scorer.queries(other))
            )
    added = sums(model, [queries.added for queries in asked])
    return added - sums(model, [queries.subtracted for queries in asked])


def _with_random_word(
    model: LanguageModel, cloze: EncodedCloze, taken: set[int], rng: np.random.Generator
) -> EncodedCloze:
    """Put a random word of as many tokens in the place of the candidate.

    Each token is drawn among those made of letters that begin a word if the candidate's does.
    """
    tokens = model.word_tokens
    ids = list(cloze.ids)
    for place in range(*_place(model, cloze)):
        alike = tokens.letters & (tokens.begins == tokens.begins[ids[place]])
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
