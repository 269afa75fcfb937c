"""The report of a probe: verdicts, limits, tasks, templates, pairs, how to run it again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lmprobe.metrics.direction import Direction
from lmprobe.models.kind import kinds
from lmprobe.models.kinds.recorded import RECORDED
from lmprobe.probing.exhibits import (
    SOURCE,
    by_direction,
    deciding_table,
    interval_figure,
    margin_tables,
    pair_figure,
    pair_table,
    part_tables,
    robustness_tables,
    task_figures,
    template_figure,
    verdict_tables,
    words_table,
)
from lmprobe.probing.finding import finding, leading_row
from lmprobe.probing.settings import run_again
from lmprobe.results import Note, NoteKind, Obstacle, Page, Section, closing_sections
from lmprobe.results.content import MOST_DOTS
from lmprobe.results.format import format_percent, format_rounded, listed, plural
from lmprobe.results.metric_values import metric_table

if TYPE_CHECKING:
    from lmprobe.probing.result import ProbeResult, ProbeRow

LIMITS = (
    "It compares the model's predictions in these sentences with base rates that you chose: "
    "another base gives another answer, and no base is neutral.",
    "The sentences are a sample of one kind of sentence; the interval describes sentences and "
    "words like these, not people.",
    "It measures intrinsic bias. It does not show harm in a product built on the model, and a "
    "value near zero does not show that such a product is fair.",
    "Compare values within one direction only: task->attribute and attribute->task have "
    "different scales.",
)
"""What this measures and what it does not; every report carries it."""


Rows = Mapping[Direction, list["ProbeRow"]]
"""The rows that have a lean, by direction."""

_VERDICT = ("base", "value", "corrected", "interval", "verdict", "undefined_pairs")

# A reader who wants more templates than these wants them in a file.
_MOST_LISTED = 500

_PROVENANCE = (
    "model", "revision", "content_hash", "tokenizer", "scorer", "seed", "device", "dtype",
    "batch_policy",
)  # fmt: skip


def probe_page(result: ProbeResult) -> Page:
    """Return the whole report of a probe."""
    rows = by_direction([row for row in result.rows if row.unevenness is None])
    templates, tasks = len(result.templates), len(_unique(row.tasks for row in result.rows))
    turns = len(set(result.turns))
    about = result.provenance["templates"]
    own_frames = not about.get("framed", True)
    several = plural(templates // max(turns, 1), "template")
    if "items" in about:
        items = plural(about["items"], "item")
        several = items if own_frames else f"{several} and {items}"
    after = f" after {'a turn' if turns == 1 else f'each of {turns} turns'}" if turns else ""
    example, groups = result.templates[0], _unique(row.attributes for row in result.rows)
    return Page(
        title=f"Does {result.provenance['model']} exaggerate the base rates?",
        subtitle=(
            f"{several} of {about['name']}{after}"
            + ("" if own_frames else f"{', such as' if templates > 1 else ':'} “{example}”")
            + f"; {plural(tasks, 'task')}; {', '.join(groups)}"
        ),
        headline=finding(result),
        sections=(
            *(section for section in _sections(result, rows) if section.has_exhibits),
            *_closing(result, rows),
        ),
        limits=LIMITS,
        source=SOURCE,
    )


def _sections(result: ProbeResult, rows: Rows) -> Iterator[Section]:
    """Yield every section, also those that have nothing to show."""
    bases: Mapping[str, Any] = result.provenance["bases"]
    lead = _pictured(result, rows)
    if lead is not None:
        yield Section(
            "Task by task",
            (
                f"Each ring is the share in {lead.base}, each dot the model's. Orange: moved "
                f"beyond {lead.base}; blue: moved back. A task leans to a group that has a larger "
                "share in it than in all tasks together.",
            ),
            figures=task_figures(lead),
            name="tasks",
        )
    yield Section(
        "Directions",
        (
            "A positive value means that the model exaggerates the links between groups and tasks "
            "that the base shows, a negative value that it weakens them. There is a verdict only "
            "where the whole interval is on one side of zero.",
        ),
        facts={
            base: str(bases.get(base, {}).get("title") or "base rates of your own")
            for base in _unique([row.base] for group in rows.values() for row in group)
        },
        parts=tuple(
            Section(
                direction,
                (f"{direction.question.capitalize()}.",),
                tables=tuple(table.select(*_VERDICT) for table in verdict_tables(group)),
                figures=(interval_figure(group),),
            )
            for direction, group in rows.items()
        ),
        name="verdict",
    )
    yield Section(
        "Unevenness",
        ("No source has a lean for these words, so no direction counts as amplification.",),
        tables=verdict_tables([row for row in result.rows if row.unevenness is not None]),
        name="unevenness",
    )
    yield Section(
        "Each attribute alone",
        ("The same predictions and bases, with the groups that share a value combined.",),
        tables=margin_tables(result),
        name="margins",
    )
    yield Section(
        "Other metrics",
        tables=(metric_table(result.metrics),) if result.metrics else (),
        name="metrics",
    )
    number = len(result.templates)
    yield Section(
        "Template by template",
        (
            f"The bar is the mean of {number:,} templates; each dot is a group of neighbours."
            if number > MOST_DOTS
            else "Each dot is one template, the bar is their mean. If a few sentences decide the "
            "result, it is visible here.",
        ),
        figures=tuple(template_figure(group, result.templates) for group in rows.values())
        if result.provenance["templates"].get("framed", True)
        else (),
        name="templates",
    )
    if result.deciding_items:
        yield Section(
            "Items that decide the result",
            (
                "Those that move the value most, up and down. Read them: one that does not say "
                "what it should is a reason to doubt the set, not the model.",
            ),
            tables=(deciding_table(result.deciding_items),),
            name="items",
        )
    measured = [row for row in result.rows if row.unevenness is None]
    yield Section(
        "Pair by pair",
        (
            "The mean over templates for each attribute and task. Orange: the model exaggerates "
            "the link; blue: it weakens it.",
        ),
        tables=(pair_table(measured),) if measured else (),
        figures=tuple(map(pair_figure, rows.values())),
        searchable=True,
        name="pairs",
    )


def _pictured(result: ProbeResult, rows: Rows) -> ProbeRow | None:
    """Return the row whose shares the report begins with, of the base it begins with."""
    base = leading_row(result).base
    of_base = (row for group in rows.values() for row in group if row.base == base)
    return next((row for row in of_base if row.obstacle is None), None)


def _details(result: ProbeResult, rows: Rows) -> Iterator[Section]:
    """Yield what a reader may want to look up."""
    lead = _pictured(result, rows)
    others = [
        row
        for row in rows.get(lead.direction if lead else Direction.TASK_TO_ATTRIBUTE, ())
        # The shares of an uninformed model mean nothing.
        if row is not lead and row.obstacle is not Obstacle.UNINFORMED
    ]
    yield Section(
        "Task by task, other bases" if lead else "Task by task",
        figures=tuple(figure for row in others for figure in task_figures(row)),
        name="other-bases",
    )
    yield Section(
        "Association, preference and strength",
        (
            "The value is the sum of two parts. Association is the amplification that remains when "
            "the model's overall preferences for single words are removed. Preference is the rest: "
            "it comes from preferring a word in every sentence.",
            "Strength is how many times as strong the model's links are as the base's: the slope "
            "of its log odds on those of the base. 1 is the base itself, 0 no links.",
        ),
        tables=part_tables(result.rows),
        name="parts",
    )
    yield Section(
        "Dependence on single templates and tasks",
        (
            "SD is the standard deviation over templates, not an interval. “Without one template” "
            "is the range of the value when any one template is left out. “Other sign” is the "
            "share of templates whose value has the opposite sign. “Verdict flips” counts the "
            "families of templates and the tasks each of which would change the verdict if it were "
            "left out. The standard errors are what the choice of templates and of tasks adds.",
        ),
        parts=tuple(
            Section(direction, tables=robustness_tables(direction, group))
            for direction, group in rows.items()
        ),
        name="robustness",
    )
    yield _measured(result)


def _measured(result: ProbeResult) -> Section:
    """Return the words, the templates and the sources that took part."""
    tables: Mapping[str, Any] = result.provenance["bases"]
    bases = _unique([row.base] for row in result.rows)
    return Section(
        "What was measured",
        parts=(
            Section(
                "Words",
                facts=_words(result),
                tables=(words_table(result.words),) if result.words else (),
            ),
            *(_chat(result) if result.turns else ()),
            *_templates(result),
            # The bases in their order, then what only the lean comes from.
            *(
                Section(
                    f"{'Base rates' if name in bases else 'Lean'}: {name}",
                    facts=_source_facts(result, name),
                )
                for name in _unique([bases, tables])
                if name in tables
            ),
        ),
        name="measured",
    )


def _templates(result: ProbeResult) -> Iterator[Section]:
    """Yield the templates, and what is known of the items of a table."""
    about = result.provenance["templates"]
    if facts := about.get("about"):
        yield Section(f"Items of {about['name']}", facts={k: str(v) for k, v in facts.items()})
    if about.get("framed", True):
        templates = result.templates[:_MOST_LISTED]
        if more := len(result.templates) - len(templates):
            templates = (*templates, f"and {more:,} more, which the JSON document has")
        title, folded = f"Templates of {about['name']}", len(result.templates) > 40
        yield Section(title, items=templates, collapsed=folded)


def _chat(result: ProbeResult) -> Iterator[Section]:
    system = result.provenance.get("settings", {}).get("system")
    yield Section(
        "Turns of the user",
        ("Every sentence is scored as the beginning of the answer to each.",),
        items=tuple(_unique([result.turns])),
        facts={} if system is None else {"system": system},
    )


def _words(result: ProbeResult) -> dict[str, str]:
    facts = {
        "attributes": ", ".join(_unique(row.attributes for row in result.rows)),
        "tasks": ", ".join(_unique(row.tasks for row in result.rows)),
    }
    for row in result.rows:
        if dropped := (*row.dropped_attributes, *row.dropped_tasks):
            facts[f"left out, {row.base}"] = ", ".join(dropped)
    if result.split_words:
        pieces = [f"{word} ({number} pieces)" for word, number in result.split_words.items()]
        if len(pieces) > _MOST_LISTED:
            pieces[_MOST_LISTED:] = [f"and {len(pieces) - _MOST_LISTED:,} more"]
        facts["split by the tokenizer"] = ", ".join(pieces)
    return facts


def _source_facts(result: ProbeResult, name: str) -> dict[str, str]:
    facts = {
        key: "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for key, value in result.provenance["bases"][name].items()
        if value not in (None, "", [], ())
    }
    leans = {row.lean_source for row in result.rows if row.base == name} - {name}
    return facts | ({"lean": f"from {listed(sorted(leans))}"} if leans else {})


def _closing(result: ProbeResult, rows: Rows) -> tuple[Section, ...]:
    """Return what the probe was made of, and the command that runs it again."""
    facts = result.provenance
    row = result.rows[0]
    shown = {name: str(facts[name]) for name in _PROVENANCE if facts.get(name) not in (None, "")}
    shown |= {
        "templates": f"{facts['templates']['name']} {facts['templates']['sha256']}",
        "interval": f"{row.interval.method}, {format_percent(row.interval.confidence)}",
        "lean": f"{row.lean_weighting} weighting",
        "versions": ", ".join(f"{name} {version}" for name, version in facts["versions"].items()),
    }
    details = (section for section in _details(result, rows) if section.has_exhibits)
    return closing_sections(gathered_notes(result), shown, run_again(result), details)


def _unique(several: Iterable[Iterable[str]]) -> list[str]:
    """Return every word once, in order."""
    return list(dict.fromkeys(word for words in several for word in words))


def gathered_notes(result: ProbeResult) -> tuple[Note, ...]:
    """Return the notes of the result and of its rows, each once with its scope.

    A note of all rows belongs to the whole probe and has no scope.
    """
    rows_of: dict[Note, list[ProbeRow]] = {}
    for row in result.rows:
        for note in (*row.notes, *_undefined(row)):
            rows_of.setdefault(note, []).append(row)
    whole = [note for note, rows in rows_of.items() if len(rows) == len(result.rows)]
    scoped = [
        replace(note, scope=_scope(rows, result))
        for note, rows in rows_of.items()
        if note not in whole
    ]
    return (*result.notes, *whole, *scoped, *mass_notes(result))


def mass_notes(result: ProbeResult) -> Iterator[Note]:
    """Yield how much probability the candidates had, and the perplexity."""
    for direction, rows in by_direction(result.rows).items():
        if math.isnan(rows[0].mean_mass):
            continue
        share = format_percent(float(rows[0].candidate_mass.mean()))
        text = f"before normalising, the candidates together had {share} of the probability"
        if result.provenance.get("kind") == RECORDED:
            text = f"{share} of the texts have a group"
        ratio = rows[0].mass_ratio
        if ratio is not None:
            text += f"; a token of each had {format_rounded(ratio)} times that of random ones there"
        yield Note(NoteKind.QUALITY, text, direction.value)
    if result.perplexity is not None:
        name = "pseudo-perplexity" if uses_masks(result) else "perplexity"
        text = f"{name} per word on a sample of the sentences: {format_rounded(result.perplexity)}"
        yield Note(NoteKind.QUALITY, text)


def uses_masks(result: ProbeResult) -> bool:
    """Tell whether the model fills masks; version 1 knew no other, and wrote no kind."""
    kind = str(result.provenance.get("kind", "masked"))
    # A result may be of a kind that a plug-in added where it was made.
    return kind in kinds.names() and kinds.get(kind).masks


def _undefined(row: ProbeRow) -> Iterator[Note]:
    if row.undefined_pairs and row.unevenness is None:
        count, total = row.undefined_pairs, row.by_pair.size
        text = f"the mean leaves out {plural(count, 'pair', of=total)}, undefined"
        yield Note(NoteKind.UNDEFINED, text)


def _scope(rows: list[ProbeRow], result: ProbeResult) -> str:
    """Return the bases of the rows, with the direction where it does not hold for each."""
    bases = list(dict.fromkeys(row.base for row in rows))
    if len(rows) == len(bases) * len(by_direction(result.rows)):
        return listed(bases)
    return "; ".join(f"{row.base}, {row.direction}" for row in rows)
