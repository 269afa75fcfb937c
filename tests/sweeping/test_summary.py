"""From probes to the result of a sweep: who is compared with whom, runs, curves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lmprobe.metrics.direction import Direction
from lmprobe.probing.result import ProbeResult, ProbeRow
from lmprobe.results import Interval, Obstacle, Verdict
from lmprobe.sweeping.jobs import Subject, subjects
from lmprobe.sweeping.result import Question, SweepResult, SweepRow
from lmprobe.sweeping.summary import SubjectProbe, levels_of, run_mean, summarise
from tests.conftest import OCCUPATIONS

TASKS = ("nurse", "baker", "cook")
TEMPLATES = ("one [task]", "two [task]", "three [task]")
QUESTION = Question("fitbert", "labor", Direction.TASK_TO_ATTRIBUTE)


@pytest.fixture
def probe(made: Any) -> Any:
    def probed(seed: int, **changes: Any) -> ProbeResult:
        words = {"tasks": TASKS, "bases": ("labor",), "templates": TEMPLATES, **changes}
        actual: ProbeResult = made(seed=seed, **words)
        return actual

    return probed


def entry(label: str, result: ProbeResult, **subject: Any) -> SubjectProbe:
    return SubjectProbe(Subject(f"path/{label}", label, **subject), "fitbert", result)


def compared(*entries: SubjectProbe) -> list[tuple[str, ...]]:
    """The models of each order, in the order given."""
    given = [entry.subject.label for entry in entries]
    orders = summarise(entries).orders
    return [tuple(sorted(order.models, key=given.index)) for order in orders]


def test_models_are_compared_on_the_same_sentences_and_groups(probe: Any) -> None:
    first, two = entry("a", probe(0)), entry("b", probe(1))
    others = [
        entry("c", probe(2, templates=TEMPLATES[:2])),
        entry("d", probe(3, attributes=("he", "they"))),
    ]
    assert compared(first, two) == [("a", "b")] * 2
    assert compared(first, *others, two) == [("a", "b")] * 2
    # The first model decides, and alone it is compared with nobody.
    for other in others:
        assert compared(first, other) == []
    assert [row.ranks for row in summarise([first]).rows] == [None, None]


def test_models_are_compared_on_the_tasks_that_all_have(probe: Any) -> None:
    """Without a common task there is nothing to compare; tasks may come in any order."""
    first, two = entry("a", probe(0)), entry("b", probe(1, tasks=TASKS[::-1]))
    assert compared(first, two) == [("a", "b")] * 2
    assert compared(first, entry("c", probe(2, tasks=("lawyer", "guard")))) == []
    # On the one task that they share, the order is that of the values of this task.
    three = entry("d", probe(5, tasks=("lawyer", "baker")))
    (order, _) = summarise([first, three]).orders
    value = {
        label: float(np.mean(result.rows[0].cells[:, :, result.rows[0].tasks.index("baker")]))
        for label, result in (("a", first.result), ("d", three.result))
    }
    assert list(order.models) == sorted(value, key=lambda label: value[label])


def surer(row: ProbeRow) -> np.ndarray:
    """Return what a model predicts that goes further where the base leans."""
    table: np.ndarray = row.predicted * np.exp(2 * row.lean)
    return table / table.sum(axis=row.direction.axis, keepdims=True)


def test_ranks_belong_to_their_models_and_the_note_says_the_risk(probe: Any) -> None:
    result = probe(0, tasks=OCCUPATIONS[:16])
    high = replace(result, rows=tuple(replace(row, predicted=surer(row)) for row in result.rows))
    entries = [entry("high", high), entry("low", result)]
    actual = summarise(entries, settings={"base": ["labor"]}, confidence=0.9, seed=4)
    for row in actual.rows:
        assert row.ranks == ((2, 2) if row.model == "high" else (1, 1))
    for order in actual.orders:
        assert order.models == ("low", "high")
        assert order.groups == (("low",), ("high",))
    assert (actual.provenance["settings"], actual.provenance["seed"]) == ({"base": ["labor"]}, 4)
    assert "is at most 0.1;" in actual.notes[0].text


def test_each_training_run_has_its_own_curve_by_step(probe: Any) -> None:
    """Revisions of two models, of which one has no step; given in any order."""
    revisions = subjects(["acme/a", "acme/b"], revisions=["step200", "step0", "main"])
    entries = [SubjectProbe(revision, "fitbert", probe(n)) for n, revision in enumerate(revisions)]
    result = summarise([*entries, entry("no step", probe(8)), entry("alone", probe(9), run="q")])
    assert not result.over_steps
    assert [(curve.run, curve.models) for curve in result.curves] == [
        (model, (f"{model}@step0", f"{model}@step200")) for model in ("acme/a", "acme/b")
    ] * 2
    first = entries[1]
    for curve, row in zip(result.curves[::2], first.result.rows, strict=True):
        assert curve.levels == levels_of(first.result, row, ["acme/a", "acme/a"])
    assert SweepResult.from_json(result.to_json()).curves == result.curves


def test_a_row_keeps_the_mean_of_each_task(probe: Any) -> None:
    """Over groups and templates, one task after the other; an undefined one is None."""
    result = probe(0, bases=("labor", "wikipedia"))
    row = result.rows[0]
    actual = SweepRow.of(Subject("path", "label", step=5), "set", row, 3.5)
    for number, task in enumerate(row.tasks):
        assert actual.by_task[task] == pytest.approx(float(np.mean(row.cells[:, :, number])))
    assert actual.candidate_mass == pytest.approx(row.candidate_mass.mean())
    undefined = SweepRow.of(Subject("path", "label"), "set", result.rows[2], None)
    assert undefined.by_task["cook"] is None


def test_the_mean_over_runs_is_of_every_question(probe: Any) -> None:
    entries = [entry("a", probe(0)), entry("b", probe(1))]
    result = summarise(entries, runs=True)
    assert [(run_mean.question, run_mean.runs) for run_mean in result.run_means] == [
        (question, 2) for question in result.questions
    ]
    assert result.run_means[0].over_runs is result.run_means[0].estimate
    assert result.table("runs").rows[0][3] == result.run_means[0].estimate.value
    assert SweepResult.from_json(result.to_json()).run_means == result.run_means
    assert summarise(entries[:1], runs=True).run_means == ()
    assert summarise(entries).run_means == ()


def test_a_mean_over_runs_by_hand(probe: Any) -> None:
    rows = [probe(seed).rows[0] for seed in range(3)]
    mean = run_mean(QUESTION, rows)
    assert mean is not None
    values = [row.value for row in rows]
    assert mean.estimate.value == pytest.approx(np.mean(values))
    assert mean.estimate.corrected is None
    half = stats.t.ppf(0.975, 2) * stats.sem(values)
    below, above = np.mean(
        [(row.value - row.interval.low, row.interval.high - row.value) for row in rows], axis=0
    )
    ends = (np.mean(values) - np.hypot(below, half), np.mean(values) + np.hypot(above, half))
    assert (mean.estimate.interval.low, mean.estimate.interval.high) == pytest.approx(ends)
    fixed = replace(rows[0], corrected=values[0] - 0.5, base_bias=0.5)
    mixed = run_mean(QUESTION, [fixed, rows[1]])
    assert mixed is not None
    assert mixed.estimate.value == pytest.approx((values[0] + values[1]) / 2)
    assert mixed.estimate.corrected == pytest.approx((values[0] - 0.5 + values[1]) / 2)
    assert mixed.estimate.base_bias == pytest.approx(0.25)
    undefined = replace(rows[2], corrected=float("nan"))
    assert run_mean(QUESTION, rows[:1]) is None
    assert run_mean(QUESTION, [*rows[:2], undefined]) is None


def test_the_verdict_over_runs_is_that_of_the_least_certain(probe: Any) -> None:
    above = Interval(0.25, 0.5, 0.95, "bootstrap")
    rows = [replace(probe(0).rows[0], interval=above, corrected=0.375, base_bias=0.0)] * 2

    def verdict(**changes: Any) -> Verdict:
        mean = run_mean(QUESTION, [rows[0], replace(rows[1], **changes)])
        assert mean is not None
        # What forbids a verdict travels with the estimate.
        assert mean.estimate.obstacle is mean.over_runs.obstacle is changes.get("obstacle")
        return mean.estimate.verdict

    assert verdict() is Verdict.AMPLIFIES
    assert verdict(obstacle=Obstacle.UNINFORMED) is Verdict.UNINFORMED
    assert verdict(obstacle=Obstacle.SMALL_BASE) is Verdict.UNDECIDED
    assert verdict(lean_source="elsewhere") is Verdict.FOLLOWS
