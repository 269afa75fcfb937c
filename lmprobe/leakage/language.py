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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lmprobe.errors import InputError
from lmprobe.intervals.interval import Interval
from lmprobe.intervals.probe import probe_interval
from lmprobe.models import load_model
from lmprobe.progress import Progress, silent
from lmprobe.scores import score_templates
from lmprobe.sources import Missing, load_base_rates, world
from lmprobe.tally import Floats
from lmprobe.templates import TemplateSet, load_templates

if TYPE_CHECKING:
    from lmprobe.models import MaskedModel


@dataclass(frozen=True, slots=True, eq=False)
class LanguageLeakage:
    """What a model and its base rates leak about the group, template by template."""

    model: str
    base: str
    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    templates: tuple[str, ...]
    rounds: tuple[float, ...]
    """The leakage of the model in each template."""
    base_leakage: float
    interval: Interval
    """Of the amplification, over templates drawn like these."""
    notes: tuple[str, ...] = ()

    @property
    def leakage(self) -> float:
        """The model's leakage, averaged over templates."""
        return float(np.mean(self.rounds))

    @property
    def value(self) -> float:
        """The amplification: how much more often the model gives the group away than the base."""
        return self.leakage - self.base_leakage

    @property
    def chance(self) -> float:
        """What guessing blindly gets."""
        return 1 / len(self.attributes)


def bayes_leakage(task_given_attribute: Floats) -> Floats:
    """Return the accuracy of the best guess of the attribute from a task; (..., A, T) -> (...).

    >>> float(bayes_leakage(np.array([[0.75, 0.25], [0.25, 0.75]])))
    0.75
    """
    table = np.asarray(task_given_attribute, dtype=np.float64)
    return np.asarray(table.max(axis=-2).sum(axis=-1) / table.shape[-2])


def language_leakage(
    model: str | Path | MaskedModel,
    templates: str | Path | TemplateSet = "fitbert",
    base: Any = "labor",
    *,
    attributes: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    scorer: str = "word-l2r",
    missing: Missing = "drop",
    interval: str = "bootstrap",
    confidence: float = 0.95,
    seed: int = 0,
    cache: bool = True,
    progress: Progress = silent,
) -> LanguageLeakage:
    """Measure how much more a masked language model gives the group away than its base rates."""
    chosen = load_templates(templates) if isinstance(templates, str | Path) else templates
    loaded = load_model(str(model)) if isinstance(model, str | Path) else model
    wanted = tuple(chosen.attributes if attributes is None else attributes)
    doing = tuple(chosen.tasks if tasks is None else tasks)
    source = load_base_rates(base, model=loaded)
    there = world(source, wanted, doing, missing=missing)
    kept = there.association
    conditional = kept.task_given_attribute
    if len(kept.attributes) < 2 or np.isnan(conditional).any():
        raise InputError(
            f'the base "{source.name}" must know at least two of the groups {", ".join(wanted)} '
            "and how often each does each task"
        )
    scores = score_templates(
        loaded, chosen, "attribute->task",
        attributes=kept.attributes, tasks=kept.tasks, scorer=scorer, cache=cache, progress=progress,
    )  # fmt: skip
    leaks = bayes_leakage(scores.probabilities())
    of_base = float(bayes_leakage(conditional))
    found, notes = probe_interval(
        (leaks - of_base)[:, None, None],
        method=interval,
        confidence=confidence,
        rng=np.random.default_rng(seed),
        families=chosen.families,
        resample="templates",
    )
    return LanguageLeakage(
        model=loaded.name,
        base=source.name,
        attributes=kept.attributes,
        tasks=kept.tasks,
        templates=scores.templates,
        rounds=tuple(float(leak) for leak in leaks),
        base_leakage=of_base,
        interval=found,
        notes=(*there.notes, *notes),
    )
