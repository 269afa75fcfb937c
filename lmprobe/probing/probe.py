"""Probes a model: templates -> model -> scores -> association <- sources -> metric -> interval.

The whole program in one function. The model is asked once; every base is compared with the
same guesses, so another base costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

from lmprobe import __version__
from lmprobe.errors import InputError
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.direction import Direction, LeanWeighting, Missing, Resample
from lmprobe.metrics.metric import (
    ItemMetric,
    PredictedTables,
    TableMetric,
    item_metric,
    table_metric,
)
from lmprobe.models import as_model
from lmprobe.models.kind import kinds, template_set_of
from lmprobe.models.kinds.recorded import RecordedModel
from lmprobe.models.scorers import AUTO, scorers
from lmprobe.probing.result import Margin, ProbeResult, ProbeRow
from lmprobe.probing.rows import (
    Baseline,
    baseline,
    deciding_items,
    group_notes,
    grouped_words,
    margins,
    probe_rows,
)
from lmprobe.probing.scores import Scores, score_directions
from lmprobe.probing.settings import ProbeSettings, RunSettings
from lmprobe.results import Note, NoteKind
from lmprobe.results.codec import to_json
from lmprobe.results.format import plural
from lmprobe.results.metric_values import MetricValue
from lmprobe.results.settings import from_mapping
from lmprobe.sources import Source, default_base, load_base_rates
from lmprobe.stats.item_metrics import item_metric_estimate
from lmprobe.stats.method import intervals
from lmprobe.templates import AnySet, TemplateSet, load_templates
from lmprobe.templates.items import ItemTable
from lmprobe.templates.own_words import too_few

if TYPE_CHECKING:
    from lmprobe.models import LanguageModel

Base = Any
"""The name of a source, the path of a table, a DataFrame, or an object with `association`."""
Templates = Any
"""The name of a template set, the path of one or of an item table, a DataFrame, or a loaded set."""


def probe(
    model: Any,
    templates: Templates | None = None,
    base: Base | Sequence[Base] | None = None,
    *,
    attributes: Sequence[str] | None = ProbeSettings.attributes,
    tasks: Sequence[str] | None = ProbeSettings.tasks,
    direction: Direction | str | None = ProbeSettings.direction,
    chat: str | Sequence[str] | None = ProbeSettings.chat,
    system: str | None = ProbeSettings.system,
    lean: Base | None = ProbeSettings.lean,
    lean_weighting: LeanWeighting = ProbeSettings.lean_weighting,
    scorer: str = ProbeSettings.scorer,
    prior: bool = ProbeSettings.prior,
    missing: Missing = ProbeSettings.missing,
    pseudo_count: float = ProbeSettings.pseudo_count,
    interval: str = ProbeSettings.interval,
    resample: Resample = ProbeSettings.resample,
    confidence: float = ProbeSettings.confidence,
    simultaneous: bool = ProbeSettings.simultaneous,
    seed: int = ProbeSettings.seed,
    min_mass: float | None = ProbeSettings.min_mass,
    metrics: Sequence[str] = RunSettings.metrics,
    tokenizer: Any = None,
    cache: bool = True,
    progress: Progress = silent,
) -> ProbeResult:
    """Measure how much a language model exaggerates the links between groups and tasks in `base`.

    Parameters
    ----------
    model
        Anything that `load_model` accepts (a hub id, a folder, `reference:amplified`, a model of
        transformers in memory, the URL of a server, a table of recorded answers), or a loaded
        model.
    templates
        A template set or an item table, its name or path, or a DataFrame; by default `fitbert` for
        a masked model, `everyday` for a causal one, and their own for recorded answers.
    base
        The base rates to compare with: a name, the path of a table, a DataFrame, an object with
        the `Source` protocol, or a list of these. The model is run once for all bases. By default
        what the TOML beside an item table names, else "labor", or "uniform" if that lacks the
        groups or all tasks.
    attributes, tasks
        The words to compare; by default those of the template set. Others are added where the
        templates can take them, see `TemplateSet.with_words`.
    direction
        `T->A` or `A->T`: the only direction in which the model is asked; by default both.
    chat, system
        For causal models with a chat template: what the user says before every sentence, which
        is scored as the beginning of the answer; several turns multiply the templates, and the
        interval covers the choice of the turn. By default the turns that the model was loaded
        with, or those of the template set. `system` is the text of a system turn before them.
    lean
        The base rates that determine the lean; by default the base itself, and for `uniform`,
        which has none, what the TOML beside an item table names, or the majorities of WinoBias.
    lean_weighting
        `joint` (Eq. 2 of the paper) or `paper` (its published code).
    scorer, prior
        How candidates are scored; `prior` divides each probability by that with the other word
        masked as well (masked models only).
    missing, pseudo_count
        How to treat words that a base does not have: `drop`, `keep`, `error` or `smooth`.
    interval, resample, confidence, seed
        The interval method, what it resamples (`templates`, `tasks` or `both`), its confidence
        level, and the random seed.
    simultaneous
        Whether all intervals of the result cover simultaneously at this confidence.
    min_mass
        The least total probability of the candidates, below which the verdict is `uninformed`;
        by default twice that of random words of the vocabulary.
    metrics
        Other metrics to compute too, such as `mals`: those of `lmprobe ls metrics` that are
        defined for tables of probabilities.
    tokenizer
        The tokenizer of a model in memory, or a replacement for that of the checkpoint.
    cache
        Whether to read and write the cache of scores.
    progress
        Called with (done, total) sentences.
    """
    choices = locals() | {"lean": lean if isinstance(lean, str) else None}
    settings: RunSettings = from_mapping(RunSettings, choices)
    for name in settings.metrics:
        _ = item_metric(name) or table_metric(name)
    if templates is not None:
        templates = load_templates(templates)
    loaded = as_model(model, tokenizer=tokenizer)
    template_set = template_set_of(loaded, templates, settings.attributes, settings.tasks)
    if (named := defaults_of(template_set).get("metric")) and not settings.metrics:
        settings = replace(settings, metrics=(str(named),))
    measures = [_metric(name, template_set) for name in settings.metrics]
    lean_from = None if lean is None else load_base_rates(lean, model=loaded)
    settings, template_set = resolved(with_turns_of(loaded, settings), template_set, lean_from)
    # The base rates come first: a mistake in a table should not wait for the model's answers.
    baselines = _baselines(
        base_for(template_set) if base is None else base,
        loaded,
        lean_from,
        defaults_of(template_set).get("lean"),
        settings,
    )
    scores = score_directions(
        loaded,
        template_set,
        settings.directions,
        attributes=settings.attributes,
        tasks=settings.tasks,
        scorer=settings.scorer,
        prior=settings.prior,
        cache=cache,
        progress=progress,
    )
    split = {word: count for table in scores.values() for word, count in table.pieces.items()}
    # The scorer, the words, the threads and the perplexity are the same in every direction.
    any_direction = next(iter(scores.values()))
    groups = template_set.families, settings, template_set.turns
    rows = probe_rows(baselines, scores, *groups)
    return ProbeResult(
        rows=rows,
        templates=template_set.template_names,
        families=template_set.families,
        turns=template_set.turns,
        provenance=_provenance(loaded, template_set, baselines, settings, any_direction),
        deciding_items=tuple(
            item for row in rows for item in deciding_items(row, scores[row.direction])
        ),
        notes=(
            *_known_notes(template_set),
            *_split_notes(any_direction.scorer, split),
            *group_notes(any_direction, template_set),
            *any_direction.notes,
        ),
        split_words=split,
        perplexity=any_direction.perplexity,
        words=grouped_words(scores, template_set),
        margins=tuple(
            Margin(name, row)
            for name, merged, merged_scores in margins(baselines, scores, template_set)
            for row in probe_rows(merged, merged_scores, *groups)
        ),
        metrics=tuple(
            _metric_value(name, measure, row, scores[row.direction], baselines, settings)
            for name, measure in zip(settings.metrics, measures, strict=True)
            for row in rows
            if callable(measure) or row.direction is Direction.TASK_TO_ATTRIBUTE
        ),
    )


S = TypeVar("S", bound=ProbeSettings)
Chosen = TypeVar("Chosen", TemplateSet, ItemTable, AnySet)


def defaults_of(templates: AnySet) -> Mapping[str, Any]:
    """Return what the TOML beside an item table says: `base`, `lean` and `metric` are defaults."""
    return templates.facts if isinstance(templates, ItemTable) else {}


def base_for(templates: AnySet) -> str:
    """Return the base rates that are compared with if none are named."""
    named = defaults_of(templates).get("base")
    return str(named) if named else default_base(templates.attributes, templates.tasks)


def with_turns_of(model: LanguageModel, settings: S) -> S:
    """Return the settings with the turns of a chat that a model was loaded with, if they lack any.

    Models of other packages need not have any.
    """
    chat, system = getattr(model, "chat", None), getattr(model, "system", None)
    return replace(
        settings,
        chat=chat if settings.chat is None else settings.chat,
        system=system if settings.system is None else settings.system,
    )


def resolved(settings: S, templates: Chosen, lean_from: Source | None = None) -> tuple[S, Chosen]:
    """Return the settings with the words that are compared and the lean, and the set of these.

    An interval or a scorer that does not exist is an error before the model is asked.
    """
    intervals.get(settings.interval)
    if settings.scorer != AUTO:
        scorers.get(settings.scorer)
    template_set = templates.with_chat(settings.chat, settings.system)
    template_set = template_set.with_words(settings.attributes, settings.tasks)
    for role, labels in (("attribute", template_set.attributes), ("task", template_set.tasks)):
        if len(labels) < 2:
            raise too_few(role, labels)
    lean = None if lean_from is None else lean_from.name
    return replace(
        settings, attributes=template_set.attributes, tasks=template_set.tasks, lean=lean
    ), template_set


def _baselines(
    base: Base | Sequence[Base],
    model: LanguageModel,
    lean_from: Source | None,
    default_lean: str | None,
    settings: ProbeSettings,
) -> list[Baseline]:
    """Return what to compare with; raise if two bases have the same name and groups."""
    bases = list(base) if isinstance(base, list | tuple) else [base]
    if not bases:
        raise InputError("`base` is empty; name at least one source, such as uniform")
    baselines: dict[tuple[str, tuple[str, ...]], Baseline] = {}
    for source in bases:
        compared = baseline(
            load_base_rates(source, model=model),
            settings.attributes or (),
            settings.tasks or (),
            lean_from=lean_from,
            default_lean=default_lean,
            missing=settings.missing,
            pseudo_count=settings.pseudo_count,
        )
        key = compared.name, compared.rates.association.attributes
        if key in baselines:
            raise InputError(
                f'two bases are called "{compared.name}"; give each once, and files different names'
            )
        baselines[key] = compared
    return list(baselines.values())


def _metric(name: str, templates: AnySet) -> TableMetric | ItemMetric:
    """Return a metric of that name for these templates, or say why there is none."""
    measure = item_metric(name)
    if measure is not None and not isinstance(templates, ItemTable):
        raise InputError(f'the metric "{name}" is for item tables, and {templates.name} is none')
    return measure or table_metric(name)


def _metric_value(
    name: str,
    metric: TableMetric | ItemMetric,
    row: ProbeRow,
    scores: Scores,
    baselines: Sequence[Baseline],
    settings: ProbeSettings,
) -> MetricValue:
    """Return the value of a metric for one base and direction; item sets have an interval too."""
    if not callable(metric):
        items = scores.all_items(row.attributes, row.tasks, logs=True)
        tables = row.tables(settings.seed)
        estimate = item_metric_estimate(metric, items, row.lean, tables, settings, row.obstacle)
        return MetricValue(
            name, row.direction.value, to_json(estimate.value), row.base, estimate.interval,
            estimate.verdict,
        )  # fmt: skip
    bases = {(base.name, base.rates.association.attributes): base for base in baselines}
    world = bases[row.base, row.attributes].rates.association
    tables_of = PredictedTables(row.direction, row.predicted, world, row.lean)
    value = to_json(float(metric(tables_of).mean()))
    return MetricValue(name, row.direction.value, value, row.base)


# Of the TOML beside an item table: what the settings and the bases have.
_CHOICES = ("name", "base", "lean", "metric")


def _known_notes(templates: AnySet) -> tuple[Note, ...]:
    """Return what the TOML beside an item table says is wrong with its sentences."""
    text = f"notes on the items of {templates.name}: {defaults_of(templates).get('notes')}"
    return (Note(NoteKind.DATA, text),) if "notes" in defaults_of(templates) else ()


# Split words that a note lists.
_MOST_SPLIT = 40


def _split_notes(scorer: str, split: dict[str, int]) -> tuple[Note, ...]:
    if not split:
        return ()
    shown = [f"{word} ({count})" for word, count in sorted(split.items())[:_MOST_SPLIT]]
    more = len(split) - len(shown)
    words = ", ".join([*shown, *([f"and {more:,} more"] if more else [])])
    number = plural(len(split), "word")
    if scorers.get(scorer).whole_word:
        text = f"the tokenizer splits {number} into pieces; {scorer} scores them as whole words"
        return (Note(NoteKind.SPLIT_WORDS, f"{text}: {words}"),)
    text = (
        f"{scorer} scores {number} that the tokenizer splits by a part of their pieces, so these "
        f"scores are not those of the words ({scorers.description(scorer).rstrip('.')})"
    )
    return (Note(NoteKind.SCORER, f"{text}: {words}"),)


def _of_table(templates: AnySet) -> dict[str, Any]:
    """Return the words that a table has, and what is known of its items."""
    if isinstance(templates, TemplateSet):
        return {}
    words = {"attributes": list(templates.all_attributes), "tasks": list(templates.all_tasks)}
    if templates.of_model:
        return {"of_model": True} | words
    about = {key: fact for key, fact in templates.facts.items() if key not in _CHOICES}
    return {"items": len(templates.items), "framed": templates.framed, "about": about} | words


def _provenance(
    model: LanguageModel,
    templates: AnySet,
    baselines: list[Baseline],
    settings: ProbeSettings,
    scores: Scores,
) -> dict[str, Any]:
    """Return what is needed to run the same probe again and to know that it is the same."""
    leans = {
        baseline.lean_name: dict(baseline.lean_rates.provenance)
        for baseline in baselines
        if baseline.lean_rates
    }
    bases = {baseline.name: dict(baseline.rates.provenance) for baseline in baselines}
    facts: dict[str, Any] = {
        "model": model.name,
        "revision": model.revision,
        "loading": asdict(model.origin),
        "content_hash": model.content_hash,
        "tokenizer": model.tokenizer_name,
        "scorer": scores.scorer,
        "templates": {
            "name": templates.name,
            "sha256": templates.sha256,
            "attribute": templates.attribute_slot,
            "task": templates.task_slot,
        }
        | ({"file": templates.file} if templates.file else {})
        | ({"own_words": templates.own_words} if templates.own_words else {})
        | _of_table(templates),
        "bases": leans | bases,
        "settings": settings.to_dict(),
        "versions": {"lmprobe": __version__}
        | {name: version(name) for name in kinds.get(model.kind).packages},
        "seed": settings.seed,
        "kind": model.kind,
        "device": model.device,
        "dtype": model.dtype,
        "batch_policy": model.batch_policy,
        "threads": scores.threads,
    }
    prompts = {"prompts": dict(scores.prompts)} if scores.prompts else {}
    answers: dict[str, Any] = {"values": scores.scorer} if scores.recorded else {}
    if isinstance(model, RecordedModel) and model.description:
        answers["answers"] = {k: fact for k, fact in model.description.items() if k != "values"}
    return facts | prompts | answers
