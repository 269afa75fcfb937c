"""The report of a probe: tables, figures, notes and their scope, headline, command."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.metrics.direction import DIRECTIONS
from lmprobe.probing.exhibits import (
    by_direction,
    interval_figure,
    pair_figure,
    pair_table,
    part_tables,
    robustness_tables,
    task_figures,
    template_figure,
)
from lmprobe.probing.model_card import eval_results
from lmprobe.probing.page import gathered_notes
from lmprobe.probing.result import GroupedWord, Margin, ProbeResult
from lmprobe.probing.settings import RunSettings, run_again, settings_of
from lmprobe.report.terminal import table_text
from lmprobe.results import Estimate, Interval, Note, NoteKind, Tone, Verdict
from lmprobe.stats.verdicts import Robustness, Unevenness
from lmprobe.templates import load_templates
from tests.probing.made_rows import made_result, made_row

FORWARD, BACKWARD = DIRECTIONS
NAN = np.nan
UNEVEN = Unevenness(0.2, Interval(0.1, 0.3, 0.95, "bootstrap-deviation"), 0.02)
PART = Estimate(0.25, Interval(0.2, 0.3, 0.95, "bootstrap"), Verdict.AMPLIFIES)
PLAIN = [[0.1, 0.2], [0.3, 0.4]]
WORDS = (
    GroupedWord("attribute", "men", "he", 0.75),
    GroupedWord("attribute", "men", "him", 0.25),
    GroupedWord("attribute", "women", "she", 1.0),
    # Another axis with a group of the same name has one word of its own.
    GroupedWord("task", "women", "nurse", 1.0),
)
WHOLE = """\
base   direction          value  corrected  95% interval        verdict    undefined
────────────────────────────────────────────────────────────────────────────────────
labor  task->attribute  +0.2500    +0.1250  +0.1000 to +0.3000  amplifies  0 of 4
town   task->attribute  +0.2667          –  +0.1000 to +0.3000  amplifies  1 of 4
labor  attribute->task  +0.2500          –  +0.1000 to +0.3000  amplifies  0 of 4
“corrected” is the value without the bias that the noise of the base causes: the interval and the
verdict belong to it.

How uneven the shares are
base     direction        absolute  95% interval         p  verdict
───────────────────────────────────────────────────────────────────
uniform  task->attribute    0.2000  0.1000 to 0.3000  0.02  uneven
absolute: how far a share is from the base on average, which other things than the groups may cause;
p: how often groups shuffled at random are at least as uneven.

race alone
base  direction          value  95% interval        verdict
─────────────────────────────────────────────────────────────
r     task->attribute  +0.2500  +0.1000 to +0.3000  amplifies

direction        base   part           value  95% interval        verdict
───────────────────────────────────────────────────────────────────────────
task->attribute  labor  association  +0.2500  +0.2000 to +0.3000  amplifies
task->attribute  labor  preference   +0.7500  +0.2000 to +0.3000  amplifies
attribute->task  labor  association  +0.2500  +0.2000 to +0.3000  amplifies

