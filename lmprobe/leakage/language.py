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

from lmprobe.core.association import Association
from lmprobe.core.choices import Missing
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.intervals.probe import probe_interval
from lmprobe.io.progress import Progress, silent
from lmprobe.io.versions import versions
from lmprobe.leakage.result import LeakageResult, LeakageRow, Measure, leakage_row
from lmprobe.models import as_model
from lmprobe.probing.scoring import score_templates
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results import Interval, Note
from lmprobe.results.settings import from_mapping
from lmprobe.sources import align_base_rates, load_base_rates
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
    templates: str | Path | TemplateSet = "fitbert",
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
    settings = from_mapping(ProbeSettings, {
        "attributes": attributes, "tasks": tasks, "scorer": scorer, "missing": missing,
        "interval": interval, "confidence": confidence, "seed": seed,
    })  # fmt: skip
    chosen = load_templates(templates) if isinstance(templates, str | Path) else templates
    loaded = as_model(model, device=device)
    wanted = chosen.attributes if settings.attributes is None else settings.attributes
    doing = chosen.tasks if settings.tasks is None else settings.tasks
    source = load_base_rates(base, model=loaded)
    aligned = align_base_rates(source, wanted, doing, missing=missing)
    kept = aligned.association
    of_base = _base_leakage(kept, source.name, wanted)
    scores = score_templates(
        loaded, chosen, Direction.ATTRIBUTE_TO_TASK,
        attributes=kept.attributes, tasks=kept.tasks, scorer=scorer, cache=cache, progress=progress,
    )  # fmt: skip
    leaks = bayes_leakage(scores.probabilities())
    groups = len(kept.attributes)
    model_row, _ = _row(Measure.MODEL, leaks, chosen, settings, groups)
    difference, notes = _row(Measure.AMPLIFICATION, leaks - of_base, chosen, settings, groups)
    # The base is taken as given: its leakage is a number without an interval.
    without = Interval.undefined(settings.confidence, "none")
    base_row = leakage_row(Measure.BASE, of_base, without, ())
    decided = ("scorer", "missing", "interval", "confidence", "seed")
    return LeakageResult(
        rows=(model_row, base_row, difference),
        groups=kept.attributes,
        notes=(*aligned.notes, *notes),
        provenance={
            "subject": loaded.name,
            "model": loaded.name,
            "base": source.name,
            "template_set": chosen.name,
            "templates": list(scores.templates),
            "attributes": list(kept.attributes),
            "tasks": list(kept.tasks),
            "settings": {name: getattr(settings, name) for name in decided},
            "versions": versions(),
        },
    )


def _base_leakage(known: Association, name: str, wanted: Sequence[str]) -> float:
    conditional = known.task_given_attribute
    if len(known.attributes) < 2 or np.isnan(conditional).any():
        raise InputError(
            f'the base "{name}" must know at least two of the groups {", ".join(wanted)} '
            "and how often each does each task"
        )
    return float(bayes_leakage(conditional))


def _row(
    measure: Measure, values: Floats, templates: TemplateSet, settings: ProbeSettings, groups: int
) -> tuple[LeakageRow, tuple[Note, ...]]:
    """Return the row of values (one per template), and what its interval over them assumes."""
    interval, notes = probe_interval(
        values[:, None, None],
        method=settings.interval,
        confidence=settings.confidence,
        rng=np.random.default_rng(settings.seed),
        families=templates.families,
        resample="templates",
    )
    mean, rounds = float(np.mean(values)), values.tolist()
    return leakage_row(measure, mean, interval, rounds, chance=1 / groups), notes
