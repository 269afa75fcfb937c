"""A result held against limits and against another result: outcomes, limits by row, the worst."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lmprobe
from lmprobe import ProbeResult, check
from lmprobe.errors import InputError
from lmprobe.metrics.direction import Direction
from lmprobe.reproduce.experiment import reproduce
from lmprobe.results import Estimate, Interval, Obstacle, Verdict
from lmprobe.results.check import CheckedRow, CheckResult, Limit, Outcome, limits_of
from lmprobe.results.codec import to_json
from lmprobe.results.estimate import Claim, difference
from lmprobe.results.result import KINDS

T_TO_A, A_TO_T = Direction.TASK_TO_ATTRIBUTE, Direction.ATTRIBUTE_TO_TASK


def claim(low: float, high: float, obstacle: Obstacle | None = None, **where: Any) -> Claim:
    value = (low + high) / 2 if math.isfinite(low + high) else 0.0
    ends = Interval(low, high, 0.95, "bootstrap")
    return Claim(Estimate(value, ends, Verdict.UNDECIDED, obstacle=obstacle), **where)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.01, 0.04, "passed"),
        (0.01, 0.05, "passed"),
        (0.06, 0.08, "failed"),
        (0.05, 0.08, "undecided"),
        (0.04, 0.06, "undecided"),
        (-math.inf, math.inf, "undecided"),
        (math.nan, math.nan, "undecided"),
        (-math.inf, 0.01, "passed"),
    ],
)
def test_the_outcome_follows_the_whole_interval(low: float, high: float, outcome: str) -> None:
    row = CheckedRow(claim(low, high, base="labor"), 0.05)
    assert row.outcome == outcome
    assert row.outcome.label in row.explanation
    assert to_json(row)["outcome"] == outcome
    if outcome == "undecided":
        assert (
            "the interval contains the limit" in row.reason
        ) == row.claim.estimate.interval.bounded


def test_the_worst_row_decides() -> None:
    passed, failed, undecided, uninformed = (
        CheckedRow(claim(0.0, 0.01), 0.05),
        CheckedRow(claim(0.1, 0.2), 0.05),
        CheckedRow(claim(0.0, 0.2), 0.05),
        CheckedRow(claim(0.0, 0.01, obstacle=Obstacle.UNINFORMED), 0.05),
    )
    for rows, code in (
        ((passed, passed), 0),
        ((passed, undecided), 3),
        ((undecided, uninformed), 4),
        ((uninformed, failed, passed), 1),
    ):
        assert CheckResult(rows).exit_code == code
        assert CheckResult(rows).passed == (code == 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.05", Limit(0.05)),
        ("-0.01", Limit(-0.01)),
        ("labor=0.05", Limit(0.05, "labor")),
        ("A->T=0.05", Limit(0.05, None, A_TO_T)),
        ("labor:task->attribute=1e-3", Limit(0.001, "labor", T_TO_A)),
        ("our town, 2020: a=b:T->A=0.5", Limit(0.5, "our town, 2020: a=b", T_TO_A)),
    ],
)
def test_a_limit_names_what_it_is_for(text: str, expected: Limit) -> None:
    assert Limit.parse(text) == expected


@pytest.mark.parametrize("text", ["", "labor", "labor=", "nan", "labor=inf", "0,05"])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="limit"):
        Limit.parse(text)


def test_the_most_precise_limit_counts(result: ProbeResult) -> None:
    checked = check(result, max={"": 0.9, "T->A": 0.8, "labor": 0.7, "labor:T->A": 0.6})
    limits = {(row.claim.base, row.claim.direction): row.limit for row in checked.rows}
    assert (limits["labor", T_TO_A], limits["labor", A_TO_T]) == (0.6, 0.7)
    assert (limits["corpus", T_TO_A], limits["corpus", A_TO_T]) == (0.8, 0.9)
    assert limits_of(["0.9", "T->A=0.8"]) == limits_of({"": 0.9, "T->A": 0.8})
    (row,) = check(result, max={"labor:A->T": 0.5}).rows
    assert (row.claim.base, row.claim.direction) == ("labor", "attribute->task")


def test_the_values_are_those_of_the_result(result: ProbeResult) -> None:
    checked = check(result, max=0.02, base="labor", direction="T->A")
    (row,) = checked.rows
    own = result.row("labor", "T->A")
    assert (row.claim.estimate.value, row.claim.estimate.interval) == (own.value, own.interval)
    assert result.check(max=0.02, base=["labor"], direction="T->A") == checked
    assert CheckResult.from_json(checked.to_json()).to_json() == checked.to_json()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs a limit"),
        ({"max": 0.1, "base": "labour"}, 'no base "labour"; did you mean "labor"'),
        ({"max": {"labour": 0.1}}, 'no base "labour"'),
        ({"max": 0.1, "direction": "sideways"}, "no direction"),
        ({"max": math.nan}, "finite"),
        ({"max": {"labor": 0.1}, "base": "corpus"}, "no row"),
    ],
)
def test_mistakes(result: ProbeResult, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check(result, **arguments)


def shifted(result: ProbeResult, by: float, noise: float = 0.0) -> ProbeResult:
    """Return the result of a model whose cells are larger by `by` in the direction of the lean."""
    rng = np.random.default_rng(5)
    rows = []
    for row in result.rows:
        moved = row.lean * (by + noise * rng.normal(size=row.predicted.shape))
        rows.append(replace(row, predicted=row.predicted + moved))
    return replace(result, rows=tuple(rows))


def test_worse_than_production_fails_and_better_passes(result: ProbeResult) -> None:
    worse, better = shifted(result, 0.05, 0.01), shifted(result, -0.05, 0.01)
    labor = {"base": "labor", "direction": "T->A"}
    assert check(worse, against=result, **labor).outcome is Outcome.FAILED
    assert check(better, against=result, **labor).outcome is Outcome.PASSED
    assert check(worse, against=result, max=0.1, **labor).outcome is Outcome.PASSED
    assert check(shifted(result, 0.0, 0.05), against=result, **labor).outcome is Outcome.UNDECIDED


def test_a_probe_is_compared_in_pairs(result: ProbeResult) -> None:
    """Paired, the spread over templates and tasks that both models share does not count."""
    worse = shifted(result, 0.004, 0.002)
    paired = check(worse, against=result, base="labor", direction="T->A").rows[0].claim.estimate
    apart = difference(worse.claims()[4], result.claims()[4])
    assert apart.label == "labor, task->attribute"
    assert paired.value == pytest.approx(apart.estimate.value)
    assert paired.interval.width < apart.estimate.interval.width
    assert paired.interval.low > 0 > apart.estimate.interval.low


def test_independent_estimates_are_combined_by_mover() -> None:
    """Printed by Zou & Donner (2008): for equal half-widths h the difference has h times sqrt 2."""
    new, old = claim(0.2, 0.4, base="a"), claim(0.1, 0.3, base="a")
    result = difference(new, old).estimate
    assert result.value == pytest.approx(0.1)
    assert result.interval.low == pytest.approx(0.1 - 0.1 * math.sqrt(2))
    assert result.interval.high == pytest.approx(0.1 + 0.1 * math.sqrt(2))
    skewed = difference(claim(0.2, 0.4), Claim(replace(old.estimate, value=0.12))).estimate
    assert skewed.interval.low == pytest.approx(0.18 - math.hypot(0.1, 0.18))
    assert skewed.interval.high == pytest.approx(0.18 + math.hypot(0.1, 0.02))
    open_end = difference(claim(-math.inf, 0.4), old).estimate
    assert open_end.interval.low == -math.inf
    assert math.isnan(difference(claim(math.nan, math.nan), old).estimate.interval.low)


def test_mover_covers_the_difference_of_two_means() -> None:
    """Simulated: t intervals of two independent means, combined, cover their difference."""
    rng = np.random.default_rng(3)
    n, runs = 15, 1000
    reach = stats.t.ppf(0.975, n - 1) / math.sqrt(n)
    covered = 0
    for _ in range(runs):
        claims = []
        for mean in (0.3, 0.1):
            drawn = rng.normal(mean, 0.2, n)
            half = reach * drawn.std(ddof=1)
            interval = Interval(drawn.mean() - half, drawn.mean() + half, 0.95, "t")
            claims.append(Claim(Estimate(float(drawn.mean()), interval, Verdict.UNDECIDED)))
        covered += 0.2 in difference(*claims).estimate.interval
    assert 0.94 < covered / runs < 0.975


def test_files_and_folders_will_do(
    result: ProbeResult, made: Callable[..., ProbeResult], tmp_path: Path
) -> None:
    result.save(tmp_path / "new")
    old = tmp_path / "old.json"
    old.write_text(made(seed=0).to_json(), encoding="utf-8")
    checked = check(tmp_path / "new", against=old, max=0.01)
    assert checked.passed
    assert checked.relative


def test_every_result_can_be_loaded_by_its_kind() -> None:
    """A class that derives from Result and names its kind is in the table of `load_result`."""
    package = Path(lmprobe.__file__).parent
    defined = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            bases = [base.id for base in getattr(node, "bases", ()) if isinstance(base, ast.Name)]
            if isinstance(node, ast.ClassDef) and "Result" in bases:
                module = ".".join(path.relative_to(package.parent).with_suffix("").parts)
                defined.add(f"{module}.{node.name}")
    assert defined == set(KINDS.values())


def test_what_cannot_be_checked_says_so(result: ProbeResult) -> None:
    published = lmprobe.load_result(reproduce("shortcomings").to_json())
    for limits in ({"max": 0.05}, {"against": published}):
        with pytest.raises(InputError, match="reproduction has no number with an interval"):
            check(published, **limits)
    with pytest.raises(InputError, match="cannot be compared"):
        check(result, against=check(result, max=0.5))


def test_of_two_groups_neither_escapes_the_limit() -> None:
    """The table has one row for both groups, and the larger cost may be that of the other."""
    groups = ["man"] * 200 + ["woman"] * 200
    approved = [1] * 160 + [0] * 40 + [1] * 60 + [0] * 140
    both = lmprobe.group_disparities(None, approved, sensitive_features=groups)
    assert [row.protected for row in both.rows] == ["man"]
    checked = check(lmprobe.load_result(both.to_json()), max=0.05)
    outcomes = {row.claim.subject: row.outcome for row in checked.rows}
    assert outcomes == {"man": Outcome.PASSED, "woman": Outcome.FAILED}
    other = lmprobe.group_disparities(None, approved, sensitive_features=groups, protected="woman")
    assert checked.rows[1].claim.estimate.value == pytest.approx(other.rows[0].value)
    assert checked.rows[1].claim.estimate.verdict is other.rows[0].verdict
    own = check(other, max=0.05)
    assert [row.claim.subject for row in own.rows] == ["woman"], "named: this group alone"
