"""Item tables as template sets: every scorer against a slow loop, and what else a probe does."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from scipy import stats

import lmprobe
from lmprobe import ProbeResult
from lmprobe.errors import InputError, LmprobeError
from lmprobe.models import load_model
from lmprobe.models.scorers import scorers
from lmprobe.probing.scores import score_templates
from lmprobe.probing.settings import run_again
from lmprobe.results import NoteKind
from lmprobe.tabular.annotations import convert
from lmprobe.templates import load_templates
from tests.checkpoints import Checkpoint, checkpoint, own_cache
from tests.conftest import Run
from tests.models.test_causal import causal, save_causal
from tests.models.test_chat import TURNS, chat_tokenizer
from tests.reference_data import REFERENCE, needs_reference

__all__ = ["causal", "checkpoint", "own_cache"]

GROUPS = ("he", "she", "they")
MASKED = [name for name in scorers.names() if scorers.get(name).kind == "masked"]

# Task, template, item, and the sentence with its candidates.
MARKED = [
    ("nurse", "home", "car", "[He|She|They] said that [his|her new|their old] car broke."),
    ("nurse", "home", "the night shift", "The nurse said [he|she|they both] worked at night."),
    ("nurse", "work", "car", "People said [his|her|their] car broke at work."),
    ("engineer", "home", "car", "[The man|She and a young baker|Those people] worked there."),
    ("engineer", "work", "car", "The engineer was known to [him|her|them]."),
    ("engineer", "work", "plan", "In years [he was|she was|they were] an engineer, and known."),
    ("lawyer", "home", "plan", "At night [he|she|they] and [his|her|their] known lawyer worked."),
    ("lawyer", "home", "car", "[Since he was there|She was|They were known], the lawyer said no."),
    ("lawyer", "work", "plan", "The lawyer said: [he|she|they] had to be [a man|her|them] at work"),
]  # fmt: skip
BASE = pd.DataFrame(
    {"task": ["nurse", "engineer", "lawyer"], "he": [1, 9, 5], "she": [8, 2, 6], "they": [2, 1, 3]}
)
Marked = tuple[str, list[tuple[int, int]]]
"""A sentence, and where it differs from the others."""


@pytest.fixture
def run(command: Any) -> Run:
    runner: Run = command()
    return runner


def candidate(marked: str, number: int) -> Marked:
    """Return the sentence of one candidate, with the places of what stood in brackets."""
    text, spans = "", []
    for part in re.split(r"(\[.*?\])", marked):
        word = part[1:-1].split("|")[number] if part.startswith("[") else part
        if part.startswith("["):
            spans.append((len(text), len(text) + len(word)))
        text += word
    return text, spans


def items(groups: Sequence[str] = GROUPS) -> Any:
    rows = [
        (task, template, item, *(candidate(marked, GROUPS.index(name))[0] for name in groups))
        for task, template, item, marked in MARKED
    ]
    return pd.DataFrame(rows, columns=["task", "template", "item", *groups])


class MaskedLoop:
    """Scores one sentence at a time, from the definitions of the scorers."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.network = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()

    def score(self, scorer: str, sentences: Sequence[Marked], number: int) -> float:
        text, spans = sentences[number]
        ids = self.tokenizer(text)["input_ids"]
        if scorer == "crows-pairs":
            both = [self.tokenizer(each)["input_ids"] for each, _ in sentences]
            places = [pair[number] for pair in shared_places(both[0], both[1])]
            return sum(self.log(self.hidden(ids, [n]), n, ids[n]) for n in places[1:-1])
        differing = [self.tokens(text, span) for span in spans]
        first = differing[0]
        if scorer == "first-piece":
            short = [*ids[: first[0]], self.tokenizer.mask_token_id, *ids[first[-1] + 1 :]]
            return self.log(short, first[0], ids[first[0]])
        if scorer == "joint":
            return sum(self.log(self.hidden(ids, first), place, ids[place]) for place in first)
        if scorer in ("word-l2r", "phrase-l2r"):
            return self.left_to_right(ids, first)
        if scorer == "difference-l2r":
            return self.left_to_right(ids, [place for several in differing for place in several])
        assert scorer == "pll", f"the scorer {scorer} has no slow loop"
        words = self.tokenizer(text).word_ids()
        return sum(
            self.left_to_right(ids, [place for place, own in enumerate(words) if own == word])
            for word in sorted({word for word in words if word is not None})
        )

    def tokens(self, text: str, span: tuple[int, int]) -> list[int]:
        """Return the places of what is tokenized after the text before and until the end."""
        whole = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        until = [
            self.tokenizer(text[:end].rstrip(), add_special_tokens=False)["input_ids"]
            for end in span
        ]
        assert all(whole[: len(begin)] == begin for begin in until)
        return list(range(1 + len(until[0]), 1 + len(until[1])))

    def hidden(self, ids: Sequence[int], places: Sequence[int]) -> list[int]:
        return [self.tokenizer.mask_token_id if n in places else t for n, t in enumerate(ids)]

    def left_to_right(self, ids: Sequence[int], places: Sequence[int]) -> float:
        return sum(
            self.log(self.hidden(ids, places[done:]), place, ids[place])
            for done, place in enumerate(places)
        )

    def log(self, ids: Sequence[int], place: int, token: int) -> float:
        with torch.no_grad():
            logits = self.network(input_ids=torch.tensor([list(ids)])).logits[0, place]
        return float(logits.double().log_softmax(-1)[token])


