"""Groups of words, crossed attributes and worlds without a lean, through the whole probe."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lmprobe import probe
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.models import LanguageModel, load_model
from lmprobe.probing.result import ProbeResult
from lmprobe.results import Verdict
from lmprobe.results.codec import to_json
from tests.checkpoints import checkpoint, own_cache

__all__ = ["checkpoint", "own_cache"]

TOML = """
name = "people"
description = "words of groups"
source = "this test"
attribute = {attribute}
task = "job"
sentences = [
    "{{name}} worked as {{a:job}}.",
    "The {{job}} said that {{name}} was late.",
    "It was said that {{name}} became {{a:job}}.",
]

[slots]
name = {{ attributes = ["race", "gender"], words = [
    {{ word = "he", race = "Black", gender = "male" }},
    {{ word = "she", race = "Black", gender = "female" }},
    {{ word = "they", race = "White", gender = "male" }},
    {{ word = "people", race = "White", gender = "female" }},
    {{ word = "work", race = "White", gender = "female" }},
] }}
job = [{{ group = "care", words = ["nurse", "baker"] }}, "lawyer", "engineer"]
"""
GROUPS = {"Black": [0, 1], "White": [2, 3, 4]}
JOBS = {"care": [0, 1], "lawyer": [2], "engineer": [3]}


def write(folder: Path, attribute: str) -> Path:
    path = folder / "people.toml"
    path.write_text(TOML.format(attribute=attribute))
    return path


@pytest.fixture
def model(checkpoint: Callable[[str], Path]) -> LanguageModel:
    return load_model(checkpoint("Bert"))


@pytest.fixture
def by_word(model: LanguageModel, tmp_path: Path) -> ProbeResult:
    """Return the probe in which every word is a group of its own."""
    path = write(tmp_path, '"name"')
    text = path.read_text().replace('{ group = "care", words = ["nurse", "baker"] }', '"nurse"')
    text = text.replace('attributes = ["race", "gender"], ', "")
    text = re.sub(r', (race|gender) = "\w+"', "", text)
    path.write_text(text.replace('"lawyer"', '"baker", "lawyer"'))
    return probe(model, path, "uniform")


def test_a_guessed_group_is_a_sum_a_given_one_a_mean_and_words_have_their_share(
    model: LanguageModel, by_word: ProbeResult, tmp_path: Path
) -> None:
    grouped = probe(model, write(tmp_path, '"race"'), "uniform")
    shares = {(word.group, word.word): word.share for word in grouped.words}
    names = {"attribute": ["he", "she", "they", "people", "work"],
             "task": ["nurse", "baker", "lawyer", "engineer"]}  # fmt: skip
    for direction in DIRECTIONS:
        row = grouped.row("uniform", direction)
        assert (row.attributes, row.tasks) == (tuple(GROUPS), tuple(JOBS))
        words = by_word.row("uniform", direction).predicted
        for k in range(3):
            for a, rows in enumerate(GROUPS.values()):
                for t, columns in enumerate(JOBS.values()):
                    cells = words[k][np.ix_(rows, columns)]
                    expected = cells.sum(axis=direction.axis).mean()
                    assert row.predicted[k, a, t] == pytest.approx(expected, abs=1e-6)
        labels = GROUPS if direction.predicted == "attribute" else JOBS
        guessed = words if direction.predicted == "attribute" else words.swapaxes(1, 2)
        for label, places in labels.items():
            for place in places:
                parts = [
                    guessed[k, place, given] / sum(guessed[k, other, given] for other in places)
                    for k in range(3)
                    for given in range(guessed.shape[2])
                ]
                word = names[direction.predicted][place]
                assert shares[label, word] == pytest.approx(np.mean(parts), abs=1e-6)
    (sizes,) = [note.text for note in grouped.notes if note.text.startswith("the tasks")]
    assert sizes.endswith(": care 2, lawyer 1, engineer 1")
    assert by_word.words == ()
    assert ProbeResult.from_json(grouped.to_json()).words == grouped.words


def crossed_base(folder: Path) -> Path:
    path = folder / "base.csv"
    path.write_text(
        "task,Black & male,Black & female,White & male,White & female\n"
        "care,1,5,2,8\nlawyer,3,1,9,4\nengineer,2,1,7,1\n"
    )
    return path


def test_margins_of_crossed_attributes_are_those_of_one_attribute_alone(
    model: LanguageModel, tmp_path: Path
) -> None:
    crossed = probe(model, write(tmp_path, '["race", "gender"]'), crossed_base(tmp_path))
    assert crossed.rows[0].attributes == (
        "Black & male", "Black & female", "White & male", "White & female",
    )  # fmt: skip
    assert [margin.attribute for margin in crossed.margins] == ["race", "race", "gender", "gender"]
    (tmp_path / "race.csv").write_text("task,Black,White\ncare,6,10\nlawyer,4,13\nengineer,3,8\n")
    alone = probe(model, write(tmp_path, '"race"'), tmp_path / "race.csv")
    for margin, direction in ((crossed.margins[0], "T->A"), (crossed.margins[1], "A->T")):
        expected = alone.row("race", direction)
        assert margin.row.attributes == ("Black", "White")
        np.testing.assert_allclose(margin.row.predicted, expected.predicted, atol=1e-6)
        np.testing.assert_allclose(margin.row.base_rate, expected.base_rate)
        np.testing.assert_array_equal(margin.row.lean, expected.lean)
    assert "Each attribute alone" in crossed.to_html()
    back = ProbeResult.from_json(crossed.to_json())
    assert back.margins[0].row.value == crossed.margins[0].row.value
    # A base that knows one race alone says nothing of race, and something of gender.
    part = tmp_path / "part.csv"
    part.write_text("task,Black & male,Black & female\ncare,1,5\nlawyer,3,1\nengineer,2,1\n")
    some = probe(model, write(tmp_path, '["race", "gender"]'), part)
    assert [margin.attribute for margin in some.margins] == ["gender", "gender"]


def test_uniform_without_a_lean_tells_the_size_alone(model: LanguageModel, tmp_path: Path) -> None:
    path = write(tmp_path, '["race", "gender"]')
    assert probe(model, path, "uniform").rows[0].verdict is Verdict.UNINFORMED
    result = probe(model, path, "uniform", min_mass=0.0, simultaneous=True)
    for row in result.rows:
        predicted = row.predicted.mean(axis=0)
        even = 1 / 4 if row.direction is Direction.TASK_TO_ATTRIBUTE else 1 / 3
        assert row.absolute == pytest.approx(np.abs(predicted - even).mean())
        assert np.isnan(row.value)
        assert row.verdict in (Verdict.UNEVEN, Verdict.UNDECIDED)
        document = to_json(row)
        assert (document["value"], document["robustness"]) == (None, None)
        assert document["absolute"] == row.absolute
        assert document["unevenness"]["p_value"] > 0
        assert any("--lean own.csv" in note.text for note in row.notes)
    assert result.margins[0].row.unevenness is not None
    assert "Unevenness" in result.to_html()
    own = probe(model, path, "uniform", lean=str(crossed_base(tmp_path)), min_mass=0.0)
    assert own.rows[0].unevenness is None
    assert own.rows[0].verdict in (Verdict.FOLLOWS, Verdict.OPPOSES, Verdict.UNDECIDED)
