"""From numbers with their resamples to estimates: intervals, what forbids a verdict, verdicts.

The second half of the one path from cells to a verdict (`row_tables` is the first). Probes,
comparisons, sweeps and the leakage of language models all use it, so what one of them knows, the
noise of a base, the units, the obstacles, none of them can forget.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import check_confidence
from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import Resample
from lmprobe.metrics.directional import defined_mean
from lmprobe.results import Estimate, Interval, Note, NoteKind, Obstacle, Verdict, decide
from lmprobe.results.format import every, format_percent, plural
from lmprobe.results.settings import EXPERT, STATISTICS, Settings, confidence_setting, setting
from lmprobe.stats.items import LEAST_TEXTS
from lmprobe.stats.method import Sample, interval, traits_of
from lmprobe.stats.resampling import REPLICATES, Replicates, Spread, draws, joint_confidence, slices
from lmprobe.stats.row_tables import PARTS, STRENGTH, RowTables

FEW, FEW_TASKS = 10, 25
"""Below so many templates or families, or tasks, skewed effects may make an interval too short."""

RESAMPLES = 120
"""Resamples of the tasks for a standard error, which the jackknife makes steady."""

# The share of the variance from which the skewness of a part matters.
_COUNTS = 0.2
_COVERS = (
    "the interval describes {} and tasks like these; it covers neither people nor other training "
    "runs of the model"
)


# Without slots, so that `IntervalSettings.seed` is the default: signatures are written with it.
@dataclass(frozen=True)
class IntervalSettings(Settings):
    """How intervals are made."""

    interval: str = setting(
        "bootstrap", "The interval method: see `lmprobe ls intervals`.", STATISTICS
    )
    resample: Resample = setting("both", "What the bootstrap resamples.", EXPERT)
    confidence: float = confidence_setting()
    simultaneous: bool = setting(
        False,
        "Make all intervals of the result cover simultaneously at this confidence.",
        STATISTICS,
    )
    seed: int = setting(0, "Random seed.", STATISTICS, minimum=0)

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        check_confidence(self.confidence)

    @property
    def drawn(self) -> str:
        """What is drawn anew: a method without resamples takes the tasks as they are."""
        return self.resample if traits_of(self.interval).resamples else "templates"

    @property
    def tasks_fixed(self) -> bool:
        """Whether the tasks are all there are, so that the noise of a base comes on top."""
        return self.drawn == "templates"

    def numbers_of(self, tables: RowTables, *, value_alone: bool = False) -> dict[str, Replicates]:
        """Return the claimed numbers of a row, and how they change with the choice of tasks.

        The same units and seed give the same draws, so that differences are paired.
        """
        times = self.draws_of(tables)
        return tables.replicates(times, tasks_fixed=self.tasks_fixed, value_alone=value_alone)

    def draws_of(self, tables: RowTables) -> Floats:
        """Return how often each unit of tasks is drawn in every resample, (R, U)."""
        rng = np.random.default_rng([self.seed, RESAMPLES])
        return draws(RESAMPLES, len(set(tables.units)), rng)

    def each(self, numbers: Sequence[Replicates]) -> float:
        """Return the confidence of each interval, so that with `simultaneous` all cover together.

        For a method without resamples that is Bonferroni's share.
        """
        if not self.simultaneous or len(numbers) < 2:
            return self.confidence
        if not traits_of(self.interval).resamples:
            return 1 - (1 - self.confidence) / len(numbers)
        rng = np.random.default_rng(self.seed)
        return joint_confidence(numbers, self.drawn, self.confidence, rng)

    def interval_of(
        self, number: Replicates, confidence: float, bound: float = math.inf
    ) -> Interval:
        """Return the interval of a number within [-bound, bound]."""
        sums, sizes = number.family_sums
        if not len(sums):
            return Interval.undefined(self.confidence, self.interval)
        # A family counts as often as it has templates; the mean of these is the value.
        share = sizes * len(sizes) / sizes.sum()
        widest = float(share.max()) * min(bound, 1.0)
        ends = interval(
            Sample(
                number.value,
                observations=number.value + share * (sums / sizes - number.value),
                bounds=(-widest, widest),
                units=len(sizes),
                spread=number.spread(self.drawn),
            ),
            method=self.interval,
            confidence=confidence,
            rng=np.random.default_rng(self.seed),
        )
        if not traits_of(self.interval).resamples:
            # What such a method does not see: it has the mean of each family alone.
            from scipy import special

            level, extra = (1 + ends.confidence) / 2, number.extra
            besides = math.hypot(number.noise, float(extra.std(ddof=1)) if len(extra) > 1 else 0.0)
            reaches = [besides * float(special.ndtri(level))]
            if turns := number.spread("templates").parts.get("turns"):
                error = math.sqrt(turns.variance)
                reaches.append(error * float(special.stdtrit(turns.degrees, level)))
            for reach in filter(None, reaches):
                noise = Interval(-reach, reach, ends.confidence, ends.method)
                ends = ends.widened(number.value, noise)
        return replace(ends, confidence=self.confidence).clipped(-bound, bound)


@dataclass(frozen=True, slots=True)
class Robustness:
    """Sensitivity of a probe's value and verdict to its templates and tasks."""

    template_sd: float
    """Standard deviation over templates (ddof 0): the paper's "±", not an interval."""
    leave_one_out: tuple[float | None, float | None]
    """The smallest and largest value when one template is left out; None for one template."""
    sign_flip_templates: float
    """The share of templates whose sign is opposite to that of the value."""
    sign_flip_families: float
    """The share of paraphrase families whose mean has the opposite sign."""
    verdict_flips: Mapping[str, int] = field(default_factory=dict)
    """How many families, and how many units of tasks, would each change the verdict if left out;
    with `of_families` and `of_tasks`, of how many."""


