"""Which models a trade-off trains and measures, and what its table and figure show."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.leakage import tradeoff as module
from lmprobe.leakage.adversarial import Removal
from lmprobe.leakage.result import LIMITS
from lmprobe.leakage.row import LeakageRow, Measure, leakage_row
from lmprobe.leakage.tradeoff import Point, Tradeoff, removal_tradeoff
from lmprobe.results import Interval, Verdict

ROWS = 60
FEATURES = np.random.default_rng(0).normal(size=(ROWS, 2))
LABELS, GROUP = ["x", "y", "z"] * 20, ["w", "m"] * 30
SPLIT = ["train", "train", "dev", "test", "test", "test"] * 10


def row(value: float, f1: float) -> LeakageRow:
    interval = Interval(value - 0.05, value + 0.05, 0.95, "t")
    return leakage_row(Measure.AMPLIFICATION, value, interval, (value,), chance=0.0, f1=f1)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Note what is trained and measured instead of doing it."""
    kept = SimpleNamespace(trained=[], noises=[], measured=[], generators=[])

    def train(features: Any, labels: Any, groups: Any, rows: Any, settings: Removal) -> Any:
        kept.trained.append((rows.tolist(), settings))

        def logits(given: Any, *, noise: float, rng: Any) -> Any:
            kept.noises.append((settings.strength, noise))
            kept.generators.append(rng)
            return given

        return SimpleNamespace(logits=logits)

    def measure(labels: Any, predictions: Any, attribute: Any, **options: Any) -> Any:
        kept.measured.append(options)
        others = (row(9.0, 0.0), row(8.0, 0.0))
        return SimpleNamespace(rows=(*others, row(0.1 * len(kept.measured), 0.5)))

    monkeypatch.setattr(module, "train", train)
    monkeypatch.setattr(module, "leakage_amplification", measure)
    return kept


def test_the_original_is_measured_then_noise_on_it_then_each_critic(
    noted: SimpleNamespace,
) -> None:
    seen: list[tuple[int, int]] = []
    recipe = Removal(strength=9.0, width=5, seed=1)
    found = removal_tradeoff(
        FEATURES, LABELS, GROUP, strengths=(0.3, 1.5), noises=(0.5, 2.0, 4.0), removal=recipe,
        split=SPLIT, attacker="exact", rounds=3, confidence=0.9, seed=7,
        progress=lambda *at: seen.append(at),
    )  # fmt: skip
    assert [(point.method, point.level) for point in found.points] == [
        ("original", 0.0), ("noise", 0.5), ("noise", 2.0), ("noise", 4.0),
        ("adversarial", 0.3), ("adversarial", 1.5),
    ]  # fmt: skip
    # The answer of each measurement is its last row.
    assert [point.amplification.value for point in found.points] == pytest.approx(
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    )
    rows = [number for number, part in enumerate(SPLIT) if part == "train"]
    assert noted.trained == [
        (rows, replace(recipe, strength=strength, seed=7)) for strength in (0.0, 0.3, 1.5)
    ]
    # Noise is added to the original alone.
    assert noted.noises == [(0.0, 0.0), (0.0, 0.5), (0.0, 2.0), (0.0, 4.0), (0.3, 0.0), (1.5, 0.0)]
    # One generator draws all noise, so that no two levels share their draws.
    assert len({id(rng) for rng in noted.generators}) == 1
    assert seen == [(number, 6) for number in range(1, 7)]
    for options in noted.measured:
        assert options.pop("split").tolist() == SPLIT
        # Logits are decided at zero, whatever their range is.
        assert options == {
            "attacker": "exact", "rounds": 3, "confidence": 0.9, "seed": 7, "threshold": 0.0,
        }  # fmt: skip
    assert found.provenance == {"rows": 60, "groups": ["m", "w"], "rounds": 3, "seed": 7}


