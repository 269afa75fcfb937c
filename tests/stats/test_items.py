"""Items and clusters of items: what their sampling adds to the error, and where it adds nothing."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import lmprobe
from lmprobe.probing.result import ProbeRow

TASKS = [f"task {t}" for t in range(12)]
LEAN = np.array([1] * 9 + [-1] * 3)
LEANS = pd.DataFrame({"task": TASKS, "he": (LEAN > 0) + 0.1, "she": (LEAN < 0) + 0.1})


def table(share: np.ndarray, clusters: np.ndarray | None = None) -> pd.DataFrame:
    """Return the shares (K, T, N) of he as an answer table."""
    k, t, n = np.indices(share.shape).reshape(3, -1)
    frame = pd.DataFrame({
        "template": [f"frame {i}" for i in k],
        "task": np.array(TASKS)[t],
        "item": n.astype(str),
        "he": share.ravel(),
        "she": 1 - share.ravel(),
    })  # fmt: skip
    if clusters is not None:
        frame["cluster"] = clusters[t, n]
    return frame


def probe(frame: pd.DataFrame, values: str = "probability", **options: object) -> ProbeRow:
    model = lmprobe.load_model(frame, values=values)
    return lmprobe.probe(model, base="uniform", lean=LEANS, **options).rows[0]  # type: ignore[arg-type]


def drawn(
    rng: np.random.Generator, *, frames: int = 5, items: int = 8, shared: float = 0.0
) -> np.ndarray:
    """Return shares with effects of frames, of items, and of the item's number in all tasks."""
    effect = rng.normal(0, 0.06, (len(TASKS), items)) + rng.normal(0, shared, items)
    frame = rng.normal(0, 0.01, (frames, 1, 1))
    noise = rng.normal(0, 0.01, (frames, len(TASKS), items))
    whole: np.ndarray = 0.5 + 0.04 * LEAN[:, None] + effect + frame + noise
    return whole.clip(0.01, 0.99)


def test_the_error_by_items_is_that_of_a_stratified_mean() -> None:
    share = drawn(np.random.default_rng(1))
    row = probe(table(share), resample="templates")
    # Value = mean over tasks of lean * (mean over frames and items of the share - 1/2).
    by_item = share.mean(axis=0)
    variance = sum(by_item[t].var(ddof=1) / by_item.shape[1] for t in range(len(TASKS)))
    expected = math.sqrt(variance) / len(TASKS)
    assert row.standard_errors["items"] == pytest.approx(expected, rel=0.15)
    both = probe(table(share))
    assert "items" not in both.standard_errors


def test_an_item_that_is_alone_in_its_task_varies_as_the_others_do() -> None:
    share = drawn(np.random.default_rng(1))
    frame = table(share)
    alone = frame.task.isin(TASKS[::2])
    row = probe(frame[~alone | (frame.item == "0")], resample="templates")
    variances = share.mean(axis=0)[1::2].var(axis=1, ddof=1)
    expected = math.sqrt((variances / share.shape[2]).sum() + 6 * variances.mean()) / len(TASKS)
    assert row.standard_errors["items"] == pytest.approx(expected, rel=0.15)


def test_clusters_add_what_their_items_share() -> None:
    share = drawn(np.random.default_rng(2), shared=0.05)
    clusters = np.tile(np.arange(8), (len(TASKS), 1))
    row = probe(table(share, clusters))
    by_cluster = (LEAN[:, None] * (share.mean(axis=0))).mean(axis=0)
    assert row.standard_errors["clusters"] == pytest.approx(
        by_cluster.std(ddof=1) / math.sqrt(8), rel=0.15
    )
    assert any("8 clusters" in note.text for note in row.notes)
    assert row.interval.width > probe(table(share)).interval.width
    for part, other in ((row.association, probe(table(share)).association),):
        assert part is not None
        assert other is not None
        assert part.interval.width > other.interval.width
    # Clusters within one task are items.
    own = np.arange(share[0].size).reshape(share[0].shape)
    assert probe(table(share, own)).interval.width == pytest.approx(
        probe(table(share)).interval.width
    )


def test_intervals_that_cover_together_have_the_items_too() -> None:
    share = drawn(np.random.default_rng(3), shared=0.05)
    clusters = np.tile(np.arange(8), (len(TASKS), 1))
    alone, together = (probe(table(share, clusters), simultaneous=joint) for joint in (False, True))
    plain = probe(table(share), simultaneous=True)
    assert together.interval.width > alone.interval.width
    assert together.interval.width > plain.interval.width
    method = probe(table(share, clusters), interval="t")
    assert method.interval.width > probe(table(share), interval="t").interval.width


def test_one_cluster_leaves_the_error_unknown() -> None:
    share = drawn(np.random.default_rng(4))
    row = probe(table(share, np.zeros((len(TASKS), 8), dtype=int)))
    # A single unit in every task: nothing is known of others, and nothing is narrower.
    assert row.interval.width == pytest.approx(probe(table(share)).interval.width)


def test_the_strength_has_the_items_too() -> None:
    rng = np.random.default_rng(5)
    share = drawn(rng, shared=0.05)
    base = pd.DataFrame({"task": TASKS, "he": 0.5 + 0.2 * LEAN, "she": 0.5 - 0.2 * LEAN})
    clusters = np.tile(np.arange(8), (len(TASKS), 1))
    slopes = []
    for frame in (table(share, clusters), table(share)):
        model = lmprobe.load_model(frame, values="probability")
        strength = lmprobe.probe(model, base=base, resample="templates").rows[0].strength
        assert strength is not None
        slopes.append(strength.interval.width)
    assert slopes[0] != pytest.approx(slopes[1], rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("resample", "shared"), [("templates", 0.0), ("both", 0.1)])
def test_coverage_with_items_and_clusters(resample: str, shared: float) -> None:
    """The truth is the mean over all items that there could be: 0.04."""
    clusters = np.tile(np.arange(8), (len(TASKS), 1)) if shared else None
    held, naive = [], []
    for seed in range(150):
        share = drawn(np.random.default_rng([9, seed]), shared=shared)
        held.append(0.04 in probe(table(share, clusters), resample=resample).interval)
        mean = table(share).groupby(["template", "task"], as_index=False, sort=False)
        naive.append(0.04 in probe(mean[["he", "she"]].mean(), resample=resample).interval)
    assert stats.binomtest(sum(held), len(held), 0.95, alternative="less").pvalue > 1e-3
    # Without the items, or with items that are taken for independent, it is too short.
    assert np.mean(naive) < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("resample", ["templates", "tasks", "both"])
def test_coverage_with_counted_texts(resample: str) -> None:
    """Texts belong to one prompt and task: the spread over either has their noise."""
    held = []
    for seed in range(150):
        rng = np.random.default_rng([11, seed])
        rate = 0.5 + 0.04 * LEAN + rng.normal(0, 0.01, (6, 1))
        he = rng.binomial(20, rate)
        frame = table(he[..., None]).drop(columns="item").assign(she=20 - he.ravel())
        held.append(0.04 in probe(frame, "count", resample=resample).interval)
    assert stats.binomtest(sum(held), len(held), 0.95, alternative="less").pvalue > 1e-3