words behind the groups, and the part of the group's probability that each carried
axis       group  word  share
─────────────────────────────
attribute  men    he      75%
attribute  men    him     25%
"""


def test_a_whole_terminal() -> None:
    """Bases without a lean, crossed attributes and words have tables of their own."""
    result = made_result(
        made_row(
            PLAIN,
            association=PART,
            preference=replace(PART, value=9.0, corrected=0.75),
            corrected=0.125,
        ),
        made_row(PLAIN, direction=BACKWARD, association=PART),
        made_row(PLAIN, [[0.5, NAN], [0.5, 0.5]], base="town"),
        made_row(PLAIN, base="uniform", unevenness=UNEVEN),
        margins=(Margin("race", made_row(PLAIN, base="r")),),
        words=WORDS,
    )
    text = "\n".join(table_text(table, 100) for table in result.tables())
    assert "\n".join(line.rstrip() for line in text.splitlines()) + "\n" == WHOLE


def test_the_parts_of_all_rows_forward_first() -> None:
    rows = [
        made_row(PLAIN, direction=BACKWARD, association=PART),
        made_row(PLAIN, association=PART, preference=replace(PART, value=0.5, corrected=0.75)),
        made_row(PLAIN, base="none"),
    ]
    assert [cells[:4] for cells in part_tables(rows)[0].rows] == [
        (FORWARD, "labor", "association", 0.25),
        (FORWARD, "labor", "preference", 0.75),
        (BACKWARD, "labor", "association", 0.25),
    ]


def test_robustness_is_that_of_the_templates() -> None:
    cells = np.full((3, 2, 2), 0.1) * np.array([1.0, 4.0, -2.0])[:, None, None]
    flips = {"families": 1, "of_families": 3, "tasks": 0, "of_tasks": 2}
    result = Robustness(float(np.std([0.1, 0.4, -0.2])), (-0.05, 0.25), 1 / 3, 1 / 3, flips)
    (line,) = robustness_tables(FORWARD, [made_row(cells, robustness=result)])[0].rows
    # 0.1, 0.4 and -0.2: without one the mean is between -0.05 and 0.25.
    assert line == (
        "labor",
        pytest.approx(np.std([0.1, 0.4, -0.2])),
        "−0.0500 to +0.2500",
        pytest.approx(1 / 3),
        "1 of 3 families, 0 of 2 tasks",
    )


def test_pairs_come_by_size_and_undefined_ones_last() -> None:
    """By what the model says, or by the order of the words, the first would be he and cook."""
    rates = [[0.9, NAN], [0.2, 0.4]]
    cells: Any = [[[0.0, 0.1], [-0.3, 0.1]], [[0.1, 0.1], [-0.1, 0.2]]]
    table = pair_table([made_row(cells, rates, tasks=("cook", "nurse"))])
    pairs = [line[2:] for line in table.rows]
    assert [pair[:2] for pair in pairs] == [
        ("she", "cook"), ("she", "nurse"), ("he", "cook"), ("he", "nurse"),
    ]  # fmt: skip
    # The amplification, the model's mean over templates, the base rate, the lean.
    assert pairs[0][2:] == pytest.approx((-0.2, 0.0, 0.2, 1.0))
    assert pairs[2][2:] == pytest.approx((0.05, 0.95, 0.9, 1.0))
    assert np.isnan(pairs[3][2])


def test_every_figure_of_a_probe_can_be_drawn_by_name(result: ProbeResult) -> None:
    names = [figure.name for figure in result.figures()]
    assert len(names) == len(set(names)) == 2 * 4 + 2 + 2 + 2
    for name in names:
        assert result.figure(name).svg().startswith("<svg")


def test_figures_of_a_direction_have_the_numbers_of_the_rows(result: ProbeResult) -> None:
    for rows in by_direction(result.rows).values():
        intervals = interval_figure(rows)
        assert [(line.value, line.interval, line.tone) for line in intervals.lines] == [
            (row.value, row.interval, row.verdict.tone) for row in rows
        ]
        templates, pairs = template_figure(rows, result.templates), pair_figure(rows)
        for strip, block, row in zip(templates.strips, pairs.blocks, rows, strict=True):
            assert strip.names == result.templates
            assert strip.values == pytest.approx(row.per_template)
            assert strip.mean == pytest.approx(np.mean(strip.values))
            for number, task in enumerate(pairs.rows):
                for column, attribute in enumerate(block.columns):
                    i, j = row.attributes.index(attribute), row.tasks.index(task)
                    expected = np.mean([table[i, j] for table in row.cells])
                    assert block.values[number][column] == pytest.approx(expected, nan_ok=True)


LEAN = np.array([[1.0, 1.0, -1.0, 1.0], [-1.0, -1.0, 1.0, -1.0]])
RATES = np.array([[0.6, 0.7, 0.2, NAN], [0.4, 0.3, 0.8, NAN]])
MOVED = np.array([[-0.1, 0.2, -0.15, 0.1], [0.1, -0.2, 0.15, -0.1]])
JOBS = ("cook", "guard", "nurse", "vet")


def test_each_of_a_few_groups_has_a_picture_of_the_tasks_that_lean_to_it() -> None:
    """The task that moves farthest beyond comes first; one without a base rate has no line."""
    he, she = task_figures(made_row(MOVED, RATES, lean=LEAN, tasks=JOBS))
    assert (he.name, she.name) == ("tasks-labor-he", "tasks-labor-she")
    assert "“he”" in he.title
    lines = [(line.label, line.before, line.after, line.tone) for line in (*he.lines, *she.lines)]
    assert lines == [
        ("guard", pytest.approx(0.7), pytest.approx(0.9), Tone.PLUS),
        ("cook", pytest.approx(0.6), pytest.approx(0.5), Tone.MINUS),
        ("nurse", pytest.approx(0.8), pytest.approx(0.95), Tone.PLUS),
    ]
    assert he.alternative.endswith("from guard (70% to 90%) to cook (60% to 50%).")


def test_given_the_group_the_share_is_that_of_the_task() -> None:
    he, _ = task_figures(made_row(MOVED, RATES, lean=LEAN, tasks=JOBS, direction=BACKWARD))
    assert he.title.startswith("Given “he”")
    assert [line.label for line in he.lines] == ["guard", "cook"]


@pytest.mark.parametrize(
    ("groups", "shown"),
    [
        (3, [["guard", "cook"], ["nurse"]]),
        (6, [["guard (group 0)", "nurse (group 1)", "cook (group 0)"]]),
    ],
)
def test_of_many_groups_each_task_names_its_own(groups: int, shown: list[list[str]]) -> None:
    more = np.zeros((groups - 2, 4))
    tables = (np.vstack([MOVED, more]), np.vstack([RATES / 2, more + 0.01]))
    names = tuple(f"group {number}" for number in range(groups))
    lean = np.vstack([LEAN, more - 1])
    figures = task_figures(made_row(*tables, lean=lean, tasks=JOBS, attributes=names))
    assert [[line.label for line in figure.lines] for figure in figures] == shown


def test_of_very_many_tasks_those_that_move_farthest_are_drawn() -> None:
    number = 100
    moved = np.linspace(-0.3, 0.3, number)
    tasks = tuple(f"task {place}" for place in range(number))
    lean = np.array([np.ones(number), -np.ones(number)])
    (figure,) = task_figures(made_row(np.array([moved, -moved]), lean=lean, tasks=tasks))
    assert "the 24 of 100 that move farthest" in figure.title
    ends = [f"task {place}" for place in (*range(99, 87, -1), *range(11, -1, -1))]
    assert [line.label for line in figure.lines] == ends


def test_where_nothing_leans_no_task_is_drawn() -> None:
    assert task_figures(made_row(MOVED, RATES, lean=np.zeros((2, 4)), tasks=JOBS)) == ()


def row(base: str = "labor", **options: Any) -> Any:
    return made_row(PLAIN, base=base, **options)


@pytest.mark.parametrize(
    ("noted", "scope"),
    [
        ((0, 1, 2, 3), [""]),
        ((0, 1), ["our town, 2020"]),
        ((0, 2), ["our town, 2020, task->attribute; b, task->attribute"]),
    ],
)
def test_a_note_of_all_rows_belongs_to_the_whole_and_others_say_where(
    noted: tuple[int, ...], scope: list[str]
) -> None:
    """A base in both directions is named alone, in one of them with the direction."""
    note = Note(NoteKind.FEW_UNITS, "few")
    places = [(base, way) for base in ("our town, 2020", "b") for way in DIRECTIONS]
    rows = [
        row(base, direction=way, notes=(note,) if number in noted else ())
        for number, (base, way) in enumerate(places)
    ]
    whole = Note(NoteKind.SPLIT_WORDS, "split")
    result = gathered_notes(made_result(*rows, notes=(whole,)))
    assert [item.scope for item in result if item.text == "few"] == scope
    assert result[0] == whole


def test_undefined_pairs_are_counted_unless_no_lean_is_known() -> None:
    some = made_row(PLAIN, [[0.5, np.nan], [0.5, 0.5]])
    texts = [note.text for note in gathered_notes(made_result(some))]
    assert "the mean leaves out 1 of 4 pairs, undefined" in texts
    for other in (row(), replace(some, unevenness=UNEVEN)):
        kinds = [note.kind for note in gathered_notes(made_result(other))]
        assert NoteKind.UNDEFINED not in kinds


def test_the_mass_is_told_by_direction_and_the_perplexity_as_the_kind_has_it() -> None:
    first = row(candidate_mass=np.array([0.2, 0.3]), mass_ratio=12.34)
    second = row(direction=BACKWARD, candidate_mass=np.array([0.04, 0.06]))
    result = made_result(first, second, perplexity=7.5)
    *notes, last = gathered_notes(result)
    assert [note.scope for note in notes] == [FORWARD, BACKWARD]
    assert (
        "25% of the probability; a token of each had 12.3 times that of random ones there"
        in notes[0].text
    )
    assert last.text.endswith(": 7.5")
    # The last is a kind that a plug-in added where the result was made.
    for kind, masks in (("masked", True), ("causal", False), ("diffusion", False)):
        other = replace(result, provenance={**result.provenance, "kind": kind})
        assert gathered_notes(other)[-1].text.startswith("pseudo-") is masks
        card = eval_results(other)[0]
        assert card.task_type == ("fill-mask" if masks else "text-generation")


def command(facts: dict[str, Any], base: str = "labor", **options: Any) -> str:
    return run_again(made_result(row(base), facts={"scorer": "auto"} | facts), **options)


def test_the_command_has_what_was_chosen_and_nothing_else() -> None:
    plain = "lmprobe run 'made up' --templates fitbert --base labor"
    assert command({}) == plain
    fitbert = load_templates("fitbert")
    complete = {"attributes": list(fitbert.attributes), "tasks": list(fitbert.tasks)}
    assert command({"settings": complete}) == plain
    some = complete | {"attributes": ["he", "they"], "lean": "labor"}
    assert command({"settings": some}) == f"{plain} --attribute he,they --lean labor"
    own = command({"settings": {"lean": "town"}}, base="village")
    assert own.endswith("--base village.csv --lean town.csv")
    # The words of a set that cannot be read are all written.
    words = {"settings": {"attributes": ["he", "she"], "tasks": ["vet", "cook"]}}
    named = {"templates": {"name": "mine", "sha256": "a", "file": "here.toml"}}
    ending = "--templates here.toml --base labor --attribute he,she --task vet,cook"
    assert command(named | words).endswith(ending)


def test_the_command_loads_the_model_as_it_was_loaded() -> None:
    facts = {"loading": {"place": "hub", "kind": "masked"}, "revision": "abc", "dtype": "float16"}
    assert command(facts).endswith("--kind masked --dtype float16 --revision abc")
    # Another model is loaded as it likes.
    assert command(facts, model="bert") == "lmprobe run bert --templates fitbert --base labor"
    memory = {"loading": {"place": "memory"}}
    assert command(memory).startswith("lmprobe run FOLDER-OF-THE-MODEL ")


def test_version_1_had_the_scorer_and_the_seed_beside_the_settings() -> None:
    result = settings_of({"scorer": "joint", "seed": 3, "settings": {"confidence": 0.9}})
    assert (result.scorer, result.seed, result.confidence) == ("joint", 3, 0.9)
    later = settings_of({"scorer": "joint", "seed": 3, "settings": {"scorer": "auto", "seed": 1}})
    assert (later.scorer, later.seed) == ("auto", 1)
    assert settings_of({}) == RunSettings()
