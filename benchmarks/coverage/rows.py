"""Labelled rows: amplification with weak links and several runs, unevenness, strength."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmarks.coverage.tally import Tally
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.raking import strength as slope
from lmprobe.results import Interval, Verdict
from lmprobe.stats.resampling import percentile_interval
from lmprobe.stats.row_sums import RowSums
from lmprobe.stats.rows import bootstrap_interval, interval_over_runs, links, strength
from lmprobe.tabular.counting import RowCounts
from lmprobe.tabular.rows import AmplificationRow, measured_rows
from lmprobe.tabular.settings import AmplifySettings

GIVEN = Direction.ATTRIBUTE_TO_TASK


def counted(group: np.ndarray, labels: np.ndarray, guess: np.ndarray) -> RowSums:
    """Count the kinds of rows, as `amplify` does: groups 0, 1, ..., tasks (n, T)."""
    kinds, times = np.unique(np.column_stack([group, labels, guess]), axis=0, return_counts=True)
    tasks = labels.shape[1]
    cells = kinds.astype(np.float64)
    return RowCounts(
        groups=kinds[:, 0],
        group_guesses=None,
        tasks=cells[:, 1 : tasks + 1],
        task_guesses=cells[:, tasks + 1 :],
        weight=np.ones(len(kinds)),
        times=times,
        unit=None,
        added=False,
    ).row_sums(tuple(range(int(group.max()) + 1)), tuple(range(tasks)))


def amplified(
    group: np.ndarray, labels: np.ndarray, guesses: list[np.ndarray], rng: np.random.Generator
) -> AmplificationRow:
    """Return the row of `amplify`; each of the guesses is a training run on the same rows."""
    runs = [(str(number), counted(group, labels, guess)) for number, guess in enumerate(guesses)]
    settings = AmplifySettings(
        attribute=("group",),
        task=("task",),
        task_prediction=("guess",),
        seed=int(rng.integers(2**31)),
    )
    ((row,), _) = measured_rows(runs, None, settings)
    return row


def resampled_lean(rows: RowSums, rng: np.random.Generator, replicates: int = 10_000) -> Interval:
    """Return what the interval would be if each replicate determined its own lean."""
    sums = rows.resampled(replicates, rng)
    values = sums.value(GIVEN, sums.lean())
    return percentile_interval(values[~np.isnan(values)], units=rows.units, confidence=0.95)


def rows_study(n: int, lean: str, runs: int, rng: np.random.Generator) -> Tally:
    """Two groups, one task; the model says 0.7 and 0.3 where the world has 0.6 and 0.4."""
    result = Tally()
    for _ in range(runs):
        group = rng.integers(0, 2, n)
        if group.min() == group.max():
            continue
        task = (rng.random(n) < np.where(group == 1, 0.6, 0.4)).astype(int)
        guess = (rng.random(n) < np.where(group == 1, 0.7, 0.3)).astype(int)
        rows = counted(group, task[:, None], guess[:, None])
        fixed = lean == "fixed"
        ends = bootstrap_interval(rows, rng=rng)[GIVEN] if fixed else resampled_lean(rows, rng)
        result.add(ends, 0.1)
    return result


@dataclass(frozen=True)
class WeakLinks:
    """Two groups and tasks with links, of which a model exaggerates all alike or the strong."""

    rows: int
    tasks: int
    link_sd: float
    """Of P(t | 1) - P(t | 0); every eighth task alone has a link where it is negative."""
    exaggerated: str = "not"
    amount: float = 0.05

    @property
    def name(self) -> str:
        kind = f"{self.link_sd:g}" if self.link_sd >= 0 else f"{-self.link_sd:g}, few"
        return f"{self.rows:,} | {self.tasks} | {kind} | {self.exaggerated}"

    def links(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw the links of the labels, and those of the predictions."""
        if self.link_sd >= 0:
            label = rng.normal(0, self.link_sd, self.tasks)
        else:
            size = np.where(np.arange(self.tasks) % 8, 0.1, 4.0) * -self.link_sd
            label = size * rng.choice([-1, 1], self.tasks)
        label = np.clip(label, -0.35, 0.35)
        size = np.abs(label)
        change = {"not": 0.0, "in proportion": size / max(size.mean(), 1e-9), "all alike": 1.0}
        moved = 2 * self.amount * np.sign(label) * change[self.exaggerated]
        return label, np.clip(label + moved, -0.6, 0.6)

    def sample(
        self, rng: np.random.Generator, runs: int = 1
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], float]:
        """Draw groups, labels, the predictions of each run, and the true amplification."""
        label, predicted = self.links(rng)
        group = rng.integers(0, 2, self.rows)

        def draw(link: np.ndarray) -> np.ndarray:
            chance = 0.35 + (group[:, None] - 0.5) * link
            return (rng.random(chance.shape) < chance).astype(int)

        true = float((np.sign(label) * (predicted - label)).mean() / 2)
        return group, draw(label), [draw(predicted) for _ in range(runs)], true