def _robustness(by_template: Floats, families: Sequence[str], flips: dict[str, int]) -> Robustness:
    """Return the spread over templates of the published values (K,), NaN undefined."""
    defined = ~np.isnan(by_template)
    each, value = by_template[defined], float(by_template[defined].mean())
    ends: tuple[float | None, float | None] = (None, None)
    if len(each) > 1:
        without = (each.sum() - each) / (len(each) - 1)
        ends = (float(without.min()), float(without.max()))
    family = np.unique(np.array(families, dtype=str)[defined], return_inverse=True)[1]
    signs = [np.sign(numbers) * np.sign(value) for numbers in (each, np.bincount(family, each))]
    templates, whole = (float(np.mean(sign < 0)) for sign in signs)
    return Robustness(float(each.std()), ends, templates, whole, flips)


@dataclass(frozen=True, slots=True)
class RowEstimates:
    """Everything uncertain about one row of a probe."""

    parts: Mapping[str, Estimate]
    """Value, association and preference."""
    strength: Estimate | None
    """None where the base has no links, or there is a single task."""
    notes: tuple[Note, ...]
    standard_errors: Mapping[str, float]
    """Of the value: what templates, tasks and both together add."""
    robustness: Robustness
    reliability: float | None
    """The share of an amplification that the base shows; None for an exact one."""


def estimate_rows(
    rows: Sequence[RowTables], obstacles: Sequence[Obstacle | None], settings: IntervalSettings
) -> tuple[RowEstimates, ...]:
    """Return the estimates of every row.

    `obstacles` is what forbids a verdict of each row already, such as an uninformed model. With
    `settings.simultaneous` the confidence is that of all intervals together.
    """
    if not rows:
        return ()
    numbers = [settings.numbers_of(row) for row in rows]
    together = [number[part] for number in numbers for part in (*PARTS, STRENGTH)]
    together = [number for number in together if not math.isnan(number.value)]
    confidence = settings.each(together)
    joint: tuple[Note, ...] = ()
    if settings.simultaneous:
        how = "maximum-t" if traits_of(settings.interval).resamples else "Bonferroni"
        text = f"{every(len(together), 'interval')} cover together ({how})"
        joint = (Note(NoteKind.MULTIPLICITY, text),)
    return tuple(
        _row_estimates(row, number, obstacle, settings, confidence, joint)
        for row, number, obstacle in zip(rows, numbers, obstacles, strict=True)
    )


