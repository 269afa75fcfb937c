"""What each scorer asks and adds up, on the word that the tokenizer splits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from lmprobe.errors import InputError
from lmprobe.models import Cloze, EncodedCloze, TokenQuery, load_model
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import encode_masked
from lmprobe.models.scorers import SplitWordWarning, choose_scorer, score, scorers, sums
from lmprobe.probing.probe import probe
from tests.checkpoints import checkpoint
from tests.reference_data import REFERENCE, needs_reference
from tests.scripted_model import ScriptedModel

__all__ = ["checkpoint"]

Checkpoint = Callable[[str], Path]
NURSE = Cloze("She became a new nurse.", 17, 22)
LAWYER = Cloze("She became a new lawyer.", 17, 23)
MASKED = [name for name in scorers.names() if scorers.get(name).kind == "masked"]


def made(
    ids: tuple[int, ...],
    word: tuple[int, int],
    phrase: tuple[int, int] | None = None,
    differing: tuple[tuple[int, int], ...] | None = None,
) -> EncodedCloze:
    """Return a sentence whose mask is token 9."""
    phrase = phrase or word
    return EncodedCloze(ids, word, differing or (phrase,), phrase, mask=9)


WORD = made((0, 11, 21, 22, 23, 12, 1), (2, 5))


def queries_of(name: str, encoded: EncodedCloze = WORD) -> list[tuple[tuple[int, ...], int, int]]:
    queries = scorers.get(name)().queries(encoded)
    return [(query.ids, query.position, query.token) for query in queries]


def test_first_piece_asks_at_one_mask_for_the_whole_word() -> None:
    assert queries_of("first-piece") == [((0, 11, 9, 12, 1), 2, 21)]


def test_joint_masks_all_pieces_at_once() -> None:
    masked = (0, 11, 9, 9, 9, 12, 1)
    assert queries_of("joint") == [(masked, 2, 21), (masked, 3, 22), (masked, 4, 23)]


def test_word_l2r_shows_the_pieces_to_the_left() -> None:
    assert queries_of("word-l2r") == [
        ((0, 11, 9, 9, 9, 12, 1), 2, 21),
        ((0, 11, 21, 9, 9, 12, 1), 3, 22),
        ((0, 11, 21, 22, 9, 12, 1), 4, 23),
    ]


def test_phrase_l2r_asks_for_the_article_first() -> None:
    word = made((0, 11, 5, 21, 22, 1), (3, 5), phrase=(2, 5))
    assert queries_of("phrase-l2r", word) == [
        ((0, 11, 9, 9, 9, 1), 2, 5),
        ((0, 11, 5, 9, 9, 1), 3, 21),
        ((0, 11, 5, 21, 9, 1), 4, 22),
    ]
    assert queries_of("word-l2r", word) == queries_of("phrase-l2r", word)[1:]
    assert queries_of("phrase-l2r") == queries_of("word-l2r"), "no article, nothing more to ask"
    assert queries_of("difference-l2r", word) == queries_of("phrase-l2r", word)
    assert queries_of("difference-l2r") == queries_of("word-l2r"), "they differ in one word alone"


def test_difference_l2r_hides_all_that_differs_and_asks_in_order() -> None:
    """Two spans: what is hidden in the second says nothing about the first."""
    both = made((0, 5, 11, 21, 22, 1), (1, 2), differing=((1, 2), (3, 5)))
    assert queries_of("difference-l2r", both) == [
        ((0, 9, 11, 9, 9, 1), 1, 5),
        ((0, 5, 11, 9, 9, 1), 3, 21),
        ((0, 5, 11, 21, 9, 1), 4, 22),
    ]


def test_pll_asks_for_every_word_with_the_rest_of_the_sentence_visible() -> None:
    """Kauf & Ivanova 2023: the later pieces of the word itself are masked, no other token."""
    sentence = replace(made((0, 11, 21, 22, 1), (2, 4)), words=((1, 2), (2, 4)))
    assert queries_of("pll", sentence) == [
        ((0, 9, 21, 22, 1), 1, 11),
        ((0, 11, 9, 9, 1), 2, 21),
        ((0, 11, 21, 9, 1), 3, 22),
    ]


def test_pll_against_a_loop_over_words(checkpoint: Checkpoint) -> None:
    import torch

    model = load_model(checkpoint("Bert"))
    tokens = model.tokenizer(LAWYER.text)
    ids, words = tokens["input_ids"], tokens.word_ids()
    total = 0.0
    for place, word in enumerate(words):
        if word is None:
            continue
        masked = [
            model.tokenizer.mask_token_id if words[n] == word and n >= place else item
            for n, item in enumerate(ids)
        ]
        with torch.no_grad():
            logits = model.network(input_ids=torch.tensor([masked])).logits
        total += float(logits[0, place].double().log_softmax(-1)[ids[place]])
    result = score(model, [LAWYER], scorer="pll")
    assert result.log_probability[0] == pytest.approx(total, abs=1e-4)
    assert len(set(words)) < len(words) - 1, "a word must be split"


WHOLE = EncodedCloze(
    (0, 5, 21, 22, 12), (2, 4), ((1, 4),), (1, 4), words=((1, 2), (2, 4), (4, 5)), mask=9
)


@pytest.mark.parametrize(
    "name", ["difference-l2r", "first-piece", "joint", "phrase-l2r", "pll", "sentence", "word-l2r"]
)
def test_what_a_scorer_states_of_itself_is_what_it_does(name: str) -> None:
    """The sentence has an article (5), a word of two pieces (21, 22), and another word (12)."""
    scorer = scorers.get(name)()
    tokens = {query.token for query in scorer.queries(WHOLE)}
    assert 21 in tokens
    assert (22 in tokens) is scorer.whole_word
    assert (5 in tokens) is scorer.hides_articles
    assert (12 in tokens) is scorer.whole_sentence
    assert choose_scorer(name, scorer.kind).name == name


@pytest.mark.usefixtures("own_registries")
def test_which_scorers_a_kind_takes() -> None:
    assert choose_scorer("auto", "masked").name == "difference-l2r"
    assert choose_scorer("auto", "causal").name == "sentence"
    with pytest.raises(InputError, match='"pll" is for masked models and this one is causal; use'):
        choose_scorer("pll", "causal")

    @kinds.register("denoising")
    class Denoising(kinds.get("masked")):  # type: ignore[misc]
        """A kind that derives from another takes its scorers."""

        kind = "denoising"

    assert choose_scorer("auto", "denoising").name == "difference-l2r"
    with pytest.raises(InputError, match="is for causal models and this one is denoising"):
        choose_scorer("sentence", "denoising")

    class Bare:
        def queries(self, sentence: EncodedCloze) -> tuple[()]:
            return ()

    scorers.register("bare")(Bare)  # type: ignore[arg-type]
    with pytest.raises(InputError, match='"bare" lacks kind, whole_word, hides_articles'):
        choose_scorer("bare", "masked")

    @scorers.register("mute")
    class Mute(scorers.get("joint")):  # type: ignore[misc]
        def queries(self, sentence: EncodedCloze) -> tuple[()]:
            return ()

    with pytest.raises(InputError, match='"mute" asks for no token of a sentence'):
        probe("reference:amplified", scorer="mute", cache=False)


FILED = """
from lmprobe.models.scorers import scorers