@dataclass
class Outcome:
    """What the samples of one cell gave."""

    tally: Tally = field(default_factory=Tally)
    values: list[float] = field(default_factory=list)
    claims: int = 0
    without: int = 0

    def add(self, value: float, ends: Interval, true: float, *, verdict: bool = True) -> None:
        self.values.append(value)
        if not verdict:
            self.without += 1
            return
        self.tally.add(ends, true)
        self.claims += 0.0 not in ends

    def __str__(self) -> str:
        share = self.claims / len(self.values)
        return f"{np.mean(self.values):+.3f} | {self.tally} | {share:.0%}"


WEAK = tuple(
    WeakLinks(rows, tasks, link_sd, exaggerated)
    for rows, tasks, link_sd in (
        *((1000, tasks, link_sd) for tasks in (8, 20) for link_sd in (0.03, 0.08, 0.2)),
        (300, 20, 0.1),
        (5000, 8, 0.02),
        (1000, 20, -0.06),
    )
    for exaggerated in ("not", "in proportion", "all alike")
)


def weak_study(weak: WeakLinks, runs: int, rng: np.random.Generator) -> tuple[Outcome, Outcome]:
    """The value and interval with the lean taken as known, and what `amplify` claims."""
    before, after = Outcome(), Outcome()
    for _ in range(runs):
        group, labels, guesses, true = weak.sample(rng)
        rows = counted(group, labels, guesses[0])
        fixed = bootstrap_interval(rows, rng=rng, replicates=500)[GIVEN]
        row = amplified(group, labels, guesses, rng)
        before.add(row.value, fixed, true)
        estimate = row.estimate
        after.add(estimate.claimed, estimate.interval, true, verdict=estimate.obstacle is None)
    return before, after


RUNS = tuple(WeakLinks(500, tasks, link_sd) for tasks in (8, 20) for link_sd in (0.0, 0.05, 0.15))


