"""The leakage of a language model whose probabilities are given, and embeddings of a fake one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from lmprobe.core.association import Association
from lmprobe.errors import InputError
from lmprobe.leakage import language
from lmprobe.leakage.embeddings import mask_embeddings
from lmprobe.leakage.language import _base_leakage, bayes_leakage, language_leakage
from lmprobe.leakage.row import Measure
from lmprobe.models.cloze import TokenQuery
from lmprobe.probing.probe import probe
from lmprobe.results import Verdict
from lmprobe.templates import load_templates

TOML = """
name = "tiny"
description = "three sentences"
source = "this test"
attribute = "pronoun"
task = "job"
sentences = ["{pronoun} is the {job}.", "{pronoun} was the {job}.", "The {job} saw {pronoun}."]

[slots]
pronoun = ["he", "she", "they"]
job = ["nurse", "baker", "lawyer", "cook"]
"""
COUNTS = {"he": [20, 50, 80, 10], "she": [80, 50, 20, 10], "they": [10, 10, 10, 30]}
BASE = pd.DataFrame({"task": ["nurse", "baker", "lawyer", "cook"], **COUNTS})


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> dict[str, Any]:
    """Let a model answer with P(t|a) that mostly tell the attribute; note the words."""
    noted: dict[str, Any] = {}

    def scored(model: Any, templates: Any, direction: Any, **words: Any) -> Any:
        noted.update(words)
        groups, tasks = len(words["attributes"]), len(words["tasks"])
        right = np.eye(groups, tasks)
        # What is left over goes to the last task, for everybody alike.
        table = np.stack([share * right for share in (0.70, 0.72, 0.74)])
        table[:, :, -1] += 1 - table.sum(axis=2)
        noted["leaks"] = [(groups * share + 1 - share) / groups for share in (0.70, 0.72, 0.74)]
        return SimpleNamespace(probabilities=lambda: table, templates=("1", "2", "3"))

    path = tmp_path / "tiny.toml"
    path.write_text(TOML)
    monkeypatch.setattr(language, "as_model", lambda model, device: SimpleNamespace(name=model))
    monkeypatch.setattr(language, "score_templates", scored)
    noted["templates"] = load_templates(path)
    return noted


def test_the_words_are_those_of_the_templates_unless_others_are_asked_for(
    asked: dict[str, Any],
) -> None:
    found = language_leakage("m", asked["templates"], BASE)
    assert asked["attributes"] == found.groups == ("he", "she", "they")
    assert asked["tasks"] == ("nurse", "baker", "lawyer", "cook")
    assert asked["cache"] is True
    some = language_leakage(
        "m", asked["templates"], BASE, attributes=["she", "he"], tasks=["cook", "nurse", "baker"]
    )
    assert asked["attributes"] == some.groups == ("she", "he")
    assert asked["tasks"] == tuple(some.provenance["tasks"]) == ("cook", "nurse", "baker")
    # Of what she and he do: (10, 80, 50) of 140 and (10, 20, 50) of 80.
    expected = (max(10 / 140, 10 / 80) + max(80 / 140, 20 / 80) + max(50 / 140, 50 / 80)) / 2
    assert some.base.value == pytest.approx(expected)


def test_the_values_are_those_of_each_template_and_the_base_is_subtracted(
    asked: dict[str, Any],
) -> None:
    found = language_leakage("m", asked["templates"], BASE, attributes=["he", "she"], seed=3)
    assert found.model.rounds == found.rounds == pytest.approx(asked["leaks"])
    assert found.model.value == pytest.approx(0.86)
    base = (80 + 50 + 80 + 10) / 160 / 2
    assert found.base.value == pytest.approx(base)
    assert found.value == pytest.approx(0.86 - base)
    assert found.rows[-1].rounds == pytest.approx([leak - base for leak in asked["leaks"]])
    assert (found.model.verdict, found.verdict) == (Verdict.LEAKS, Verdict.LEAKS_MORE)
    assert found.base.verdict is Verdict.UNDECIDED
    assert found.provenance["settings"] == {
        "scorer": "auto", "missing": "drop", "interval": "bootstrap", "confidence": 0.95, "seed": 3,
    }  # fmt: skip


def test_chance_is_one_over_the_number_of_groups(asked: dict[str, Any]) -> None:
    settings = SimpleNamespace(interval="bootstrap", confidence=0.95, seed=0)
    values = np.array([0.40, 0.42, 0.44])
    for groups, verdict in ((2, Verdict.UNDECIDED), (3, Verdict.LEAKS), (4, Verdict.LEAKS)):
        row, _ = language._row(Measure.MODEL, values, asked["templates"], settings, groups)  # type: ignore[arg-type]
        assert row.verdict is verdict
        assert row.value == pytest.approx(0.42)


def test_defaults_are_those_of_a_probe() -> None:
    ours, theirs = (inspect.signature(one).parameters for one in (language_leakage, probe))
    shared = set(ours) & set(theirs) - {"model"}
    assert {"attributes", "tasks", "confidence", "seed", "cache", "interval", "missing"} <= shared
    assert {name: ours[name].default for name in shared} == {
        name: theirs[name].default for name in shared
    }


def test_leakage_of_many_tables_at_once() -> None:
    tables = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 5, 3))
    found = bayes_leakage(tables)
    assert found.shape == (2, 5)
    for place in np.ndindex(2, 5):
        each = [max(tables[place][group, task] for group in range(3)) for task in range(4)]
        assert found[place] == pytest.approx(sum(each) / 3)


def known(counts: list[list[float]]) -> Association:
    return Association.from_counts(counts, list("ab")[: len(counts)], ["x", "y"])


def test_a_base_must_know_two_groups_and_what_each_does() -> None:
    assert _base_leakage(known([[3, 1], [1, 3]]), "b", ["a", "b"]) == pytest.approx(0.75)
    for counts in ([[3, 1]], [[3, 1], [0, 0]]):
        with pytest.raises(InputError, match='"b" must know at least two of the groups a, b'):
            _base_leakage(known(counts), "b", ["a", "b"])


class FakeModel:
    """A model whose last state says which token is there, and whose other states do not."""

    device = torch.device("cpu")

    def __init__(self, queries: list[TokenQuery], pad: int | None) -> None:
        self.queries, self.seen = queries, []  # type: ignore[var-annotated]
        self.tokenizer = SimpleNamespace(pad_token_id=pad, mask_token_id=99)
        self.weights = SimpleNamespace(running=self._running)

    def encode(self, clozes: Any) -> list[Any]:
        return [SimpleNamespace(one_mask=lambda one=one: one) for one in self.queries]

    @contextmanager
    def _running(self) -> Iterator[Any]:
        yield self._run

    def _run(self, *, output_hidden_states: bool, **inputs: torch.Tensor) -> Any:
        self.seen.append({name: values.tolist() for name, values in inputs.items()})
        last = torch.stack([inputs["input_ids"], -inputs["input_ids"]], dim=2).double()
        states = (torch.zeros_like(last), torch.ones_like(last), last)
        return SimpleNamespace(hidden_states=states if output_hidden_states else None)


QUERIES = [
    TokenQuery((5, 6, 7), 1, 0, (0, 1, 1)),
    TokenQuery((8, 9, 10, 11, 12), 4, 0, (1, 1, 0, 0, 1)),
    TokenQuery((13, 14), 0, 0, (1, 1)),
]


@pytest.mark.parametrize(("pad", "filled"), [(0, 0), (None, 99), (3, 3)])
def test_shorter_sentences_are_padded_out_of_sight(pad: int | None, filled: int) -> None:
    model = FakeModel(QUERIES, pad)
    found = mask_embeddings(model, [], batch_size=2)  # type: ignore[arg-type]
    assert found.tolist() == [[6, -6], [12, -12], [13, -13]]
    assert found.dtype == np.float32
    first, second = model.seen
    assert first == {
        "input_ids": [[5, 6, 7, filled, filled], [8, 9, 10, 11, 12]],
        "attention_mask": [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]],
        "token_type_ids": [[0, 1, 1, 0, 0], [1, 1, 0, 0, 1]],
    }
    assert second["input_ids"] == [[13, 14]]
    whole = FakeModel(QUERIES, pad)
    assert mask_embeddings(whole, []).tolist() == found.tolist()  # type: ignore[arg-type]
    assert len(whole.seen) == 1


def test_sixty_four_sentences_are_read_at_once() -> None:
    model = FakeModel([TokenQuery((5, number), 1, 0) for number in range(65)], 0)
    assert mask_embeddings(model, [])[:, 0].tolist() == list(range(65))  # type: ignore[arg-type]
    assert [len(batch["input_ids"]) for batch in model.seen] == [64, 1]


def test_a_model_without_segments_is_not_given_any() -> None:
    model = FakeModel([TokenQuery((5, 6), 1, 0)], 0)
    assert mask_embeddings(model, []).tolist() == [[6, -6]]  # type: ignore[arg-type]
    assert model.seen == [{"input_ids": [[5, 6]], "attention_mask": [[1, 1]]}]