ORDER = {number}

@scorers.register("mine-{number}")
class Mine(scorers.get("joint")):
    def queries(self, sentence):
        return sentence.masked([sentence.word], left_to_right=ORDER)
"""
TYPED = FILED.replace("=ORDER", "={number}")


@pytest.mark.usefixtures("own_registries")
@pytest.mark.parametrize("typed", [False, True])
def test_a_changed_scorer_has_another_identity(
    typed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers are filed under it, so a plug-in whose file was changed asks again, and only then.

    One that is typed into an interpreter has no file; its code decides.
    """
    import importlib

    monkeypatch.syspath_prepend(tmp_path)
    for number in (1, 2):
        if typed:
            exec(TYPED.format(number=number), {"__name__": "__console__"})
        else:
            (tmp_path / f"mine_{number}.py").write_text(FILED.format(number=number))
            importlib.import_module(f"mine_{number}")
    names = ("mine-1", "mine-2", "joint")
    identities = [choose_scorer(name, "masked").identity for name in names]
    assert len(set(identities)) == 3
    assert identities == [choose_scorer(name, "masked").identity for name in names]


def test_phrase_l2r_adds_what_the_article_is_worth(checkpoint: Checkpoint) -> None:
    """P(a lawyer) = P(a | two masks behind it) x P(lawyer | a), asked for separately."""
    model = load_model(checkpoint("Roberta"))
    text = "She became a lawyer."
    lawyer = Cloze(text, 13, 19, article=(11, 12))
    (encoded,) = model.encode([lawyer])
    place = encoded.word[0] - 1
    masked = list(encoded.ids)
    masked[place : encoded.word[1]] = [encoded.mask] * (len(encoded.pieces) + 1)
    query = TokenQuery(tuple(masked), place, encoded.ids[place], encoded.segments)
    of_article = sums(model, [(query,)])[0]
    of_word = score(model, [lawyer], scorer="word-l2r").log_probability[0]
    result = score(model, [lawyer], scorer="phrase-l2r")
    assert result.log_probability[0] == pytest.approx(of_article + of_word, abs=1e-4)
    assert result.pieces[0] == len(encoded.pieces), "the article is no piece of the word"