def runs_study(weak: WeakLinks, runs: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Five runs of a truthful model on the same rows: how often a claim is made, three ways."""
    claims = np.zeros(3)
    for _ in range(runs):
        group, labels, guesses, _ = weak.sample(rng, runs=5)
        row = amplified(group, labels, guesses, rng)
        published = interval_over_runs([run.value for run in row.runs])
        corrected = interval_over_runs([run.estimate.claimed for run in row.runs])
        claimed = row.estimate.verdict in (Verdict.AMPLIFIES, Verdict.REDUCES)
        claims += [0.0 not in published, 0.0 not in corrected, claimed]
    return tuple(claims / runs)


UNEVEN = (
    # rows, tasks, share of a task, of the first group, of labels that are predicted, difference
    (300, 8, 0.3, 0.5, 0.0, 0.0),
    (300, 8, 0.3, 0.5, 0.8, 0.0),
    (300, 40, 0.3, 0.5, 0.5, 0.0),
    (300, 8, 0.03, 0.1, 0.0, 0.0),
    (2000, 1, 0.3, 0.2, 0.5, 0.0),
    (300, 8, 0.3, 0.5, 0.0, 0.15),
    (1000, 20, 0.3, 0.5, 0.5, 0.15),
)


def uneven_study(
    cell: tuple[int, int, float, float, float, float], runs: int, rng: np.random.Generator
) -> tuple[float, float]:
    """How often labels without a link seem to have one, and how often predictions are uneven."""
    n, tasks, rate, first, copied, difference = cell
    linked, uneven = 0, 0
    for _ in range(runs):
        group = (rng.random(n) > first).astype(int)
        labels = rng.random((n, tasks)) < rate
        other = rng.random((n, tasks)) < rate + difference * group[:, None]
        guess = np.where(rng.random((n, tasks)) < copied, labels, other)
        rows = counted(group, labels * 1, guess * 1)
        no_lean = links(rows).p_value >= 0.05
        linked += not no_lean
        uneven += no_lean and links(rows, GIVEN).p_value < 0.05
    return linked / runs, uneven / runs


STRENGTHS = tuple(
    (groups, uneven, rows, power, copied)
    for groups in (2, 3)
    for uneven in (False, True)
    for rows in (400, 2000, 20_000)
    for power, copied in ((0.5, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 0.5))
)
_TASKS = 8


def strength_study(
    cell: tuple[int, bool, int, float, float], runs: int, rng: np.random.Generator
) -> tuple[float, list[float], list[float], Tally]:
    """Return the mean truth, plain slopes, estimates, and how often the truth is covered."""
    groups, uneven, n, power, copied = cell
    truths, plain, values, tally = [], [], [], Tally()
    for _ in range(runs):
        chance = np.exp(rng.normal(0, 0.5, (groups, _TASKS)) + uneven * rng.normal(0, 0.8, _TASKS))
        chance /= chance.sum(axis=1, keepdims=True)
        predicted = chance**power
        predicted = predicted / predicted.sum(axis=1, keepdims=True)
        both = copied * chance + (1 - copied) * predicted
        true = float(slope(np.log(both), np.log(chance)))
        group = rng.integers(0, groups, n)
        labels, other = (
            np.eye(_TASKS, dtype=int)[
                (rng.random((n, 1)) > table.cumsum(axis=1)[group, :-1]).sum(axis=1)
            ]
            for table in (chance, predicted)
        )
        guess = np.where(rng.random((n, 1)) < copied, labels, other)
        rows = counted(group, labels, guess)
        tables = rows.total.marginals[3][0] + 0.5, rows.total.predicted(GIVEN)[0] + 0.5
        result = strength(rows, GIVEN, rng=rng)
        truths.append(true)
        plain.append(float(slope(np.log(tables[1]), np.log(tables[0]))))
        if result is not None:
            values += [] if math.isnan(result.value) else [result.value]
            tally.add(result.interval, true)
    return float(np.mean(truths)), plain, values, tally


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    yield "## Labelled rows: directional amplification\n"
    yield "| rows | lean fixed | lean resampled |\n|---:|---|---|"
    for n in (50, 100, 500, 2000):
        tallies = [rows_study(n, lean, runs, rng) for lean in ("fixed", "resampled")]
        yield f"| {n} | {tallies[0]} | {tallies[1]} |"
    yield _AFTER
    few = max(runs // 10, 20)
    yield f"### Tasks with weak links, {few} samples a line\n"
    yield (
        "| rows | tasks | links (sd) | exaggerated | truth | published: mean | coverage (width) | "
        "claims | `amplify`: mean | coverage (width) | claims | no verdict |"
    )
    yield "|---:|---:|---|---|---:|---:|---|---:|---:|---|---:|---:|"
    for weak in WEAK:
        before, after = weak_study(weak, few, rng)
        true = 0.0 if weak.exaggerated == "not" else weak.amount
        yield f"| {weak.name} | {true:g} | {before} | {after} | {after.without / few:.0%} |"
    yield _AFTER_WEAK
    yield f"### Five training runs of a truthful model on the same rows, {few} samples a line\n"
    yield "Claims, of which each is false:\n"
    yield "| rows | tasks | links (sd) | over runs, published | over runs, corrected | `amplify` |"
    yield "|---:|---:|---|---:|---:|---:|"
    for weak in RUNS:
        shares = " | ".join(f"{share:.0%}" for share in runs_study(weak, few, rng))
        yield f"| {weak.name.rpartition(' | ')[0]} | {shares} |"
    yield f"\n### Labels without a link, {runs} samples a line\n"
    yield (
        "| rows | tasks | share of a task | of the first group | labels copied | difference of the "
        "groups | labels seem to lean | uneven |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|"
    for cell in UNEVEN:
        shares = " | ".join(f"{share:.3f}" for share in uneven_study(cell, runs, rng))
        yield f"| {' | '.join(f'{number:g}' for number in cell)} | {shares} |"
    yield _AFTER_UNEVEN
    yield f"### Strength of links, {few} samples a line\n"
    yield (
        "| groups | tasks | rows | power | labels copied | truth | plain slope: mean | strength: "
        "mean | coverage | withheld |"
    )
    yield "|---:|---|---:|---:|---:|---:|---:|---:|---|---:|"
    for groups, uneven, n, power, copied in STRENGTHS:
        cell = (groups, uneven, n, power, copied)
        true, plain, values, tally = strength_study(cell, few, rng)
        mean = f"{np.mean(values):.2f}" if values else "–"
        covered = f"{tally.coverage:.3f}" if tally.runs else "none"
        kind = "uneven" if uneven else "even"
        yield (
            f"| {groups} | {kind} | {n:,} | {power:g} | {copied:.0%} | {true:.2f} | "
            f"{np.mean(plain):.2f} | {mean} | {covered} | {tally.none / few:.0%} |"
        )
    yield _AFTER_STRENGTH


_AFTER = """
Two groups and one task, an amplification of 0.1. With the lean fixed by the sample itself, a
small sample whose lean has the wrong sign by chance gives a value of the wrong sign; resampling
the lean covers that. A lean from a train set does not have this problem.
"""
_AFTER_WEAK = """
`published` takes lean and rates from the same rows, so the lean of a pair that is close to a tie
depends on its noise. If pairs are within two standard errors of a tie and there is no train
table, `lmprobe amplify` reports `corrected`: the lean comes from other rows, and the share of an
amplification that such a lean shows is divided out. That share is known if the exaggeration is
proportional to the links; the interval also covers one that is the same for all links. There is
no verdict where no pair leans beyond chance, or where less than half would be seen; coverage is of
the samples with one. *few*: every eighth task has a link four times as large, the others a tenth.
"""
_AFTER_UNEVEN = """
A difference of 0 is the false-positive rate, at most 0.05; otherwise it is the power. *Labels
copied*: the share of predictions that equal the label.
"""
_AFTER_STRENGTH = """
Predictions are drawn from a power of P(task | group), or equal the label. The plain slope of the
logarithms is attenuated by the noise of the labels, and drawn towards 1 where labels and
predictions share rows. The strength is withheld where a cell has fewer than five rows, or where
more than 0.3 of the links' sum of squares may be noise.
"""
