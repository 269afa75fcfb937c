"""How well the pronoun of a sentence can be guessed from the occupation a model puts in it.

Draw a pronoun a evenly, then an occupation t from what the model expects at the mask,
P(t|a). Whoever sees t and knows the base guesses the pronoun under which t is likeliest in the
base, and is right with probability

    leakage = 1/A * sum over t of P(t | the guess for t),

which is 1/A when the model expects the same occupations for everybody. The same guesses on
P(t|a) of the base rates give what the world leaks; the difference is the model's leakage
amplification. Both sides guess by the same rule: a guesser who knew each model would find more in
one with more noise. Nothing is trained, and the difference is linear in the model, as an
amplification is: it takes the same path to its interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lmprobe.errors import InputError
from lmprobe.io.work import Progress, silent
from lmprobe.leakage.result import LeakageMeasure, LeakageResult, leakage_row
from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import Direction, Missing
from lmprobe.models import LanguageModel, as_model
from lmprobe.models.kind import template_set_of
from lmprobe.probing.probe import with_turns_of
from lmprobe.probing.scores import score_templates
from lmprobe.probing.settings import ProbeSettings
from lmprobe.registry import versions
from lmprobe.results import Interval, Note, NoteKind
from lmprobe.results.settings import from_mapping
from lmprobe.sources import align_base_rates, default_base, load_base_rates
from lmprobe.stats.resampling import Replicates
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.verdicts import interval_notes
from lmprobe.templates import AnySet, load_templates


def bayes_leakage(task_given_attribute: Floats) -> Floats:
    """Return the accuracy of the best guess of the attribute from a task; (..., A, T) -> (...).

    >>> float(bayes_leakage(np.array([[0.75, 0.25], [0.25, 0.75]])))
    0.75
    """
    table = np.asarray(task_given_attribute, dtype=np.float64)
    return np.asarray(table.max(axis=-2).sum(axis=-1) / table.shape[-2])


def guess_rule(table: Floats, task_weight: Floats) -> Floats:
    """Return the share of guesses of each attribute given a task, (..., A, T): 1 for the likeliest.

    Tables are (..., A, T); each attribute counts the same, and attributes that tie share the guess.
    """
    whole = (table * task_weight[..., None, :]).sum(axis=-1, keepdims=True)
    given = table / np.where(whole > 0, whole, 1.0)
    best = given >= given.max(axis=-2, keepdims=True) * (1 - 1e-9)
    return np.asarray(best / best.sum(axis=-2, keepdims=True))


def language_leakage(
    model: str | Path | LanguageModel,
    templates: str | Path | AnySet | None = None,
    base: Any | None = None,
    *,
    attributes: Sequence[str] | None = ProbeSettings.attributes,
    tasks: Sequence[str] | None = ProbeSettings.tasks,
    scorer: str = ProbeSettings.scorer,
    missing: Missing = ProbeSettings.missing,
    interval: str = ProbeSettings.interval,
    confidence: float = ProbeSettings.confidence,
    seed: int = ProbeSettings.seed,
    device: str = "auto",
    cache: bool = True,
    progress: Progress = silent,
) -> LeakageResult:
    """Measure how much more a language model reveals about the group than its base rates.

    The leakage is the probability that the attribute is guessed correctly by the rule of the base,
    from a task drawn from the model's P(task | attribute). The parameters are those of `probe`.
    """
    settings = from_mapping(ProbeSettings, locals())
    if templates is not None:
        templates = load_templates(templates)
    loaded = as_model(model, device=device)
    template_set = template_set_of(loaded, templates, settings.attributes, settings.tasks)
    settings = with_turns_of(loaded, settings)
    template_set = template_set.with_chat(settings.chat, settings.system)
    template_set = template_set.with_words(settings.attributes, settings.tasks)
    wanted, wanted_tasks = template_set.attributes, template_set.tasks
    if base is None:
        base = default_base(wanted, wanted_tasks)
    source = load_base_rates(base, model=loaded)
    aligned = align_base_rates(source, wanted, wanted_tasks, missing=missing)
    groups, words = aligned.association.attributes, aligned.association.tasks
    conditional = aligned.association.task_given_attribute
    if len(groups) < 2 or np.isnan(conditional).any():
        raise InputError(
            f'the base "{source.name}" must know at least two of the groups {", ".join(wanted)} '
            "and how often each does each task"
        )
    of_base = float(bayes_leakage(conditional))
    scores = score_templates(
        loaded, template_set, Direction.ATTRIBUTE_TO_TASK,
        attributes=groups, tasks=words, scorer=scorer, cache=cache, progress=progress,
    )  # fmt: skip
    labels, sampling = aligned.association, aligned.sampling
    tables = RowTables(
        Direction.ATTRIBUTE_TO_TASK,
        scores.probabilities(),
        scores.log_table(groups, words),
        labels.joint if labels.counts is None else labels.counts,
        template_set.families,
        words,
        aligned.task_units,
        counted=sampling is not None and sampling.counts,
        standard_errors=None if sampling is None else sampling.standard_errors,
        seed=settings.seed,
        own_rule=guess_rule,
        divides=False,
        turns=template_set.turns,
    )
    guess = guess_rule(conditional, np.ones(len(words)))
    leaks = (guess * tables.predicted).sum(axis=(1, 2)) / len(groups)
    # The mean over pairs, times the number of tasks, is the sum over tasks of the formula.
    number = settings.numbers_of(tables, value_alone=True)
    difference = number["value"].combined(len(words), number["value"], 0.0)
    alone = replace(settings, resample="templates")
    of_model = Replicates.of_templates(leaks, template_set.families, template_set.turns)
    model_row = leakage_row(
        LeakageMeasure.MODEL,
        float(leaks.mean()),
        alone.interval_of(of_model, settings.confidence).clipped(0.0, 1.0),
        leaks.tolist(),
        chance=1 / len(groups),
    )
    interval_of_difference = settings.interval_of(difference, settings.confidence, 1.0)
    difference_row = leakage_row(
        LeakageMeasure.AMPLIFICATION,
        float(leaks.mean()) - of_base,
        interval_of_difference,
        (leaks - of_base).tolist(),
        corrected=difference.value if tables.sampled else None,
    )
    notes = interval_notes(difference, interval_of_difference, settings)
    if (guess < 1).all():
        text = "the base expects the same tasks for every group, so its rule can only guess"
        notes = (*notes, Note(NoteKind.TIE, text))
    # The base is taken as given: its leakage is a number without an interval.
    without = Interval.undefined(settings.confidence, "none")
    decided = ("scorer", "missing", "interval", "confidence", "seed")
    return LeakageResult(
        rows=(model_row, leakage_row(LeakageMeasure.BASE, of_base, without, ()), difference_row),
        groups=groups,
        notes=(*aligned.notes, *notes),
        provenance={
            "subject": loaded.name,
            "model": loaded.name,
            "base": source.name,
            "template_set": template_set.name,
            "templates": list(scores.templates),
            "attributes": list(groups),
            "tasks": list(words),
            "settings": {name: getattr(settings, name) for name in decided},
            "versions": versions(),
        },
    )