def test_without_a_split_three_fifths_are_trained_on(noted: SimpleNamespace) -> None:
    many = 60 * ROWS
    removal_tradeoff(np.zeros((many, 1)), LABELS * 60, GROUP * 60, strengths=(), noises=(), seed=3)
    ((rows, settings),) = noted.trained
    assert settings == replace(Removal(), strength=0.0, seed=3)
    names = noted.measured[0]["split"]
    shares = {name: np.mean(names == name) for name in ("train", "dev", "test")}
    assert shares == pytest.approx({"train": 0.6, "dev": 0.2, "test": 0.2}, abs=0.03)
    assert rows == np.flatnonzero(names == "train").tolist()
    # The same seed draws the same split.
    expected = np.random.default_rng(3).choice(3, size=many, p=(0.6, 0.2, 0.2))
    assert (np.array(["train", "dev", "test"])[expected] == names).all()


def test_the_defaults_are_the_documented_ones(noted: SimpleNamespace) -> None:
    found = removal_tradeoff(FEATURES, LABELS, GROUP)
    levels = {name: [one.level for one in found.of(name)] for name in ("noise", "adversarial")}
    assert levels == {"noise": [0.5, 1.0, 2.0, 4.0], "adversarial": [0.05, 0.2, 1.0]}
    options = noted.measured[0]
    assert {name: options[name] for name in ("attacker", "rounds", "confidence", "seed")} == {
        "attacker": "mlp", "rounds": 5, "confidence": 0.95, "seed": 0,
    }  # fmt: skip
    assert noted.trained[0][1] == Removal(strength=0.0)


def test_an_error_names_the_model(noted: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **options: Any) -> Any:
        raise InputError("worse than chance")

    monkeypatch.setattr(module, "leakage_amplification", refuse)
    with pytest.raises(InputError, match=r"^original model at level 0: worse than chance$"):
        removal_tradeoff(FEATURES, LABELS, GROUP)
    with pytest.raises(InputError, match="`features` has 59 rows, `labels` has 60"):
        removal_tradeoff(FEATURES[:59], LABELS, GROUP)


POINTS = (
    Point("original", 0.0, row(0.20, 0.80)),
    Point("noise", 2.0, row(0.10, 0.60)),
    Point("noise", 1.0, row(0.14, 0.70)),
    Point("adversarial", 1.0, row(0.08, 0.72)),
    Point("adversarial", 0.5, row(0.05, 0.75)),
)


def test_points_of_a_method_come_by_rising_level() -> None:
    found = Tradeoff(POINTS)
    assert [point.level for point in found.of("noise")] == [1.0, 2.0]
    assert [point.level for point in found.of("adversarial")] == [0.5, 1.0]
    assert found.of("original") == POINTS[:1]


def test_noise_is_read_off_between_its_levels() -> None:
    found = Tradeoff(POINTS)
    assert found.noise_at(0.75) == pytest.approx((0.20 + 0.14) / 2)
    assert found.noise_at(0.70) == pytest.approx(0.14)
    assert found.noise_at(0.5) == 0.10
    assert found.noise_at(0.9) == 0.20


def test_the_page_compares_the_best_critic_with_noise_at_its_f1() -> None:
    page = Tradeoff(POINTS, {"seed": 3}).page()
    text = (
        "Without removal: amplification 0.200, F1 0.800. With a critic it falls to 0.050 at F1 "
        "0.750; noise at that F1 leaves 0.170."
    )
    assert [one.text for one in page.headline] == [text]
    trade, provenance = page.sections
    assert (provenance.facts, provenance.collapsed, trade.collapsed) == ({"seed": "3"}, True, False)
    assert page.limits == LIMITS
    (figure,) = trade.figures
    assert [(one.name, one.x, one.y, one.style) for one in figure.series] == [
        ("original", (0.20,), (0.80,), "points"),
        ("noise on the representation", (0.20, 0.14, 0.10), (0.80, 0.70, 0.60), "dashed"),
        ("adversarial removal", (0.05, 0.08), (0.75, 0.72), "points"),
    ]
    assert figure.series[1].labels[1] == "noise on the representation, level 1"
    (table,) = trade.tables
    first = POINTS[0].amplification
    assert table.rows[0] == ("original", 0.0, 0.80, 0.20, first.interval, Verdict.LEAKS_MORE)
    assert len(table.rows) == 5


def test_without_a_critic_only_the_original_is_told() -> None:
    page = Tradeoff(POINTS[:3]).page()
    assert page.headline[0].text == "Without removal: amplification 0.200, F1 0.800."
