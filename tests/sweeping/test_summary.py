"""From probes to the result of a sweep: who is compared with whom, runs, curves, defaults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.probing.result import ProbeResult
from lmprobe.results import Interval, Verdict
from lmprobe.sweeping.jobs import Subject
from lmprobe.sweeping.levels import levels_of
from lmprobe.sweeping.result import Question
from lmprobe.sweeping.tables import run_table
from lmprobe.sweeping.settings import SweepSettings
from lmprobe.sweeping.summary import Entry, summarise

TASKS = ("nurse", "baker", "cook")
TEMPLATES = ("one [task]", "two [task]", "three [task]")


@pytest.fixture
def probe(made: Any) -> Any:
    def probed(seed: int, **changes: Any) -> ProbeResult:
        words = {"tasks": TASKS, "bases": ("labor",), "templates": TEMPLATES, **changes}
        found: ProbeResult = made(seed=seed, **words)
        return found

    return probed


def entry(label: str, result: ProbeResult, **subject: Any) -> Entry:
    return Entry(Subject(f"path/{label}", label, **subject), "fitbert", result)


def test_the_defaults_are_95_percent_seed_0_and_no_runs(probe: Any) -> None:
    entries = [entry(name, probe(n), run="r", step=n) for n, name in enumerate("ab")]
    found = summarise(entries)
    assert found.provenance["seed"] == 0
    assert found.provenance["settings"] == {}
    assert found.provenance["threads"] == 1
    assert found.run_means == ()
    assert [note.kind.value for note in found.notes] == ["multiplicity"]
    assert "is at most 0.05;" in found.notes[0].text
    assert found.curves[0].band[0].confidence == 0.95
    assert found.curves == summarise(entries, confidence=0.95, seed=0).curves
    chosen = summarise(entries, settings={"base": ["labor"]}, confidence=0.9, seed=4)
    assert chosen.provenance["settings"] == {"base": ["labor"]}
    assert chosen.provenance["seed"] == 4
    assert "is at most 0.1;" in chosen.notes[0].text


def compared(*entries: Entry) -> list[tuple[str, ...]]:
    """The models of each order, in the order given."""
    given = [one.subject.label for one in entries]
    orders = summarise(entries).orders
    return [tuple(sorted(order.models, key=given.index)) for order in orders]


def test_models_are_compared_on_the_same_sentences_and_groups(probe: Any) -> None:
    one, two = entry("a", probe(0)), entry("b", probe(1))
    others = [
        entry("c", probe(2, templates=TEMPLATES[:2])),
        entry("d", probe(3, attributes=("he", "they"))),
        entry("e", probe(4, attributes=("he", "they"), templates=TEMPLATES[:2])),
    ]
    assert compared(one, two) == [("a", "b")] * 2
    assert compared(one, *others, two) == [("a", "b")] * 2
    # The first model decides, and alone it is compared with nobody.
    for other in others:
        assert compared(one, other) == []
    alone = summarise([one])
    assert alone.orders == ()
    assert alone.notes == ()
    assert alone.curves == ()
    assert [row.ranks for row in alone.rows] == [None, None]


def test_models_are_compared_on_the_tasks_that_all_have(probe: Any) -> None:
    """Without a common task there is nothing to compare; tasks may come in any order."""
    one, two = entry("a", probe(0)), entry("b", probe(1, tasks=TASKS[::-1]))
    assert compared(one, two) == [("a", "b")] * 2
    assert compared(one, entry("c", probe(2, tasks=("lawyer", "guard")))) == []
    # On the one task that they share, the order is that of the values of this task.
    three = entry("d", probe(5, tasks=("lawyer", "baker")))
    (order, _) = summarise([one, three]).orders
    value = {
        label: float(np.mean(result.rows[0].cells[:, :, result.rows[0].tasks.index("baker")]))
        for label, result in (("a", one.result), ("d", three.result))
    }
    assert list(order.models) == sorted(value, key=lambda label: value[label])


def test_ranks_belong_to_their_models(probe: Any) -> None:
    result = probe(0)
    high = replace(
        result,
        rows=tuple(replace(row, base_rate=row.base_rate - 0.4 * row.lean) for row in result.rows),
    )
    found = summarise([entry("high", high), entry("low", result)])
    for row in found.rows:
        assert row.ranks == ((2, 2) if row.model == "high" else (1, 1))
    for order in found.orders:
        assert order.models == ("low", "high")
        assert order.groups == (("low",), ("high",))


def test_checkpoints_are_sorted_by_step_within_their_run(probe: Any) -> None:
    steps = {"late": 1, "first": 0}
    own = [
        entry(name, probe(n), run="r", step=step) for n, (name, step) in enumerate(steps.items())
    ]
    other = entry("other", probe(7), run="q", step=3)
    found = summarise([*own, other, entry("no step", probe(8))])
    assert [(one.run, one.models) for one in found.curves] == [("r", ("first", "late"))] * 2
    first = own[1]
    for curve, row in zip(found.curves, first.result.rows, strict=True):
        assert curve.levels == levels_of(first.result, row, ["path/first", "path/late"])
        assert curve.levels != levels_of(own[0].result, own[0].result.rows[0], [])


def test_models_without_a_run_have_no_curve(probe: Any) -> None:
    assert summarise([entry("a", probe(0)), entry("b", probe(1))]).curves == ()


def test_the_mean_over_runs_is_of_every_question(probe: Any) -> None:
    entries = [entry("a", probe(0)), entry("b", probe(1))]
    found = summarise(entries, runs=True, confidence=0.9)
    assert [one.question for one in found.run_means] == list(found.questions)
    assert [one.runs for one in found.run_means] == [2, 2]
    assert found.run_means[0].over_runs.interval.confidence == 0.9
    assert [note.kind.value for note in found.notes] == ["multiplicity", "runs"]
    assert "these 2 trained models" in found.notes[1].text
    assert summarise(entries[:1], runs=True).run_means == ()


def test_a_mean_over_runs_by_hand(probe: Any) -> None:
    question = Question("fitbert", "labor", probe(0).rows[0].direction)
    rows = [probe(seed).rows[0] for seed in range(3)]
    mean = RunMean.of(question, rows, 0.95)
    assert mean is not None
    values = [row.value for row in rows]
    assert mean.estimate.value == pytest.approx(np.mean(values))
    assert mean.estimate.corrected is None
    ends = np.mean([[row.interval.low, row.interval.high] for row in rows], axis=0)
    assert (mean.estimate.interval.low, mean.estimate.interval.high) == pytest.approx(tuple(ends))
    half = 4.302653 * np.std(values, ddof=1) / np.sqrt(3)
    assert mean.over_runs.interval.high - np.mean(values) == pytest.approx(half, rel=1e-6)
    fixed = [replace(row, corrected=row.value - 0.5, base_bias=0.5) for row in rows]
    mixed = RunMean.of(question, [fixed[0], rows[1]], 0.95)
    assert mixed is not None
    assert mixed.estimate.value == pytest.approx((values[0] + values[1]) / 2)
    assert mixed.estimate.corrected == pytest.approx((values[0] - 0.5 + values[1]) / 2)
    assert mixed.estimate.base_bias == pytest.approx(0.25)
    assert mixed.over_runs.corrected == mixed.estimate.corrected
    assert RunMean.from_dict(mixed.to_dict()) == mixed


def test_two_runs_with_a_value_are_needed(probe: Any) -> None:
    question = Question("fitbert", "labor", probe(0).rows[0].direction)
    one, two = probe(0).rows[0], probe(1).rows[0]
    assert RunMean.of(question, [one], 0.95) is None
    assert RunMean.of(question, [one, two], 0.95) is not None
    undefined = replace(two, corrected=float("nan"))
    assert RunMean.of(question, [one, undefined], 0.95) is None
    assert RunMean.of(question, [one, two, undefined], 0.95) is None


def test_the_verdict_over_runs_is_that_of_the_least_certain(probe: Any) -> None:
    question = Question("fitbert", "labor", probe(0).rows[0].direction)
    above = Interval(0.25, 0.5, 0.95, "bootstrap")
    rows = [replace(probe(seed).rows[0], interval=above) for seed in range(2)]

    def verdict(**changes: Any) -> Verdict:
        mean = RunMean.of(question, [rows[0], replace(rows[1], **changes)], 0.95)
        assert mean is not None
        return mean.estimate.verdict

    assert verdict() is Verdict.AMPLIFIES
    assert verdict(informed=False) is Verdict.UNINFORMED
    assert verdict(base_reliability=0.0) is Verdict.UNDECIDED
    assert verdict(lean_source="elsewhere") is Verdict.FOLLOWS


def test_the_table_of_runs_says_how_many(probe: Any) -> None:
    found = summarise([entry("a", probe(0)), entry("b", probe(1))], runs=True)
    table = run_table(found.run_means)
    assert table.title == "The mean of 2 training runs"
    mean = found.run_means[0]
    assert table.rows[0] == (
        *mean.question, mean.estimate.claimed, mean.estimate.interval, mean.estimate.verdict,
        mean.over_runs.interval, mean.over_runs.verdict,
    )  # fmt: skip
    assert run_table(()).title == ""


def test_the_choices_of_a_sweep() -> None:
    plain = SweepSettings()
    assert (plain.runs, plain.workers, plain.engine) == (False, 1, "local")
    assert SweepSettings(runs=True).runs
    assert SweepSettings(checkpoints="c").checkpoints == "c"
    assert SweepSettings(workers=2).workers == 2
    with pytest.raises(InputError, match="workers"):
        SweepSettings(workers=0)
    with pytest.raises(InputError, match="steps of one run"):
        SweepSettings(runs=True, checkpoints="c")
    assert plain.at(None) is plain
    assert plain.at("v2").revisions == ("v2",)
    with pytest.raises(InputError, match="not both"):
        SweepSettings(revisions=("v1",)).at("v2")
    assert SweepSettings(revisions=("v1",)).at(None).revisions == ("v1",)
