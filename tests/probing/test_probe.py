"""One function from model to result: values, worlds, words, provenance."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe import Association, ProbeResult, amplify, load_base_rates, probe
from lmprobe.errors import InputError
from lmprobe.metrics.directional import defined_mean
from lmprobe.metrics.metric import metrics, table_form
from lmprobe.models import EncodedCloze, TokenQuery
from lmprobe.models.scorers import SplitWordWarning, scorers
from lmprobe.probing.settings import ProbeSettings, RunSettings, run_again
from lmprobe.results import NoteKind, Verdict
from lmprobe.results.codec import to_json
from lmprobe.results.metric_values import MetricValue
from lmprobe.results.settings import options_of
from tests.scripted_model import ScriptedModel

WORDS = ("nurse", "lawyer", "driver", "editor", "cook")
MODEL = "reference:amplified"


@pytest.fixture(scope="module")
def result() -> ProbeResult:
    return probe(MODEL, base=["uniform", "labor"], tasks=WORDS)


def test_a_value_is_the_mean_over_templates_of_the_mean_over_pairs(result: ProbeResult) -> None:
    for row in result.rows:
        by_hand = []
        for template in row.predicted:
            cells = [
                row.lean[a, t] * (template[a, t] - row.base_rate[a, t])
                for a in range(len(row.attributes))
                for t in range(len(row.tasks))
            ]
            by_hand.append(sum(cells) / len(cells))
        assert row.per_template == pytest.approx(by_hand)
        assert row.value == pytest.approx(sum(by_hand) / len(by_hand))
        assert row.template_sd == pytest.approx(np.std(by_hand))
        assert row.value in row.interval
        axis = 1 if row.direction == "task->attribute" else 2
        np.testing.assert_allclose(row.predicted.sum(axis=axis), 1)


def test_verdicts_of_the_planted_model() -> None:
    result = probe(MODEL, base=["uniform", "labor"])
    assert result.row("uniform", "T->A").verdict is Verdict.FOLLOWS
    assert result.row("labor", "T->A").verdict is Verdict.AMPLIFIES


def test_a_model_amplifies_nothing_against_its_own_guesses(result: ProbeResult) -> None:
    """The base is what the model says on average: template by template they cancel."""
    row = result.row("labor", "task->attribute")
    own = row.predicted.mean(axis=0)
    base = Association.from_conditional(own, row.attributes, row.tasks)
    assert probe(MODEL, base=base, tasks=WORDS).rows[0].value == pytest.approx(0, abs=1e-12)


def test_they_has_no_lean_in_uniform_and_no_column_in_labor() -> None:
    groups = ["he", "she", "they"]
    result = probe(MODEL, base=["uniform", "labor"], attributes=groups, tasks=WORDS)
    uniform, labor = result.rows[0], result.rows[2]
    assert uniform.attributes == ("he", "she", "they")
    assert not uniform.lean[2].any()
    assert labor.attributes == ("he", "she")
    assert labor.dropped_attributes == ("they",)
    np.testing.assert_allclose(labor.predicted.sum(axis=1), 1)


TABLE = pd.DataFrame({"task": ["nurse", "cook", "editor"], "he": [1, 3, 0], "she": [9, 2, 0]})


def test_a_zero_count_leaves_the_candidates_in_both_directions() -> None:
    result = probe(MODEL, base=TABLE, tasks=["nurse", "cook", "editor"])
    without = probe(MODEL, base=TABLE, tasks=["nurse", "cook"])
    for row, other in zip(result.rows, without.rows, strict=True):
        assert (row.tasks, row.dropped_tasks) == (("nurse", "cook"), ("editor",))
        assert row.value == pytest.approx(other.value)
        np.testing.assert_allclose(row.predicted, other.predicted, rtol=0, atol=1e-5)


def test_a_zero_count_that_is_kept_is_undefined_and_counted() -> None:
    row = probe(MODEL, base=TABLE, tasks=["nurse", "cook", "editor"], missing="keep").rows[0]
    assert row.undefined_pairs == 2
    assert row.value == pytest.approx(float(defined_mean(row.cells[:, :, :2], axis=(1, 2)).mean()))
    assert "null" in json.dumps(to_json(row), allow_nan=False)


def test_another_lean_changes_the_sign_and_nothing_else() -> None:
    table = pd.DataFrame({"task": ["nurse", "cook"], "he": [9, 1], "she": [1, 9]})
    plain, turned = (
        probe(MODEL, base="labor", lean=lean, tasks=["nurse", "cook"]).rows[0]
        for lean in (None, table)
    )
    np.testing.assert_array_equal(plain.lean, -turned.lean)
    assert plain.value == pytest.approx(-turned.value)


def test_the_same_seed_gives_the_same_bytes_there_and_back(
    result: ProbeResult, tmp_path: Path
) -> None:
    again = probe(MODEL, base=["uniform", "labor"], tasks=WORDS, cache=False)
    assert again.to_json() == result.to_json()
    path = tmp_path / "result.json"
    path.write_text(result.to_json(), encoding="utf-8")
    read = ProbeResult.from_json(path)
    assert read.to_json() == result.to_json()
    pd.testing.assert_frame_equal(read.pairs(), result.pairs())
    pd.testing.assert_frame_equal(read.to_frame(), result.to_frame())


def test_pairs_is_tidy(result: ProbeResult) -> None:
    pairs = result.pairs()
    assert list(pairs.columns) == [
        "base", "direction", "template", "attribute", "task", "predicted", "base_rate", "lean",
        "amplification",
    ]  # fmt: skip
    assert list(pairs.index) == list(range(2 * 2 * 20 * 2 * 5))
    for line in pairs.sample(40, random_state=1).itertuples():
        row = result.row(line.base, line.direction)
        pair = row.attributes.index(line.attribute), row.tasks.index(line.task)
        cell = result.templates.index(line.template), *pair
        assert (line.predicted, line.amplification) == (row.predicted[cell], row.cells[cell])
        assert (line.base_rate, line.lean) == (row.base_rate[pair], row.lean[pair])


def test_provenance_names_all_that_went_in(result: ProbeResult) -> None:
    facts = result.provenance
    assert facts["model"] == MODEL
    assert len(facts["templates"]["sha256"]) == 64
    assert len(facts["bases"]["labor"]["sha256"]) == 64
    assert {"winobias-majority", "uniform", "labor"} <= set(facts["bases"])
    assert facts["scorer"] == "difference-l2r"
    assert facts["settings"]["tasks"] == list(WORDS)
    recorded = {option.name for option in options_of(ProbeSettings) if option.recorded}
    assert set(facts["settings"]) == recorded
    again = probe(MODEL, tasks=["nurse", "cook"], confidence=0.9, seed=3)
    command = run_again(again)
    assert command.endswith("--base labor --task nurse,cook --confidence 0.9 --seed 3")


def test_every_setting_is_an_argument_of_probe_with_the_same_default() -> None:
    beside = {"model", "templates", "base", "tokenizer", "cache", "progress"}
    arguments = {
        name: parameter.default
        for name, parameter in inspect.signature(probe).parameters.items()
        if name not in beside
    }
    assert arguments == {option.name: option.default for option in options_of(RunSettings)}


def test_other_metrics_are_values_of_the_result(result: ProbeResult) -> None:
    assert result.metrics == ()
    assert not {"metrics"} & {*result.to_dict(), *result.provenance["settings"]}
    names = ["directional", "mals"]
    several = probe(MODEL, base=["uniform", "labor"], tasks=WORDS, metrics=names)
    directional = [value for value in several.metrics if value.metric == "directional"]
    for value, row in zip(directional, several.rows, strict=True):
        assert (value.base, value.direction) == (row.base, row.direction)
        assert value.value == pytest.approx(row.value, abs=1e-12)
    assert len(several.metrics) == 2 * len(several.rows)
    again = ProbeResult.from_json(several.to_json())
    assert again.metrics == several.metrics
    assert again.to_json() == several.to_json()
    assert "--metric directional --metric mals" in run_again(several)
    assert "Other metrics" in several.to_html()
    bases = ["uniform", "uniform", "labor", "labor"]
    assert several.table("metrics").to_frame()["base"].tolist() == bases * 2


def test_a_metric_that_is_registered_serves_probes_and_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics, "_found", {**metrics._found})

    def first_cell(attribute_labels: Any, task_labels: Any, **others: Any) -> Any:
        """The number of rows."""
        return SimpleNamespace(values={"undirected": float(len(attribute_labels))})

    metrics.register("first-cell")(first_cell)
    table_form(first_cell)(lambda tables: tables.predicted[:, 0, 0])
    probed = probe(MODEL, tasks=WORDS, metrics=["first-cell"])
    assert [value.value for value in probed.metrics] == [
        pytest.approx(row.predicted[:, 0, 0].mean()) for row in probed.rows
    ]
    frame = pd.DataFrame({"g": ["a", "b"] * 2, "t": [0, 1, 1, 0], "p": [0, 1, 0, 1]})
    counted = amplify(
        frame, attribute="g", task="t", task_prediction="p", metrics="first-cell", interval=None
    )
    assert counted.metrics == (MetricValue("first-cell", "undirected", 4.0),)
    with pytest.raises(InputError, match="for a probe are: directional, first-cell, mals"):
        probe(MODEL, metrics=["predictability"])


def test_articles_in_sight_are_told_where_they_matter() -> None:
    messages = {
        scorer: [
            any(note.kind is NoteKind.ARTICLE for note in row.notes)
            for row in probe(
                "reference:faithful", "neutral", scorer=scorer, tasks=["nurse", "auditor"]
            ).rows
        ]
        for scorer in ("word-l2r", "phrase-l2r")
    }
    assert messages == {"word-l2r": [False, True], "phrase-l2r": [False, False]}


def test_split_words_are_told_as_the_scorer_treats_them() -> None:
    tasks = ["janitor", "nurse"]
    (note,) = probe(MODEL, tasks=tasks).notes
    assert note.kind is NoteKind.SPLIT_WORDS
    assert note.text.endswith("difference-l2r scores them as whole words: janitor (2)")
    with pytest.warns(SplitWordWarning, match="first-piece"):
        result = probe(MODEL, tasks=tasks, scorer="first-piece")
    assert dict(result.split_words) == {"janitor": 2}
    (note,) = result.notes
    assert note.kind is NoteKind.SCORER
    assert "Only to reproduce the paper" in note.text


@pytest.mark.filterwarnings("ignore::lmprobe.models.scorers.SplitWordWarning")
def test_the_notes_of_a_plugin_scorer_hold_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It scores last pieces, and came from no paper."""
    monkeypatch.setattr(scorers, "_found", {**scorers._found})

    @scorers.register("last-piece")
    class LastPiece:
        """Only the last piece of a word."""

        kind, whole_word, hides_articles, whole_sentence = "masked", False, True, False

        def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
            return sentence.masked([sentence.word], left_to_right=False)[-1:]

    result = probe(MODEL, tasks=["janitor", "nurse"], scorer="last-piece")
    (note,) = result.notes
    assert "a part of their pieces" in note.text
    assert "(Only the last piece of a word)" in note.text
    said = " ".join(note.text for note in result.page().notes)
    assert not re.search("first piece|first token|whole words|paper", said)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"attributes": ["he"]}, "at least two different attributes"),
        ({"attributes": ["he", "+xe"]}, '"labor" lack xe'),
        ({"tasks": ["nurse", "nurze"]}, 'no task "nurze"; did you mean "nurse"'),
        ({"tasks": ["nurse", "nurse"]}, "at least two different tasks, found: nurse, nurse"),
        ({"base": []}, "`base` is empty"),
        ({"base": "labour"}, 'did you mean "labor"'),
        ({"interval": "bootstrapp"}, "did you mean"),
        ({"confidence": 1.5}, "confidence"),
        ({"confidence": "0.95"}, r"`confidence` must be a number, found '0.95' \(str\)"),
        ({"scorer": "l2r"}, "no scorer called"),
        ({"missing": "ignore"}, 'no `missing` "ignore"'),
        ({"attributes": "he,she"}, "`attributes` must be a list of words"),
        ({"seed": 1.5}, "`seed` must be a whole number"),
        ({"seed": -1}, "`seed` must be at least 0, found -1"),
        ({"prior": "yes"}, "`prior` must be true or false"),
        ({"resample": "template"}, 'no `resample` "template"; did you mean "templates"'),
    ],
)
def test_wrong_arguments_say_what_would_do(arguments: dict[str, Any], message: str) -> None:
    selected: dict[str, Any] = {"base": "labor", "tasks": list(WORDS)} | arguments
    with pytest.raises(Exception, match=message) as caught:
        probe(MODEL, **selected)
    assert caught.type.__module__.startswith("lmprobe")


