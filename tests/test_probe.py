"""One function from model to result: values, worlds, words, provenance."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lmprobe import Association, ProbeResult, load_base_rates, load_model, probe
from lmprobe.errors import InputError
from lmprobe.metrics.directional import amplification, defined_mean
from lmprobe.probing.notes import gathered_notes
from lmprobe.results import Note, NoteKind

WORDS = ("nurse", "lawyer", "driver", "editor", "cook")


@pytest.fixture(scope="module")
def result() -> ProbeResult:
    return probe("reference:amplified", base=["uniform", "labor"], tasks=WORDS)


def test_one_row_per_base_and_direction(result: ProbeResult) -> None:
    found = [(row.base, row.direction) for row in result.rows]
    assert found == [
        ("uniform", "task->attribute"),
        ("uniform", "attribute->task"),
        ("labor", "task->attribute"),
        ("labor", "attribute->task"),
    ]


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


def test_guesses_add_up_to_one_over_the_candidates(result: ProbeResult) -> None:
    for row in result.rows:
        axis = 1 if row.direction == "task->attribute" else 2
        np.testing.assert_allclose(row.predicted.sum(axis=axis), 1)


def test_a_model_amplifies_nothing_against_its_own_guesses(result: ProbeResult) -> None:
    """The base is what the model says on average: template by template they cancel."""
    row = result.row("labor", "task->attribute")
    own = row.predicted.mean(axis=0)
    base = Association.from_conditional(own, row.attributes, row.tasks)
    again = probe("reference:amplified", base=base, tasks=WORDS).rows[0]
    assert again.value == pytest.approx(0, abs=1e-12)


def test_the_lean_of_uniform_comes_from_winobias(result: ProbeResult) -> None:
    row = result.row("uniform", "task->attribute")
    assert row.lean_source == "winobias-majority"
    assert dict(zip(row.tasks, row.lean[0], strict=True)) == {
        "nurse": -1, "lawyer": 1, "driver": 1, "editor": -1, "cook": 1,
    }  # fmt: skip
    assert Note(NoteKind.LEAN, "the lean comes from winobias-majority") in row.notes


def test_they_has_no_lean_in_uniform_and_no_column_in_labor() -> None:
    found = probe(
        "reference:amplified",
        base=["uniform", "labor"],
        attributes=["he", "she", "they"],
        tasks=WORDS,
    )
    uniform, labor = found.rows[0], found.rows[2]
    assert uniform.attributes == ("he", "she", "they")
    assert not uniform.lean[2].any()
    assert labor.attributes == ("he", "she")
    assert labor.dropped_attributes == ("they",)
    np.testing.assert_allclose(labor.predicted.sum(axis=1), 1)


def test_another_base_asks_the_model_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    probe("reference:faithful", base="uniform", tasks=WORDS)
    model = load_model("reference:faithful")

    def refuse(_: object, blanks: list[object]) -> list[object]:
        assert not blanks, "the model was asked"
        return []

    monkeypatch.setattr(type(model), "encode", refuse)
    probe(model, base=["labor", "winobias"], tasks=WORDS)


def test_a_zero_count_leaves_the_candidates_in_both_directions() -> None:
    table = pd.DataFrame({"task": ["nurse", "cook", "editor"], "he": [1, 3, 0], "she": [9, 2, 0]})
    words = ["nurse", "cook", "editor"]
    found = probe("reference:amplified", base=table, tasks=words)
    without = probe("reference:amplified", base=table, tasks=words[:2])
    for row, other in zip(found.rows, without.rows, strict=True):
        assert (row.tasks, row.dropped_tasks) == (("nurse", "cook"), ("editor",))
        assert row.value == pytest.approx(other.value)
        np.testing.assert_allclose(row.predicted, other.predicted)


def test_a_zero_count_that_is_kept_is_undefined_and_counted() -> None:
    table = pd.DataFrame({"task": ["nurse", "cook", "editor"], "he": [1, 3, 0], "she": [9, 2, 0]})
    words = ["nurse", "cook", "editor"]
    row = probe("reference:amplified", base=table, tasks=words, missing="keep").rows[0]
    assert row.undefined_pairs == 2
    assert row.value == pytest.approx(float(defined_mean(row.cells[:, :, :2], axis=(1, 2)).mean()))
    assert "null" in json.dumps(row.to_dict(), allow_nan=False)


def test_another_lean_changes_the_sign_and_nothing_else() -> None:
    table = pd.DataFrame({"task": ["nurse", "cook"], "he": [9, 1], "she": [1, 9]})
    plain, turned = (
        probe("reference:amplified", base="labor", lean=lean, tasks=["nurse", "cook"]).rows[0]
        for lean in (None, table)
    )
    np.testing.assert_array_equal(plain.lean, -turned.lean)
    assert plain.value == pytest.approx(-turned.value)


def test_json_goes_there_and_back(result: ProbeResult, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(result.to_json(), encoding="utf-8")
    again = ProbeResult.from_json(path)
    assert again.to_json() == result.to_json()
    pd.testing.assert_frame_equal(again.pairs(), result.pairs())
    pd.testing.assert_frame_equal(again.to_frame(), result.to_frame())


def test_the_same_seed_gives_the_same_bytes(result: ProbeResult) -> None:
    again = probe("reference:amplified", base=["uniform", "labor"], tasks=WORDS, cache=False)
    assert again.to_json() == result.to_json()


def test_pairs_is_tidy(result: ProbeResult) -> None:
    pairs = result.pairs()
    assert list(pairs.columns) == [
        "base", "direction", "template", "attribute", "task", "predicted", "base_rate", "lean",
        "amplification",
    ]  # fmt: skip
    assert len(pairs) == 2 * 2 * 20 * 2 * 5
    expected = amplification(
        pairs.predicted.to_numpy(), pairs.base_rate.to_numpy(), pairs.lean.to_numpy()
    )
    np.testing.assert_array_equal(pairs.amplification, expected)


def test_provenance_names_all_that_went_in(result: ProbeResult) -> None:
    facts = result.provenance
    assert facts["model"] == "reference:amplified"
    assert len(facts["templates"]["sha256"]) == 64
    assert len(facts["bases"]["labor"]["sha256"]) == 64
    assert {"winobias-majority", "uniform", "labor"} <= set(facts["bases"])
    assert facts["scorer"] == "difference-l2r"
    assert facts["settings"]["tasks"] == WORDS or facts["settings"]["tasks"] == list(WORDS)


def test_articles_in_sight_are_told_where_they_matter() -> None:
    told = {
        scorer: [
            any(note.kind is NoteKind.ARTICLE for note in row.notes)
            for row in probe("reference:faithful", "neutral", scorer=scorer).rows
        ]
        for scorer in ("word-l2r", "phrase-l2r")
    }
    assert told == {"word-l2r": [False, True], "phrase-l2r": [False, False]}
    plain = probe("reference:faithful")
    assert not any(note.kind is NoteKind.ARTICLE for row in plain.rows for note in row.notes)


def test_first_piece_says_which_words_it_cuts() -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = probe("reference:amplified", base="labor", scorer="first-piece")
    assert any("first-piece" in str(one.message) for one in heard)
    assert found.split_words
    assert any("first piece alone" in note.text for note in found.notes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"attributes": ["he"]}, "at least two different attributes"),
        ({"attributes": ["he", "xe"]}, 'no attribute "xe"'),
        ({"tasks": ["nurse", "nurze"]}, 'no task "nurze"; did you mean "nurse"'),
        ({"base": []}, "`base` is empty"),
        ({"base": "labour"}, 'did you mean "labor"'),
        ({"interval": "bootstrapp"}, "did you mean"),
        ({"confidence": 1.5}, "confidence"),
        ({"scorer": "l2r"}, "no scorer called"),
        ({"missing": "ignore"}, 'no missing "ignore"'),
    ],
)
def test_wrong_arguments_say_what_would_do(arguments: dict[str, object], message: str) -> None:
    chosen = {"base": "labor", "tasks": list(WORDS)} | arguments
    with pytest.raises(Exception, match=message) as caught:
        probe("reference:amplified", **chosen)  # type: ignore[arg-type]
    assert caught.type.__module__.startswith("lmprobe")


def test_uniform_without_a_lean_for_these_words_says_so() -> None:
    result = probe("reference:amplified", templates="nationalities", base="uniform")
    assert all(row.unevenness is not None for row in result.rows)
    assert "no lean is known" in str(result)
    # The verdict depends on the mass of random words, so the row has it and a note says it.
    assert all(row.mass_ratio is not None for row in result.rows)
    assert any("times that of random words" in note.text for note in gathered_notes(result))


def test_two_bases_of_one_name_are_refused(tmp_path: Path) -> None:
    paths = [tmp_path / folder / "town.csv" for folder in ("here", "there")]
    for path in paths:
        path.parent.mkdir()
        path.write_text("task,he,she\nnurse,1,9\ncook,5,5\n", encoding="utf-8")
    with pytest.raises(InputError, match='two bases are called "town"'):
        probe("reference:amplified", base=paths, tasks=["nurse", "cook"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{]", "not a JSON document"),
        ('{"schema": "lmprobe.result/0"}', "this lmprobe reads 'lmprobe.result/2'"),
        ('{"schema": "lmprobe.result/1", "rows": [{}]}', "damaged result"),
        ("missing.json", "no such result file"),
    ],
)
def test_a_file_that_is_no_result_says_so(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ProbeResult.from_json(text)


def test_a_source_may_be_any_object_that_fits() -> None:
    class Even:
        name = "even"
        provenance: dict[str, object] = {}  # noqa: RUF012

        def association(self, attributes: tuple[str, ...], tasks: tuple[str, ...]) -> Association:
            return load_base_rates("uniform").association(attributes, tasks)

    row = probe("reference:amplified", base=Even(), lean="labor", tasks=WORDS).rows[0]
    assert (row.base, row.lean_source) == ("even", "labor")