def _row_estimates(
    row: RowTables,
    numbers: Mapping[str, Replicates],
    obstacle: Obstacle | None,
    settings: IntervalSettings,
    confidence: float,
    joint: tuple[Note, ...],
) -> RowEstimates:
    shown = {part: row.reliability(part) for part in ("value", "association")}
    share = min(part.proportional for part in shown.values()) if row.sampled else None
    if obstacle is None and not all(part.is_enough for part in shown.values()):
        obstacle = Obstacle.SMALL_BASE

    bounds = {"value": row.bound, "association": row.bound, "preference": 2 * row.bound}

    moves = row.bias_of_texts()

    def claim(part: str, number: Replicates) -> tuple[Interval, Verdict]:
        bound = bounds[part]
        ends = settings.interval_of(number, confidence, bound)
        ends = _wider(ends, moves.get("association" if part == "preference" else part, 0.0))
        ends = ends.clipped(-bound, bound)
        for reliability in shown.values() if part == "preference" else [shown[part]]:
            ends = reliability.stretched(ends).clipped(-bound, bound)
        return ends, row_verdict(ends, foreign=row.declared is not None, obstacle=obstacle)

    published = row.published()
    parts = {}
    for part in PARTS:
        value = float(np.nanmean(published[part]))
        ends, verdict = claim(part, numbers[part])
        corrected, bias = None, None
        if row.sampled:
            corrected = float(np.clip(numbers[part].value, -bounds[part], bounds[part]))
            bias = value - corrected
        parts[part] = Estimate(value, ends, verdict, corrected, bias, obstacle=obstacle)
    whole = numbers["value"]
    flips = dict.fromkeys(("families", "of_families", "tasks", "of_tasks"), 0)
    for axis, other in whole.leave_one_out():
        flips.setdefault(axis, 0)
        flips[axis] += claim("value", other)[1] is not parts["value"].verdict
        flips[f"of_{axis}"] = flips.get(f"of_{axis}", 0) + 1
    return RowEstimates(
        parts,
        _strength(row, numbers[STRENGTH], obstacle, settings, confidence, moves),
        (
            *interval_notes(whole, parts["value"].interval, settings),
            *joint,
            *_text_notes(row, moves),
        ),
        _standard_errors(whole),
        _robustness(published["value"], row.families, flips),
        share,
    )


def _text_notes(row: RowTables, bias: Mapping[str, float]) -> tuple[Note, ...]:
    """Return why the strength is withheld, and what the sampling of the texts moves."""
    notes, moves = [], {part: size for part, size in bias.items() if size}
    if row.items is not None and row.thin and STRENGTH in bias:
        moves.pop(STRENGTH, None)
        cells = plural(row.thin, "cell", of=row.predicted.size)
        few = f"fewer than {LEAST_TEXTS} texts" if row.items.texts is not None else "probability 0"
        text = f"no strength: {cells} (template, group and task) have {few}"
        notes.append(Note(NoteKind.NO_INTERVAL, text))
    if moves:
        listed = ", ".join(f"{part} by {size:.2g}" for part, size in moves.items())
        text = f"intervals are wider by what few texts, or zeros, may move: {listed}"
        notes.append(Note(NoteKind.ASSUMPTION, text))
    return tuple(notes)


def _standard_errors(number: Replicates) -> dict[str, float]:
    parts = {name: math.sqrt(part.variance) for name, part in number.spread().parts.items()}
    both = math.hypot(*parts.values())
    templates = parts.pop("families", 0.0)
    return {"templates": templates, "tasks": parts.pop("tasks"), "both": both} | parts


def _strength(
    row: RowTables,
    number: Replicates,
    obstacle: Obstacle | None,
    settings: IntervalSettings,
    confidence: float,
    bias: Mapping[str, float],
) -> Estimate | None:
    """Return the strength; withheld where counts, of a base or of texts, show too little."""
    few = STRENGTH in bias and row.thin
    if few or math.isnan(number.value):
        if not few and (len(row.tasks) < 2 or not (row.counted or row.standard_errors is not None)):
            return None
        ends = Interval.too_few_units(settings.confidence, settings.interval)
        return Estimate(math.nan, ends, Verdict.UNDECIDED, obstacle=obstacle)
    ends = row.reliability(STRENGTH).stretched(settings.interval_of(number, confidence))
    ends = _wider(ends, bias.get(STRENGTH, 0.0))
    # A base too small to show its leans says so by the width of this interval.
    forbids = obstacle if obstacle is Obstacle.UNINFORMED else None
    return Estimate(
        number.value, ends, decide(ends, reference=1.0, obstacle=forbids), obstacle=forbids
    )


