"""Whether a model expects the candidates at all, and how well it knows the sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lmprobe.metrics.association import Floats
from lmprobe.models.cache import cached_numbers
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import Cloze, EncodedCloze, LanguageModel, Span
from lmprobe.models.scorers import MassQueries, Scorer, choose_scorer, mass_queries, sums
from lmprobe.probing.scores import Scores, TemplateQueries, Words, cloze_facts
from lmprobe.results import Note, NoteKind
from lmprobe.results.format import format_percent
from lmprobe.templates import TemplateSet
from lmprobe.templates.template import UNSPACED

_SEED = 0
"""Of the samples that say how good a model is: they belong to the model, not to the run."""

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
    queries = {
        template: TemplateQueries(templates.templates[template], scores.words, (scores.direction,))
        for template in used
    }
    clozes = [
        [queries[template].cloze(scores.direction, *pair) for template, *pair in places]
        for places in conditions
    ]
    log_mass = cached_numbers(
        model,
        {
            "scorer": (scorer.name, scorer.identity),
            "random words": (_SEED, _CANDIDATES),
            "clozes": [cloze_facts(candidates) for candidates in clozes],
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


def _sampled(count: int, most: int) -> list[int]:
    """Return at most so many of the numbers below `count`, in order, drawn with a fixed seed."""
    rng = np.random.default_rng(_SEED)
    return sorted(rng.choice(count, min(count, most), replace=False).tolist())


def _conditions(scores: Scores) -> list[list[tuple[int, int, int]]]:
    """Return the places (template, attribute, task) of some candidates under some conditions."""
    shape, direction = scores.log_probability.shape, scores.direction
    candidates = _sampled(shape[direction.axis], _CANDIDATES)
    given = shape[direction.given_axis]
    conditions = [divmod(n, given) for n in _sampled(len(scores.templates) * given, _CONDITIONS)]

    def place(template: int, condition: int, candidate: int) -> tuple[int, int, int]:
        pair = [condition, condition]
        pair[direction.axis] = candidate
        return template, pair[0], pair[1]

    return [
        [place(template, condition, candidate) for candidate in candidates]
        for template, condition in conditions
    ]


def _log_mass(
    model: LanguageModel, conditions: Sequence[Sequence[Cloze]], scorer: Scorer
) -> Floats:
    """Ask the model about one random word for every candidate."""
    rng = np.random.default_rng(_SEED)
    queries: list[MassQueries] = []
    for clozes in conditions:
        encoded = model.encode(clozes)
        taken = {cloze.pieces[0] for cloze in encoded}
        for cloze in encoded:
            other = _with_random_word(model, cloze, taken, rng)
            whole = scorer.whole_sentence
            queries.append(
                mass_queries(other, model.kind) if whole else MassQueries(scorer.queries(other))
            )
    added = sums(model, [query.added for query in queries])
    return added - sums(model, [query.subtracted for query in queries])


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


SENTENCES = 64
# In scripts without spaces every character counts as a word.
_WORD = re.compile(f"[{UNSPACED}]|[^\\W{UNSPACED}]+")


def perplexity(
    model: LanguageModel, templates: TemplateSet, words: Words, *, cache: bool = True
) -> float:
    """Return the perplexity per word over 64 sentences of the templates.

    They are drawn with a fixed seed, so the number belongs to the model, the set and the words.
    """
    clozes = sample(templates, words)
    texts = [cloze.text for cloze in clozes]
    scorer = choose_scorer(kinds.get(model.kind).sentence_scorer, model.kind)
    log_likelihoods = cached_numbers(
        model,
        {"perplexity of": texts, "scorer": (scorer.name, scorer.identity)},
        lambda: sums(model, [scorer.scorer.queries(cloze) for cloze in model.encode(clozes)]),
        cache=cache,
    )
    return float(np.exp(-sum(log_likelihoods) / sum(map(count_words, texts))))


def sample(templates: TemplateSet, words: Words) -> list[Cloze]:
    """Return the sentences, fewer if there are not so many different ones."""
    shape = len(templates.templates), len(words.attributes), len(words.tasks)
    size = int(np.prod(shape))
    places = _sampled(size, SENTENCES)
    sentences = [
        templates.templates[template].sentence(words.attributes[who], words.tasks[what])
        for template, who, what in zip(*np.unravel_index(places, shape), strict=True)
    ]
    return list(
        {
            sentence.text: Cloze(sentence.text, *sentence.attribute_span) for sentence in sentences
        }.values()
    )


def count_words(text: str) -> int:
    """Return the number of words.

    >>> count_words("She was a nurse."), count_words("她是护士。")
    (4, 4)
    """
    return len(_WORD.findall(text))
