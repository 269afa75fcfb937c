"""The report of a probe: its notes and their scope, headline, command."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS
from lmprobe.inference.unevenness import Unevenness
from lmprobe.probing.command import run_again, settings_of
from lmprobe.probing.model_card import eval_results
from lmprobe.probing.notes import gathered_notes
from lmprobe.probing.page import headline
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results import Interval, Note, NoteKind, Verdict
from lmprobe.templates import load_templates
from tests.probing.made_rows import made_result, made_row

FORWARD, BACKWARD = DIRECTIONS
PLAIN = [[0.1, 0.2], [0.3, 0.4]]
UNEVEN = Unevenness(0.2, Interval(0.1, 0.3, 0.9, "bootstrap-deviation"), 0.02)


def row(base: str = "labor", **options: Any) -> Any:
    return made_row(PLAIN, base=base, **options)


@pytest.mark.parametrize(
    ("told", "scope"),
    [
        ((0, 1, 2, 3), [""]),
        ((0, 1), ["our town, 2020"]),
        ((0, 2), ["our town, 2020, task->attribute; b, task->attribute"]),
        ((3,), ["b, attribute->task"]),
        ((), []),
    ],
)
def test_a_note_of_all_rows_belongs_to_the_whole_and_others_say_where(
    told: tuple[int, ...], scope: list[str]
) -> None:
    """A base in both directions is named alone, in one of them with the direction."""
    note = Note(NoteKind.FEW_UNITS, "few")
    places = [(base, way) for base in ("our town, 2020", "b") for way in DIRECTIONS]
    rows = [
        row(base, direction=way, notes=(note,) if number in told else ())
        for number, (base, way) in enumerate(places)
    ]
    whole = Note(NoteKind.SPLIT_WORDS, "split")
    found = gathered_notes(made_result(*rows, notes=(whole,)))
    assert [one.scope for one in found if one.text == "few"] == scope
    assert found[0] == whole


def test_undefined_pairs_are_counted_unless_no_lean_is_known() -> None:
    some = made_row(PLAIN, [[0.5, np.nan], [0.5, 0.5]])
    texts = [note.text for note in gathered_notes(made_result(some))]
    assert "1 of 4 pairs are undefined and left out of the mean" in texts
    for other in (row(), replace(some, unevenness=UNEVEN)):
        kinds = [note.kind for note in gathered_notes(made_result(other))]
        assert NoteKind.UNDEFINED not in kinds


def test_the_mass_is_told_by_direction_and_the_perplexity_as_the_kind_has_it() -> None:
    first = row(candidate_mass=np.array([0.2, 0.3]), mass_ratio=12.34)
    second = row(direction=BACKWARD, candidate_mass=np.array([0.04, 0.06]))
    result = made_result(first, second, perplexity=7.5)
    *notes, last = gathered_notes(result)
    assert [note.scope for note in notes] == [FORWARD, BACKWARD]
    assert "25% of the probability, 12.3 times that of random words" in notes[0].text
    assert last.text.endswith(": 7.5")
    # The last is a kind that a plug-in added where the result was made.
    for kind, masks in (("masked", True), ("causal", False), ("diffusion", False)):
        other = replace(result, provenance={**result.provenance, "kind": kind})
        assert gathered_notes(other)[-1].text.startswith("pseudo-") is masks
        card = eval_results(other)[0]
        assert card.task_type == ("fill-mask" if masks else "text-generation")


def test_two_rows_are_said_and_more_are_counted() -> None:
    rows = [row(), row("corpus"), row("wiki")]
    (alone,) = headline(rows[:1])
    assert "the links in labor (+0.2500, 95% interval +0.1000 to +0.3000)" in alone.text
    (counted,) = headline(rows)
    assert counted.text.endswith("in all 3 comparisons.")
    assert counted.verdict is Verdict.AMPLIFIES


def command(facts: dict[str, Any], base: str = "labor", **options: Any) -> str:
    return run_again(made_result(row(base), facts={"scorer": "auto"} | facts), **options)


def test_the_command_has_what_was_chosen_and_nothing_else() -> None:
    plain = "lmprobe run 'made up' --templates fitbert --base labor"
    assert command({}) == plain
    fitbert = load_templates("fitbert")
    every = {"attributes": list(fitbert.attributes), "tasks": list(fitbert.tasks)}
    assert command({"settings": every}) == plain
    some = every | {"attributes": ["he", "they"], "lean": "labor"}
    assert command({"settings": some}) == f"{plain} --attribute he,they --lean labor"
    own = command({"settings": {"lean": "town"}}, base="village")
    assert own.endswith("--base village.csv --lean town.csv")
    # The words of a set that cannot be read are all written.
    words = {"settings": {"attributes": ["he", "she"], "tasks": ["vet", "cook"]}}
    named = {"templates": {"name": "mine", "sha256": "a", "file": "here.toml"}}
    ending = "--templates here.toml --base labor --attribute he,she --task vet,cook"
    assert command(named | words).endswith(ending)


def test_the_command_loads_the_model_as_it_was_loaded() -> None:
    facts = {"loading": {"place": "hub", "kind": "masked"}, "revision": "abc", "dtype": "float16"}
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
