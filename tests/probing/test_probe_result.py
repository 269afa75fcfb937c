"""The result of a probe as data: JSON there and back, version 1, verdicts, notes with scope."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmprobe import ProbeResult, probe
from lmprobe.core.direction import Direction
from lmprobe.errors import InputError
from lmprobe.intervals.probe import probe_interval
from lmprobe.probing.command import run_again
from lmprobe.probing.notes import gathered_notes
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results import Estimate, Interval, IntervalStatus, Note, NoteKind, Verdict
from lmprobe.results.settings import options_of

GOLDEN = Path(__file__).parents[1] / "golden" / "probe-v1.json"

ends = st.floats(-1, 1)
intervals = st.one_of(
    st.tuples(ends, ends).map(lambda pair: Interval(min(pair), max(pair), 0.95, "bootstrap")),
    st.just(Interval.undefined(0.9, "t")),
    st.just(Interval.too_few_units(0.95, "bootstrap")),
    ends.map(lambda low: Interval(low, math.inf, 0.95, "bernstein")),
    ends.map(lambda high: Interval(-math.inf, high, 0.95, "bernstein")),
    st.just(Interval(-math.inf, math.inf, 0.5, "hoeffding")),
)
notes = st.lists(
    st.builds(Note, st.sampled_from(NoteKind), st.text(), st.sampled_from(["", "our town, 2020"])),
    max_size=3,
).map(tuple)
estimates = st.builds(
    Estimate,
    ends,
    intervals,
    st.sampled_from(Verdict),
    st.none() | ends,
    st.none() | ends,
    notes,
)


def test_a_document_of_version_1_is_read() -> None:
    old = json.loads(GOLDEN.read_text(encoding="utf-8"))
    result = ProbeResult.from_json(GOLDEN)
    assert [row.value for row in result.rows] == [row["value"] for row in old["rows"]]
    for row, was in zip(result.rows, old["rows"], strict=True):
        assert [row.interval.low, row.interval.high] == [
            was["interval"][e] for e in ("low", "high")
        ]
        assert [note.text for note in row.notes] == was["notes"]
        assert (row.association, row.preference, row.corrected) == (None, None, None)
    assert result.to_dict()["schema"] == "lmprobe.result/2"
    assert result.to_dict()["kind"] == "probe"
    assert "--task nurse,lawyer,driver" in run_again(result)


def test_the_numbers_of_version_1_are_still_measured() -> None:
    """The same probe today has the values that the first version wrote, and its intervals.

    Not those of a counted base, which now cover its noise as well.
    """
    old = json.loads(GOLDEN.read_text(encoding="utf-8"))
    found = probe(
        "reference:amplified",
        base=["labor", "uniform", "wikipedia"],
        attributes=["he", "she", "they"],
        tasks=["nurse", "lawyer", "driver"],
        scorer="word-l2r",
    )
    for row, was in zip(found.rows, old["rows"], strict=True):
        assert row.value == pytest.approx(was["value"], abs=1e-6)
        for end in ("low", "high") if row.corrected is None else ():
            assert getattr(row.interval, end) == pytest.approx(was["interval"][end], abs=1e-6)
    assert sum(row.corrected is None for row in found.rows) >= 4


@given(data=st.data())
def test_every_kind_of_interval_survives_json(result: ProbeResult, data: st.DataObject) -> None:
    rows = tuple(
        replace(
            row,
            interval=data.draw(intervals),
            corrected=data.draw(st.none() | ends),
            base_bias=data.draw(st.none() | ends),
            association=data.draw(st.none() | estimates),
            preference=data.draw(st.none() | estimates),
            notes=data.draw(notes),
            informed=data.draw(st.booleans()),
        )
        for row in result.rows[:2]
    )
    whole = replace(result, rows=rows, notes=data.draw(notes))
    again = ProbeResult.from_json(whole.to_json())
    assert again.to_json() == whole.to_json()
    for row, was in zip(again.rows, rows, strict=True):
        assert row.interval.status is was.interval.status
        for end in ("low", "high"):
            assert getattr(row.interval, end) == pytest.approx(
                getattr(was.interval, end), abs=0, nan_ok=True
            )
        assert (row.verdict, row.notes, row.informed) == (was.verdict, was.notes, was.informed)
        assert (row.corrected, row.base_bias) == (was.corrected, was.base_bias)
        # repr tells NaN from infinity and is equal where the values are.
        assert repr((row.association, row.preference)) == repr((was.association, was.preference))


def test_status_says_why_there_is_no_interval() -> None:
    one = probe_interval_of(templates=1)
    assert one["interval"]["status"] == "too_few_units"
    assert one["interval"]["low"] is one["interval"]["high"] is None


def probe_interval_of(templates: int) -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    interval, _ = probe_interval(rng.normal(size=(templates, 2, 12)), rng=rng)
    return {"interval": interval.to_dict()}


@pytest.mark.parametrize(
    ("low", "high", "own", "foreign"),
    [
        (0.01, 0.02, Verdict.AMPLIFIES, Verdict.FOLLOWS),
        (-0.02, -0.01, Verdict.REDUCES, Verdict.OPPOSES),
        (-0.01, 0.01, Verdict.UNDECIDED, Verdict.UNDECIDED),
        (math.nan, math.nan, Verdict.UNDECIDED, Verdict.UNDECIDED),
    ],
)
def test_a_foreign_lean_is_followed_not_amplified(
    result: ProbeResult, low: float, high: float, own: Verdict, foreign: Verdict
) -> None:
    interval = Interval(low, high, 0.95, "bootstrap")
    row = replace(result.row("labor", "T->A"), interval=interval)
    assert row.verdict is own
    assert replace(row, lean_source="winobias").verdict is foreign
    assert replace(row, informed=False).verdict is Verdict.UNINFORMED


def test_uniform_is_followed() -> None:
    found = probe("reference:amplified", base=["uniform", "labor"])
    assert found.row("uniform", "T->A").verdict is Verdict.FOLLOWS
    assert found.row("labor", "T->A").verdict is Verdict.AMPLIFIES


def test_a_base_keeps_its_name_with_a_comma_in_it(made: Callable[..., ProbeResult]) -> None:
    result = made(bases=["our town, 2020", "labor"])
    note = Note(NoteKind.BASE, "few people")
    rows = tuple(
        replace(row, notes=(note,)) if row.base.startswith("our") else row for row in result.rows
    )
    (found,) = [one for one in gathered_notes(replace(result, rows=rows)) if one.text == note.text]
    assert found.scope == "our town, 2020"
    rows = (replace(rows[0], notes=(note,)), replace(rows[1], notes=()), *rows[2:])
    (found,) = [one for one in gathered_notes(replace(result, rows=rows)) if one.text == note.text]
    assert found.scope == "our town, 2020, task->attribute"


def test_the_row_of_a_direction_may_be_abbreviated(result: ProbeResult) -> None:
    assert result.row("labor", "a->t") is result.row("labor", Direction.ATTRIBUTE_TO_TASK)
    with pytest.raises(InputError, match="no direction"):
        result.row("labor", "sideways")
    with pytest.raises(InputError, match='no row for base "labour"'):
        result.row("labour", "T->A")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"confidence": "0.95"}, r"`confidence` must be a number, found '0.95' \(str\)"),
        ({"attributes": "he,she"}, r"`attributes` must be a list of words"),
        ({"tasks": "nurse"}, "`tasks` must be a list of words"),
        ({"seed": 1.5}, "`seed` must be a whole number"),
        ({"seed": -1}, "`seed` must be at least 0, found -1"),
        ({"prior": "yes"}, "`prior` must be true or false"),
        ({"resample": "template"}, 'no resample "template"; did you mean "templates"'),
    ],
)
def test_a_wrong_type_is_one_clear_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        probe("reference:amplified", **arguments)


BESIDE = {"model", "templates", "base", "tokenizer", "cache", "progress"}


def test_every_setting_is_an_argument_of_probe_with_the_same_default() -> None:
    arguments = {
        name: parameter.default
        for name, parameter in inspect.signature(probe).parameters.items()
        if name not in BESIDE
    }
    assert arguments == {option.name: option.default for option in options_of(ProbeSettings)}


def test_the_provenance_has_every_setting() -> None:
    found = probe("reference:amplified", tasks=["nurse", "cook"], confidence=0.9, seed=3)
    assert set(found.provenance["settings"]) == {one.name for one in options_of(ProbeSettings)}
    again = run_again(found)
    assert again.endswith("--base labor --task nurse,cook --confidence 0.9 --seed 3")


def test_interval_status_values_are_the_contract() -> None:
    assert set(IntervalStatus) == {"ok", "unbounded", "undefined", "too_few_units"}


def test_the_parts_in_the_frame_add_up_to_the_value_beside_them() -> None:
    """Against a counted base the corrected numbers differ from those of the formula."""
    result = probe("reference:amplified", base="wikipedia")
    frame = result.to_frame()
    assert frame["corrected"].notna().all()
    np.testing.assert_allclose(frame["association"] + frame["preference"], frame["value"])
    note = next(note for note in result.rows[0].notes if note.kind is NoteKind.PREFERENCE)
    assert "corrected value (−0.0312)" in note.text
