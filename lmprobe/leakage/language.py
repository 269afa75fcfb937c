"""How well the pronoun of a sentence can be guessed from the occupation a model puts in it.

Draw a pronoun a evenly, then an occupation t from what the model expects at the mask,
P(t|a). Whoever sees t and knows the model guesses the pronoun under which t is likeliest,
and is right with probability

    leakage = 1/A * sum over t of max over a of P(t|a),

which is 1/A when the model expects the same occupations for everybody and 1 when no
occupation is expected for two pronouns. The same number for P(t|a) of the base rates is
what the world leaks; the difference is the model's leakage amplification. Nothing is
trained: this attacker is the Bayes rule, so here leakage is no lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lmprobe.core.choices import Missing
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.io.progress import Progress, silent
from lmprobe.io.versions import versions
from lmprobe.leakage.result import LeakageResult, LeakageRow, Measure, leakage_row
from lmprobe.models import as_model
from lmprobe.models.kind import default_templates
from lmprobe.probing.scoring import score_templates
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results import Interval, Note
from lmprobe.results.settings import from_mapping
from lmprobe.sources import align_base_rates, load_base_rates
from lmprobe.stats.probe import probe_interval
from lmprobe.templates import TemplateSet, load_templates

if TYPE_CHECKING:
    from lmprobe.models import LanguageModel


def bayes_leakage(task_given_attribute: Floats) -> Floats:
    """Return the accuracy of the best guess of the attribute from a task; (..., A, T) -> (...).

    >>> float(bayes_leakage(np.array([[0.75, 0.25], [0.25, 0.75]])))
    0.75
    """
    table = np.asarray(task_given_attribute, dtype=np.float64)
    return np.asarray(table.max(axis=-2).sum(axis=-1) / table.shape[-2])


def language_leakage(
    model: str | Path | LanguageModel,
    templates: str | Path | TemplateSet | None = None,
    base: Any = "labor",
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

    The leakage is the probability that the best guess of the attribute, from a task drawn from
    the model's P(task | attribute), is correct. The parameters are those of `probe`.
    """
    settings = from_mapping(ProbeSettings, locals())
    if templates is not None and not isinstance(templates, TemplateSet):
        templates = load_templates(templates)
    loaded = as_model(model, device=device)
    template_set = templates or load_templates(default_templates(loaded.kind))
    wanted = template_set.attributes if settings.attributes is None else settings.attributes
    wanted_tasks = template_set.tasks if settings.tasks is None else settings.tasks
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
    leaks = bayes_leakage(scores.probabilities())

    def row(measure: Measure, values: Floats) -> tuple[LeakageRow, tuple[Note, ...]]:
        """Return the row of values (one per template), and what its interval assumes."""
        ends, notes = probe_interval(
            values[:, None, None],
            method=settings.interval,
            confidence=settings.confidence,
            rng=np.random.default_rng(settings.seed),
            families=template_set.families,
            resample="templates",
        )
        mean, chance = float(np.mean(values)), 1 / len(groups)
        return leakage_row(measure, mean, ends, values.tolist(), chance=chance), notes

    model_row, _ = row(Measure.MODEL, leaks)
    difference, notes = row(Measure.AMPLIFICATION, leaks - of_base)
    # The base is taken as given: its leakage is a number without an interval.
    without = Interval.undefined(settings.confidence, "none")
    decided = ("scorer", "missing", "interval", "confidence", "seed")
    return LeakageResult(
        rows=(model_row, leakage_row(Measure.BASE, of_base, without, ()), difference),
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
