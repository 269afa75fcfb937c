"""What `probe` does around its numbers: words, bases, notes, rows, the command to run again."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe import probe
from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.errors import InputError
from lmprobe.probing.baseline import baseline
from lmprobe.probing.command import run_again, settings_of, source_option, templates_option
from lmprobe.probing.probe import _baselines, _checked_words, _split_notes, resolved
from lmprobe.probing.rows import probe_rows
from lmprobe.probing.scores import Scores
from lmprobe.probing.settings import CompareSettings, ModelSettings, ProbeSettings
from lmprobe.results import NoteKind, Verdict
from lmprobe.results.settings import options_of
from lmprobe.sources import load_base_rates
from lmprobe.sources.table import table_of
from lmprobe.templates import load_templates
from tests.probing.made_rows import made_result, made_row

NEUTRAL = load_templates("neutral")
TWO = ("nurse", "cook")
NO_MODEL: Any = None


def test_the_defaults_of_a_probe_are_the_documented_ones() -> None:
    settings = ProbeSettings()
    assert settings == ProbeSettings(
        attributes=None, tasks=None, lean=None, lean_weighting="joint", scorer="auto", prior=False,
        missing="drop", pseudo_count=0.5, interval="bootstrap", resample="both", confidence=0.95,
        simultaneous=False, seed=0, min_mass=None,
    )  # fmt: skip
    assert (settings.prior, settings.simultaneous, settings.seed) == (False, False, 0)
    assert {option.name: option.minimum for option in options_of(ProbeSettings)}["seed"] == 0
    assert (CompareSettings().pairs, CompareSettings().margin) == ("first", None)
    assert ModelSettings().arguments() == {
        "kind": "auto", "tokenizer": None, "device": "auto", "dtype": "float32",
        "batch_size": "auto", "revision": None,
    }  # fmt: skip
    assert ModelSettings(batch_size="8").arguments()["batch_size"] == 8


def test_the_words_are_those_of_the_set_unless_they_are_chosen() -> None:
    plain = resolved(ProbeSettings(), NEUTRAL)
    assert (plain.attributes, plain.tasks) == (("he", "she"), NEUTRAL.tasks)
    assert plain.lean is None
    chosen = resolved(
        ProbeSettings(attributes=("they", "he"), tasks=TWO), NEUTRAL, load_base_rates("labor")
    )
    assert (chosen.attributes, chosen.tasks, chosen.lean) == (("they", "he"), TWO, "labor")
    assert inspect.signature(probe).parameters["cache"].default is True


@pytest.mark.parametrize("words", [("nurse",), (), ("nurse", "nurse"), ("nurse", "cook", "nurse")])
def test_two_different_words_are_needed(words: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="a probe compares at least two different tasks, found:"):
        _checked_words(words, NEUTRAL.tasks, "task")


def test_words_that_the_set_has_are_taken() -> None:
    assert _checked_words(TWO, NEUTRAL.tasks, "task") == TWO
    assert _checked_words((*TWO, "clerk"), (*NEUTRAL.tasks, "clerk"), "task") == (*TWO, "clerk")
    with pytest.raises(InputError, match='the template set has no task "nurze"; did you mean'):
        _checked_words(("cook", "nurze"), NEUTRAL.tasks, "task")


def town(counts: Any, attributes: tuple[str, ...] = ("he", "she")) -> Any:
    return table_of("town", counts, attributes, TWO)


def test_bases_of_one_name_must_be_about_other_groups() -> None:
    settings = ProbeSettings(attributes=("he", "she", "they"), tasks=TWO)
    first, other = town([[1, 2], [3, 1]]), town([[1, 2], [3, 1]], ("she", "they"))
    found = _baselines([first, other], NO_MODEL, None, settings)
    assert [one.rates.association.attributes for one in found] == [("he", "she"), ("she", "they")]
    with pytest.raises(InputError, match='two bases are called "town"'):
        _baselines((first, town([[5, 2], [3, 1]])), NO_MODEL, None, settings)
    assert len(_baselines(first, NO_MODEL, None, settings)) == 1
    for empty in ([], ()):
        with pytest.raises(InputError, match="`base` is empty"):
            _baselines(empty, NO_MODEL, None, settings)


def test_split_words_are_told_as_the_scorer_treats_them() -> None:
    assert _split_notes("word-l2r", {}) == ()
    (note,) = _split_notes("word-l2r", {"nurse": 2, "cook": 3})
    assert note.kind is NoteKind.SPLIT_WORDS
    assert note.text.endswith("word-l2r scores them as whole words: cook (3), nurse (2)")
    (note,) = _split_notes("first-piece", {"nurse": 2})
    assert note.kind is NoteKind.SCORER
    assert note.text.startswith("first-piece scores 1 word that the tokenizer splits by their fir")


def scores(direction: Direction) -> Scores:
    logs = np.log(np.random.default_rng(4).uniform(0.1, 0.4, (5, 2, 2)))
    labels = ("he", "she"), TWO
    return Scores(direction, tuple("klmno"), *labels, logs, None, {}, "word-l2r", cached=False)


def test_rows_come_base_by_base_with_or_without_a_lean() -> None:
    known = baseline(town([[1, 2], [3, 1]]), ("he", "she"), TWO)
    other = baseline(
        table_of("other", [[1, 2], [3, 1]], ("he", "she"), TWO), ("he", "she"), TWO,
        lean_from=town([[1, 2], [3, 1]]),
    )  # fmt: skip
    unknown = replace(known, name="unknown", lean_name="none", lean_rates=None)
    both = {one: scores(one) for one in DIRECTIONS}
    settings = ProbeSettings(interval="t")
    rows = probe_rows([unknown, known, other], both, tuple("klmno"), settings)
    assert [(row.base, row.direction) for row in rows] == [
        (base, one) for base in ("unknown", "town", "other") for one in DIRECTIONS
    ]
    assert [row.unevenness is None for row in rows] == [False, False, True, True, True, True]
    assert [row.association is None for row in rows] == [True, True, False, False, False, False]
    foreign = [row.association.verdict for row in rows[2:]]  # type: ignore[union-attr]
    assert not {Verdict.FOLLOWS, Verdict.OPPOSES} & set(foreign[:2])
    assert not {Verdict.AMPLIFIES, Verdict.REDUCES} & set(foreign[2:])
    np.testing.assert_allclose(rows[2].predicted, both[DIRECTIONS[0]].probabilities())
    only = probe_rows([unknown], both, tuple("klmno"), settings)
    assert [row.base for row in only] == ["unknown", "unknown"]


def test_a_foreign_lean_is_followed_in_every_part() -> None:
    """The model leans as the other table does, far beyond what chance would give."""
    base = table_of("even", [[10, 10], [10, 10]], ("he", "she"), TWO)
    against = baseline(base, ("he", "she"), TWO, lean_from=town([[1, 9], [9, 1]]))
    rng = np.random.default_rng(1)
    logs = np.log([[0.1, 0.4], [0.4, 0.1]]) + rng.normal(0, 0.05, (5, 2, 2))
    both = {one: replace(scores(one), log_probability=logs) for one in DIRECTIONS}
    rows = probe_rows([against], both, tuple("klmno"), ProbeSettings(interval="t"))
    for row in rows:
        assert row.verdict is Verdict.FOLLOWS
        assert row.association is not None
        assert row.association.verdict is Verdict.FOLLOWS


def test_a_lean_that_knows_none_of_the_pairs_is_refused() -> None:
    base = table_of("mine", [[1, 2], [3, 1]], ("he", "she"), TWO)
    against = baseline(base, ("he", "she"), TWO)
    other = table_of("jobs", [[1, 2], [3, 1]], ("he", "she"), ("vet", "clerk"))
    foreign = baseline(other, ("he", "she"), ("vet", "clerk"))
    mixed = replace(against, lean_name="jobs", lean_rates=foreign.rates)
    both = {one: scores(one) for one in DIRECTIONS}
    with pytest.raises(InputError, match='base "mine", task->attribute: no pair of words is def'):
        probe_rows([mixed], both, tuple("klmno"), ProbeSettings(interval="t"))


def command(facts: dict[str, Any], base: str = "labor", **options: Any) -> str:
    row = made_row([[0.1, 0.2], [0.3, 0.4]], base=base)
    result = made_result(row, facts={"scorer": "auto"} | facts)
    return run_again(result, **options)


def test_the_command_has_what_was_chosen_and_nothing_else() -> None:
    assert command({}) == "lmprobe run 'made up' --templates fitbert --base labor"
    fitbert = load_templates("fitbert")
    every = {"attributes": list(fitbert.attributes), "tasks": list(fitbert.tasks)}
    assert command({"settings": every}) == command({})
    some = {"attributes": ["he", "they"], "tasks": list(fitbert.tasks), "lean": "labor"}
    assert command({"settings": some}).endswith("--base labor --attribute he,they --lean labor")
    own = command({"settings": {"lean": "town"}}, base="village")
    assert own.endswith("--base village.csv --lean town.csv")


def test_the_command_names_templates_of_ones_own_by_their_file() -> None:
    named = {"templates": {"name": "mine", "sha256": "a", "file": "here.toml"}}
    assert "--templates here.toml" in command(named)
    assert templates_option({"name": "neutral"}) == "neutral"
    assert templates_option({"name": "mine"}) == "mine.toml"
    # The words of a set that cannot be read are all written.
    words = {"settings": {"attributes": ["he", "she"], "tasks": ["vet", "cook"]}}
    assert command(named | words).endswith("--attribute he,she --task vet,cook")
    assert (source_option("labor"), source_option("town")) == ("labor", "town.csv")


def test_the_command_loads_the_model_as_it_was_loaded() -> None:
    facts = {"loading": {"place": "hub", "kind": "masked"}, "revision": "abc", "dtype": "float16"}
    assert command(facts).startswith("lmprobe run 'made up'")
    assert command(facts).endswith("--kind masked --dtype float16 --revision abc")
    # Another model is loaded as it likes.
    assert command(facts, model="bert") == "lmprobe run bert --templates fitbert --base labor"
    memory = {"loading": {"place": "memory"}}
    assert command(memory).startswith("lmprobe run FOLDER-OF-THE-MODEL ")


def test_version_1_had_the_scorer_and_the_seed_beside_the_settings() -> None:
    found = settings_of({"scorer": "joint", "seed": 3, "settings": {"confidence": 0.9}})
    assert (found.scorer, found.seed, found.confidence) == ("joint", 3, 0.9)
    later = settings_of({"scorer": "joint", "seed": 3, "settings": {"scorer": "auto", "seed": 1}})
    assert (later.scorer, later.seed) == ("auto", 1)
    assert settings_of({}) == ProbeSettings()
