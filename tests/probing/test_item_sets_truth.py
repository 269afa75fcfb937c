"""Item tables return what was planted in the reference models, with tasks of unequal size."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from lmprobe import load_base_rates, load_model, load_templates, probe
from lmprobe.metrics.direction import Direction
from lmprobe.probing.result import ProbeRow
from lmprobe.results import Verdict

DIRECTION = Direction.TASK_TO_ATTRIBUTE
# How far a trained model's links are from those of its corpus: docs/reference-models.md.
STRENGTHS = {"amplified": 0.3, "causal-amplified": 0.3, "faithful": 0.05, "causal-faithful": 0.05}
FEWER = 9
"""The items of every third task; the others have all 20."""


def items_of(name: str, *, fewer: bool = True, clusters: bool = False) -> pd.DataFrame:
    """Return the sentences of a set as items of their tasks: no task shares a template."""
    table = load_templates(name).item_table()
    number = table.groupby("task").cumcount()
    short = pd.factorize(table["task"])[0] % 3 == 0
    kept = table[(number < FEWER) | ~short] if fewer else table
    columns = ["task", "template", "he", "she"] if clusters else ["task", "he", "she"]
    return kept[columns].rename(columns={"template": "cluster"})


def probed(kind: str, table: pd.DataFrame, **options: object) -> ProbeRow:
    return probe(load_model(f"reference:{kind}"), table, "labor", **options).rows[0]  # type: ignore[arg-type]


def planted(kind: str) -> tuple[float, float]:
    """Return the planted value and its tolerance."""
    folder = load_model(f"reference:{kind}").folder
    assert folder is not None
    truth = json.loads((folder / "truth.json").read_text())["planted_amplification"]
    return truth["values"][DIRECTION.value], truth["tolerance"][DIRECTION.value]


@pytest.mark.parametrize("kind", STRENGTHS)
def test_items_return_what_was_planted(kind: str) -> None:
    row = probed(kind, items_of("fitbert"))
    value, tolerance = planted(kind)
    assert row.direction is DIRECTION
    assert row.value == pytest.approx(value, abs=tolerance)
    assert value in row.interval
    assert row.association is not None
    assert row.association.value == pytest.approx(value, abs=tolerance)
    # The corpus of the amplified models has the square of the odds.
    links = 2.0 if kind.endswith("amplified") else 1.0
    assert row.strength is not None
    assert row.strength.value == pytest.approx(links, abs=STRENGTHS[kind])
    amplifies = row.verdict is Verdict.AMPLIFIES
    assert amplifies == kind.endswith("amplified")


@pytest.mark.parametrize("kind", ["amplified", "faithful"])
def test_against_its_own_corpus_a_model_adds_nothing(kind: str) -> None:
    model = load_model(f"reference:{kind}")
    corpus = load_base_rates("corpus", model=model)
    row = probe(model, items_of("fitbert"), corpus).rows[0]
    assert row.value == pytest.approx(0.0, abs=planted(kind)[1])
    assert row.association is not None
    assert row.association.value == pytest.approx(0.0, abs=planted(kind)[1])


def test_all_items_are_the_set_itself() -> None:
    """Mean over the items of a task, then over tasks: that over tasks, then over templates."""
    model, table = load_model("reference:amplified"), items_of("fitbert-iclr", fewer=False)
    row = probe(model, table, "labor").rows[0]
    own = probe(model, "fitbert-iclr", "labor", attributes=("he", "she"), direction="T->A").rows[0]
    # In float32 a batch decides on the last digits.
    assert row.value == pytest.approx(own.value, abs=1e-6)
    # With the same order of the items, or another.
    mixed = probe(model, table.sample(frac=1, random_state=3), "labor").rows[0]
    assert mixed.value == pytest.approx(row.value, abs=1e-6)
    assert mixed.interval.width == pytest.approx(row.interval.width, rel=0.05)


def test_tasks_or_their_items_are_the_sample() -> None:
    """Sentences about the tasks that are there narrow; those of other tasks do not matter."""
    tasks, items = (
        probed("amplified", items_of("fitbert"), resample=resample)
        for resample in ("both", "templates")
    )
    assert items.interval.width < tasks.interval.width / 10
    # What a template does in every task is no chance of single items.
    table = items_of("fitbert", clusters=True)
    clusters = probed("amplified", table, resample="templates")
    assert set(clusters.standard_errors) == {"templates", "tasks", "both", "clusters"}
    assert clusters.standard_errors["templates"] == 0
    assert clusters.interval.width > items.interval.width
    assert clusters.value == pytest.approx(items.value, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["amplified", "faithful"])
def test_items_of_many_contexts_return_what_was_planted(kind: str) -> None:
    row = probed(kind, items_of("everyday"))
    value, tolerance = planted(kind)
    assert row.value == pytest.approx(value, abs=2 * tolerance)
    assert row.strength is not None
    links = 2.0 if kind == "amplified" else 1.0
    assert row.strength.value == pytest.approx(links, abs=STRENGTHS[kind] + 0.05)
