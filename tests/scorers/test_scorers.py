"""What each scorer asks and adds up, on the word that the tokenizer splits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from checkpoints import checkpoint
from reference_data import REFERENCE, needs_reference
from transformers import AutoTokenizer

from lmprobe.errors import InputError
from lmprobe.models import Blank, load_model
from lmprobe.models.blank import Encoded
from lmprobe.scorers import SplitWordWarning, score, scorers
from lmprobe.scorers.scorer import answer

__all__ = ["checkpoint"]

Checkpoint = Callable[[str], Path]
NURSE = Blank("She became a new nurse.", 17, 22)
LAWYER = Blank("She became a new lawyer.", 17, 23)
WORD = Encoded(ids=(0, 11, 21, 22, 23, 12, 1), segments=(), word=(2, 5), hidden=(), mask=9)


def asked(name: str, encoded: Encoded = WORD) -> list[tuple[tuple[int, ...], int, int]]:
    questions = scorers.get(name)().questions(encoded)
    return [(one.ids, one.position, one.token) for one in questions]


def test_first_piece_asks_at_one_mask_for_the_whole_word() -> None:
    assert asked("first-piece") == [((0, 11, 9, 12, 1), 2, 21)]


def test_joint_masks_all_pieces_at_once() -> None:
    masked = (0, 11, 9, 9, 9, 12, 1)
    assert asked("joint") == [(masked, 2, 21), (masked, 3, 22), (masked, 4, 23)]


def test_word_l2r_shows_the_pieces_to_the_left() -> None:
    assert asked("word-l2r") == [
        ((0, 11, 9, 9, 9, 12, 1), 2, 21),
        ((0, 11, 21, 9, 9, 12, 1), 3, 22),
        ((0, 11, 21, 22, 9, 12, 1), 4, 23),
    ]


def test_phrase_l2r_asks_for_the_article_first() -> None:
    word = Encoded(
        ids=(0, 11, 5, 21, 22, 1), segments=(), word=(3, 5), hidden=(), mask=9, article=1
    )
    assert asked("phrase-l2r", word) == [
        ((0, 11, 9, 9, 9, 1), 2, 5),
        ((0, 11, 5, 9, 9, 1), 3, 21),
        ((0, 11, 5, 21, 9, 1), 4, 22),
    ]
    assert asked("word-l2r", word) == asked("phrase-l2r", word)[1:]
    assert asked("phrase-l2r") == asked("word-l2r"), "no article, nothing more to ask"


def test_phrase_l2r_adds_what_the_article_is_worth(checkpoint: Checkpoint) -> None:
    """P(a lawyer) = P(a | two masks behind it) x P(lawyer | a), asked for separately."""
    model = load_model(checkpoint("Roberta"))
    text = "She became a lawyer."
    lawyer = Blank(text, 13, 19, article=(11, 12))
    (encoded,) = model.encode([lawyer])
    hidden = encoded.ask(0, masks=len(encoded.pieces)).ids
    place = encoded.word[0] - 1
    masked = (*hidden[:place], encoded.mask, *hidden[place + 1 :])
    (question,) = scorers.get("word-l2r")().questions(
        replace(encoded, ids=encoded.ids, word=(place, place + 1))
    )
    of_article = answer(model, [(replace(question, ids=masked),)])[0]
    of_word = score(model, [lawyer], scorer="word-l2r").log_probability[0]
    found = score(model, [lawyer], scorer="phrase-l2r")
    assert found.log_probability[0] == pytest.approx(of_article + of_word, abs=1e-5)
    assert found.pieces[0] == len(encoded.pieces), "the article is no piece of the word"


@pytest.mark.parametrize("name", scorers.names())
def test_all_scorers_agree_on_a_single_token(name: str, checkpoint: Checkpoint) -> None:
    whole = Encoded(ids=(0, 11, 21, 12, 1), segments=(), word=(2, 3), hidden=(), mask=9)
    assert asked(name, whole) == [((0, 11, 9, 12, 1), 2, 21)]


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
    asked = [
        scorer.questions(Encoded((*before, *pair, *after), (), word, (), encoded.mask))
        for pair in product(range(len(model.tokenizer)), repeat=2)
    ]
    assert np.exp(answer(model, asked)).sum() == pytest.approx(1, abs=1e-4)


def test_first_piece_warns_once_and_names_the_words(checkpoint: Checkpoint) -> None:
    model = load_model(checkpoint("Bert"))
    with pytest.warns(SplitWordWarning, match=r"first piece only of: lawyer; use word-l2r") as seen:
        found = score(model, [LAWYER, NURSE, LAWYER], scorer="first-piece")
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert found.pieces[1] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score(model, [NURSE], scorer="first-piece")
        score(model, [LAWYER], scorer="joint")


def test_an_unknown_scorer_is_an_error(checkpoint: Checkpoint) -> None:
    with pytest.raises(InputError, match='no scorer called "word-l2l"; did you mean "word-l2r"'):
        score(load_model(checkpoint("Bert")), [NURSE], scorer="word-l2l")


VOCABULARY = "bert-base-uncased-vocab.txt"


@needs_reference(VOCABULARY)
def test_the_seven_occupations_that_bert_splits(tmp_path: Path) -> None:
    import transformers

    from lmprobe.models.blank import encode
    from lmprobe.templates import load_templates

    transformers.BertTokenizer(vocab=str(REFERENCE / VOCABULARY)).save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    templates = load_templates("fitbert")
    sentences = [templates.templates[0].sentence("he", task) for task in templates.tasks]
    blanks = [Blank(one.text, *one.task_span) for one in sentences]
    split = {
        blank.word: tokenizer.convert_ids_to_tokens(one.pieces)
        for blank, one in zip(blanks, encode(tokenizer, blanks), strict=True)
        if len(one.pieces) > 1
    }
    assert sorted(split) == sorted(
        ["janitor", "mover", "laborer", "constructor", "salesperson", "cashier", "hairdresser"]
    )
    assert split["janitor"] == ["jan", "##itor"]
