"""What `compare` does with its arguments: models, files, names, the family of its rows."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmprobe import ProbeResult, compare
from lmprobe.core.direction import DIRECTIONS
from lmprobe.errors import InputError
from lmprobe.inference.comparison import SMALLEST
from lmprobe.intervals.simultaneous import bonferroni, simultaneous_intervals
from lmprobe.probing import compare as module
from lmprobe.probing.compare import _is_saved
from lmprobe.probing.comparison import ComparisonRow
from lmprobe.probing.paired import compare_results
from lmprobe.probing.settings import CompareSettings
from lmprobe.results import Interval, NoteKind, Verdict
from tests.conftest import Made

FORWARD, BACKWARD = DIRECTIONS


@pytest.fixture
def small(made: Made) -> Any:
    """Return the maker of small results: six templates, four tasks, one base."""

    def make(model: str = "m", seed: int = 0, **options: Any) -> ProbeResult:
        chosen = {"tasks": ("cook", "nurse", "vet", "clerk"), "bases": ("labor",)} | options
        return made(templates=list("abcdef"), model=model, seed=seed, **chosen)

    return make


@pytest.fixture
def asked(small: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Return the list of what `probe` is asked for instead of running it."""
    calls: list[tuple[Any, ...]] = []

    def probe(model: str, templates: Any, base: Any, **options: Any) -> ProbeResult:
        calls.append((model, templates, base, options))
        return small(model, seed=len(calls))

    monkeypatch.setattr(module, "probe", probe)
    return calls


def test_models_are_probed_as_they_would_be_alone(asked: list[Any]) -> None:
    compare(["a", "b"], interval="t")
    assert [call[:3] for call in asked] == [("a", "fitbert", "labor"), ("b", "fitbert", "labor")]
    assert asked[0][3]["cache"] is True
    assert asked[0][3]["interval"] == "t"
    compare(["a", "b"], "neutral", ["uniform"], interval="t", cache=False, lean="winobias")
    assert asked[2][:3] == ("a", "neutral", ["uniform"])
    assert (asked[2][3]["cache"], asked[2][3]["lean"]) == (False, "winobias")
    assert inspect.signature(compare).parameters["cache"].default is True


def test_models_and_results_may_be_mixed_and_are_remembered(
    asked: list[Any], small: Any, tmp_path: Path
) -> None:
    path = tmp_path / "old.json"
    path.write_text(small("old").to_json(), encoding="utf-8")
    compared = compare([path, "new", small("third", seed=9)], "neutral", interval="t")
    assert len(asked) == 1
    facts = compared.provenance
    assert facts["names"] == ["old", "new", "third"], "they differ: no name of a file is needed"
    assert facts["given"] == [str(path), "new", "third"]
    assert facts["saved"] == [True, False, True]
    assert [one["bases"] for one in facts["probes"]] == [["labor"]] * 3
    assert [(row.first, row.second) for row in compared.rows] == [
        ("old", "new"), ("old", "new"), ("old", "third"), ("old", "third"),
    ]  # fmt: skip


def test_what_counts_as_a_saved_result(small: Any, tmp_path: Path) -> None:
    assert _is_saved(small())
    assert _is_saved("anything.json")
    assert _is_saved(tmp_path / "anything.json")
    assert not _is_saved("reference:amplified")
    assert not _is_saved(tmp_path)
    assert not _is_saved(object())
    (tmp_path / "result.json").write_text("{}")
    assert _is_saved(tmp_path)
    assert _is_saved(str(tmp_path))


def test_a_comparison_needs_two(small: Any) -> None:
    for wrong in ("a", Path("a.json"), small(), [small()], []):
        with pytest.raises(InputError, match="at least two models or results"):
            compare(wrong)
    assert len(compare([small("a"), small("b", 1)], interval="t").rows) == 2


@pytest.mark.parametrize("name", ["attributes", "tasks", "scorer", "prior", "missing", "min_mass"])
def test_every_choice_of_models_is_refused_for_results(small: Any, name: str) -> None:
    chosen: dict[str, Any] = {
        "attributes": ["he", "she"], "tasks": ["cook"], "scorer": "pll", "prior": True,
        "missing": "keep", "min_mass": 0.5,
    }  # fmt: skip
    with pytest.raises(InputError, match=f"^{name}: for models only"):
        compare([small("a"), small("b", 1)], interval="t", **{name: chosen[name]})


def test_choices_of_the_comparison_itself_are_for_results_too(small: Any) -> None:
    results = [small("a"), small("b", 1)]
    found = compare(
        results, pairs="all", interval="t", resample="tasks", confidence=0.9, margin=0.5, seed=3,
        simultaneous=True,
    )  # fmt: skip
    assert found.rows[0].interval.confidence == 0.9
    assert found.rows[0].margin == 0.5


