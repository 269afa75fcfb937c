"""Comparing models: what is paired, names, control over all rows, errors a user can cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lmprobe import ComparisonResult, ProbeResult, compare, load_result, probe
from lmprobe.errors import InputError, ModelError
from lmprobe.metrics.direction import DIRECTIONS
from lmprobe.probing.result import ProbeRow
from lmprobe.probing.settings import CompareSettings, ProbeSettings
from lmprobe.results import NoteKind, Obstacle, Verdict
from lmprobe.stats.comparison import adjusted
from tests.conftest import BASES, Made

FORWARD, BACKWARD = DIRECTIONS
WORDS = [
    "nurse", "lawyer", "driver", "editor", "cook", "baker", "cashier", "guard", "carpenter",
    "secretary", "cleaner", "writer", "auditor", "janitor", "farmer", "mover", "sheriff",
    "designer", "librarian", "receptionist",
]  # fmt: skip
# Quick: it resamples nothing.
QUICK = "t"


@pytest.fixture(scope="module")
def reference() -> ComparisonResult:
    return compare(["reference:faithful", "reference:amplified"], tasks=WORDS, base="labor")


@pytest.fixture
def small(made: Made) -> Any:
    """Return the maker of small results: six templates, four tasks, one base."""

    def make(model: str = "m", seed: int = 0, **options: Any) -> ProbeResult:
        selected = {"tasks": ("cook", "nurse", "vet", "clerk"), "bases": ("labor",)} | options
        return made(templates=list("abcdef"), model=model, seed=seed, **selected)

    return make


def notes(result: ComparisonResult, kind: NoteKind) -> list[str]:
    return [note.text for note in result.rows[0].notes if note.kind is kind]


def test_models_are_probed_and_subtracted(reference: ComparisonResult) -> None:
    probes = [probe(f"reference:{kind}", tasks=WORDS) for kind in ("faithful", "amplified")]
    for row in reference.rows:
        values = [result.row(row.base, row.direction).value for result in probes]
        assert row.values == pytest.approx(tuple(values))
        assert row.value == pytest.approx(values[1] - values[0])
    assert [row.direction for row in reference.rows] == list(DIRECTIONS)
    assert reference.rows[0].verdict is Verdict.HIGHER
    assert compare(probes).to_dict()["rows"] == reference.to_dict()["rows"]


def test_the_document_is_a_result_and_says_how_to_make_it_again(
    reference: ComparisonResult, tmp_path: Path
) -> None:
    path = tmp_path / "comparison.json"
    path.write_text(reference.to_json(), encoding="utf-8")
    again = load_result(path)
    assert isinstance(again, ComparisonResult)
    assert again.to_json() == reference.to_json()
    assert again.rows == reference.rows
    (command,) = [command for section in again.page().sections for command in section.commands]
    assert command == (
        "lmprobe compare reference:faithful reference:amplified --templates fitbert "
        f"--base labor --task {','.join(WORDS)}"
    )
    said = "reference:amplified exaggerates the links more than reference:faithful"
    assert said in again.page().headline[0].text


@pytest.mark.parametrize("pairs", ["first", "all"])
def test_every_model_with_the_first_or_every_two(small: Any, pairs: Any) -> None:
    results = {name: small(name, seed, bases=BASES) for seed, name in enumerate("abc")}
    result = compare(list(results.values()), pairs=pairs, interval=QUICK)
    expected = [("a", "b"), ("a", "c")] + ([("b", "c")] if pairs == "all" else [])
    assert list(dict.fromkeys((row.first, row.second) for row in result.rows)) == expected
    for row in result.rows:
        own, other = (
            results[name].row(row.base, row.direction) for name in (row.first, row.second)
        )
        assert row.values == pytest.approx((own.value, other.value))
        assert row.value == pytest.approx(np.nanmean(other.cells - own.cells))
        assert row.foreign_lean is (row.base == "uniform")


def amplified(row: ProbeRow, tasks: Sequence[str]) -> dict[tuple[str, str], np.ndarray]:
    """Return the amplification of each pair by template where these tasks are the candidates."""
    columns = [row.tasks.index(task) for task in tasks]
    predicted, rate, lean = (
        table[..., columns] for table in (row.predicted, row.base_rate, row.lean)
    )
    if row.direction is BACKWARD:
        predicted, rate = (table / table.sum(axis=-1, keepdims=True) for table in (predicted, rate))
    cells = lean * (predicted - rate)
    return {
        (group, task): cells[:, a, t]
        for a, group in enumerate(row.attributes)
        for t, task in enumerate(tasks)
    }


def test_cells_are_paired_by_the_names_of_their_words(small: Any) -> None:
    """The second result has other words in another order; those that both have are compared."""
    first = small("a")
    twin = small("b", 1, tasks=("cook", "nurse", "vet", "clerk", "pilot"))
    columns, groups = [2, 3, 4, 1], [1, 0]
    turned = replace(
        twin,
        rows=tuple(
            replace(
                row,
                tasks=tuple(row.tasks[n] for n in columns),
                attributes=tuple(row.attributes[n] for n in groups),
                **{
                    name: getattr(row, name)[..., groups, :][..., columns]
                    for name in ("predicted", "base_rate", "lean")
                },
            )
            for row in twin.rows
        ),
    )
    result = compare([first, turned], interval=QUICK)
    assert [row.direction for row in result.rows] == [FORWARD, BACKWARD]
    for row, own, other in zip(result.rows, first.rows, turned.rows, strict=True):
        shared = ("nurse", "vet", "clerk")
        before, after = amplified(own, shared), amplified(other, shared)
        moved = {
            task: [
                np.mean([after[group, task][k] - before[group, task][k] for group in ("he", "she")])
                for k in range(6)
            ]
            for task in shared
        }
        assert row.value == pytest.approx(np.mean(list(moved.values())))
        assert {task.task for task in row.tasks} == set(shared)
        for task in row.tasks:
            assert task.value == pytest.approx(np.mean(moved[task.task]))
            # Six tasks of two rows are claimed at once, by Bonferroni.
            half = stats.t.ppf(1 - 0.05 / 2 / 6, 5) * stats.sem(moved[task.task])
            assert task.interval.width == pytest.approx(2 * half)
    (text,) = notes(result, NoteKind.LEFT_OUT)
    assert text.endswith(": cook, pilot")


def test_a_base_that_is_not_the_same_for_both_is_told(small: Any) -> None:
    first = small("a", bases=("wikipedia",))
    assert np.isnan(first.rows[0].base_rate).any()

    def changed(**changes: Any) -> list[str]:
        rows = tuple(
            replace(
                row,
                predicted=row.predicted * 0.9,
                **{name: change(getattr(row, name)) for name, change in changes.items()},
            )
            for row in first.rows
        )
        return notes(
            compare([first, replace(first, rows=rows)], interval=QUICK), NoteKind.COMPARISON
        )

    assert changed() == [], "undefined pairs are the same too"
    assert len(changed(base_rate=lambda rates: rates[:, ::-1])) == 1
    assert len(changed(lean=lambda lean: -lean)) == 1


def test_rows_that_only_one_has_are_left_out(small: Any) -> None:
    first = small("a", bases=("labor", "corpus"))
    second = small("b", 1, bases=("corpus",))
    second = replace(second, rows=second.rows[1:])
    result = compare([first, second], interval=QUICK)
    assert [(row.base, row.direction) for row in result.rows] == [("corpus", BACKWARD)]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"bases": ("corpus",)}, "share no base: a has labor, b has corpus"),
        ({"attributes": ("he", "they")}, "a compares he, she and b he, they against labor"),
        ({"tasks": ("pilot", "baker")}, "a and b share no task against labor"),
    ],
)
def test_results_that_cannot_be_paired_are_refused(
    small: Any, second: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        compare([small("a"), small("b", **second)])
    one, two = (replace(result, rows=result.rows[:1]) for result in (small("a"), small("b")))
    two = replace(two, rows=small("b").rows[1:2])
    with pytest.raises(InputError, match="share no direction: a has task->attribute, b has attr"):
        compare([one, two])
    other = replace(small("b"), templates=tuple("abcdeg"))
    with pytest.raises(InputError, match=r"a and b differ in their templates \(b has no “f”"):
        compare([small("a"), other])
    turned = replace(small("b"), templates=small("b").templates[::-1])
    with pytest.raises(InputError, match="their order differs"):
        compare([small("a"), turned])


@pytest.mark.parametrize("kinds", [("masked", "causal"), ("masked", "masked"), (None, "causal")])
def test_only_models_of_different_kinds_may_have_different_scorers(
    small: Any, kinds: tuple[str | None, str]
) -> None:
    """Results of version 1 do not say their kind."""
    first, second = (
        replace(result, provenance={**result.provenance, "scorer": scorer, "kind": kind})
        for result, scorer, kind in zip(
            (small("bert"), small("gpt", 1)), ("pll", "sentence"), kinds, strict=True
        )
    )
    if kinds == ("masked", "causal"):
        (text,) = notes(compare([first, second], interval=QUICK), NoteKind.SCORER)
        assert "bert is a masked model, scored by pll, and gpt a causal one, scored by sen" in text
    else:
        with pytest.raises(InputError, match="bert was made with the scorer pll, gpt with sentenc"):
            compare([first, second])


def test_models_of_one_name_are_told_apart(small: Any, tmp_path: Path) -> None:
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    for seed, path in enumerate(paths):
        path.write_text(small(seed=seed).to_json(), encoding="utf-8")
    result = compare([*paths, small("third", 2)], interval=QUICK)
    assert result.provenance["names"] == [*map(str, paths), "third"]
    assert result.provenance["given"] == [*map(str, paths), "third"]
    assert result.provenance["saved"] == [True, True, True]
    row = compare([small(), small(seed=1)], interval=QUICK).rows[0]
    assert (row.first, row.second) == ("m (1)", "m (2)")


def test_the_command_names_files_for_results_in_memory(small: Any, tmp_path: Path) -> None:
    """The name of a model in their place would probe it again, with other choices."""
    path = tmp_path / "old.json"
    path.write_text(small("old").to_json(), encoding="utf-8")
    for models, written in (
        ([path, small("new", 1)], [str(path), "RESULT-2.json"]),
        ([small(), small(seed=1)], ["RESULT-1.json", "RESULT-2.json"]),
    ):
        page = compare(models, interval=QUICK).page()
        (command,) = [command for section in page.sections for command in section.commands]
        assert command.startswith(f"lmprobe compare {' '.join(written)} ")


def test_a_model_has_the_lean_of_the_saved_result_beside_it(tmp_path: Path) -> None:
    """So that a result about stereotypes is compared, and not without a lean."""
    rng, tasks = np.random.default_rng(0), [f"job {number}" for number in range(6)]
    lean = tmp_path / "stereotypes.csv"
    lean.write_text(
        "task,he,she\n" + "".join(f"{task},{n % 2},{1 - n % 2}\n" for n, task in enumerate(tasks))
    )
    tables = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for table in tables:
        lines = [f"{task},t{k},{rng.normal():.3f},0\n" for k in range(4) for task in tasks]
        table.write_text("task,template,he,she\n" + "".join(lines))
    choices: dict[str, Any] = {"base": "uniform", "lean": str(lean)}
    saved = probe(str(tables[0]), **choices)
    with pytest.MonkeyPatch.context() as patch:
        # The result knows the file's name, as it does that of its base.
        patch.chdir(tmp_path)
        (row,) = compare([saved, str(tables[1])]).rows
        (expected,) = compare([saved, probe(str(tables[1]), **choices)]).rows
    assert row.obstacle is None
    assert row.value == expected.value


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"base": "labor"}, "`base`"),
        ({"attributes": ["he", "she"], "scorer": "joint"}, "`attributes`, `scorer`"),
        ({"min_mass": 0.5}, "`min_mass`"),
    ],
)
def test_saved_results_have_what_they_were_made_with(
    small: Any, arguments: dict[str, Any], named: str
) -> None:
    with pytest.raises(InputError, match=f"^{named}: for models only"):
        compare([small(), small(seed=1)], **arguments)


def test_mistakes(small: Any) -> None:
    for wrong in ("reference:amplified", Path("a.json"), small(), [small()], []):
        with pytest.raises(InputError, match="at least two models or results"):
            compare(wrong)
    with pytest.raises(InputError, match='no `pairs` "second"'):
        compare([small(), small()], pairs="second")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"compare\(\) got an unexpected .* 'scorers'"):
        compare(["./no-such-model", "./other"], scorers="auto")


def test_every_option_of_a_probe_is_one_of_compare() -> None:
    """The two models do not exist: an option that is known gets as far as opening them."""
    names = {field.name for field in fields(CompareSettings)}
    assert {field.name for field in fields(ProbeSettings)} < names
    for name in names:
        with pytest.raises(ModelError, match="no-such-model"):
            compare(["./no-such-model", "./other"], **{name: getattr(CompareSettings, name)})


def test_p_values_are_adjusted_over_models_bases_and_directions(small: Any) -> None:
    results = [small(name, seed, bases=BASES) for seed, name in enumerate("abc")]
    rows = compare(results, interval=QUICK).rows
    plain = np.array([row.p_value_unadjusted for row in rows])
    assert [row.p_value for row in rows] == pytest.approx(list(adjusted(plain, "holm")))
    # The same pair in a smaller family: unadjusted alike, adjusted no larger.
    for row, other in zip(compare(results[:2], interval=QUICK).rows, rows, strict=False):
        assert row.p_value_unadjusted == pytest.approx(other.p_value_unadjusted)
        assert row.p_value <= other.p_value
    tasks = [task for row in rows for task in row.tasks]
    p_values = np.array([task.p_value for task in tasks])
    for control, name in (("holm", "p_holm"), ("benjamini-hochberg", "p_benjamini_hochberg")):
        expected = list(adjusted(p_values, control))
        assert [getattr(task, name) for task in tasks] == pytest.approx(expected, nan_ok=True)


def test_models_are_the_same_within_a_margin(small: Any) -> None:
    first = small("a")
    rng = np.random.default_rng(0)
    noisy = tuple(
        replace(row, predicted=row.predicted + rng.normal(0, 1e-4, row.predicted.shape))
        for row in first.rows
    )
    other = replace(first, rows=noisy)
    wide, narrow = (
        compare([first, other], margin=margin, interval=QUICK).rows for margin in (0.05, 1e-6)
    )
    assert {row.verdict for row in wide} == {Verdict.EQUIVALENT}
    assert Verdict.EQUIVALENT not in {row.verdict for row in narrow}
    assert {row.p_equivalence for row in compare([first, other], interval=QUICK).rows} == {None}
    same = compare([first, first], margin=0.01).rows
    assert {row.verdict for row in same} == {Verdict.EQUIVALENT}
    assert {row.p_value for row in same} == {1.0}


def test_equivalence_is_adjusted_by_holm_too(small: Any) -> None:
    results = [small("a"), small("b", 1)]
    together = [row.p_equivalence for row in compare(results, interval=QUICK, margin=0.05).rows]
    alone = []
    for n in (0, 1):
        single = [replace(result, rows=result.rows[n : n + 1]) for result in results]
        alone.append(compare(single, interval=QUICK, margin=0.05).rows[0].p_equivalence)
    assert together == pytest.approx(list(adjusted(np.array(alone, dtype=float), "holm")))
    assert together != pytest.approx(alone)


def test_simultaneous_intervals_of_differences_are_wider(small: Any) -> None:
    results = [small("a", bases=("labor", "corpus")), small("b", 1, bases=("labor", "corpus"))]
    for method in ("bootstrap", QUICK):
        alone = compare(results, interval=method).rows
        together = compare(results, interval=method, simultaneous=True).rows
        for row, other in zip(alone, together, strict=True):
            assert other.interval.width > row.interval.width
            assert other.interval.confidence == row.interval.confidence
    each = compare(results, interval=QUICK, confidence=1 - 0.05 / 4).rows
    for row, other in zip(each, together, strict=True):
        ends = other.interval.low, other.interval.high
        assert (row.interval.low, row.interval.high) == pytest.approx(ends)


def test_a_model_beside_a_saved_result_has_its_set_and_its_bases() -> None:
    tasks = ["nurse", "cook", "mover"]
    saved = probe("reference:amplified", "everyday", ["winobias", "uniform"], tasks=tasks)
    result = compare([saved, "reference:faithful"], tasks=tasks, interval=QUICK)
    assert list(dict.fromkeys(row.base for row in result.rows)) == ["winobias", "uniform"]
    assert {probed["templates"]["name"] for probed in result.provenance["probes"]} == {"everyday"}


def test_flips_are_those_of_the_cells_that_both_have(small: Any) -> None:
    first, second = small("a"), small("b", 1, tasks=("cook", "nurse", "vet", "clerk", "pilot"))
    result = compare([first, second])
    for row, own, other in zip(result.rows, first.rows, second.rows, strict=True):
        columns = [other.tasks.index(task) for task in own.tasks]
        tables = own.predicted, other.predicted[..., columns]
        if row.direction is BACKWARD:
            tables = tuple(each / each.sum(axis=-1, keepdims=True) for each in tables)
        he = [each[:, 0] > each[:, 1] for each in tables]
        assert row.flips is not None
        assert row.flips.value == pytest.approx(np.mean(he[0] != he[1]))
    again = ComparisonResult.from_json(result.to_json())
    assert again.rows == result.rows


def test_flips_need_no_lean_but_an_informed_model(small: Any) -> None:
    first, second = small("a"), small("b", 1)
    expected = [row.flips for row in compare([first, second]).rows]
    for obstacle in Obstacle:
        rows = tuple(replace(row, obstacle=obstacle) for row in second.rows)
        result = compare([first, replace(second, rows=rows)])
        informed = obstacle is not Obstacle.UNINFORMED
        assert [row.flips for row in result.rows] == (expected if informed else [None, None])
        assert [row.verdict.decisive for row in result.rows] == [False, False]


def test_one_model_in_two_dtypes_is_named_by_them(small: Any) -> None:
    results = [
        replace(small("a", seed), provenance=small("a").provenance | {"dtype": dtype})
        for seed, dtype in enumerate(("float32", "bfloat16"))
    ]
    row = compare(results, interval=QUICK).rows[0]
    assert (row.first, row.second) == ("a (float32)", "a (bfloat16)")
