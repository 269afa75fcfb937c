"""The paper's preset against an independent path: plain loops over a random BERT.

The loops follow the published experiment step by step: one sentence at a time, one mask,
the first piece of each candidate, tables of (task, attribute).
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmprobe.models.scorers import SplitWordWarning
from lmprobe.reproduce.experiment import Reason, Reproduction, reproduce
from lmprobe.reproduce.settings import ExperimentSettings

MEN = ["janitor", "cook", "mover", "laborer", "constructor", "chief", "developer", "carpenter",
       "lawyer", "farmer", "driver", "salesperson", "physician", "guard", "analyst",
       "sheriff"]  # fmt: skip
WOMEN = ["cashier", "nurse", "secretary", "auditor", "cleaner", "receptionist", "counselor",
         "designer", "hairdresser", "writer", "housekeeper", "baker", "accountant", "editor",
         "librarian", "sewer"]  # fmt: skip
ADJECTIVES = ["new", "known", "single", "large", "small", "major", "French", "old", "short", "good"]
SHARES = [34, 38, 18, 3.5, 3.5, 27, 20, 2.1, 35, 22, 6, 48, 38, 22, 41, 14,
          73, 90, 95, 61, 89, 90, 73, 54, 92, 63, 89, 65, 61, 52, 84, 80]  # fmt: skip
THOUSANDS = [2276, 2179, 1900, 1801, 1801, 1649, 1483, 1359, 1133, 1042, 3542, 3312, 1061, 923,
             902, 708, 3260, 3102, 2744, 1777, 1485, 1331, 869, 787, 806, 229, 1485, 224, 1777,
             167, 190, 79]  # fmt: skip
SPLIT = {"janitor", "mover", "laborer", "constructor", "salesperson", "cashier", "hairdresser"}
OCCUPATIONS = MEN + WOMEN

# The fixtures of this module take seconds: one worker makes them.
pytestmark = pytest.mark.xdist_group("fitbert")


def vocabulary() -> list[str]:
    """A small vocabulary that splits the same seven words as BERT's."""
    whole = [word for word in OCCUPATIONS if word not in SPLIT]
    parts = [part for word in sorted(SPLIT) for part in (word[:4], "##" + word[4:])]
    other = ["he", "she", "they", "is", "was", "a", "an", "."] + [w.lower() for w in ADJECTIVES]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return list(dict.fromkeys(special + other + whole + parts))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    folder = tmp_path_factory.mktemp("bert")
    words = vocabulary()
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    tokenizer = BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case=True)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        # Large enough for the guesses to differ between words.
        initializer_range=0.3,
    )
    BertForMaskedLM(config).eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Counts with a task that was never counted and groups of unequal size."""
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("counts") / "wiki.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "he", "she"])
        for word in OCCUPATIONS:
            row = [0, 0] if word == "sewer" else rng.integers(1, [900, 90], 2).tolist()
            writer.writerow([word, *row])
    return path


def guesses(folder: Path) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Per template: P(pronoun of two | task), P(of three | task), P(task | pronoun of three)."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()

    words = ["he", "she", "they", *OCCUPATIONS]
    first = {word: tokenizer.convert_tokens_to_ids(tokenizer.tokenize(word)[0]) for word in words}

    def chances_of(sentence: str, options: list[str]) -> np.ndarray:
        ids = tokenizer(sentence.replace("***", "[MASK]"), return_tensors="pt")["input_ids"]
        place = int((ids[0] == tokenizer.mask_token_id).nonzero())
        with torch.no_grad():
            chances = model(ids).logits[0, place].softmax(-1).double().numpy()
        return chances[[first[word] for word in options]]

    def shares(table: list[np.ndarray], size: int) -> np.ndarray:
        return np.array([row[:size] / row[:size].sum() for row in table])

    two, three, tasks = [], [], []
    for verb in ("is", "was"):
        for adjective in ADJECTIVES:
            article = "an" if adjective[0] in "aeiou" else "a"
            end = f"{verb} {article} {adjective}"
            said = [f"*** {end} {word}." for word in OCCUPATIONS]
            pronouns = [chances_of(text, ["he", "she", "they"]) for text in said]
            two.append(shares(pronouns, 2))
            three.append(shares(pronouns, 3))
            queried = [f"{who} {end} ***." for who in ("he", "she", "they")]
            tasks.append(shares([chances_of(text, OCCUPATIONS) for text in queried], 32).T)
    return two, three, tasks


def signed(difference: np.ndarray, given_attribute: np.ndarray, overall: np.ndarray) -> np.ndarray:
    """The published sign: P(t|a) against P(t), cell by cell; equal counts 0."""
    out = np.zeros_like(difference)
    for task in range(len(difference)):
        for who in range(difference.shape[1]):
            gap = given_attribute[task, who] - overall[task]
            if abs(gap) > 1e-9 * overall[task]:
                out[task, who] = np.sign(gap) * difference[task, who]
    return out


def published(base: np.ndarray, guess: np.ndarray, to_attribute: bool) -> float:
    """One template's value as the published code computes it; tables are (task, attribute)."""
    size = base.sum(axis=0)
    given_attribute, overall = base / size, base.sum(axis=1) / size.sum()
    if to_attribute:
        with np.errstate(invalid="ignore"):
            truth = base / base.sum(axis=1, keepdims=True)
    else:
        truth = given_attribute
    cells = signed(guess - truth, given_attribute, overall)
    return float(np.nanmean(cells))


