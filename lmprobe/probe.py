"""Probes a model: templates -> model -> scores -> association <- sources -> metric -> interval.

The whole program in one function. The model is asked once; every base is compared with the
same guesses, so swapping the world costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lmprobe import __version__
from lmprobe.association import DIRECTIONS, Direction
from lmprobe.baseline import Baseline, baseline
from lmprobe.errors import InputError, did_you_mean
from lmprobe.intervals.probe import probe_interval
from lmprobe.metrics.directional import amplification
from lmprobe.metrics.lean import LeanWeighting
from lmprobe.models import load_model
from lmprobe.progress import Progress, silent
from lmprobe.result import ProbeResult, ProbeRow
from lmprobe.scores import Scores, score_templates
from lmprobe.sources import Missing, load_base_rates
from lmprobe.templates import TemplateSet, load_templates

if TYPE_CHECKING:
    from lmprobe.models import MaskedModel
    from lmprobe.sources import Source

Base = Any
"""The name of a source, the path of a table, a DataFrame, or an object with `association`."""


def probe(
    model: str | Path | MaskedModel,
    templates: str | Path | TemplateSet = "fitbert",
    base: Base | Sequence[Base] = "labor",
    *,
    attributes: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    lean: Base | None = None,
    lean_weighting: LeanWeighting = "joint",
    scorer: str = "word-l2r",
    prior: bool = False,
    missing: Missing = "drop",
    pseudo_count: float = 0.5,
    interval: str = "bootstrap",
    resample: str = "both",
    confidence: float = 0.95,
    seed: int = 0,
    cache: bool = True,
    progress: Progress = silent,
) -> ProbeResult:
    """Measure how far a masked language model exaggerates the world that `base` describes.

    Parameters
    ----------
    model
        A name for `load_model` (a hub id, a folder, `reference:amplified`) or a loaded model.
    templates
        A template set, its name or its path.
    base
        The world to compare with: a name, a table's path, a DataFrame, any object that fits
        the `Source` protocol, or a list of these. More bases ask the model nothing more.
    attributes, tasks
        The words to compare; by default those of the template set.
    lean
        Where the direction of bias comes from; by default the base itself, and for
        `uniform`, which has none, the majorities of WinoBias.
    lean_weighting
        `joint` (Eq. 2 of the paper) or `paper` (its published code).
    scorer, prior
        How a word's probability is read off the model; `prior` divides it by the word's
        probability when the other word is masked as well.
    missing, pseudo_count
        What happens to words that a base does not know: `drop`, `error` or `smooth`.
    interval, resample, confidence, seed
        The interval's method, what it resamples (`templates`, `tasks` or `both`), its
        confidence, and the seed of everything random.
    cache
        Whether to keep the model's answers for the next run.
    progress
        Called with (done, total) sentences.
    """
    chosen = load_templates(templates) if isinstance(templates, str | Path) else templates
    settings = _Settings(
        attributes=_chosen(attributes, chosen.attributes, chosen.all_attributes, "attribute"),
        tasks=_chosen(tasks, chosen.tasks, chosen.tasks, "task"),
        lean_weighting=lean_weighting,
        scorer=scorer,
        prior=prior,
        missing=missing,
        pseudo_count=pseudo_count,
        interval=interval,
        resample=resample,
        confidence=confidence,
        seed=seed,
    )
    loaded = load_model(str(model)) if isinstance(model, str | Path) else model
    leaning = None if lean is None else load_base_rates(lean, model=loaded)
    # The worlds come first: a mistake in a table should not wait for the model's answers.
    worlds = [
        baseline(
            load_base_rates(one, model=loaded),
            settings.attributes,
            settings.tasks,
            lean_from=leaning,
            missing=missing,
            pseudo_count=pseudo_count,
        )
        for one in _listed(base)
    ]
    _refuse_namesakes(worlds)
    scores = {
        direction: _ask(loaded, chosen, direction, settings, cache, progress)
        for direction in DIRECTIONS
    }
    rows = tuple(
        _row(there, scores[direction], chosen, settings)
        for there in worlds
        for direction in DIRECTIONS
    )
    split = {word: count for one in scores.values() for word, count in one.pieces.items()}
    return ProbeResult(
        rows=rows,
        templates=tuple(template.name for template in chosen.templates),
        families=chosen.families,
        provenance=_provenance(loaded, chosen, worlds, leaning, settings),
        notes=_notes(scorer, split),
        split_words=split,
    )


@dataclass(frozen=True, slots=True)
class _Settings:
    """The choices that decide the numbers, apart from the model, the templates and the bases."""

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    lean_weighting: LeanWeighting
    scorer: str
    prior: bool
    missing: Missing
    pseudo_count: float
    interval: str
    resample: str
    confidence: float
    seed: int


def _ask(
    model: MaskedModel,
    templates: TemplateSet,
    direction: Direction,
    settings: _Settings,
    cache: bool,
    progress: Progress,
) -> Scores:
    return score_templates(
        model,
        templates,
        direction,
        attributes=settings.attributes,
        tasks=settings.tasks,
        scorer=settings.scorer,
        prior=settings.prior,
        cache=cache,
        progress=progress,
    )


def _row(there: Baseline, scores: Scores, templates: TemplateSet, settings: _Settings) -> ProbeRow:
    """Compare the guesses with one base in one direction."""
    direction, labels = scores.direction, there.world.association
    predicted = scores.probabilities(attributes=labels.attributes, tasks=labels.tasks)
    base_rate = labels.conditional(direction)
    lean = there.lean(direction, settings.lean_weighting)
    cells = amplification(predicted, base_rate, lean)
    if np.isnan(cells).all():
        raise InputError(
            f'base "{there.name}", {direction}: no pair of words is defined; the lean comes '
            f'from "{there.lean_name}", which must know these words (choose it with `lean`)'
        )
    interval, notes = probe_interval(
        cells,
        method=settings.interval,
        confidence=settings.confidence,
        rng=np.random.default_rng(settings.seed),
        families=templates.families,
        resample=settings.resample,
    )
    return ProbeRow(
        base=there.name,
        direction=direction,
        attributes=labels.attributes,
        tasks=labels.tasks,
        predicted=predicted,
        base_rate=base_rate,
        lean=lean,
        interval=interval,
        candidate_mass=scores.candidate_mass(),
        lean_source=there.lean_name,
        lean_weighting=settings.lean_weighting,
        families=templates.families,
        dropped_attributes=there.world.dropped_attributes,
        dropped_tasks=there.world.dropped_tasks,
        notes=(*there.notes, *_article_notes(scores), *notes),
    )


def _article_notes(scores: Scores) -> tuple[str, ...]:
    if not scores.articles or scores.scorer == "phrase-l2r":
        return ()
    return (
        f"{' and '.join(scores.articles)} are in sight before the words to guess, so each is "
        "weighed against those with the same article; the scorer phrase-l2r hides them as well",
    )


def _notes(scorer: str, split: dict[str, int]) -> tuple[str, ...]:
    if not split:
        return ()
    words = ", ".join(f"{word} ({count})" for word, count in sorted(split.items()))
    if scorer == "first-piece":
        return (
            f"first-piece scores these {len(split)} split words by their first piece alone, which "
            f"is wrong for them; it is here to reproduce the paper: {words}",
        )
    return (f"the tokenizer splits {len(split)} words, scored whole by {scorer}: {words}",)


def _chosen(
    wanted: Sequence[str] | None, default: tuple[str, ...], known: tuple[str, ...], kind: str
) -> tuple[str, ...]:
    """Return the words to compare, or say which the template set knows."""
    chosen = default if wanted is None else tuple(wanted)
    for word in chosen:
        if word not in known:
            raise InputError(
                f'the template set has no {kind} "{word}"; {did_you_mean(word, known)}'
            )
    if len(set(chosen)) != len(chosen) or len(chosen) < 2:
        raise InputError(f"a probe compares at least two different {kind}s, found: {chosen}")
    return chosen


def _listed(base: Base | Sequence[Base]) -> list[Base]:
    several = list(base) if isinstance(base, list | tuple) else [base]
    if not several:
        raise InputError("`base` is empty; name at least one source, such as uniform")
    return several


def _refuse_namesakes(worlds: list[Baseline]) -> None:
    """Refuse two bases of one name and one set of groups: nobody could tell their rows apart."""
    seen = set()
    for there in worlds:
        called = (there.name, there.world.association.attributes)
        if called in seen:
            raise InputError(
                f'two bases are called "{there.name}"; give each once, and files different names'
            )
        seen.add(called)


def _provenance(
    model: MaskedModel,
    templates: TemplateSet,
    worlds: list[Baseline],
    leaning: Source | None,
    settings: _Settings,
) -> dict[str, Any]:
    """Return what is needed to run the same probe again and to know that it is the same."""
    choices = asdict(settings)
    seed, scorer = choices.pop("seed"), choices.pop("scorer")
    leans = {one.lean_name: dict(one.lean_world.provenance) for one in worlds}
    packages = ("torch", "transformers", "tokenizers", "numpy", "scipy")
    return {
        "model": model.name,
        "revision": model.revision,
        "content_hash": model.content_hash,
        "tokenizer": model.tokenizer_name,
        "scorer": scorer,
        "templates": {"name": templates.name, "sha256": templates.sha256},
        "bases": leans | {one.name: dict(one.world.provenance) for one in worlds},
        "settings": choices | {"lean": None if leaning is None else leaning.name},
        "versions": {"lmprobe": __version__} | {name: version(name) for name in packages},
        "seed": seed,
        "device": model.device,
        "dtype": model.dtype,
        "batch_policy": model.batch_policy,
    }