@pytest.mark.parametrize("name", [name for name in MASKED if not scorers.get(name).whole_sentence])
def test_all_scorers_of_words_agree_on_a_single_token(name: str, checkpoint: Checkpoint) -> None:
    whole = made((0, 11, 21, 12, 1), (2, 3))
    assert queries_of(name, whole) == [((0, 11, 9, 12, 1), 2, 21)]


def test_scorers_differ_on_a_split_word(checkpoint: Checkpoint) -> None:
    model = load_model(checkpoint("Bert"))
    with pytest.warns(SplitWordWarning):
        first = score(model, [LAWYER], scorer="first-piece").log_probability[0]
    joint = score(model, [LAWYER], scorer="joint").log_probability[0]
    l2r = score(model, [LAWYER], scorer="word-l2r").log_probability[0]
    assert len({round(first, 3), round(joint, 3), round(l2r, 3)}) == 3
    assert max(joint, l2r) < first, "a whole word cannot beat its first piece by much"


def test_word_l2r_is_a_probability_over_words_of_as_many_pieces(checkpoint: Checkpoint) -> None:
    """The chain rule: over every pair of tokens, the probabilities add up to one."""
    model = load_model(checkpoint("Bert"))
    (encoded,) = model.encode([NURSE])
    before, after = encoded.ids[: encoded.word[0]], encoded.ids[encoded.word[1] :]
    word = (len(before), len(before) + 2)
    scorer = scorers.get("word-l2r")()
    queried = [
        scorer.queries(replace(encoded, ids=(*before, *pair, *after), segments=(), word=word))
        for pair in product(range(len(model.tokenizer)), repeat=2)
    ]
    assert np.exp(sums(model, queried)).sum() == pytest.approx(1, abs=1e-4)


def test_first_piece_warns_once_and_names_the_words(checkpoint: Checkpoint) -> None:
    model = load_model(checkpoint("Bert"))
    with pytest.warns(
        SplitWordWarning, match="a part of the pieces only of: lawyer; use diff"
    ) as seen:
        result = score(model, [LAWYER, NURSE, LAWYER], scorer="first-piece")
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert result.pieces[1] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score(model, [NURSE], scorer="first-piece")
        score(model, [LAWYER], scorer="joint")


def test_a_sum_asks_for_nothing_twice() -> None:
    model = ScriptedModel([])
    (encoded,) = model.encode([Cloze("She met a hairdresser.", 10, 21)])
    queries = scorers.get("word-l2r")().queries(encoded)
    result = sums(model, [queries, queries[:1], ()])
    assert model.asked == len(queries) == 2
    answers = [model.answer(query) for query in queries]
    np.testing.assert_allclose(result, [sum(answers), answers[0], 0.0])


def test_an_unknown_scorer_is_an_error(checkpoint: Checkpoint) -> None:
    with pytest.raises(InputError, match='no scorer called "word-l2l"; did you mean "word-l2r"'):
        score(load_model(checkpoint("Bert")), [NURSE], scorer="word-l2l")


VOCABULARY = "bert-base-uncased-vocab.txt"


@needs_reference(VOCABULARY)
def test_the_seven_occupations_that_bert_splits(tmp_path: Path) -> None:
    import transformers

    from lmprobe.templates import load_templates

    transformers.BertTokenizer(vocab=str(REFERENCE / VOCABULARY)).save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    templates = load_templates("fitbert")
    sentences = [templates.templates[0].sentence("he", task) for task in templates.tasks]
    clozes = [Cloze(sentence.text, *sentence.task_span) for sentence in sentences]
    split = {
        cloze.word: tokenizer.convert_ids_to_tokens(item.pieces)
        for cloze, item in zip(clozes, encode_masked(tokenizer, clozes), strict=True)
        if len(item.pieces) > 1
    }
    assert sorted(split) == sorted(
        ["janitor", "mover", "laborer", "constructor", "salesperson", "cashier", "hairdresser"]
    )
    assert split["janitor"] == ["jan", "##itor"]
