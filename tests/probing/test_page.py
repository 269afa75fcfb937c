"""The report of a probe: its notes and their scope, headline, sections, sources, command."""

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
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results import Interval, Note, NoteKind, Section, Verdict
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
    result = made_result(first, row("b", candidate_mass=np.ones(2)), second, perplexity=7.5)
    words = "before normalising, the candidates together had"
    *notes, last = gathered_notes(result)
    assert [(note.text, note.scope) for note in notes] == [
        (f"{words} 25% of the probability, 12.3 times that of random words", FORWARD.value),
        (f"{words} 5% of the probability", BACKWARD.value),
    ]
    assert last.text == "pseudo-perplexity per word on a sample of the sentences: 7.5"
    # The last is a kind that a plug-in added where the result was made.
    for kind, masks in (("masked", True), ("causal", False), ("diffusion", False)):
        other = replace(result, provenance={**result.provenance, "kind": kind})
        assert gathered_notes(other)[-1].text.startswith("pseudo-") is masks
        card = eval_results(other)[0]
        assert card.task_type == ("fill-mask" if masks else "text-generation")


def test_two_rows_are_said_and_more_are_counted() -> None:
    rows = [row(), row("corpus"), row("wiki")]
    assert [statement.text for statement in headline(rows[:1])] == [
        "task->attribute: the model exaggerates the links in labor "
        "(+0.2500, 95% interval +0.1000 to +0.3000)."
    ]
    (counted,) = headline(rows)
    assert counted.text == "The model exaggerates the links in the base in all 3 comparisons."
    assert counted.verdict is Verdict.AMPLIFIES
    (counted,) = headline([*rows, row("x", interval=Interval(-0.3, -0.1, 0.95, "bootstrap"))])
    assert counted.text == (
        "Of 4 comparisons, the model exaggerates the links in the base in 3 and weakens the links "
        "in the base in 1."
    )
    (uneven,) = headline([row(unevenness=UNEVEN)])
    assert uneven.text.endswith("(absolute 0.2000, p 0.02).")


def names(result: ProbeResult) -> list[str]:
    return [section.name or section.title for section in result.page().sections]


def test_the_report_leaves_away_what_was_not_measured() -> None:
    """No series of years either: its bases are ordinary ones."""
    facts = {"bases": {"labor": {"title": ""}, "uniform": {"title": "Even", "year": 2016}}}
    always = ["notes", "measured", "provenance"]
    measured = ["Verdict", "notes", "tasks", "templates", "pairs", "measured", "provenance"]
    assert names(made_result(row(), facts=facts)) == measured
    unknown = row("uniform", unevenness=UNEVEN, lean=np.full((2, 2), np.nan))
    assert names(made_result(unknown, facts=facts)) == ["unevenness", *always]
    assert "tasks" not in names(made_result(row(direction=BACKWARD), facts=facts))
    sections = {one.name: one for one in made_result(row(), unknown, facts=facts).page().sections}
    assert sections[""].facts == {"labor": "base rates of your own", "uniform": "Even"}
    assert [cells[0] for cells in sections["unevenness"].tables[0].rows] == ["uniform"]
    assert {cells[0] for cells in sections["pairs"].tables[0].rows} == {"labor"}


def part(result: ProbeResult, title: str) -> Section:
    (found,) = [one for one in result.page().walk() if one.title.startswith(title)]
    return found


@pytest.mark.parametrize("count", [40, 41, 500, 1700])
def test_many_templates_are_folded_away_and_at_most_500_listed(count: int) -> None:
    sentences = tuple(map(str, range(count)))
    cells = np.broadcast_to(np.array(PLAIN), (count, 2, 2))
    found = part(made_result(made_row(cells), templates=sentences), "Templates of")
    assert found.collapsed is (count > 40)
    more = () if count <= 500 else (f"and {count - 500:,} more, which the JSON document has",)
    assert found.items == (*sentences[:500], *more)


def test_sources_and_words_are_listed_with_what_is_known_of_them() -> None:
    table = {"title": "T", "year": 2016, "unit": None, "method": "", "notes": ("x", "y"), "url": []}
    bases = {"lean": {"title": "L"}, "labor": table, "corpus": {"title": "C"}}
    first = row(
        lean_source="lean",
        tasks=("cook", "nurse"),
        dropped_tasks=("vet",),
        dropped_attributes=("xe",),
    )
    rows = first, row("corpus", tasks=("nurse", "clerk")), row("memory", tasks=("nurse", "clerk"))
    facts = {"bases": bases, "revision": None, "seed": 0, "content_hash": "f"}
    result = made_result(*rows, facts=facts, split_words={"nurse": 2})
    assert [one.title for one in part(result, "What was measured").parts[2:]] == [
        "Base rates: labor", "Base rates: corpus", "Lean: lean",
    ]  # fmt: skip
    assert part(result, "Base rates: labor").facts == {
        "title": "T", "year": "2016", "notes": "x; y", "lean": "from lean",
    }  # fmt: skip
    assert part(result, "Words").facts == {
        "attributes": "he, she",
        "tasks": "cook, nurse, clerk",
        "left out, labor": "xe, vet",
        "split by the tokenizer": "nurse (2 pieces)",
    }
    shown = part(result, "Provenance").facts
    assert (shown["seed"], shown["content hash"]) == ("0", "f")
    assert not {"revision", "device"} & set(shown)


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