@pytest.fixture(scope="module")
def expected(checkpoint: Path, counts: Path) -> dict[tuple[str, int, str], tuple[float, float]]:
    two, three, tasks = guesses(checkpoint)
    nudge = np.array([[1.0, -1.0]] * 16 + [[-1.0, 1.0]] * 16) * 1e-7
    nudge3 = np.hstack([nudge, np.zeros((32, 1))])
    share = np.array([[1 - s / 100, s / 100] for s in SHARES])
    table = list(csv.reader(counts.read_text().splitlines()))[1:]
    counted = np.array([[float(he), float(she)] for _, he, she in table])
    labour = share * np.array(THOUSANDS)[:, None]
    bases: dict[tuple[str, int], tuple[np.ndarray, np.ndarray]] = {
        ("uniform", 2): (0.5 + nudge, 1 / 32 + nudge),
        ("uniform", 3): (1 / 3 + nudge3, 1 / 32 + nudge3),
        ("wikipedia", 2): (counted, counted / counted.sum(axis=0)),
        ("labor", 2): (share, labour / labour.sum(axis=0)),
    }
    actual = {}
    for (name, size), (to_attribute, to_task) in bases.items():
        guessed = two if size == 2 else three
        down = [published(to_attribute, guess, True) for guess in guessed]
        up = [published(to_task, guess[:, :size], False) for guess in tasks]
        actual[name, size, "task->attribute"] = (float(np.mean(down)), float(np.std(down)))
        actual[name, size, "attribute->task"] = (float(np.mean(up)), float(np.std(up)))
    return actual


@pytest.fixture(scope="module")
def document(checkpoint: Path, counts: Path) -> dict[str, Any]:
    with pytest.warns(UserWarning, match="first-piece scores"):
        done = reproduce("fitbert", settings(checkpoint, counts))
    assert Reproduction.from_json(done.to_json()).to_json() == done.to_json()
    return json.loads(done.to_json())


def settings(checkpoint: Path, counts: Path, **more: Any) -> ExperimentSettings:
    return ExperimentSettings(model=str(checkpoint), wikipedia=str(counts), **more)


