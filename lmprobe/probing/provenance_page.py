"""The end of a probe's report: what was measured, with which sources, and how to run it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lmprobe.probing.command import run_again
from lmprobe.probing.groups import words_table
from lmprobe.results import Section, Table
from lmprobe.results.format import format_percent, listed

if TYPE_CHECKING:
    from lmprobe.probing.result import ProbeResult

# A reader who wants more than these wants them in a file.
_MOST_LISTED = 500

_PROVENANCE = (
    "model",
    "revision",
    "content_hash",
    "tokenizer",
    "scorer",
    "seed",
    "device",
    "dtype",
    "batch_policy",
)


def measured_section(result: ProbeResult) -> Section:
    """Return the words, the templates and the sources that took part."""
    tables: Mapping[str, Any] = result.provenance["bases"]
    bases = bases_of(result)
    # The bases in their order, then what only the lean comes from.
    names = [name for name in dict.fromkeys((*bases, *tables)) if name in tables]
    return Section(
        "What was measured",
        parts=(
            Section("Words", facts=_words(result), tables=_word_tables(result)),
            Section(
                f"Templates of {result.provenance['templates']['name']}",
                items=_listed(result.templates),
                collapsed=len(result.templates) > 40,
            ),
            *(
                Section(
                    f"{'Base rates' if name in bases else 'Lean'}: {name}",
                    facts=_source_facts(result, name),
                )
                for name in names
            ),
        ),
        name="measured",
    )


def _word_tables(result: ProbeResult) -> tuple[Table, ...]:
    return (words_table(result.words),) if result.words else ()


def _words(result: ProbeResult) -> dict[str, str]:
    facts = {
        "attributes": ", ".join(every(row.attributes for row in result.rows)),
        "tasks": ", ".join(every(row.tasks for row in result.rows)),
    }
    for row in result.rows:
        if dropped := (*row.dropped_attributes, *row.dropped_tasks):
            facts[f"left out, {row.base}"] = ", ".join(dropped)
    if result.split_words:
        pieces = (f"{word} ({number} pieces)" for word, number in result.split_words.items())
        facts["split by the tokenizer"] = ", ".join(pieces)
    return facts


def _source_facts(result: ProbeResult, name: str) -> dict[str, str]:
    known = result.provenance["bases"][name].items()
    facts = {key: _fact(value) for key, value in known if value not in (None, "", [], ())}
    leans = {row.lean_source for row in result.rows if row.base == name} - {name}
    return facts | ({"lean": f"from {listed(sorted(leans))}"} if leans else {})


def _fact(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def again_section(result: ProbeResult) -> Section:
    """Return the command that runs the probe again, and what it was made of."""
    facts = result.provenance
    row = result.rows[0]
    shown = {
        name.replace("_", " "): str(facts[name])
        for name in _PROVENANCE
        if facts.get(name) is not None
    }
    shown |= {
        "templates": f"{facts['templates']['name']} {facts['templates']['sha256']}",
        "interval": f"{row.interval.method}, {format_percent(row.interval.confidence)}",
        "lean": f"{row.lean_weighting} weighting",
        "versions": ", ".join(f"{name} {version}" for name, version in facts["versions"].items()),
    }
    return Section(
        "Run it again",
        commands=(run_again(result),),
        parts=(Section("Provenance", facts=shown),),
        name="provenance",
    )


def bases_of(result: ProbeResult) -> list[str]:
    """Return the names of the bases, in order."""
    return list(dict.fromkeys(row.base for row in result.rows))


def every(several: Iterable[Iterable[str]]) -> list[str]:
    """Return every word once, in order."""
    return list(dict.fromkeys(word for one in several for word in one))


def _listed(templates: tuple[str, ...]) -> tuple[str, ...]:
    """Return the templates, of very many the first: the result has them all."""
    if len(templates) <= _MOST_LISTED:
        return templates
    more = len(templates) - _MOST_LISTED
    return (*templates[:_MOST_LISTED], f"and {more:,} more, which the JSON document has")
