"""The report of a probe: verdicts, limits, tasks, templates, pairs, how to run it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lmprobe.core.direction import Direction
from lmprobe.probing.figures import interval_figure, pair_figure, task_figure, template_figure
from lmprobe.probing.group_sections import margins_section, unevenness_section
from lmprobe.probing.notes import by_direction, gathered_notes
from lmprobe.probing.provenance_page import again_section, bases_of, every, measured_section
from lmprobe.probing.tables import (
    pair_table,
    part_table,
    robustness_table,
    verdict_table,
)
from lmprobe.probing.years import years_section
from lmprobe.results import Page, Section, Statement, Verdict
from lmprobe.results.figure import MOST_DOTS
from lmprobe.results.format import (
    describe_interval,
    format_number,
    format_p_value,
    format_signed,
    listed,
    plural,
)

if TYPE_CHECKING:
    from lmprobe.probing.result import ProbeResult
    from lmprobe.probing.row import ProbeRow


def probe_page(result: ProbeResult) -> Page:
    """Return the whole report of a probe."""
    from lmprobe.probing.result import LIMITS

    templates, tasks = len(result.templates), len(every(row.tasks for row in result.rows))
    return Page(
        title=f"Does {result.provenance['model']} exaggerate the base rates?",
        subtitle=(
            f"{plural(templates, 'template')} of {result.provenance['templates']['name']}"
            f"{', such as' if templates > 1 else ':'} “{result.templates[0]}”; "
            f"{plural(tasks, 'task')}; {', '.join(every(row.attributes for row in result.rows))}"
        ),
        headline=headline(result.rows),
        sections=(
            *_verdicts(result),
            *_parts(result),
            *unevenness_section(result),
            *margins_section(result),
            *years_section(result),
            Section("Notes", notes=gathered_notes(result), name="notes"),
            *_tasks(result),
            *_templates(result),
            *_pairs(result),
            measured_section(result),
            again_section(result),
        ),
        limits=LIMITS,
        source="Directional bias amplification: Wang & Russakovsky, ICML 2021.",
    )


def headline(rows: Sequence[ProbeRow]) -> tuple[Statement, ...]:
    """Return what the probe found: each comparison of a few, or how many of each verdict."""
    if len(rows) <= 2:
        return tuple(Statement(_sentence(row), row.verdict) for row in rows)
    return (verdict_counts([row.verdict for row in rows]),)


def verdict_counts(verdicts: Sequence[Verdict]) -> Statement:
    """Return how often a model gets each verdict, in one sentence."""
    claims = {
        verdict: verdict.words.predicate.format(base="the base")
        for verdict in dict.fromkeys(verdicts)
    }
    if len(claims) == 1:
        ((verdict, claim),) = claims.items()
        return Statement(f"The model {claim} in all {len(verdicts)} comparisons.", verdict)
    parts = [f"{claim} in {verdicts.count(verdict)}" for verdict, claim in claims.items()]
    return Statement(f"Of {len(verdicts)} comparisons, the model {listed(parts)}.")


def _sentence(row: ProbeRow) -> str:
    claim = row.verdict.words.predicate.format(base=row.base)
    numbers = f"{format_signed(row.value)}, {describe_interval(row.interval)}"
    if row.unevenness is not None:
        numbers = (
            f"absolute {format_number(row.absolute)}, p {format_p_value(row.unevenness.p_value)}"
        )
    return f"{row.direction}: the model {claim} ({numbers})."


def _measured_rows(result: ProbeResult) -> dict[Direction, list[ProbeRow]]:
    """Return the rows whose lean is known, by direction."""
    return by_direction([row for row in result.rows if row.unevenness is None])


def _verdicts(result: ProbeResult) -> tuple[Section, ...]:
    measured = _measured_rows(result)
    return (_verdict_section(result, measured),) if measured else ()


def _verdict_section(result: ProbeResult, measured: Mapping[Direction, list[ProbeRow]]) -> Section:
    bases: Mapping[str, Any] = result.provenance["bases"]
    return Section(
        "Verdict",
        (
            "A positive value means that the model exaggerates the links between groups and tasks "
            "that the base shows, a negative value that it weakens them. There is a verdict only "
            "where the whole interval is on one side of zero.",
        ),
        facts={
            base: str(bases.get(base, {}).get("title") or "base rates of your own")
            for base in bases_of(result)
        },
        parts=tuple(
            Section(
                direction,
                (f"{direction.question.capitalize()}.",),
                tables=(verdict_table(direction, rows),),
                figures=(interval_figure(rows),),
            )
            for direction, rows in measured.items()
        ),
    )


def _parts(result: ProbeResult) -> tuple[Section, ...]:
    table = part_table(result.rows)
    text = (
        "The value is the sum of two parts. Association is the amplification that remains when "
        "the model's overall preferences for single words are removed. Preference is the rest: it "
        "comes from preferring a word in every sentence."
    )
    section = Section("Association and preference", (text,), tables=(table,), name="parts")
    return (section,) if table.rows else ()


def _tasks(result: ProbeResult) -> tuple[Section, ...]:
    rows = _measured_rows(result).get(Direction.TASK_TO_ATTRIBUTE, [])
    text = (
        "The probability that the model gives to a group for each task, against the share in the "
        "base. On the dashed line the two are equal."
    )
    figures = tuple(task_figure(row) for row in rows)
    return (Section("Task by task", (text,), figures=figures, name="tasks"),) if rows else ()


def _templates(result: ProbeResult) -> tuple[Section, ...]:
    measured = _measured_rows(result)
    if not measured:
        return ()
    section = Section(
        "Template by template",
        (
            _dots_mean(len(result.templates)),
            "SD is the standard deviation over templates, not an interval. “Without one template” "
            "is the range of the value when any one template is left out. “Other sign” is the "
            "share of templates whose value has the opposite sign.",
        ),
        parts=tuple(
            Section(
                direction,
                tables=(robustness_table(direction, rows),),
                figures=(template_figure(rows, result.templates),),
            )
            for direction, rows in measured.items()
        ),
        name="templates",
    )
    return (section,)


def _dots_mean(templates: int) -> str:
    if templates > MOST_DOTS:
        return f"The bar is the mean of {templates:,} templates; each dot is a group of neighbours."
    return (
        "Each dot is one template, the bar is their mean. If a few sentences decide the "
        "result, it is visible here."
    )


def _pairs(result: ProbeResult) -> tuple[Section, ...]:
    measured = _measured_rows(result)
    if not measured:
        return ()
    section = Section(
        "Pair by pair",
        (
            "The mean over templates for each attribute and task. Orange: the model exaggerates "
            "the link; blue: it weakens it.",
        ),
        tables=(pair_table([row for row in result.rows if row.unevenness is None]),),
        figures=tuple(pair_figure(rows) for rows in measured.values()),
        searchable=True,
        name="pairs",
    )
    return (section,)