def shared_places(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """Pair the tokens of the longest run that both have, then those before it and behind it."""
    size, i, j = max(
        (n, -i, -j)
        for i in range(len(first) + 1)
        for j in range(len(second) + 1)
        for n in range(min(len(first) - i, len(second) - j) + 1)
        if [*first[i : i + n]] == [*second[j : j + n]]
    )
    if size == 0:
        return []
    i, j = -i, -j
    behind = shared_places(first[i + size :], second[j + size :])
    return [
        *shared_places(first[:i], second[:j]),
        *((i + n, j + n) for n in range(size)),
        *((i + size + one, j + size + two) for one, two in behind),
    ]


class CausalLoop:
    """Scores one sentence at a time by all its tokens, after the token that begins a text."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.network = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()

    def score(self, scorer: str, sentences: Sequence[Marked], number: int) -> float:
        assert scorer == "sentence"
        ids = self.tokenizer(sentences[number][0], add_special_tokens=False)["input_ids"]
        start = self.tokenizer.bos_token_id
        ids = [self.tokenizer.eos_token_id if start is None else start, *ids]
        with torch.no_grad():
            logs = self.network(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        return sum(float(logs[place, token]) for place, token in enumerate(ids[1:]))


def check_against(loop: Any, folder: Path, scorer: str, groups: Sequence[str]) -> None:
    """Compare scores, cells and the value with the loop and the formulas."""
    logs: dict[tuple[str, str, str], list[float]] = {}
    for task, template, item, marked in MARKED:
        sentences = [candidate(marked, GROUPS.index(name)) for name in groups]
        logs[template, task, item] = [
            loop.score(scorer, sentences, number) for number in range(len(groups))
        ]
    table, tasks, templates = items(groups), BASE["task"].tolist(), ["home", "work"]
    scores = score_templates(
        load_model(folder), load_templates(table), "T->A", scorer=scorer, cache=False
    )
    seen = 0
    for k, template in enumerate(scores.templates):
        for n, (task, item) in enumerate(zip(scores.task_of, scores.task_words, strict=True)):
            own = scores.log_probability[k, :, n]
            if (template, task, item) not in logs:
                assert np.isnan(own).all()
                continue
            assert own == pytest.approx(logs[template, task, item], abs=1e-4)
            seen += 1
    assert seen == len(MARKED)
    base = BASE[["task", *groups]]
    row = lmprobe.probe(load_model(folder), table, base, scorer=scorer, cache=False).rows[0]
    assert list(row.tasks) == tasks
    joint = base[list(groups)].to_numpy().T / base[list(groups)].to_numpy().sum()
    lean = np.sign(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0)))
    cells = np.zeros((2, len(groups), 3))
    for k, template in enumerate(templates):
        for t, task in enumerate(tasks):
            of_cell = [np.exp(log) for key, log in logs.items() if key[:2] == (template, task)]
            cells[k, :, t] = np.mean([each / each.sum() for each in of_cell], axis=0)
    by_template = [(lean * (cell - joint / joint.sum(axis=0))).mean() for cell in cells]
    assert np.abs(row.predicted - cells).max() < 1e-5
    assert row.value == pytest.approx(np.mean(by_template), abs=1e-5)


@pytest.mark.filterwarnings("ignore::lmprobe.models.scorers.SplitWordWarning")
@pytest.mark.parametrize("scorer", MASKED)
@pytest.mark.parametrize("architecture", ["Bert", "Roberta", "XLMRoberta"])
def test_every_masked_scorer_equals_a_slow_loop(
    architecture: str, scorer: str, checkpoint: Checkpoint
) -> None:
    folder = checkpoint(architecture)
    groups = GROUPS[:2] if scorer == "crows-pairs" else GROUPS
    check_against(MaskedLoop(folder), folder, scorer, groups)


@pytest.mark.parametrize("architecture", ["GPT2", "Llama"])
def test_the_causal_scorer_equals_a_slow_loop(
    architecture: str, causal: Callable[[str], Path]
) -> None:
    assert [name for name in scorers.names() if scorers.get(name).kind == "causal"] == ["sentence"]
    folder = causal(architecture)
    check_against(CausalLoop(folder), folder, "sentence", GROUPS)


JOBS = ("nurse", "carpenter", "lawyer", "cook")
SETS = {
    "reference:faithful": ("fitbert", "difference-l2r"),
    "reference:amplified": ("neutral", "pll"),
    "reference:causal-faithful": ("everyday", "sentence"),
}


@pytest.mark.parametrize("model", SETS)
def test_the_table_of_a_set_gives_what_the_set_gives(
    model: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name, scorer = SETS[model]
    words = ("--templates", name, "--attribute", "he,she", "--task", ",".join(JOBS))
    assert run("sentences", *words, "--output", "items.csv", "--quiet")[0] == 0
    options: dict[str, Any] = {"base": "labor", "scorer": scorer}
    crossed = lmprobe.probe(
        model, name, attributes=["he", "she"], tasks=JOBS, direction="T->A", **options
    )
    finished = lmprobe.probe(model, "items.csv", **options)
    one, two = (result.rows[0] for result in (crossed, finished))
    assert finished.templates == crossed.templates
    assert finished.families == crossed.families
    assert np.abs(one.predicted - two.predicted).max() < 1e-5
    for first, second in (
        (one, two),
        (one.strength, two.strength),
        (one.association, two.association),
        (one.preference, two.preference),
    ):
        assert first is not None
        assert second is not None
        assert second.value == pytest.approx(first.value, abs=1e-6)
        assert second.interval.low == pytest.approx(first.interval.low, abs=1e-6)
        assert second.interval.high == pytest.approx(first.interval.high, abs=1e-6)
        assert second.verdict is first.verdict


GROUPED = """
name = "grouped"
description = "tasks of several words"
source = "this test"
attribute = "who"
task = "job"
sentences = ["{who} worked as {a:job}.", "The {job} said that {who} came.", "{who} was {a:job}."]

[slots]
who = ["he", "she"]
job = [
    { group = "care", words = ["nurse", "secretary", "hairdresser"] },
    { group = "law", words = ["lawyer", "sheriff"] },
    "carpenter",
]
"""
CARE = pd.DataFrame({"task": ["care", "law", "carpenter"], "he": [1, 6, 9], "she": [8, 5, 1]})


def test_the_words_of_a_task_are_its_items(tmp_path: Path) -> None:
    (tmp_path / "grouped.toml").write_text(GROUPED)
    chosen: Any = load_templates(tmp_path / "grouped.toml")
    table = chosen.item_table()
    assert table["item"].nunique() == 6
    crossed, finished = (
        lmprobe.probe("reference:faithful", given, CARE, direction="T->A").rows[0]
        for given in (chosen, table)
    )
    assert np.abs(crossed.predicted - finished.predicted).max() < 1e-5
    assert finished.value == pytest.approx(crossed.value, abs=1e-6)


WORDS = {"he": ("He", "his"), "she": ("She", "her"), "they": ("They", "their")}
FRAMES = {
    "said": "{0} said that the {2} knows {1} {3}.",
    "known": "{0} came to work as the {2} with {1} {3}.",
}


def made_items(groups: Sequence[str] = ("he", "she"), things: int = 3) -> Any:
    """Return the items of every task, in two frames."""
    return pd.DataFrame([
        {"task": task, "template": frame, "item": f"{thing} of {task}"}
        | {name: text.format(*WORDS[name], task, thing) for name in groups}
        for frame, text in FRAMES.items()
        for task in JOBS
        for thing in ("car", "house", "old friends")[:things]
    ])  # fmt: skip


FAITHFUL = "reference:faithful"


def test_formats_and_orders_of_columns_and_rows_change_nothing(tmp_path: Path) -> None:
    frame = made_items()
    key = ["template", "attribute", "task"]
    expected = lmprobe.probe(FAITHFUL, frame, "labor")
    pairs = expected.pairs().sort_values(key)["predicted"].to_numpy()
    columns = ["she", "item", "template", "he", "task"]
    frame[columns].to_csv(tmp_path / "a.csv", index=False)
    frame[columns[::-1]].to_parquet(tmp_path / "b.parquet")
    frame.to_json(tmp_path / "c.jsonl", orient="records", lines=True)
    frame.to_csv(tmp_path / "d.tsv.gz", index=False, sep="\t")
    shuffled = frame.sample(frac=1, random_state=3)
    files = [tmp_path / name for name in ("a.csv", "b.parquet", "c.jsonl", "d.tsv.gz")]
    for given in (*files, *map(str, files), load_templates(frame), frame[columns], shuffled):
        result = lmprobe.probe(FAITHFUL, given, "labor")
        row = result.rows[0]
        assert np.abs(result.pairs().sort_values(key)["predicted"].to_numpy() - pairs).max() < 1e-5
        assert row.value == pytest.approx(expected.rows[0].value, abs=1e-6)
        if given is not shuffled:
            assert row.tasks == expected.rows[0].tasks
            assert row.interval.low == pytest.approx(expected.rows[0].interval.low, abs=1e-6)


def test_the_scorer_of_crows_pairs_does_not_depend_on_the_order_of_the_columns(
    checkpoint: Checkpoint,
) -> None:
    model, frame = load_model(checkpoint("Roberta")), items(GROUPS[:2])
    tables = [
        score_templates(model, load_templates(given), "T->A", scorer="crows-pairs", cache=False)
        for given in (frame, frame[["task", "template", "item", "she", "he"]])
    ]
    one, two = (table.log_probability for table in tables)
    np.testing.assert_allclose(one, two[:, ::-1], atol=1e-4)


def test_only_the_groups_are_compared() -> None:
    with pytest.raises(InputError, match=r"cannot answer attribute->task: the sentences of an it"):
        lmprobe.probe(FAITHFUL, made_items(), "labor", direction="A->T")
    with pytest.raises(InputError, match=r"prior.* hides the word of the task"):
        lmprobe.probe(FAITHFUL, made_items(), "labor", prior=True)
    result = lmprobe.probe(FAITHFUL, made_items(), "labor")
    assert [row.direction.short for row in result.rows] == ["T->A"]
    (note,) = [note for note in result.notes if "attribute->task is left out" in note.text]
    assert note.kind is NoteKind.LEFT_OUT
    asked = lmprobe.probe(FAITHFUL, made_items(), "labor", direction="T->A")
    assert not any("left out" in note.text for note in asked.notes)


def changed(place: str, value: Any, row: int = 0) -> Any:
    frame = made_items().astype(object)
    frame.loc[row, place] = value
    return frame


MISTAKES: dict[str, tuple[Callable[[], Any], tuple[str, ...], str]] = {
    "A->T": (made_items, ("--direction", "A->T"), "cannot answer attribute->task"),
    "prior": (made_items, ("--prior",), "--prior hides the word of the task"),
    "numbers": (
        lambda: made_items().assign(he=-1.5, she=2),
        (),
        "an item table has sentences in the columns he and she, and these hold numbers; a table of "
        "answers is given as MODEL",
    ),
    "the same twice": (
        lambda: changed("she", made_items().he[0]),
        (),
        'the item "car of nurse" of the task "nurse" in the template "said" has the same sentence '
        "for he and she, 'He said that the nurse",
    ),
    "the same but for white space": (
        lambda: changed("she", made_items().he[0].replace(" ", "  ")),
        (),
        "has the same sentence for he and she",
    ),
    "a missing sentence": (
        lambda: changed("she", None),
        (),
        'has no sentence in the column "she"; write it, take the row out, or choose the columns '
        "that are attributes (--attribute)",
    ),
    "an empty sentence": (lambda: changed("she", " ", 3), (), 'no sentence in the column "she"'),
    "one attribute": (
        lambda: made_items(("he",)), (), "found 1 attribute column (he); at least two are needed",
    ),
    "one attribute chosen": (made_items, ("--attribute", "he"), "he"),
    "duplicate items": (
        lambda: pd.concat([made_items(), made_items()[:1]]),
        (),
        'the item "car of nurse" of the task "nurse" appears twice in the template "said" (1 row '
        "too many)",
    ),
    "no task": (lambda: made_items().drop(columns="task"), (), 'no column "task"'),
    "a missing task": (lambda: changed("task", None), (), "1 of 24 rows lacks a value"),
    "no common task": (
        lambda: made_items().query("template == 'said' or task == 'nurse'").query(
            "template == 'known' or task != 'nurse'"
        ),
        (),
        "fewer than two tasks are left",
    ),
    "two families": (
        lambda: made_items().assign(family=[str(n) for n in range(24)]), (), "is in two families",
    ),
    "an unknown task": (made_items, ("--task", "nurse,cock"), 'did you mean "cook"'),
    "an unknown group": (made_items, ("--attribute", "he,shee"), 'did you mean "she"'),
    "three candidates of a pair": (
        lambda: made_items(tuple(WORDS)), ("--scorer", "crows-pairs", "--base", "uniform"),
        "it needs an item table with two attributes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_every_mistake_is_one_line(name: str, tmp_path: Path, run: Run) -> None:
    frame, options, message = MISTAKES[name]
    frame().to_csv(tmp_path / "items.csv", index=False)
    code, out, error = run("run", FAITHFUL, "--templates", tmp_path / "items.csv", *options)
    assert (code, out) == (2, "")
    assert error.strip().count("\n") == 0
    assert message in error


def test_a_task_that_a_template_lacks_is_left_out_with_a_note() -> None:
    frame = made_items()
    lacking = frame[~((frame.task == "cook") & (frame.template == "said"))]
    result = lmprobe.probe(FAITHFUL, lacking, "labor")
    without = lmprobe.probe(FAITHFUL, frame[frame.task != "cook"], "labor")
    assert result.rows[0].tasks == ("nurse", "carpenter", "lawyer")
    assert result.rows[0].value == pytest.approx(without.rows[0].value, abs=1e-7)
    (note,) = [note for note in result.notes if "without a sentence in every" in note.text]
    assert note.kind is NoteKind.LEFT_OUT
    assert note.text.endswith(": cook")
    with pytest.raises(LmprobeError, match='the task "cook"'):
        lmprobe.probe(FAITHFUL, lacking, "labor", tasks=["cook", "nurse"])


def places_read(model: Any, given: Any, **options: Any) -> int:
    read: list[int] = []
    hook = model.network.register_forward_pre_hook(
        lambda _, __, inputs: read.append(inputs["input_ids"].numel()), with_kwargs=True
    )
    lmprobe.probe(model, given, "labor", **options)
    hook.remove()
    return sum(read)


def test_a_second_run_reads_nothing_and_an_edited_sentence_is_read(tmp_path: Path) -> None:
    model, frame, path = load_model(FAITHFUL), made_items(), tmp_path / "items.csv"
    frame.to_csv(path, index=False)
    assert places_read(model, path) > 0
    assert places_read(model, path) == 0
    assert places_read(model, frame) == 0
    assert places_read(model, path, lean="winobias") == 0
    edited = frame.assign(she=frame.she.str.replace("house", "old house"))
    edited.to_csv(path, index=False)
    assert places_read(model, path) > 0
    again, fresh = (
        lmprobe.probe(model, path, "labor", cache=cache).rows[0] for cache in (True, False)
    )
    assert np.abs(again.predicted - fresh.predicted).max() < 1e-6
    assert again.value != lmprobe.probe(model, frame, "labor").rows[0].value


def test_turns_of_a_chat_stand_before_every_sentence(tmp_path: Path) -> None:
    folder = save_causal(tmp_path, "Llama", chat_tokenizer(), max_position_embeddings=512)
    model = load_model(folder)
    chosen: Any = load_templates("neutral").with_words(["he", "she"], ["nurse", "janitor", "baker"])
    options: dict[str, Any] = {"direction": "T->A", "chat": TURNS, "system": "You are a baker."}
    crossed = lmprobe.probe(model, chosen, "uniform", **options)
    finished = lmprobe.probe(model, chosen.item_table(), "uniform", **options)
    assert len(finished.templates) == len(TURNS) * len(chosen.templates)
    assert (finished.turns, finished.families) == (crossed.turns, crossed.families)
    one, two = crossed.rows[0], finished.rows[0]
    assert np.abs(one.predicted - two.predicted).max() < 1e-5
    assert two.value == pytest.approx(one.value, abs=1e-6)
    assert two.interval.low == pytest.approx(one.interval.low, abs=1e-6)
    assert set(two.standard_errors) == set(one.standard_errors)


def test_the_deciding_items_add_up_to_the_value() -> None:
    frame = made_items(things=2).query("item != 'house of cook' or template == 'said'")
    result = lmprobe.probe(FAITHFUL, frame, ["labor", "uniform"])
    for row in result.rows:
        own = [item for item in result.deciding_items if item.base == row.base]
        assert sum(item.effect for item in own) == pytest.approx(row.value, abs=1e-9)
        shown = {item.item: item for item in own}
        assert len(own) == len(shown) == 8
        nurse = shown["car of nurse"]
        assert (nurse.task, nurse.group) == ("nurse", "she")
        assert nurse.text == "[He | She] said that the nurse knows [his | her] car."
        assert nurse.base_rate == row.base_rate[1, 0]
        scores = score_templates(load_model(FAITHFUL), load_templates(frame), "T->A")
        place = scores.task_words.index("car of nurse")
        log = scores.log_probability[:, :, place]
        share = 1 / (1 + np.exp(log[:, 0] - log[:, 1]))
        assert nurse.share == pytest.approx(share.mean(), abs=1e-6)
    read = ProbeResult.from_json(result.to_json())
    assert read.to_json() == result.to_json()
    assert read.deciding_items == result.deciding_items
    page = result.to_html()
    assert "Items that decide the result" in page
    assert all(item.text in page for item in result.deciding_items)


def test_the_five_items_that_move_the_value_most_up_and_down() -> None:
    frame = made_items()
    result = lmprobe.probe("reference:amplified", frame, "labor")
    row = result.rows[0]
    scores = score_templates(load_model("reference:amplified"), load_templates(frame), "T->A")
    effects = {}
    for n, (task, item) in enumerate(zip(scores.task_of, scores.task_words, strict=True)):
        t = row.tasks.index(task)
        shares = np.exp(scores.log_probability[:, :, n])
        shares /= shares.sum(axis=1, keepdims=True)
        moved = row.lean[:, t] * (shares - row.base_rate[:, t])
        effects[item] = moved.sum() / (2 * 2 * len(JOBS) * 3)
    assert sum(effects.values()) == pytest.approx(row.value, abs=1e-7)
    ordered = sorted(effects, key=effects.__getitem__, reverse=True)
    assert [item.item for item in result.deciding_items] == [*ordered[:5], *ordered[-5:]]
    for shown in result.deciding_items:
        assert shown.effect == pytest.approx(effects[shown.item], abs=1e-8)


def test_models_are_compared_and_swept_with_items(tmp_path: Path, run: Run) -> None:
    made_items().to_csv(tmp_path / "items.csv", index=False)
    models, path = ["reference:faithful", "reference:amplified"], tmp_path / "items.csv"
    values = [lmprobe.probe(model, path, "labor").rows[0].value for model in models]
    compared = lmprobe.compare(models, path, "labor")
    assert [row.direction.short for row in compared.rows] == ["T->A"]
    assert compared.rows[0].value == pytest.approx(values[1] - values[0], abs=1e-7)
    code, out, _ = run("compare", *models, "--templates", path, "--base", "labor", "--json")
    assert code == 0
    assert json.loads(out)["rows"][0]["value"] == pytest.approx(values[1] - values[0], abs=1e-7)
    options: dict[str, Any] = {"attributes": ["he", "she"], "tasks": JOBS}
    swept = lmprobe.sweep(models, [path, "fitbert-iclr"], "labor", **options)
    assert not swept.failures
    assert {row.templates for row in swept.rows} == {"items", "fitbert-iclr"}
    own = [row.value for row in swept.rows if row.templates == "items"]
    assert sorted(own) == pytest.approx(sorted(values), abs=1e-7)


def test_the_command_that_runs_it_again_gives_the_same(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made_items(tuple(WORDS)).to_csv("my items.csv", index=False)
    code, out, _ = run(
        "run", FAITHFUL, "--templates", "my items.csv", "--attribute", "she,he", "--base", "labor",
        "--task", "cook,nurse,lawyer", "--json",
    )  # fmt: skip
    assert code == 0
    words = shlex.split(run_again(ProbeResult.from_json(out)))
    assert words[words.index("--templates") + 1] == "my items.csv"
    assert words[words.index("--attribute") + 1] == "she,he"
    assert words[words.index("--task") + 1] == "cook,nurse,lawyer"
    code, again, _ = run(*words[1:], "--json")
    assert code == 0
    assert again == out
    plain = lmprobe.probe(FAITHFUL, "my items.csv", "uniform", lean="labor", seed=3)
    code, again, _ = run(*shlex.split(run_again(plain))[1:], "--json")
    assert code == 0
    assert json.loads(again)["rows"] == json.loads(plain.to_json())["rows"]


def test_recorded_answers_to_the_items_give_the_value_of_the_model(
    tmp_path: Path, run: Run
) -> None:
    frame = made_items()
    frame.to_csv(tmp_path / "items.csv", index=False)
    scores = score_templates(load_model(FAITHFUL), load_templates(frame), "T->A")
    answers = frame.drop(columns=["he", "she"])
    places = {name: n for n, name in enumerate(scores.task_words)}
    frames = list(FRAMES)
    for a, group in enumerate(("he", "she")):
        answers[group] = [
            scores.log_probability[frames.index(template), a, places[item]]
            for template, item in zip(answers.template, answers["item"], strict=True)
        ]
    answers.sample(frac=1, random_state=2).to_csv(tmp_path / "answers.csv", index=False)
    asked = lmprobe.probe(FAITHFUL, tmp_path / "items.csv", "labor")
    told = lmprobe.probe(tmp_path / "answers.csv", tmp_path / "items.csv", "labor")
    one, two = asked.rows[0], told.rows[0]
    assert told.templates == asked.templates
    assert two.value == pytest.approx(one.value, abs=1e-9)
    assert two.interval.low == pytest.approx(one.interval.low, abs=1e-9)
    assert told.provenance["templates"]["sha256"] == asked.provenance["templates"]["sha256"]
    code, out, _ = run(
        "run", tmp_path / "answers.csv", "--templates", tmp_path / "items.csv", "--base", "labor",
        "--json",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["rows"][0]["value"] == pytest.approx(one.value, abs=1e-9)
    with pytest.raises(InputError, match="has no answers for 1 of 2 templates"):
        lmprobe.probe(answers.query("template == 'said'"), tmp_path / "items.csv", "labor")
    some = answers[answers["item"] != answers["item"].iloc[0]]
    with pytest.raises(InputError, match=f"has no answers for 1 of {len(places)} items"):
        lmprobe.probe(some, tmp_path / "items.csv", "labor")


PAIRS: Any = pd.DataFrame(
    [
        ("folk", "0", "stereo", "The young nurse worked.", "The known nurse worked."),
        ("folk", "1", "stereo", "They worked at night.", "The bakers worked at night."),
        ("folk", "2", "antistereo", "He had been there.", "She had never been there before."),
        ("work", "3", "stereo", "She knows a new nurse.", "He knows a new engineer."),
        ("work", "4", "antistereo", "The words were known.", "The years were known."),
        ("work", "5", "stereo", "People say a baker works.", "People say the lawyer works."),
    ],
    columns=["bias_type", "index", "stereo_antistereo", "sent_more", "sent_less"],
)  # fmt: skip


@pytest.mark.parametrize("architecture", ["Bert", "Roberta"])
def test_the_share_of_crows_pairs_is_that_of_a_loop(
    architecture: str, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    """Of all pairs, those whose `sent_more` is likelier by the tokens that both have."""
    PAIRS.to_csv(tmp_path / "crows_pairs_anonymized.csv", index=False)
    convert("crows-pairs", [tmp_path / "crows_pairs_anonymized.csv"], tmp_path / "items.csv")
    folder = checkpoint(architecture)
    loop, more = MaskedLoop(folder), 0
    for pair in PAIRS.itertuples():
        sentences: list[Marked] = [(pair.sent_more, []), (pair.sent_less, [])]
        if pair.stereo_antistereo == "antistereo":
            sentences.reverse()
        scores = [loop.score("crows-pairs", sentences, number) for number in range(2)]
        more += (scores[0] > scores[1]) == (pair.stereo_antistereo == "stereo")
    assert 0 < more < len(PAIRS)
    result = lmprobe.probe(load_model(folder), tmp_path / "items.csv", scorer="crows-pairs")
    (measure,) = result.metrics
    assert measure.metric == "stereotype-share"
    assert measure.value == pytest.approx(more / len(PAIRS))


def stereotype_rate(scores: np.ndarray, stereotypes: np.ndarray) -> float:
    """Return r_m / r_f of one frame: geometric means of e to the mean score of a stereotype."""
    rates = {
        number: math.exp(np.mean([s for s, own in zip(scores, stereotypes, strict=True)
                                  if own == number]))
        for number in np.unique(stereotypes)
    }  # fmt: skip
    women = [rate for number, rate in rates.items() if number <= 7]
    men = [rate for number, rate in rates.items() if number >= 8]
    return float(math.prod(men) ** (1 / len(men)) / math.prod(women) ** (1 / len(women)))


GEST_FRAMES = ('He said: "{}"', 'The man said: "{}"', '"{}", he said.', '"{}", the man said.')
SWAPPED = ('She said: "{}"', 'The woman said: "{}"', '"{}", she said.', '"{}", the woman said.')
SAID = {
    "I cry.": 1, "I weep at work.": 1, "I knit.": 3, "I lift the known car.": 16,
    "I lead.": 13, "I led the bakers.": 13, "I had a plan.": 11,
}  # fmt: skip


def test_the_stereotype_rate_of_gest_is_that_of_a_loop(tmp_path: Path) -> None:
    """A score is the difference of log10 P(he) and log10 P(she), the words that differ masked."""
    pd.DataFrame(SAID.items(), columns=["sentence", "stereotype"]).to_csv(
        tmp_path / "gest.csv", index=False
    )
    convert("gest", [tmp_path / "gest.csv"], tmp_path / "items.csv")
    model = load_model(FAITHFUL)
    loop, rates = MaskedLoop(Path(str(model.folder))), []
    for he, she in zip(GEST_FRAMES, SWAPPED, strict=True):
        scores = []
        for said in SAID:
            ids = [loop.tokenizer(each.format(said))["input_ids"] for each in (he, she)]
            (place,) = [n for n, pair in enumerate(zip(*ids, strict=True)) if len({*pair}) > 1]
            masked = loop.hidden(ids[0], [place])
            logs = [loop.log(masked, place, own[place]) for own in ids]
            scores.append((logs[0] - logs[1]) / math.log(10))
        rates.append(stereotype_rate(np.array(scores), np.array(list(SAID.values()))))
    (measure,) = lmprobe.probe(model, tmp_path / "items.csv").metrics
    assert measure.metric == "gest"
    assert measure.value == pytest.approx(np.mean(rates), rel=1e-5)
    assert measure.interval is not None


PUBLISHED = "gest/gest_scores.csv.gz"


@needs_reference(PUBLISHED)
@pytest.mark.parametrize("model", ["bert-base-uncased", "roberta-base", "gpt2"])
def test_the_published_scores_of_gest_give_the_published_rate(model: str, tmp_path: Path) -> None:
    """The scores have base 10; the texts are made up, because only the layout matters."""
    scores = pd.read_csv(REFERENCE / PUBLISHED).query("model == @model")
    layout = scores.query("template == 0")[["sentence", "stereotype"]]
    texts = [f"Text number {number}." for number in layout["sentence"]]
    layout.assign(sentence=texts).to_csv(tmp_path / "gest.csv", index=False)
    frames = "causal" if model == "gpt2" else "masked"
    convert("gest", [tmp_path / "gest.csv"], tmp_path / "items.csv", frames=frames)
    table: Any = load_templates(tmp_path / "items.csv")
    tasks = dict(zip(table.items, table.task_of, strict=True))
    names = [text.format("...") for text in GEST_FRAMES]
    if frames == "causal":
        names = ['"...", he', '"...", the man']
    assert list(table.template_names) == names
    answers = pd.DataFrame({
        "task": [tasks[str(number)] for number in scores["sentence"]],
        "template": [names[number] for number in scores["template"]],
        "item": scores["sentence"].astype(str),
        "he": scores["score"] * math.log(10),
        "she": 0.0,
    })  # fmt: skip
    recorded = load_model(answers, values="log-probability")
    (measure,) = lmprobe.probe(recorded, tmp_path / "items.csv").metrics
    rates = [
        stereotype_rate(own["score"].to_numpy(), own["stereotype"].to_numpy())
        for _, own in scores.groupby("template")
    ]
    assert len(rates) == len(names)
    assert measure.value == pytest.approx(np.mean(rates), rel=1e-9)
    assert measure.value is not None
    assert measure.value > 1


def test_the_toml_beside_a_table_names_base_and_lean(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    made_items().to_csv(path, index=False)
    (tmp_path / "items.toml").write_text('base = "winobias"\nlean = "own.csv"\n')
    # A base with a lean of its own keeps it; a name that is given comes first.
    (row,) = lmprobe.probe(FAITHFUL, path).rows
    assert (row.base, row.lean_source) == ("winobias", "winobias")
    tasks = load_templates(path).tasks
    lean = pd.DataFrame({"task": tasks, "he": 1, "she": 0})
    lean.loc[::2, ["he", "she"]] = 0, 1
    lean.to_csv(tmp_path / "own.csv", index=False)
    (row,) = lmprobe.probe(FAITHFUL, path, "uniform").rows
    assert row.lean_source == "own"
    options: dict[str, Any] = {"base": "uniform", "output": tmp_path / "out"}
    before = lmprobe.sweep([FAITHFUL], [str(path)], **options).to_frame()
    lean.assign(he=lean.she, she=lean.he).to_csv(tmp_path / "own.csv", index=False)
    # The probe that was saved is of another lean now.
    after = lmprobe.sweep([FAITHFUL], [str(path)], **options).to_frame()
    assert after.value.iloc[0] == pytest.approx(-before.value.iloc[0])
    assert before.value.iloc[0] == pytest.approx(row.value)
    # So is a measure that the table did not name.
    (tmp_path / "items.toml").write_text('lean = "own.csv"\nmetric = "gest"\n')
    lmprobe.sweep([FAITHFUL], [str(path)], **options)
    saved = [json.loads(each.read_text()) for each in (tmp_path / "out").rglob("*.json")]
    assert any(measure["metric"] == "gest" for each in saved for measure in each.get("metrics", []))


def test_differences_of_tasks_have_the_noise_of_their_items() -> None:
    """Student's test of one task: the differences of its items, which are paired."""
    rng, number = np.random.default_rng(8), 40
    tasks = np.repeat(["nurse", "engineer", "lawyer"], number)
    names = [f"{task} {place}" for place, task in enumerate(tasks)]
    items = pd.DataFrame({"task": tasks, "item": names})
    shares = [
        (0.5 + shift * (tasks == "nurse") + rng.normal(0, 0.1, len(tasks))).clip(0.01, 0.99)
        for shift in (0.0, 0.15)
    ]
    models = [
        load_model(items.assign(he=share, she=1 - share), values="probability") for share in shares
    ]
    sentences = items.assign(
        he=[f"He is {name}." for name in names], she=[f"She is {name}." for name in names]
    )
    lean = pd.DataFrame({"task": list(dict.fromkeys(tasks)), "he": [0, 1, 1], "she": [1, 0, 0]})
    (row,) = lmprobe.compare(models, sentences, "uniform", lean=lean).rows
    for task in row.tasks:
        moved = (shares[1] - shares[0])[tasks == task.task]
        expected = stats.ttest_1samp(moved, 0.0)
        assert abs(task.value) == pytest.approx(abs(moved.mean()))
        # The spread is that of 200 draws.
        reach = stats.t.isf(task.p_value / 2, number - 1)
        assert reach == pytest.approx(abs(expected.statistic), rel=0.2)
        assert task.interval.bounded
