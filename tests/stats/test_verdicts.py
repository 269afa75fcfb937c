"""From numbers to verdicts: what forbids one and where it travels, ranges, noise, robustness."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lmprobe import ComparisonResult, ProbeResult, check, compare, load_result, probe
from lmprobe.errors import InputError
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.probing.model_card import eval_results, model_card
from lmprobe.results import NoteKind, Obstacle, Verdict
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.verdicts import IntervalSettings, RowEstimates, estimate_rows
from lmprobe.sweeping.jobs import Subject
from lmprobe.sweeping.summary import SubjectProbe, summarise
from tests.conftest import Made
from tests.stats.tables import moved_tables, random_tables, row_tables

FORWARD, BACKWARD = DIRECTIONS


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def estimated(tables: RowTables, obstacle: Obstacle | None = None, **choices: Any) -> RowEstimates:
    (result,) = estimate_rows([tables], [obstacle], IntervalSettings(**choices))
    return result


def powers(power: float, direction: Direction, **options: Any) -> RowTables:
    """Return a model whose links are those of the base to a power, with some noise."""
    draw = rng(4)
    rates = draw.beta(2, 2, 30)
    base = np.stack([rates, 1 - rates]) * draw.dirichlet(np.full(30, 5.0)) * 1e5
    model = base**power * np.exp(draw.normal(0, 0.1, (10, 2, 30)))
    return row_tables(model, np.rint(base) + 1, direction, **options)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("power", "verdict"),
    [(2.0, Verdict.AMPLIFIES), (1.0, Verdict.UNDECIDED), (0.5, Verdict.REDUCES)],
)
def test_planted_links_are_found(direction: Direction, power: float, verdict: Verdict) -> None:
    result = estimated(powers(power, direction))
    assert result.parts["value"].verdict is result.parts["association"].verdict is verdict
    assert result.strength is not None
    assert power in result.strength.interval
    assert result.strength.verdict is verdict
    lean = powers(power, direction).lean
    foreign = {Verdict.AMPLIFIES: Verdict.FOLLOWS, Verdict.REDUCES: Verdict.OPPOSES}
    declared = estimated(powers(power, direction, declared=lean))
    assert declared.parts["value"].verdict is foreign.get(verdict, verdict)


@pytest.mark.parametrize("obstacle", Obstacle)
def test_an_obstacle_forbids_every_verdict(obstacle: Obstacle) -> None:
    result = estimated(powers(2.0, FORWARD), obstacle)
    expected = Verdict.UNINFORMED if obstacle is Obstacle.UNINFORMED else Verdict.UNDECIDED
    for part in result.parts.values():
        assert (part.obstacle, part.verdict) == (obstacle, expected)
    assert result.parts["value"].interval.low > 0
    assert result.strength is not None
    # The shares of an uninformed model mean nothing; a strength needs no lean.
    forbidden = obstacle is Obstacle.UNINFORMED
    assert result.strength.obstacle is (obstacle if forbidden else None)
    assert result.strength.verdict is (expected if forbidden else Verdict.AMPLIFIES)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_base_too_small_to_show_its_leans_allows_no_verdict(direction: Direction) -> None:
    truth = powers(1.0, direction).base
    few = rng(5).multinomial(30, (truth / truth.sum()).ravel()).reshape(truth.shape)
    few = few[:, few.sum(axis=0) > 0]
    model = (few + 0.5) ** 6 * np.exp(rng(6).normal(0, 0.05, (10, *few.shape)))
    result = estimated(row_tables(model, few, direction, counted=True), confidence=0.2)
    assert result.reliability is not None
    assert result.reliability < 0.5
    value = result.parts["value"]
    assert 0.0 not in value.interval
    assert (value.obstacle, value.verdict) == (Obstacle.SMALL_BASE, Verdict.UNDECIDED)


def forbidden(result: ProbeResult, obstacle: Obstacle) -> ProbeResult:
    """Return the result with an obstacle in the first direction."""
    first, *rest = result.rows
    assert not any(row.obstacle for row in rest)
    return replace(result, rows=(replace(first, obstacle=obstacle), *rest))


@pytest.fixture
def small(made: Made) -> Callable[..., ProbeResult]:
    """Return the maker of small results: eight templates, twelve tasks, one base."""

    def make(model: str, seed: int = 0) -> ProbeResult:
        tasks = tuple(f"task {number}" for number in range(12))
        return made(
            model=model, seed=seed, tasks=tasks, bases=("labor",), templates=list("abcdefgh")
        )

    return make


@pytest.mark.parametrize("obstacle", Obstacle)
@pytest.mark.parametrize("first", [True, False])
def test_what_forbids_a_verdict_forbids_a_comparison(
    small: Callable[..., ProbeResult], obstacle: Obstacle, first: bool
) -> None:
    pair = [small("a"), small("b", 1)]
    pair[first] = forbidden(pair[first], obstacle)
    made = compare(pair)
    for item in (made, ComparisonResult.from_json(made.to_json())):
        not_compared, compared = item.rows
        assert not_compared.obstacle is obstacle
        assert not not_compared.verdict.decisive
        assert math.isnan(not_compared.value)
        assert math.isnan(not_compared.p_value)
        assert (not_compared.nearer, not_compared.tasks) == (None, ())
        (note,) = [note for note in not_compared.notes if note.kind is NoteKind.LEFT_OUT]
        assert note.text == f"not compared because of {'b' if first else 'a'}: {obstacle.reason}"
        assert compared.obstacle is None
        # A test that was not made is not counted among the claims.
        assert compared.p_value == compared.p_value_unadjusted
        statements = [statement.text for statement in item.page().headline]
        assert f"given the task, b and a are {note.text}; " in statements[0]
    for claims in (check(pair[1], against=pair[0]), check(made, max=9.0)):
        assert claims.rows[0].outcome == "no_verdict"
        assert obstacle.reason in claims.rows[0].explanation


@pytest.mark.parametrize("obstacle", Obstacle)
def test_a_check_says_the_true_reason_and_exits_with_4(
    small: Callable[..., ProbeResult],
    obstacle: Obstacle,
    tmp_path: Path,
    command: Callable[..., Any],
) -> None:
    path = tmp_path / "result.json"
    path.write_text(forbidden(small("a"), obstacle).to_json(), encoding="utf-8")
    for limit in (-1.0, 0.0, 1.0):
        checked = check(path, max=limit, direction=FORWARD)
        assert checked.exit_code == 4
        assert obstacle.reason in checked.rows[0].explanation
        assert obstacle.reason in checked.page().headline[0].text
        assert "more data" not in str(checked.rows[0].explanation)
        assert type(checked).from_json(checked.to_json()).exit_code == 4
    code, out, _ = command("check", columns=200)(path, "--max", "0.05", "--direction", "T->A")
    assert code == 4
    assert "no verdict" in out


@pytest.mark.parametrize("obstacle", Obstacle)
def test_a_model_without_a_verdict_has_no_rank(
    small: Callable[..., ProbeResult], obstacle: Obstacle
) -> None:
    results = [forbidden(small("a"), obstacle), small("b", 1), small("c", 2)]
    entries = [
        SubjectProbe(Subject(name, name), "fitbert", result)
        for name, result in zip("abc", results, strict=True)
    ]
    swept = summarise(entries)
    ranked = {(row.model, row.direction): row.ranks is not None for row in swept.rows}
    assert ranked == {
        (model, direction): model != "a" or direction is BACKWARD
        for model in "abc"
        for direction in DIRECTIONS
    }
    (note,) = [note for note in swept.notes if note.kind is NoteKind.LEFT_OUT]
    assert note.text == f"without a rank, because {obstacle.reason}: a (labor, T->A)"
    never = replace(results[0], rows=tuple(replace(r, obstacle=obstacle) for r in small("a").rows))
    (note,) = summarise([replace(entries[0], result=never), *entries[1:2]]).notes
    assert note.text.endswith(": a (everywhere)")
    checked = check(load_result(swept.to_json()), max=9.0)
    assert [row.outcome for row in checked.rows].count("no_verdict") == 1


@pytest.mark.parametrize("obstacle", Obstacle)
def test_a_card_publishes_no_number_without_a_meaning(
    small: Callable[..., ProbeResult], obstacle: Obstacle
) -> None:
    result = forbidden(small("a"), obstacle)
    published = [eval_result.metric_config for eval_result in eval_results(result)]
    # Against a base that is too small the published formula still has its value.
    retained = obstacle is Obstacle.SMALL_BASE
    assert published == ([FORWARD.value] if retained else []) + [BACKWARD.value]
    assert obstacle.reason in model_card(result)


def test_an_uninformed_model_from_the_command_line_to_the_check(
    command: Callable[..., Any], tmp_path: Path
) -> None:
    words = ("--task", "nurse,cook,lawyer", "--min-mass", "1", "--json", "--output", tmp_path)
    code, out, err = command("run")("reference:faithful", *words)
    assert code == 0
    for row in json.loads(out)["rows"]:
        assert row["verdict"] == row["obstacle"] == "uninformed"
        assert row["strength"] is None or row["strength"]["obstacle"] == "uninformed"
    assert not any(line.startswith("check ") for line in err.splitlines())
    headline = load_result(tmp_path).page().headline
    assert not any("times as strong" in statement.text for statement in headline)
    for limit in ("--max", "--max-strength"):
        code, out, _ = command("check", columns=200)(tmp_path, limit, "0.5")
        assert code == 4


@pytest.mark.parametrize(
    ("limit", "code"), [(5.0, 0), (0.2, 1), (None, 3)], ids=["below", "above", "within"]
)
def test_a_strength_is_held_against_its_limit(limit: float | None, code: int) -> None:
    result = probe("reference:amplified", tasks=["nurse", "cook", "lawyer", "guard", "driver"])
    strength = result.rows[0].strength
    assert strength is not None
    checked = check(
        result, max_strength=strength.value if limit is None else limit, direction=FORWARD
    )
    assert checked.exit_code == code
    (row,) = checked.rows
    assert row.claim.estimate.value == strength.value
    with pytest.raises(InputError, match="no strength"):
        check(probe("reference:amplified", base="uniform"), max_strength=1.0)


@pytest.mark.parametrize("direction", DIRECTIONS)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), counted=st.booleans(), templates=st.booleans())
def test_intervals_stay_within_the_range_of_their_quantity(
    direction: Direction, seed: int, counted: bool, templates: bool
) -> None:
    """Two templates that contradict each other, three tasks: a wide interval in any case."""
    draw = rng(seed)
    base = draw.integers(1, 40, (2, 3))
    model = np.exp(draw.normal(0, 4, (2, 2, 3)))
    tables = row_tables(model, base, direction, counted=counted)
    resample = "templates" if templates else "both"
    result = estimated(tables, resample=resample, simultaneous=bool(seed % 2))
    for part, estimate in result.parts.items():
        bound = tables.bound * (2 if part == "preference" else 1)
        assert -bound <= estimate.interval.low <= estimate.interval.high <= bound
        assert -bound - 1e-12 <= estimate.claimed <= bound + 1e-12
        assert estimate.claimed in replace(
            estimate.interval, low=estimate.interval.low - 1e-9, high=estimate.interval.high + 1e-9
        )


@pytest.mark.parametrize("method", ["bootstrap", "t"])
@pytest.mark.parametrize("simultaneous", [False, True])
@pytest.mark.parametrize("kind", ["counts", "survey"])
def test_fixed_tasks_leave_the_noise_of_the_base(
    method: str, simultaneous: bool, kind: str
) -> None:
    """Templates that all say the same know nothing of how the base was sampled."""
    truth = random_tables(FORWARD, seed=2, tasks=12)
    model = truth.base * np.exp(rng(1).normal(0, 0.01, (8, *truth.base.shape)))
    errors = np.sqrt(truth.base)
    options: dict[str, Any] = {"counted": True} if kind == "counts" else {"standard_errors": errors}
    choices = {"interval": method, "resample": "templates", "simultaneous": simultaneous}
    exact, noisy = (
        estimated(row_tables(model, truth.base, FORWARD, **own), **choices) for own in ({}, options)
    )
    for part in ("value", "association"):
        wide, narrow = noisy.parts[part].interval, exact.parts[part].interval
        assert wide.width > 10 * narrow.width
        assert 0.0 in wide


@pytest.mark.parametrize("simultaneous", [False, True])
def test_a_faithful_model_is_not_judged_by_388_sentences(simultaneous: bool) -> None:
    """Without the noise of the base its interval was -0.106 to -0.071: "reduces"."""
    result = probe(
        "reference:faithful", base="wikipedia", resample="templates", simultaneous=simultaneous
    )
    assert {row.verdict for row in result.rows} == {Verdict.UNDECIDED}
    assert result.rows[0].interval.width > 0.2


@pytest.mark.parametrize("axis", ["families", "tasks"])
def test_a_single_unit_that_decides_is_counted(axis: str) -> None:
    """Of six, one contradicts: without it, and only without it, the model amplifies."""
    effects = np.array([0.1, 0.11, 0.09, 0.1, 0.12, -0.12])
    noise = rng(1).normal(0, 0.002, (6, 6))
    moved = noise + (effects[:, None] if axis == "families" else effects)
    resample = "templates" if axis == "families" else "tasks"
    result = estimated(moved_tables(moved), resample=resample)
    assert result.parts["value"].verdict is Verdict.UNDECIDED
    flips = result.robustness.verdict_flips
    assert (flips[axis], flips[f"of_{axis}"]) == (1, 6)
    # Without the contradiction nothing hangs on any one of them.
    clear = np.delete(moved, 5, axis=0 if axis == "families" else 1)
    flips = estimated(moved_tables(clear), resample=resample).robustness.verdict_flips
    assert flips == {
        "families": 0, "of_families": len(clear), "tasks": 0, "of_tasks": clear.shape[1],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "families", "flips"),
    [
        ([0.1, 0.3, -0.1], "aab", (1 / 3, 1 / 2)),
        ([0.4, -0.1, -0.3, 0.3], "abcc", (1 / 2, 1 / 3)),
        # Zero has no opposite sign.
        ([0.0, 0.3, 0.3, -0.1], "abcd", (1 / 4, 1 / 4)),
    ],
)
def test_sensitivity_to_templates(
    values: list[float], families: str, flips: tuple[float, float]
) -> None:
    moved = np.array(values)[:, None] * np.ones(4)
    result = estimated(moved_tables(moved, families=tuple(families))).robustness
    without = [np.mean(np.delete(values, number)) for number in range(len(values))]
    assert result.template_sd == pytest.approx(np.std(values))
    assert result.leave_one_out == pytest.approx((min(without), max(without)))
    assert (result.sign_flip_templates, result.sign_flip_families) == pytest.approx(flips)
    assert estimated(moved_tables(np.ones((1, 2)) / 5)).robustness.leave_one_out == (None, None)


def notes(tables: RowTables, **choices: Any) -> dict[NoteKind, list[str]]:
    actual: dict[NoteKind, list[str]] = {}
    for note in estimated(tables, **choices).notes:
        actual.setdefault(note.kind, []).append(note.text)
    return actual


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({}, "12 templates crossed with 26 tasks"),
        ({"resample": "templates"}, "12 templates, the tasks are taken as fixed"),
        ({"resample": "tasks"}, "26 tasks, the templates are taken as fixed"),
        # What does not resample takes no notice of what would be drawn.
        ({"interval": "t", "resample": "tasks"}, "12 templates, the tasks are taken as fixed"),
    ],
)
def test_a_note_says_what_the_sample_is(choices: dict[str, Any], expected: str) -> None:
    moved = rng(3).normal(0, 0.05, (12, 26))
    result = notes(moved_tables(moved), **choices)
    (text,) = result.pop(NoteKind.ASSUMPTION)
    assert f": the sample is {expected}; " in text
    assert result == {}, "enough of everything, and nothing is skewed"
    pairs = tuple(f"unit {number // 2}" for number in range(26))
    (text,) = notes(moved_tables(moved, units=pairs))[NoteKind.ASSUMPTION]
    assert "12 templates crossed with 26 tasks in 13 units; " in text
    (joint,) = notes(moved_tables(moved), simultaneous=True)[NoteKind.MULTIPLICITY]
    assert joint.startswith("all 3 intervals cover together")


def test_a_note_says_where_an_interval_is_not_to_be_trusted() -> None:
    def few(moved: np.ndarray, **options: Any) -> list[str]:
        return notes(moved_tables(moved, **options)).get(NoteKind.FEW_UNITS, [])

    moved = np.linspace(-0.05, 0.05, 12)[:, None] + np.linspace(-0.1, 0.1, 40)
    assert few(moved) == []
    end = ": where effects are skewed the interval may cover the truth less often than 95%"
    assert few(moved[:, :24]) == [f"24 tasks{end}"]
    assert few(moved[:9]) == [f"9 templates{end}"]
    assert few(moved, families=tuple("aabbccddeeff")) == [f"6 paraphrase families{end}"]
    # Cochran: forty tasks are too few where one of them stands out.
    skewed = moved / 10
    skewed[:, 0] = 0.4
    assert few(skewed) == []
    assert f"40 tasks{end}" in notes(moved_tables(skewed))[NoteKind.ASSUMPTION]
    for lonely, name in ((moved[:1], "template"), (moved[:, :1], "task")):
        (text,) = notes(moved_tables(lonely))[NoteKind.NO_INTERVAL]
        assert text == f"no interval: with one {name} the spread cannot be estimated"
    (text,) = notes(moved_tables(np.full((12, 40), 0.1)))[NoteKind.NO_INTERVAL]
    assert text.startswith("no interval: nothing varies")


def test_standard_errors_say_what_templates_and_tasks_add() -> None:
    moved = rng(3).normal(0, 0.05, (12, 9)) + rng(4).normal(0, 0.03, (1, 9))
    result = estimated(moved_tables(moved)).standard_errors
    templates, tasks = moved.mean(axis=1), moved.mean(axis=0)
    assert result["templates"] == pytest.approx(templates.std(ddof=1) / math.sqrt(12))
    assert result["tasks"] == pytest.approx(tasks.std(ddof=1) / 3)
    assert result["both"] == pytest.approx(math.hypot(result["templates"], result["tasks"]))


def test_higher_or_lower_and_nearer_or_farther() -> None:
    """The faithful model is nearer to the labour market from either side."""
    names = ["reference:faithful", "reference:amplified"]
    for pair, verdict in ((names, Verdict.HIGHER), (names[::-1], Verdict.LOWER)):
        result = compare(pair, base="labor")
        for row in result.rows:
            assert (row.verdict, row.nearer) == (verdict, "reference:faithful")
        assert result.page().headline[0].text == (
            f"Against labor, {names[1]} exaggerates the links more than {names[0]}, in both "
            "directions."
        )
        assert list(result.to_frame()["nearer"]) == ["reference:faithful"] * 2


def test_where_models_are_on_both_sides_of_the_base_neither_is_nearer(
    small: Callable[..., ProbeResult],
) -> None:
    result = small("a")

    def shifted(name: str, by: float, seed: int) -> ProbeResult:
        rows = []
        for row in result.rows[:1]:
            table = row.base_rate + by * row.lean + rng(seed).normal(0, 0.002, row.predicted.shape)
            rows.append(replace(row, predicted=table.clip(0, 1)))
        own = {**result.provenance, "model": name}
        return replace(result, rows=tuple(rows), provenance=own)

    for first, second, nearer in ((-0.1, 0.1, None), (0.05, 0.15, "a"), (-0.15, -0.05, "b")):
        (row,) = compare([shifted("a", first, 1), shifted("b", second, 2)]).rows
        assert (row.verdict, row.nearer) == (Verdict.HIGHER, nearer)