def _wider(ends: Interval, bias: float) -> Interval:
    return replace(ends, low=ends.low - bias, high=ends.high + bias) if ends.bounded else ends


def row_verdict(ends: Interval, *, foreign: bool, obstacle: Obstacle | None = None) -> Verdict:
    """Return what the interval allows one to say of a row, or of a part of it.

    With a lean from elsewhere the model can follow or oppose that lean; whether it amplifies
    the base is not what was measured.
    """
    above, below = Verdict.AMPLIFIES, Verdict.REDUCES
    if foreign:
        above, below = Verdict.FOLLOWS, Verdict.OPPOSES
    return decide(ends, above=above, below=below, obstacle=obstacle)


def interval_notes(
    number: Replicates, ends: Interval, settings: IntervalSettings
) -> tuple[Note, ...]:
    """Return what the interval assumes, and where it is not to be trusted."""
    families, turns = len(number.family_sums[1]), len(number.turn_sums[1])
    single = families * max(turns, 1) == (~np.isnan(number.by_template)).sum()
    unit = "template" if single else "paraphrase family"
    many = "templates" if single else "paraphrase families"
    tasks = len(number.unit_sizes)
    counts = {many: (unit, families, FEW), "tasks": ("task", tasks, FEW_TASKS)}
    counts |= {"turns": ("turn", turns, FEW)} if turns else {}
    words = {name: plural(n, unit, name) for name, (unit, n, _) in counts.items()}
    if tasks < len(number.units):
        words["tasks"] = f"{plural(len(number.units), 'task')} in {plural(tasks, 'unit')}"
    sentences = words[many] if number.framed else "sentences of their own"
    sentences = f"{sentences} after each of {words['turns']}" if turns else sentences
    how = {
        "templates": f"{sentences}, the tasks are taken as fixed",
        "tasks": f"{words['tasks']}, the templates are taken as fixed",
        "both": f"{sentences} crossed with {words['tasks']}",
    }[settings.drawn]
    if not number.framed and settings.drawn != "templates":
        how = f"{words['tasks']} with {sentences} (no template is shared by several tasks)"
    for name, sampled in number.sampled.items():
        how += f", with {plural(sampled.number, name.removesuffix('s'))}"
    traits, spread = traits_of(settings.interval), number.spread(settings.drawn)
    covers = _COVERS.format("templates" if number.framed else "items")
    notes = [Note(NoteKind.ASSUMPTION, f"{ends.method}: the sample is {how}; {covers}")]
    if len(set(number.turns)) == 1:
        text = "with one turn of the user the interval does not cover the choice of the turn"
        notes.append(Note(NoteKind.ASSUMPTION, text))
    for part, name in (("families", many), ("turns", "turns"), ("tasks", "tasks")):
        if part not in spread.parts:
            continue
        unit, n, few = counts[name]
        if n == 1:
            text = f"no interval: with one {unit} the spread cannot be estimated"
            notes.append(Note(NoteKind.NO_INTERVAL, text))
        elif traits.approximate and (n < few or _skewed(number, spread, part)):
            text = (
                f"{n} {name}: where effects are skewed the interval may cover the truth less often "
                f"than {format_percent(ends.confidence)}"
            )
            notes.append(Note(NoteKind.FEW_UNITS if n < few else NoteKind.ASSUMPTION, text))
    if math.isnan(ends.low):
        text = "no interval: nothing varies between the units, so the spread is not estimated"
        notes.append(Note(NoteKind.NO_INTERVAL, text))
    if traits.caveat:
        notes.append(Note(NoteKind.METHOD, traits.caveat))
    return tuple(notes)


def _skewed(number: Replicates, spread: Spread, part: str) -> bool:
    """Tell whether the units are too few for the skewness of their effects.

    Cochran's rule (1977, Sampling Techniques, 2.15): a mean needs more than 25 times the square
    of the skewness. A part that adds little to the variance may be as skewed as it likes.
    """
    if spread.is_rounding or not spread.parts[part].variance > _COUNTS * spread.variance:
        return False
    values = number.influence[part]
    away = values - values.mean()
    skewness = float((away**3).mean()) / float((away**2).mean()) ** 1.5
    return bool(len(values) < 25 * skewness**2)