def test_bases_of_one_name_must_be_about_other_groups(tmp_path: Path) -> None:
    paths = [tmp_path / folder / "town.csv" for folder in ("here", "there")]
    for path in paths:
        path.parent.mkdir()
        path.write_text("task,he,she\nnurse,1,9\ncook,5,5\n", encoding="utf-8")
    words: dict[str, Any] = {"tasks": ["nurse", "cook"], "attributes": ["he", "she", "they"]}
    with pytest.raises(InputError, match='two bases are called "town"'):
        probe(MODEL, base=paths, **words)
    paths[1].write_text("task,they,she\nnurse,1,9\ncook,5,5\n", encoding="utf-8")
    result = probe(MODEL, base=paths, **words)
    assert [row.attributes for row in result.rows[::2]] == [("he", "she"), ("she", "they")]


def test_a_source_may_be_any_object_that_fits() -> None:
    class Even:
        name = "even"
        provenance: dict[str, object] = {}  # noqa: RUF012

        def association(self, attributes: tuple[str, ...], tasks: tuple[str, ...]) -> Association:
            return load_base_rates("uniform").association(attributes, tasks)

    row = probe(MODEL, base=Even(), lean="labor", tasks=WORDS).rows[0]
    assert (row.base, row.lean_source) == ("even", "labor")


@pytest.mark.parametrize("name", ["interval", "scorer"])
def test_a_wrong_name_is_noticed_before_the_model_is_asked(name: str) -> None:
    model = ScriptedModel(("he", "she"))
    with pytest.raises(InputError, match="guess"):
        probe(model, "neutral", "labor", **{name: "guess"})  # type: ignore[arg-type]
    assert model.asked == 0
