"""Words that a template set does not know: added where its sentences can take them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from lmprobe import probe
from lmprobe.errors import InputError
from lmprobe.probing.settings import run_again
from lmprobe.templates import TemplateSet, load_templates, template_names
from lmprobe.templates.template import LexiconEntry
from tests.checkpoints import own_cache
from tests.templates.test_sentences import set_text

__all__ = ["own_cache"]

Run = Callable[..., tuple[int, str, str]]


def texts(
    name: str, attributes: Sequence[str] | None = None, tasks: Sequence[str] | None = None
) -> list[str]:
    chosen = load_templates(name).with_words(attributes, tasks)
    return [sentence.text for sentence in chosen.sentences()]


@pytest.mark.parametrize(
    ("name", "attributes", "tasks", "sentence"),
    [
        ("fitbert", ["man", "woman"], ["pilot", "nurse"], "The woman was a good pilot."),
        ("fitbert", ["my brother", "Ada"], ["nurse", "cook"], "My brother is an old cook."),
        ("fitbert", ["he", "girl"], ["nurse", "astronaut"], "The girl is an old astronaut."),
        ("neutral", ["he", "she"], ["pilot", "astronaut"], "She trained as an astronaut."),
        ("everyday", ["man", "she"], ["pilot", "cook"], "It is the man's first week as a pilot."),
        ("everyday", ["man", "she"], ["pilot", "cook"], "It took the man years to become a cook."),
        ("everyday", ["Ada", "Bob"], ["pilot", "cook"], "Ada's long days as a cook were tiring."),
        ("everyday", ["xe/xem/xyr", "she"], ["pilot", "cook"], "It is xyr first week as a cook."),
        ("names", ["Emily", "Boris"], ["pilot", "cook"], "Boris works as a pilot."),
        ("everyday-de", None, ["Pilot/Pilotin", "cook"], "Von Beruf ist sie Pilotin."),
        ("everyday-zh", ["男人", "女人"], None, "男人是厨师。"),
        ("fitbert", None, ["+waiter", "writer"], "He is an old waiter."),
    ],
)
def test_a_word_that_fits_is_written_as_it_must_be(
    name: str, attributes: list[str] | None, tasks: list[str] | None, sentence: str
) -> None:
    assert sentence in texts(name, attributes, tasks)


def test_results_call_a_word_as_it_was_given() -> None:
    chosen = load_templates("everyday").with_words(["man", "xe/xem/xyr"], ["+waiter", "cook"])
    assert chosen.attributes == ("man", "xe")
    assert chosen.tasks == ("waiter", "cook")
    assert chosen.own_words == {
        "attributes": {"man": "man", "xe": "xe/xem/xyr"},
        "tasks": {"waiter": "+waiter"},
    }


def test_another_choice_keeps_what_it_does_not_change() -> None:
    everyday = load_templates("everyday")
    both = everyday.with_words(["man", "woman"], ["pilot", "cook"])
    stepwise = everyday.with_words(tasks=["pilot", "cook"]).with_words(["man", "woman"])
    assert stepwise == both
    assert both.sha256 != everyday.sha256
    assert both.with_words(["he", "she"], everyday.tasks) == everyday.with_words(["he", "she"])


def test_known_words_are_chosen_without_their_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set may have thousands of words, and every probe chooses some."""
    names, looked_up = load_templates("names"), []
    monkeypatch.setattr(LexiconEntry, "best_form", lambda *given: looked_up.append(given))
    assert names.with_words(tasks=["nurse", "cook"]).tasks == ("nurse", "cook")
    assert not looked_up


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("fitbert", {"tasks": ["nurze", "cook"]}, 'no task "nurze"; did you mean "nurse"'),
        ("fitbert", {"tasks": ["waiter", "cook"]}, r"of your own is written \+waiter"),
        ("fitbert", {"tasks": ["secretery", "cook"]}, 'did you mean "secretary"'),
        ("fitbert", {"tasks": ["Nurse", "cook"]}, 'did you mean "nurse"'),
        ("fitbert", {"attributes": ["him", "she"]}, 'did you mean "he".*"him" is a word of it'),
        ("fitbert", {"attributes": ["men", "women"]}, 'in the singular, such as "man"'),
        ("fitbert", {"attributes": ["he", "+we"]}, '"we" is another'),
        ("fitbert", {"attributes": ["man/men", "she"]}, "in one form only; give man"),
        (
            "everyday",
            {"attributes": ["a/b", "she"]},
            "a/OBJECT/POSSESSIVE$",
        ),
        ("everyday-de", {"tasks": ["Pilot", "cook"]}, "Pilot/FEMININE"),
        ("everyday-de", {"tasks": ["Koch", "nurse"]}, 'a word of the task "cook".*choose "cook"'),
        ("names", {"attributes": ["Emily", "Black & male"]}, "or words alone"),
        ("fitbert", {"tasks": ["pilot", "pilot"]}, 'the word "pilot" stands twice'),
        ("fitbert", {"tasks": ["cook", "cook"]}, "at least two different tasks, found: cook, cook"),
        ("fitbert", {"tasks": "cook"}, "`tasks` must be a list of words, found 'cook'"),
        ("fitbert", {"tasks": ["cook", 3]}, "must be a list of words"),
        ("fitbert", {"tasks": ["{x}", "cook"]}, "is not a word: '{x}'"),
    ],
)
def test_a_word_that_does_not_fit_is_one_clear_error(
    name: str, words: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        load_templates(name).with_words(**words)


def test_an_article_in_sight_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "made.toml"
    slots: dict[str, object] = {"who": ["Al", "Bo"], "what": ["nurse", "cook"]}
    path.write_text(set_text(["{who} is a {what}.", "{who} met {a:what}."], slots))
    assert "Al is a baker." in texts(str(path), None, ["baker", "cook"])
    with pytest.raises(InputError, match=r"write \{a:what\}") as caught:
        load_templates(path).with_words(tasks=["astronaut", "cook"])
    path.write_text(caught.value.__notes__[0])
    assert texts(str(path))[0] == "Al met an astronaut."


def test_forms_are_given_after_slashes_where_the_templates_write_several(tmp_path: Path) -> None:
    path = tmp_path / "made.toml"
    who = [
        {"word": "boy", "forms": {"many": "boys"}},
        {"word": "girls", "number": "plural", "forms": {"many": "girls"}},
    ]
    what = [{"singular": word, "plural": f"{word}s"} for word in ("cook", "nurse")]
    frames: list[object] = ["All {who:many} are not the same {what}.", "The {who} met the {what}."]
    path.write_text(set_text(frames, {"who": who, "what": what}))
    words = ["man/men", "girls"], ["pilot/pilots", "cook"]
    assert texts(str(path), *words)[:2] == [
        "All men are not the same pilot.",
        "All girls are not the same pilots.",
    ]
    assert "The man met the pilot." in texts(str(path), *words)
    with pytest.raises(InputError, match=r"a word as many; .* in this order: man/MANY$"):
        load_templates(path).with_words(["man", "girls"])


@pytest.mark.parametrize("name", template_names())
def test_the_file_that_an_error_shows_has_the_words_and_loads(name: str, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    shipped = load_templates(name)
    try:
        made = shipped.with_words(["Zarko", "Quill"], [shipped.tasks[0], "Zorb"])
    except InputError as problem:
        if "give the forms in this order" in str(problem):
            # They can be given where the words are.
            return
        own.write_text(problem.__notes__[0], encoding="utf-8")
        made = load_templates(own)
    assert made.attributes == ("Zarko", "Quill")
    assert made.tasks == (shipped.tasks[0], "Zorb")
    assert {template.name for template in made.templates} <= {
        template.name for template in shipped.templates
    }
    assert any("Zarko" in sentence.text for sentence in made.some_sentences())


NOUNS = st.lists(
    st.text("bcdklmo", min_size=5, max_size=9).map(lambda word: f"z{word}q"),
    min_size=2,
    max_size=4,
    unique=True,
)


@settings(max_examples=30, deadline=None)
@given(people=NOUNS, jobs=NOUNS)
def test_own_words_give_the_sentences_of_a_set_with_them(
    people: list[str], jobs: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As if the words were in the file, whichever words it has."""
    frames: list[object] = ["{who} is {a:what}.", "I saw {a:what} with {who}."]
    path = tmp_path_factory.mktemp("sets") / "made.toml"

    def made(who: Sequence[str], what: Sequence[str]) -> TemplateSet:
        path.write_text(set_text(frames, {"who": list(who), "what": list(what)}))
        return load_templates(path)

    marked = [f"+{word}" for word in people], [f"+{word}" for word in jobs]
    added = made(["Al", "Bo"], ["nurse", "cook"]).with_words(*marked)
    expected = made(people, jobs)
    assert list(added.sentences()) == list(expected.sentences())
    assert added.sha256 == expected.sha256


def test_a_probe_takes_own_words_and_can_be_run_again() -> None:
    words = {"attributes": ["man", "woman"], "tasks": ["nurse", "+waiter", "pilot"]}
    result = probe("reference:amplified", "neutral", **words)
    assert result.rows[0].base == "uniform"
    assert result.rows[0].attributes == ("man", "woman")
    own = {"attributes": {"man": "man", "woman": "woman"}}
    own["tasks"] = {"waiter": "+waiter", "pilot": "pilot"}
    assert result.provenance["templates"]["own_words"] == own
    assert "--attribute man,woman --task nurse,+waiter,pilot" in run_again(result)
    assert json.loads(result.to_json())["provenance"]["templates"]["own_words"] == own
    known = probe("reference:amplified", "neutral", tasks=["nurse", "cook"])
    assert "own_words" not in known.provenance["templates"]


def test_every_command_takes_own_words(command: Callable[..., Run], tmp_path: Path) -> None:
    words = ["--templates", "neutral", "--attribute", "man,woman", "--task", "nurse,pilot"]
    models = ["reference:faithful", "reference:amplified"]
    for name in ("compare", "sweep"):
        code, out, err = command()(name, *models, *words, "--json")
        assert code == 0, err
        assert json.loads(out)["rows"]
    code, out, err = command()("sentences", *words, "--all")
    assert (code, len(out.splitlines())) == (0, 80)
    code, out, err = command()("sentences", "-t", "everyday-de", "--attribute", "Mann,Frau")
    line, _, shown = err.partition("\n")
    assert (code, out) == (2, "")
    assert "write everyday-de-own.toml" in line
    own = tmp_path / "everyday-de-own.toml"
    own.write_text(shown, encoding="utf-8")
    assert command()("validate", str(own))[0] == 0