@pytest.mark.slow
def test_the_papers_preset_agrees_with_plain_loops(
    document: dict[str, Any], expected: dict[tuple[str, int, str], tuple[float, float]]
) -> None:
    rows = [row for row in document["rows"] if row["preset"] == "paper"]
    assert len(rows) == 8
    for row in rows:
        mean, deviation = expected[row["base"], len(row["attributes"]), row["direction"]]
        assert row["value"] == pytest.approx(mean, abs=1e-6)
        assert row["template_sd"] == pytest.approx(deviation, abs=1e-6)
    assert [identity["holds"] for identity in document["identities"]] == [True, True]
    assert {entry["word"] for entry in document["distorted_words"]} == SPLIT
    assert {row["status"] for row in document["rows"]} == {"not comparable"}
    assert {row["reason"] for row in document["rows"]} == {"another model"}


@pytest.mark.slow
def test_the_corrected_rows_leave_the_uncounted_task_out(document: dict[str, Any]) -> None:
    rows = {
        (row["base"], row["direction"], row["preset"]): row
        for row in document["rows"]
        if len(row["attributes"]) == 2
    }
    # It is left out of the candidates; the published code kept it.
    for direction in ("task->attribute", "attribute->task"):
        corrected = rows["wikipedia", direction, "corrected"]
        assert "sewer" not in corrected["tasks"]
        assert np.sum(corrected["predicted"][0]) == pytest.approx(
            len(corrected["tasks" if direction == "task->attribute" else "attributes"])
        )
        assert "sewer" in rows["wikipedia", direction, "paper"]["tasks"]
        assert "sewer" in rows["labor", direction, "corrected"]["tasks"]
    assert {row["undefined_pairs"] for row in rows.values()} == {0}


def test_the_earlier_version_counts_the_likeliest_word(checkpoint: Path, counts: Path) -> None:
    with pytest.warns(UserWarning, match="first-piece scores"):
        done = reproduce("fitbert-iclr", settings(checkpoint, counts, preset="paper"))
    uniform = {row.details["direction"]: row.value for row in done.rows[:2]}
    assert uniform["task->attribute"] * 64 == pytest.approx(round(uniform["task->attribute"] * 64))


def test_occupations_that_the_counts_lack_are_left_out(checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("task,he,she\nnurse,1,5\ncook,3,2\nbaker,2,2\n")
    done = reproduce("fitbert-iclr", settings(checkpoint, path, preset="corrected"))
    tasks = {row.details["base"]: row.details["tasks"] for row in done.rows}
    assert tasks["wikipedia"] == ["cook", "nurse", "baker"]
    assert len(tasks["labor"]) == 32


@pytest.mark.filterwarnings("ignore::lmprobe.models.scorers.SplitWordWarning")
def test_without_the_papers_model_there_is_no_difference_and_it_says_what_to_do(
    command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    code, out, _ = command("reproduce", columns=80)("fitbert-iclr", "--preset", "paper")
    assert code == 0
    said = " ".join(out.split())
    assert said.startswith(
        "0 of 8 published numbers are reproduced, 8 are not comparable (another model)."
    )
    assert "hf download google-bert/bert-base-uncased" in said
    assert "`--model bert-base-uncased`" in said
    assert "diff" not in said


@pytest.mark.parametrize(
    "folder", ["bert-base-uncased", "models--google-bert--bert-base-uncased/snapshots/86b5e0"]
)
def test_the_papers_model_is_compared(checkpoint: Path, tmp_path: Path, folder: str) -> None:
    model = tmp_path / folder
    model.parent.mkdir(parents=True, exist_ok=True)
    model.symlink_to(checkpoint)
    done = reproduce("fitbert-iclr", ExperimentSettings(model=str(model), preset="corrected"))
    assert {row.reason for row in done.rows} == {Reason.ANOTHER_METHOD}
    with pytest.warns(SplitWordWarning):
        done = reproduce("fitbert-iclr", ExperimentSettings(model=str(model)))
    assert done.tally.reasons == {Reason.MISSING_DATA: 2}
    assert done.tally.printed == 8
    (table,) = done.tables()
    lines = {row[0]: row for row in table.to_frame().itertuples(index=False)}
    for label, line in lines.items():
        assert math.isnan(line.diff) == label.startswith("Wikipedia")
