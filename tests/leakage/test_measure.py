"""Planted leakage is found; errors at random amplify nothing; known guesses, known numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.leakage.attackers import Mlp
from lmprobe.leakage.measure import dataset_leakage, leakage_amplification, model_leakage
from lmprobe.leakage.rounds import Trial
from lmprobe.results import NoteKind, Verdict
from lmprobe.results.codec import to_json
from tests.leakage.leaking_data import many_labels, one_label

# The paper's attacker made small: enough for data with a known answer.
SMALL = Mlp(epochs=8, width=32, learning_rate=5e-3)
ONE_LABEL = ["exact", "logistic", SMALL]


@pytest.mark.parametrize("attacker", ONE_LABEL, ids=str)
@pytest.mark.parametrize(("leak", "rows"), [(0.0, 3000), (0.5, 4000), (1.0, 1000)])
def test_planted_leakage_is_found(attacker: Any, leak: float, rows: int) -> None:
    labels, group = one_label(np.random.default_rng(3), rows, leak)
    result = dataset_leakage(labels, group, attacker=attacker)
    # The label is the group's own half in `leak` + half of the rest of all rows.
    assert (1 + leak) / 2 in result.interval
    assert result.chance == 0.5
    assert result.interval.width < 0.1
    if leak == 1:
        assert result.value == result.interval.high == 1.0
        # A thousand rows that all agree are not certainty.
        assert 0.98 < result.interval.low < 1.0


def test_three_groups_and_chance_of_a_third() -> None:
    rng = np.random.default_rng(4)
    group = rng.choice(["a", "b", "c"], 3000, p=[0.6, 0.25, 0.15])
    result = dataset_leakage(rng.choice(list("xyz"), 3000), group, attacker="exact")
    assert result.chance == pytest.approx(1 / 3)
    assert 1 / 3 in result.interval
    assert dataset_leakage(group, group, attacker="exact").value == 1.0


@pytest.mark.parametrize("attacker", ["exact", SMALL], ids=str)
def test_random_errors_amplify_nothing_and_systematic_ones_do(attacker: Any) -> None:
    rng = np.random.default_rng(5)
    labels, group = one_label(rng, 4000, 0.4)
    wrong = rng.random(4000) < 0.4
    by_chance = np.where(wrong, rng.integers(0, 4, 4000), labels)
    result = leakage_amplification(labels, by_chance, group, attacker=attacker)
    assert 0.0 in result.interval
    assert result.dataset.f1 == pytest.approx(result.f1, abs=0.002)
    # These errors follow the group: the wrong label is always one of its own half.
    by_group = np.where(wrong, 2 * group + rng.integers(0, 2, 4000), labels)
    result = leakage_amplification(labels, by_group, group, attacker=attacker)
    assert result.interval.low > 0.02
    assert result.value == pytest.approx(result.model.value - result.dataset.value)


@pytest.mark.parametrize("attacker", ["logistic", SMALL], ids=str)
def test_logits_that_know_the_group_amplify(attacker: Any) -> None:
    rng = np.random.default_rng(6)
    labels, group = many_labels(rng, 3000)
    evidence = 4.0 * labels - 2.0 + rng.normal(size=labels.shape)
    innocent = leakage_amplification(labels, evidence, group, attacker=attacker)
    side = np.where(np.arange(8) % 2, 1, -1) * (2 * group - 1)[:, None]
    guilty = leakage_amplification(labels, evidence + side, group, attacker=attacker)
    assert abs(innocent.value) < 0.05
    assert guilty.interval.low > 0.05


def test_auto_counts_combinations_that_a_linear_attacker_does_not_see() -> None:
    rng = np.random.default_rng(8)
    group = rng.integers(0, 2, 6000)
    first = rng.integers(0, 2, 6000)
    # Whether both labels agree shows the group of four rows in five; each alone shows nothing.
    second = first ^ group ^ (rng.random(6000) < 0.2)
    labels = np.column_stack([first, second, rng.integers(0, 2, (6000, 2))])
    result = dataset_leakage(labels, group)
    assert result.provenance["attacker"] == "exact"
    assert result.provenance["settings"]["attacker"] == "auto"
    exact = dataset_leakage(labels, group, attacker="exact")
    assert to_json(result.rows) == to_json(exact.rows)
    assert 0.8 in result.interval
    assert 0.8 in dataset_leakage(labels, group, attacker=SMALL).interval
    assert dataset_leakage(labels, group, attacker="logistic").value < 0.55


@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_auto_takes_one_attacker_for_labels_and_predictions(kind: str) -> None:
    labels, group = many_labels(np.random.default_rng(9), 3000, 4)
    predictions = labels if kind == "labels" else labels + np.linspace(0, 0.1, 3000)[:, None]
    result = leakage_amplification(labels, predictions, group, at=1.0, rounds=3)
    taken = result.provenance["attacker"]
    assert taken == {"labels": "exact", "numbers": "logistic"}[kind]
    named = leakage_amplification(labels, predictions, group, at=1.0, rounds=3, attacker=taken)
    assert to_json(result.rows) == to_json(named.rows)
    (note,) = set(result.notes) - set(named.notes)
    assert (note.kind, f"is {taken}" in note.text) == (NoteKind.METHOD, True)


def test_leakage_falls_with_the_f1() -> None:
    labels, group = one_label(np.random.default_rng(7), 4000, 0.6)
    at = [dataset_leakage(labels, group, at=f1, attacker="exact").value for f1 in (1.0, 0.7, 0.4)]
    assert at[0] > at[1] + 0.05 > at[2] + 0.1


def test_same_seed_same_numbers_and_another_seed_others() -> None:
    labels, group = one_label(np.random.default_rng(10), 600, 0.5)
    first = dataset_leakage(labels, group, attacker=SMALL, seed=1)
    assert first.rounds == dataset_leakage(labels, group, attacker=SMALL, seed=1).rounds
    assert first.rounds != dataset_leakage(labels, group, attacker=SMALL, seed=2).rounds


def test_model_leakage_of_categories_and_scores() -> None:
    labels, group = one_label(np.random.default_rng(11), 2000, 0.5)
    by_category = model_leakage(labels, group, attacker="exact")
    assert by_category.value == pytest.approx(0.75, abs=0.05)
    logits = np.eye(4)[labels] * 3.0
    assert model_leakage(logits, group, attacker="logistic").value == by_category.value
    score = group + np.random.default_rng(0).normal(size=2000)
    assert model_leakage(score, group, attacker="logistic").value > 0.6


def test_the_models_f1_is_that_of_its_test_rows() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(15)
    labels, group = one_label(rng, 900, 0.5)
    split = np.repeat(["train", "dev", "test"], 300)
    # Perfect where it learned, often wrong elsewhere.
    wrong = (rng.random(900) < 0.5) & (split != "train")
    said = np.where(wrong, rng.integers(0, 4, 900), labels)
    result = leakage_amplification(labels, said, group, attacker="exact", split=split)
    expected = metrics.f1_score(labels[600:], said[600:], average="macro")
    assert result.f1 == pytest.approx(expected)
    assert result.dataset.f1 == pytest.approx(expected, abs=0.01)
    everywhere = leakage_amplification(labels, said, group, attacker="exact")
    assert everywhere.f1 == pytest.approx(metrics.f1_score(labels, said, average="macro"))


def test_average_and_threshold_decide_the_f1() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(16)
    labels, group = many_labels(rng, 600)
    labels[:, 0] &= rng.random(600) < 0.2  # a rare label weighs less when pooled
    shares = np.clip(0.6 * labels + rng.random(labels.shape) * 0.6, 0, 1)
    for threshold, average in ((None, "macro"), (None, "micro"), (0.8, "macro")):
        result = leakage_amplification(
            labels, shares, group, attacker="logistic", rounds=2,
            threshold=threshold, average=average,
        )  # fmt: skip
        decided = shares > (threshold or 0.5)
        assert result.f1 == pytest.approx(metrics.f1_score(labels, decided, average=average))
        assert result.dataset.f1 == pytest.approx(result.f1, abs=0.005)


class Told:
    """Guesses right in a share of the test rows, one share for labels and one for scores."""

    def __init__(self, of_labels: float, of_scores: float = 0.5) -> None:
        self.shares = (of_labels, of_scores)

    def attack(self, trials: Sequence[Trial], *, device: str, progress: Any) -> list[Any]:
        guesses = []
        for trial in trials:
            share = self.shares[not trial.inputs.coded]
            wrong = np.arange(len(trial.truth)) >= share * len(trial.truth)
            guesses.append(np.where(wrong, (trial.truth + 1) % 2, trial.truth))
            progress(len(guesses), len(trials))
        return guesses


GROUP = ["w", "m"] * 100
LABELS = ["a", "a", "b", "b"] * 50
# Numbers, where the labels are codes: the attacker tells them apart by that.
SCORES = np.random.default_rng(0).normal(size=(200, 2)) + 4 * np.eye(2)[np.arange(200) // 2 % 2]


@pytest.mark.parametrize(
    ("labels", "scores", "verdict"),
    [
        (0.0, 1.0, Verdict.LEAKS_MORE),
        (1.0, 0.0, Verdict.LEAKS_LESS),
        (0.75, 0.75, Verdict.UNDECIDED),
    ],
)
def test_known_guesses_give_known_numbers(labels: float, scores: float, verdict: Verdict) -> None:
    seen: list[tuple[int, int]] = []
    result = leakage_amplification(
        LABELS, SCORES, GROUP,
        attacker=Told(labels, scores), rounds=3, seed=7, at=0.8,
        progress=lambda *at: seen.append(at),
    )  # fmt: skip
    assert (result.dataset.value, result.model.value) == pytest.approx((labels, scores))
    assert result.rounds == pytest.approx([scores - labels] * 3)
    assert result.value == pytest.approx(scores - labels)
    assert result.verdict is verdict
    assert -1 <= result.interval.low <= result.interval.high <= 1
    # Both halves of the work are reported.
    assert seen == [(number, 6) for number in range(1, 7)]
    assert result.f1 == result.model.f1 == 0.8
    assert result.dataset.f1 == pytest.approx(0.8, abs=0.01)
    for alone, share in (
        (dataset_leakage(LABELS, GROUP, attacker=Told(labels)), labels),
        (model_leakage(SCORES, GROUP, attacker=Told(0.5, scores)), scores),
    ):
        assert alone.value == pytest.approx(share)
        assert len(alone.rounds) == 5
        assert 0 <= alone.interval.low <= share <= alone.interval.high <= 1
        assert alone.f1 is None


def test_the_difference_is_paired() -> None:
    labels, group = one_label(np.random.default_rng(14), 1000, 0.5)
    result = leakage_amplification(labels, labels, group, attacker="exact")
    assert (result.f1, result.value) == (1.0, 0.0)
    # Both attackers guess the same rows, so what is left is only what nobody has seen.
    assert result.interval.width < result.model.interval.width / 3


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"attribute": ["w"] * 190 + ["m"] * 10}, "too few examples"),
    ({"attribute": GROUP[:9]}, "9 rows where"),
    ({"at": 0.01}, "drawn at random reach"),
    ({"attacker": "magic"}, "no attacker called"),
    ({"attacker": 3}, "a method `attack`, found 3"),
    ({"confidence": 2.0}, "confidence"),
    ({"rounds": 1}, "`rounds` must be 2 or more"),
    ({"share": 1.5}, "`share` must"),
    ({"seed": -1}, "at least 0, found -1"),
    ({"average": "mean"}, 'no `average` "mean"'),
    ({"split": "train"}, "`split` has 1 rows"),
    ({"split": ["train"] * 200}, "in the part 'dev'"),
]


class Never:
    """Fails if it is trained for an answer that cannot be given."""

    def attack(self, *given: Any, **options: Any) -> Any:
        raise AssertionError("attacked")


@pytest.mark.parametrize(("given", "message"), ERRORS, ids=[message for _, message in ERRORS])
def test_one_clear_error_each(given: dict[str, Any], message: str) -> None:
    usual = {"labels": ["a", "b"] * 100, "attribute": GROUP, "attacker": Never()}
    with pytest.raises(InputError, match=message):
        dataset_leakage(**usual | given)


def test_predictions_must_match_the_labels() -> None:
    with pytest.raises(InputError, match="3 rows where `labels` has 200"):
        leakage_amplification(LABELS, ["a", "b", "a"], GROUP)
    # None is not the same as no predictions.
    with pytest.raises(InputError, match=r"`predictions` must be \(n, L\) or one column"):
        leakage_amplification(LABELS, None, GROUP)
    with pytest.raises(InputError, match="`labels` must have one or two dimensions"):
        dataset_leakage(None, GROUP)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"model_leakage\(\) got an unexpected .* 'threshold'"):
        model_leakage(SCORES, GROUP, threshold=0.5)  # type: ignore[call-arg]


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["dataset", "amplification"])
def test_the_interval_covers_the_population(measure: str) -> None:
    rng, hits = np.random.default_rng(20), 0
    for seed in range(200):
        labels, group = one_label(rng, 600, 0.5)
        options: dict[str, Any] = {"attacker": "exact", "seed": seed}
        if measure == "dataset":
            hits += 0.75 in dataset_leakage(labels, group, **options).interval
        else:
            # Errors at random amplify nothing.
            said = np.where(rng.random(600) < 0.3, rng.integers(0, 4, 600), labels)
            result = leakage_amplification(labels, said, group, rounds=3, **options)
            hits += 0.0 in result.interval
    # Nominal is 190; below 181 has a probability of one in a hundred.
    assert hits >= 181