_DEVIATION = "bootstrap-deviation"
# Draws of the families: fewer than for other intervals, since each takes all cells.
_FAMILY_DRAWS = REPLICATES // 5
# Permutations, and cells that are drawn altogether: a larger set is permuted less often.
_PERMUTATIONS, _MOST_CELLS = 1999, 400_000_000


@dataclass(frozen=True, slots=True)
class Unevenness:
    """The mean size of a pair's deviation from the base, with its interval and p-value.

    Amplification needs a lean. Without one, the size of the deviations can still be measured: the
    mean over pairs of |mean over templates of (predicted - base rate)|. It is never negative and
    grows with noise, so it is tested against chance, not against zero: if the group made no
    difference, exchanging the attributes of a task in all templates of a family would change
    nothing.
    """

    json_keys: ClassVar[tuple[str, ...]] = ("value", "interval", "p_value", "verdict")

    value: float
    interval: Interval
    p_value: float
    """Of the hypothesis that the attributes are exchangeable in every family and task."""

    @property
    def verdict(self) -> Verdict:
        """Whether chance is ruled out at the confidence of the interval."""
        ruled_out = self.p_value < 1 - self.interval.confidence
        return Verdict.UNEVEN if ruled_out else Verdict.UNDECIDED


def unevenness(
    predicted: Floats,
    base_rate: Floats,
    *,
    families: Sequence[str],
    turns: Sequence[str] = (),
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> Unevenness:
    """Return how far predictions (K, A, T) are from base rates (A, T), in whatever direction.

    Noise makes the value too large, by most where there is nothing to find, so percentiles of
    its resamples do not cover. The interval uses that the true value differs by no more than the
    mean size of the errors (the triangle inequality), whose quantile the bootstrap over paraphrase
    families gives: it covers more often than it says, at zero too. The errors of several turns of
    a chat are added. The p-value is from permuting the attributes of each task in whole families,
    whose templates share their noise.
    """
    deviation = predicted - base_rate

    def grouped(names: Sequence[str]) -> tuple[Floats, NDArray[np.intp]]:
        group = np.unique(np.asarray(names, dtype=str), return_inverse=True)[1]
        sums = np.zeros((group.max() + 1, *deviation.shape[1:]))
        np.add.at(sums, group, deviation)
        return sums, np.bincount(group)

    sums, family = grouped(families)
    value = float(defined_mean(np.abs(sums.sum(axis=0)))) / len(deviation)
    interval = Interval.too_few_units(confidence, _DEVIATION)
    if len(sums) > 1:
        groups = [(sums, family), *([grouped(turns)] if len(set(turns)) > 1 else [])]
        error = sum(float(np.quantile(_errors(*each, rng), confidence)) for each in groups)
        # A mean of shares differs from another by 1 at most.
        interval = Interval(value - error, value + error, confidence, _DEVIATION).clipped(0.0, 1.0)
    return Unevenness(value, interval, _p_value(sums / len(deviation), value, rng))


def _errors(by_family: Floats, sizes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
    """Return the mean size of the errors when as many families are drawn anew (R,)."""
    count, sums = len(by_family), by_family.reshape(len(by_family), -1)
    mean = sums.sum(axis=0) / sizes.sum()
    values = np.empty(_FAMILY_DRAWS)
    for part in slices(_FAMILY_DRAWS, sums.shape[1]):
        weight = draws(part.stop - part.start, count, rng)
        error = weight @ sums / (weight @ sizes)[:, None] - mean
        values[part] = defined_mean(np.abs(error), axis=1)
    # Resampling n units loses a factor (n - 1) / n of the variance.
    return values * math.sqrt(count / (count - 1))


def _p_value(by_family: Floats, value: float, rng: np.random.Generator) -> float:
    permutations = max(199, min(_PERMUTATIONS, _MOST_CELLS // by_family.size))
    as_large = 0
    for part in slices(permutations, by_family.size):
        block = np.broadcast_to(by_family, (part.stop - part.start, *by_family.shape))
        sizes = defined_mean(np.abs(rng.permuted(block, axis=2).sum(axis=1)), axis=(1, 2))
        # Equal arrangements may differ in the last digits, by the order of summation.
        as_large += int((sizes >= value * (1 - 1e-9)).sum())
    return (1 + as_large) / (1 + permutations)
