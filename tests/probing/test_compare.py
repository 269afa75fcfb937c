"""The public comparison: pairs, names, what saved results cannot take, JSON, tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmprobe import ComparisonResult, ProbeResult, compare, load_result, probe
from lmprobe.core.direction import Direction
from lmprobe.errors import InputError, ModelError
from lmprobe.inference.comparison import TaskDifference
from lmprobe.probing.comparison import ComparisonRow
from lmprobe.probing.settings import CompareSettings, ProbeSettings
from lmprobe.report.terminal import table_text
from lmprobe.results import Interval, IntervalPlot, Note, NoteKind, Verdict

WORDS = ["nurse", "lawyer", "driver", "editor", "cook"]
Made = Callable[..., ProbeResult]


@pytest.fixture(scope="module")
def reference() -> ComparisonResult:
    return compare(["reference:faithful", "reference:amplified"], tasks=WORDS, base="labor")


def test_models_are_probed_and_subtracted(reference: ComparisonResult) -> None:
    probes = [probe(f"reference:{kind}", tasks=WORDS) for kind in ("faithful", "amplified")]
    for row in reference.rows:
        values = [one.row(row.base, row.direction).value for one in probes]
        assert row.values == pytest.approx(tuple(values))
        assert row.value == pytest.approx(values[1] - values[0])
    assert [row.direction for row in reference.rows] == list(Direction)
    assert reference.rows[0].verdict is Verdict.AMPLIFIES_MORE
    assert compare(probes).to_dict()["rows"] == reference.to_dict()["rows"]


def test_every_model_with_the_first_or_every_two(made: Made) -> None:
    results = [made(model=name, seed=seed) for seed, name in enumerate("abc")]
    first = compare(results)
    every = compare(results, pairs="all")
    assert list(dict.fromkeys((row.first, row.second) for row in first.rows)) == [
        ("a", "b"), ("a", "c"),
    ]  # fmt: skip
    assert list(dict.fromkeys((row.first, row.second) for row in every.rows)) == [
        ("a", "b"), ("a", "c"), ("b", "c"),
    ]  # fmt: skip
    for row in every.rows:
        (own,) = [
            one
            for one in results[ord(row.first) - 97].rows
            if one.base == row.base and one.direction is row.direction
        ]
        (other,) = [
            one
            for one in results[ord(row.second) - 97].rows
            if one.base == row.base and one.direction is row.direction
        ]
        assert row.value == pytest.approx(np.nanmean(other.cells - own.cells))


def test_only_models_of_different_kinds_may_have_different_scorers(made: Made) -> None:
    def scored(name: str, kind: str, scorer: str) -> ProbeResult:
        result = made(model=name)
        facts = {**result.provenance, "kind": kind, "scorer": scorer}
        return replace(result, provenance=facts)

    masked, causal = scored("bert", "masked", "pll"), scored("gpt", "causal", "sentence")
    notes = [note for row in compare([masked, causal]).rows for note in row.notes]
    (found,) = {note.text for note in notes if note.kind is NoteKind.SCORER}
    assert "bert is a masked model, scored by pll, and gpt a causal one, scored by sent" in found
    with pytest.raises(InputError, match="bert was made with the scorer pll, other with word-l2r"):
        compare([masked, scored("other", "masked", "word-l2r")])


def test_a_foreign_lean_is_followed_more(made: Made) -> None:
    rows = compare([made(), made(seed=1)]).rows
    assert {row.base for row in rows if row.foreign_lean} == {"uniform"}
    wide = Interval(0.1, 0.2, 0.95, "bootstrap")
    verdicts = {
        row.base: ComparisonRow.from_dict(
            row.to_dict() | {"interval": wide.to_dict(), "value": 0.15, "p_value": 0.01}
        ).verdict
        for row in rows
    }
    assert verdicts["uniform"] is Verdict.FOLLOWS_MORE
    assert verdicts["labor"] is Verdict.AMPLIFIES_MORE


def test_models_of_one_name_are_told_apart(made: Made, tmp_path: Path) -> None:
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    for seed, path in enumerate(paths):
        path.write_text(made(seed=seed).to_json(), encoding="utf-8")
    row = compare(paths).rows[0]
    assert (row.first, row.second) == (str(paths[0]), str(paths[1]))
    row = compare([made(), made(seed=1)]).rows[0]
    assert (row.first, row.second) == ("example/made-up-model (1)", "example/made-up-model (2)")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"base": "labor"}, "base"),
        ({"templates": "neutral"}, "templates"),
        ({"attributes": ["he", "she"], "scorer": "joint"}, "attributes, scorer"),
        ({"lean": "winobias"}, "lean"),
    ],
)
def test_saved_results_have_what_they_were_made_with(
    made: Made, arguments: dict[str, Any], named: str
) -> None:
    with pytest.raises(InputError, match=f"^{named}: for models only"):
        compare([made(), made(seed=1)], **arguments)


def test_mistakes(made: Made) -> None:
    for wrong in ("reference:amplified", [made()], []):
        with pytest.raises(InputError, match="at least two"):
            compare(wrong)
    with pytest.raises(InputError, match='no pairs "second"'):
        compare([made(), made()], pairs="second")  # type: ignore[arg-type]


def test_the_document_is_a_result(reference: ComparisonResult, tmp_path: Path) -> None:
    document = json.loads(reference.to_json())
    assert (document["schema"], document["kind"]) == ("lmprobe.result/2", "comparison")
    assert {"value", "interval", "p_value", "verdict", "base", "direction"} <= set(
        document["rows"][0]
    )
    path = tmp_path / "comparison.json"
    path.write_text(reference.to_json(), encoding="utf-8")
    again = load_result(path)
    assert isinstance(again, ComparisonResult)
    assert again.to_json() == reference.to_json()
    assert again.rows == reference.rows


numbers = st.floats(-1, 1)
intervals = st.one_of(
    st.tuples(numbers, numbers).map(lambda pair: Interval(min(pair), max(pair), 0.95, "t")),
    st.just(Interval.undefined(0.95, "bootstrap")),
    st.just(Interval.too_few_units(0.95, "bootstrap")),
    numbers.map(lambda low: Interval(low, float("inf"), 0.95, "bernstein")),
)
p_values = st.floats(0, 1) | st.just(float("nan"))


@given(
    st.builds(
        ComparisonRow,
        first=st.text(),
        second=st.text(),
        base=st.sampled_from(["labor", "our town, 2020"]),
        direction=st.sampled_from(Direction),
        values=st.tuples(numbers, numbers),
        value=numbers,
        interval=intervals,
        p_value=p_values,
        p_value_unadjusted=p_values,
        tasks=st.lists(
            st.builds(TaskDifference, st.text(), p_values, p_values, p_values, p_values), max_size=2
        ).map(tuple),
        foreign_lean=st.booleans(),
        notes=st.lists(st.builds(Note, st.sampled_from(NoteKind), st.text()), max_size=2).map(
            tuple
        ),
    )
)
def test_every_kind_of_interval_survives_json(row: ComparisonRow) -> None:
    result = ComparisonResult((row,), {"names": ["a", "b"]})
    again = ComparisonResult.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    # repr tells NaN from infinity, which JSON alone does not.
    assert [repr(getattr(again.rows[0], one.name)) for one in fields(row)] == [
        repr(getattr(row, one.name)) for one in fields(row)
    ]


@pytest.mark.parametrize("models", [2, 5])
@pytest.mark.parametrize("width", [60, 80])
def test_no_table_loses_a_base_or_a_verdict(made: Made, models: int, width: int) -> None:
    results = [made(model=f"organisation/model-{number}", seed=number) for number in range(models)]
    compared = compare(results)
    tables = compared.tables()
    assert [table.name for table in tables[:2]] == ["task_to_attribute", "attribute_to_task"]
    for table, direction in zip(tables, Direction, strict=False):
        text = table_text(table, width)
        assert max(map(len, text.splitlines())) <= width
        words = " ".join(text.split())
        rows = [row for row in compared.rows if row.direction is direction]
        assert all(row.base in words for row in rows)
        assert all(word in words for row in rows for word in row.verdict.label.split())
    if models == 2 and width == 60:
        # A line per base, and no more lines than a heading and a rule beside them.
        assert len(table_text(tables[0], width).splitlines()) <= 2 * 4 + 5


def test_the_page_has_every_row_and_how_to_make_it_again(reference: ComparisonResult) -> None:
    page = reference.page()
    assert page.limits
    (again,) = [command for section in page.sections for command in section.commands]
    assert again == (
        "lmprobe compare reference:faithful reference:amplified --templates fitbert "
        f"--base labor --task {','.join(WORDS)}"
    )
    assert "reference:amplified amplifies labor more than reference:faithful" in repr(reference)


def test_every_option_of_a_probe_is_one_of_compare() -> None:
    """The two models do not exist: an option that is known gets as far as opening them."""
    for name in (one.name for one in fields(CompareSettings)):
        with pytest.raises(ModelError, match="no-such-model"):
            compare(["./no-such-model", "./other"], **{name: getattr(CompareSettings, name)})
    assert {one.name for one in fields(ProbeSettings)} < {
        one.name for one in fields(CompareSettings)
    }
    with pytest.raises(TypeError, match=r"compare\(\) got an unexpected .* 'scorers'"):
        compare(["./no-such-model", "./other"], scorers="auto")


@pytest.mark.parametrize(
    ("ends", "foreign", "verdict"),
    [
        ((-0.3, -0.1), False, Verdict.AMPLIFIES_LESS),
        ((0.1, 0.3), False, Verdict.AMPLIFIES_MORE),
        ((-0.3, -0.1), True, Verdict.FOLLOWS_LESS),
        ((0.1, 0.3), True, Verdict.FOLLOWS_MORE),
        ((-0.1, 0.3), False, Verdict.UNDECIDED),
    ],
)
def test_the_sign_of_the_interval_decides_more_or_less(
    ends: tuple[float, float], foreign: bool, verdict: Verdict
) -> None:
    row = ComparisonRow(
        "a", "b", "labor", Direction.TASK_TO_ATTRIBUTE, (0.0, 0.0), sum(ends) / 2,
        Interval(*ends, 0.95, "t"), 0.01, 0.01, (), foreign_lean=foreign,
    )  # fmt: skip
    assert row.verdict is verdict
    assert replace(row, p_value=0.06).verdict is Verdict.UNDECIDED
    assert replace(row, p_value=0.05).verdict is verdict
    assert replace(row, p_equivalence=0.05).verdict is Verdict.EQUIVALENT
    assert replace(row, p_equivalence=0.06).verdict is verdict


def test_the_page_draws_every_difference(made: Made) -> None:
    result = compare([made(model=name, seed=seed) for seed, name in enumerate("abc")])
    figures = [figure for figure in result.figures() if isinstance(figure, IntervalPlot)]
    # Four bases, two directions: a line is named by its model alone, so that names stay short.
    assert len(figures) == 8
    assert {tuple(line.label for line in figure.lines) for figure in figures} == {("b", "c")}
    drawn = {(line.value, line.interval) for figure in figures for line in figure.lines}
    assert drawn == {(row.value, row.interval) for row in result.rows}
    assert result.page().subtitle == "Difference: the value of each model minus that of a."


def test_all_pairs_name_both_models_wherever_they_appear(made: Made) -> None:
    result = compare([made(model=name, seed=seed) for seed, name in enumerate("abc")], pairs="all")
    pairs = {row.pair for row in result.rows}
    assert len(pairs) == 3
    for table in result.tables():
        assert {row[0] for row in table.rows} <= pairs
    two = compare([made(model=name, seed=seed) for seed, name in enumerate("ab")])
    assert [len(figure.lines) for figure in two.figures()] == [4, 4]  # type: ignore[attr-defined]