def test_the_families_are_those_of_the_first_result(small: Any) -> None:
    """The second may have been read with others; its rows are paired by place."""
    first, second = small("a"), small("b", 1)
    families = tuple("xxyyzz")
    first = replace(
        first, families=families, rows=tuple(replace(row, families=families) for row in first.rows)
    )
    found = compare([first, second], simultaneous=True).rows
    settings = CompareSettings(simultaneous=True)
    pairs = compare_results(first, second, ("a", "b"), settings)
    expected = simultaneous_intervals(
        [pair.difference for pair in pairs], families=families, rng=np.random.default_rng(0)
    )
    assert [row.interval for row in found] == list(expected)


def test_without_resamples_the_rows_share_the_error_by_bonferroni(small: Any) -> None:
    results = [small("a"), small("b", 1)]
    found = compare(results, interval="t", simultaneous=True, confidence=0.9).rows
    each = compare(results, interval="t", confidence=bonferroni(0.9, 2)).rows
    assert len(found) == 2
    for row, alone in zip(found, each, strict=True):
        assert (row.interval.low, row.interval.high) == (alone.interval.low, alone.interval.high)
        assert row.interval.confidence == 0.9


def multiplicity(rows: tuple[ComparisonRow, ...]) -> list[str]:
    return [n.text for row in rows for n in row.notes if n.kind is NoteKind.MULTIPLICITY]


def test_a_row_alone_is_no_family(small: Any) -> None:
    results = [small("a"), small("b", 1)]
    alone = [replace(one, rows=one.rows[:1]) for one in results]
    assert multiplicity(compare(alone, interval="t").rows) == []
    text = "p-values are adjusted by Holm: over the 2 rows, and over all tasks of all rows"
    assert multiplicity(compare(results, interval="t").rows) == [text, text]
    together = compare(results, interval="t", simultaneous=True).rows
    assert multiplicity(together)[0].endswith(
        "; the 2 intervals have their confidence simultaneously"
    )


def test_equivalence_is_adjusted_over_the_rows_where_a_margin_was_named(small: Any) -> None:
    results = [small("a"), small("b", 1)]
    assert {row.p_equivalence for row in compare(results, interval="t").rows} == {None}
    rows = compare(results, interval="t", margin=0.05).rows
    alone = [
        pair.row.p_equivalence
        for pair in compare_results(
            *results, ("a", "b"), CompareSettings(interval="t", margin=0.05)
        )
    ]
    # Holm by hand for two: the smaller twice, the larger no less than that.
    low = min(1.0, 2 * min(alone))  # type: ignore[type-var, operator]
    high = max(low, max(alone))  # type: ignore[type-var]
    assert sorted(row.p_equivalence for row in rows) == pytest.approx([low, high])  # type: ignore[type-var]


def row(**changes: Any) -> ComparisonRow:
    ends = Interval(SMALLEST / 2, 2 * SMALLEST, 0.95, "t")
    return replace(
        ComparisonRow("a", "b", "labor", FORWARD, (0.0, 0.1), SMALLEST, ends, 0.01, 0.01, ()),
        **changes,
    )


def test_the_smallest_difference_that_a_table_shows_can_be_claimed() -> None:
    assert row().verdict is Verdict.AMPLIFIES_MORE
    assert row(value=np.nextafter(SMALLEST, 0)).verdict is Verdict.UNDECIDED
    assert row(value=np.nextafter(SMALLEST, 0), p_value=0.9).verdict is Verdict.UNDECIDED


def test_a_p_value_at_the_level_itself_is_enough() -> None:
    """1 - 0.75 is a number without rounding."""
    clear = row(value=0.15, interval=Interval(0.1, 0.2, 0.75, "t"), p_value=0.25)
    above = np.nextafter(0.25, 1)
    assert clear.verdict is Verdict.AMPLIFIES_MORE
    assert replace(clear, p_value=above).verdict is Verdict.UNDECIDED
    assert replace(clear, margin=0.5, p_equivalence=0.25).verdict is Verdict.EQUIVALENT
    assert replace(clear, margin=0.5, p_equivalence=above).verdict is Verdict.AMPLIFIES_MORE


def test_a_margin_without_a_test_stays_undefined_in_json() -> None:
    for margin, p_value in ((None, None), (0.1, float("nan")), (0.1, 0.25)):
        one = row(margin=margin, p_equivalence=p_value)
        document = json.loads(json.dumps(one.to_dict()))
        again = ComparisonRow.from_dict(document)
        assert repr(again.p_equivalence) == repr(p_value)
        assert again.margin == margin
        assert again.verdict is one.verdict


def test_tasks_of_earlier_versions_have_no_interval() -> None:
    task = {"task": "cook", "value": 0.1, "p_value": 0.2, "p_holm": 0.3, "p_benjamini_hochberg": 1}
    again = ComparisonRow.from_dict(row().to_dict() | {"tasks": [task]})
    (found,) = again.tasks
    assert (found.p_value, found.p_holm, found.units) == (0.2, 0.3, 0)
    assert not found.interval.bounded
    assert found.interval.confidence == 0.95
