"""The notes and the report of a probe: what is said, of which rows, and what is left away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS
from lmprobe.inference.unevenness import Unevenness
from lmprobe.probing.model_card import eval_results
from lmprobe.probing.notes import by_direction, gathered_notes, mass_notes, uses_masks
from lmprobe.probing.page import _dots_mean, headline, probe_page
from lmprobe.probing.provenance_page import again_section, every, measured_section
from lmprobe.probing.result import Margin, ProbeResult
from lmprobe.results import Interval, Note, NoteKind, Section, Verdict
from tests.probing.made_rows import made_result, made_row

FORWARD, BACKWARD = DIRECTIONS
NAN = np.nan
PLAIN = [[0.1, 0.2], [0.3, 0.4]]
UNEVEN = Unevenness(0.2, Interval(0.1, 0.3, 0.9, "bootstrap-deviation"), 0.02)
FEW = Note(NoteKind.FEW_UNITS, "few")


def row(base: str = "labor", **options: Any) -> Any:
    return made_row(options.pop("cells", PLAIN), base=base, **options)


def scopes(result: ProbeResult, text: str = "few") -> list[str]:
    return [note.scope for note in gathered_notes(result) if note.text == text]


def test_rows_are_sorted_by_the_directions_that_were_measured() -> None:
    rows = [row(direction=BACKWARD), row(), row("corpus", direction=BACKWARD)]
    found = by_direction(rows)
    assert list(found) == [FORWARD, BACKWARD]
    assert found[FORWARD] == rows[1:2]
    assert found[BACKWARD] == [rows[0], rows[2]]
    assert list(by_direction(rows[:1])) == [BACKWARD]


def test_a_note_of_all_rows_belongs_to_the_whole_and_others_say_where() -> None:
    """A base in both directions is named alone, in one of them with the direction."""
    told, silent = {"notes": (FEW,)}, {}
    pairs = [("a", FORWARD), ("a", BACKWARD), ("b", FORWARD), ("b", BACKWARD)]

    def result(*chosen: int) -> ProbeResult:
        rows = [
            row(base, direction=direction, **(told if number in chosen else silent))
            for number, (base, direction) in enumerate(pairs)
        ]
        return made_result(*rows)

    assert scopes(result(0, 1, 2, 3)) == [""]
    assert scopes(result(0, 1)) == ["a"]
    assert scopes(result(2, 3)) == ["b"]
    assert scopes(result(0, 2)) == ["a, task->attribute; b, task->attribute"]
    assert scopes(result(3)) == ["b, attribute->task"]
    assert scopes(result(0, 1, 2)) == ["a, task->attribute; a, attribute->task; b, task->attribute"]
    assert scopes(result()) == []


def test_notes_of_the_result_come_first() -> None:
    whole = Note(NoteKind.SPLIT_WORDS, "split")
    result = made_result(row(notes=(FEW,)), row("corpus"), notes=(whole,))
    kinds = [note.kind for note in gathered_notes(result)]
    assert kinds == [NoteKind.SPLIT_WORDS, NoteKind.FEW_UNITS, NoteKind.MASS]


def test_undefined_pairs_are_counted_unless_no_lean_is_known() -> None:
    rates = [[0.5, NAN], [0.5, 0.5]]
    some = made_row(PLAIN, rates)
    text = "1 of 4 pairs are undefined and left out of the mean"
    assert scopes(made_result(some), text) == [""]
    unknown = replace(some, unevenness=UNEVEN)
    for other in (row(), unknown, replace(row(), unevenness=UNEVEN)):
        kinds = [note.kind for note in gathered_notes(made_result(other))]
        assert NoteKind.UNDEFINED not in kinds


def test_the_mass_of_each_direction_is_that_of_its_first_row() -> None:
    first = row(candidate_mass=np.array([0.2, 0.3]), mass_ratio=12.34)
    second = row(direction=BACKWARD, candidate_mass=np.array([0.04, 0.06]))
    result = made_result(first, row("b", candidate_mass=np.ones(2)), second)
    found = list(mass_notes(result))
    words = "before normalising, the candidates together had"
    assert [(note.text, note.scope) for note in found] == [
        (f"{words} 25% of the probability, 12.3 times that of random words", FORWARD.value),
        (f"{words} 5% of the probability", BACKWARD.value),
    ]


@pytest.mark.parametrize(
    ("facts", "masks", "name"),
    [
        ({}, True, "pseudo-perplexity"),
        ({"kind": "masked"}, True, "pseudo-perplexity"),
        ({"kind": "causal"}, False, "perplexity"),
        # A kind that a plug-in added where the result was made.
        ({"kind": "diffusion"}, False, "perplexity"),
    ],
)
def test_the_perplexity_is_called_what_the_kind_has(
    facts: dict[str, str], masks: bool, name: str
) -> None:
    result = made_result(row(), facts=facts, perplexity=7.5)
    assert uses_masks(result) is masks
    *_, last = mass_notes(result)
    assert last.kind is NoteKind.QUALITY
    assert last.text == f"{name} per word on a sample of the sentences: 7.5"
    without = list(mass_notes(replace(result, perplexity=None)))
    assert [note.kind for note in without] == [NoteKind.MASS]
    (card,) = eval_results(result)
    assert card.task_type == ("fill-mask" if masks else "text-generation")


def test_a_number_of_the_model_card_has_six_digits() -> None:
    (card,) = eval_results(made_result(row(cells=np.full((2, 2), 0.123456789))))
    assert card.metric_value == 0.123457


def test_two_rows_are_said_and_more_are_counted() -> None:
    rows = [row(), row("corpus"), row("wiki")]
    assert [one.text for one in headline(rows[:1])] == [
        "task->attribute: the model exaggerates the links in labor "
        "(+0.2500, 95% interval +0.1000 to +0.3000)."
    ]
    assert [one.verdict for one in headline(rows[:2])] == [Verdict.AMPLIFIES] * 2
    (counted,) = headline(rows)
    assert counted.text == ("The model exaggerates the links in the base in all 3 comparisons.")
    assert counted.verdict is Verdict.AMPLIFIES
    below = Interval(-0.3, -0.1, 0.95, "t")
    (counted,) = headline([*rows, row("x", interval=below)])
    assert counted.text == (
        "Of 4 comparisons, the model exaggerates the links in the base in 3 and weakens the links "
        "in the base in 1."
    )
    assert counted.verdict is Verdict.UNDECIDED


def test_of_an_unknown_lean_the_size_is_said() -> None:
    (one,) = headline([row(unevenness=UNEVEN)])
    assert one.text.endswith("(absolute 0.2000, p 0.02).")


def names(page: Any) -> list[str]:
    return [section.name or section.title for section in page.sections]


FACTS = {"bases": {"labor": {"title": ""}, "uniform": {"title": "Even"}}}


def test_the_report_leaves_away_what_was_not_measured() -> None:
    measured = probe_page(made_result(row(), facts=FACTS))
    shown = {"tasks", "templates", "pairs"}
    assert shown < set(names(measured))
    assert "unevenness" not in names(measured)
    verdict = measured.sections[0]
    assert verdict.title == "Verdict"
    assert dict(verdict.facts) == {"labor": "base rates of your own"}
    unknown = row("uniform", unevenness=UNEVEN, lean=np.full((2, 2), NAN))
    only = probe_page(made_result(unknown, facts=FACTS))
    assert not shown & set(names(only))
    assert "Verdict" not in [section.title for section in only.sections]
    (section,) = [one for one in only.sections if one.name == "unevenness"]
    assert [cells[0] for cells in section.tables[0].rows] == ["uniform"]
    both = probe_page(made_result(row(), unknown, facts=FACTS))
    (section,) = [one for one in both.sections if one.name == "unevenness"]
    assert [cells[0] for cells in section.tables[0].rows] == ["uniform"]
    (pairs,) = [one for one in both.sections if one.name == "pairs"]
    assert {cells[0] for cells in pairs.tables[0].rows} == {"labor"}
    assert pairs.searchable
    assert dict(both.sections[0].facts)["uniform"] == "Even"


def test_only_tasks_that_are_given_are_drawn_one_by_one() -> None:
    page = probe_page(made_result(row(direction=BACKWARD)))
    assert "tasks" not in names(page)
    assert "templates" in names(page)


def test_a_dot_is_a_template_up_to_the_most_that_can_be_drawn() -> None:
    from lmprobe.results.figure import MOST_DOTS

    assert _dots_mean(MOST_DOTS).startswith("Each dot is one template")
    assert _dots_mean(MOST_DOTS + 1).startswith(f"The bar is the mean of {MOST_DOTS + 1:,} templ")


def part(section: Section, title: str) -> Section:
    (found,) = [one for one in section.parts if one.title.startswith(title)]
    return found


@pytest.mark.parametrize(("count", "collapsed"), [(40, False), (41, True)])
def test_more_than_forty_templates_are_folded_away(count: int, collapsed: bool) -> None:
    sentences = tuple(map(str, range(count)))
    found = part(measured_section(made_result(row(), templates=sentences)), "Templates")
    assert found.collapsed is collapsed
    assert found.items == sentences


@pytest.mark.parametrize("count", [499, 500, 501, 1700])
def test_five_hundred_templates_are_listed(count: int) -> None:
    sentences = tuple(map(str, range(count)))
    items = part(measured_section(made_result(row(), templates=sentences)), "Templates").items
    if count <= 500:
        assert items == sentences
    else:
        more = f"and {count - 500:,} more, which the JSON document has"
        assert items == (*sentences[:500], more)


def test_the_sources_are_listed_with_what_is_known_of_them() -> None:
    table = {"title": "T", "year": 2016, "unit": None, "method": "", "notes": ("x", "y"), "url": []}
    bases = {"lean": {"title": "L"}, "labor": table, "corpus": {"title": "C"}}
    rows = row(lean_source="lean"), row("corpus"), row("memory")
    section = measured_section(made_result(*rows, facts={"bases": bases}))
    assert [one.title for one in section.parts[2:]] == [
        "Base rates: labor", "Base rates: corpus", "Lean: lean",
    ]  # fmt: skip
    facts = part(section, "Base rates: labor").facts
    assert facts == {"title": "T", "year": "2016", "notes": "x; y", "lean": "from lean"}
    assert part(section, "Base rates: corpus").facts == {"title": "C"}
    assert part(section, "Lean").facts == {"title": "L"}


def test_words_left_out_and_split_are_told() -> None:
    result = made_result(
        row(tasks=("cook", "nurse"), dropped_tasks=("vet",), dropped_attributes=("xe",)),
        row("corpus", tasks=("nurse", "clerk")),
        split_words={"nurse": 2},
    )
    assert part(measured_section(result), "Words").facts == {
        "attributes": "he, she",
        "tasks": "cook, nurse, clerk",
        "left out, labor": "xe, vet",
        "split by the tokenizer": "nurse (2 pieces)",
    }
    assert every([("a", "b"), ("b", "c")]) == ["a", "b", "c"]


def test_what_a_run_was_made_of_is_listed_but_for_what_nobody_knows() -> None:
    facts = {"revision": None, "seed": 0, "content_hash": "f"}
    section = again_section(made_result(row(confidence=0.9), facts=facts))
    shown = section.parts[0].facts
    assert shown["seed"] == "0"
    assert shown["content hash"] == "f"
    assert shown["interval"] == "t, 90%"
    assert "revision" not in shown
    assert "device" not in shown


def test_crossed_attributes_have_a_section() -> None:
    result = made_result(row(), margins=(Margin("race", row("r")),))
    assert "margins" in names(probe_page(result))
    assert "margins" not in names(probe_page(made_result(row())))
