"""Answers in a table as a model: cells, directions, errors, what is not known, what follows."""

from __future__ import annotations

import json
import math
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lmprobe
from lmprobe import ProbeResult
from lmprobe.errors import InputError, LmprobeError
from lmprobe.probing.model_card import model_card
from lmprobe.probing.settings import run_again
from lmprobe.results import IntervalStatus, NoteKind, Verdict
from tests.conftest import Run

TASKS = ("nurse", "carpenter", "secretary", "driver", "cook", "lawyer")


@pytest.fixture
def run(command: Any) -> Run:
    runner: Run = command()
    return runner


def answers(seed: int = 0, *, templates: int = 4, items: int = 3) -> pd.DataFrame:
    """Return log-probabilities of two groups, for items that every template has."""
    rng = np.random.default_rng(seed)
    rows = [
        (task, f"frame {k}", f"item {n}", rng.normal(), rng.normal(0.2 * (-1) ** place))
        for k in range(templates)
        for place, task in enumerate(TASKS)
        for n in range(items)
    ]
    return pd.DataFrame(rows, columns=["task", "template", "item", "he", "she"])


def counts(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (task, f"prompt {k}", int(rng.integers(0, 9)), int(rng.integers(1, 9)))
        for k in range(3)
        for task in TASKS
    ]
    return pd.DataFrame(rows, columns=["task", "template", "he", "she"])


def shares_by_loop(frame: pd.DataFrame, values: str) -> dict[tuple[str, str], float]:
    """Return the mean over items of P(she), item by item as the formula has it."""
    cells: dict[tuple[str, str], list[float]] = {}
    for row in frame.to_dict("records"):
        he, she = row["he"], row["she"]
        if values not in ("probability", "count"):
            he, she = math.exp(he), math.exp(she)
        cells.setdefault((row["template"], row["task"]), []).append(she / (he + she))
    return {key: sum(several) / len(several) for key, several in cells.items()}


@pytest.mark.parametrize("values", ["log-probability", "probability", "count"])
def test_a_cell_is_the_mean_over_its_items(values: str) -> None:
    frame = answers() if values == "log-probability" else counts()
    if values == "probability":
        frame[["he", "she"]] /= 10
    # Items that a template lacks do not count there.
    frame = frame.drop(index=[1]) if "item" in frame else frame
    row = lmprobe.probe(lmprobe.load_model(frame, values=values), base="labor").rows[0]
    expected = shares_by_loop(frame, values)
    for k, template in enumerate(dict.fromkeys(frame.template)):
        for t, task in enumerate(row.tasks):
            assert row.predicted[k, 1, t] == pytest.approx(expected[template, task], abs=1e-12)
    pairs = [
        row.lean[a, t] * (row.predicted[k, a, t] - row.base_rate[a, t])
        for k in range(len(row.predicted))
        for a in range(2)
        for t in range(len(TASKS))
    ]
    assert row.value == pytest.approx(np.mean(pairs), abs=1e-12)


def test_any_order_format_and_optional_column(tmp_path: Path) -> None:
    frame = answers()
    reference = lmprobe.probe(frame, base="labor").rows[0]
    frame[["she", "item", "task", "he", "template"]].to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    # Rows of one template and task are its items, by position.
    frame.drop(columns="item").to_csv(tmp_path / "b.csv", index=False)
    for name in ("a.csv", "a.parquet", "a.jsonl", "b.csv"):
        row = lmprobe.probe(tmp_path / name, base="labor", attributes=["he", "she"]).rows[0]
        assert np.allclose(row.predicted, reference.predicted, atol=1e-12), name
        assert row.interval.low == pytest.approx(reference.interval.low)


def test_what_the_numbers_are_is_said_beside_the_table_or_by_option(
    tmp_path: Path, run: Run
) -> None:
    path = tmp_path / "answers.csv"
    counts().to_csv(path, index=False)
    (tmp_path / "answers.toml").write_text('values = "count"\nsource = "made up"\n')
    beside = lmprobe.probe(path, base="labor")
    assert beside.provenance["values"] == "count"
    by_option = lmprobe.probe(lmprobe.load_model(path, values="probability".replace(
        "probability", "count")), base="labor")  # fmt: skip
    assert by_option.to_json() == beside.to_json()
    (tmp_path / "answers.toml").unlink()
    code, out, _ = run("run", path, "--base", "labor", "--values", "count", "--json")
    assert code == 0
    document = json.loads(out)
    assert document["provenance"]["content_hash"] == beside.provenance["content_hash"]
    again = run_again(ProbeResult.from_json(out))
    assert shlex.split(again)[:3] == ["lmprobe", "run", str(path)]
    assert "--values count" in again
    assert "--templates" not in again
    code, repeated, _ = run(*shlex.split(again)[1:], "--json")
    assert repeated == out


def test_nothing_is_invented_about_control_questions(tmp_path: Path) -> None:
    result = lmprobe.probe(answers(), base="labor", min_mass=0.5)
    row = result.rows[0]
    document = json.loads(result.to_json())["rows"][0]
    assert document["candidate_mass"] == [None] * 4
    assert document["mass_ratio"] is None
    assert result.perplexity is None
    assert row.obstacle is None
    assert any("no control questions" in note.text for note in result.notes)
    assert "of the probability" not in result.to_html()
    with pytest.raises(InputError, match="no perplexity"):
        lmprobe.check(result, max_perplexity=10)
    read = ProbeResult.from_json(result.to_json())
    assert read.to_json() == result.to_json()
    assert result.save(tmp_path / "out")
    assert "model-index" in model_card(result)


BAD: dict[str, tuple[str, str, str]] = {
    "no task": ("job,he,she\na,1,2\n", "count", 'no column "task"'),
    "no attribute": ("task,item\na,1\n", "count", "found 0 attribute columns"),
    "one attribute": ("task,he\na,1\n", "count", r"found 1 attribute column \(he\)"),
    "text": ("task,he,she\na,1,2\nb,x,2\n", "count", "line 3: 'x' in the column \"he\""),
    "negative count": ("task,he,she\na,1,2\nb,-1,2\n", "count", "found -1.* line 3, column"),
    "half a text": ("task,he,she\na,1,2\nb,1.5,2\n", "count", "found 1.5 in line 3"),
    "negative share": ("task,he,she\na,0,1\nb,-.1,1\n", "probability", "found -0?.1 in line 3"),
    "share above one": ("task,he,she\na,0,1\nb,2,1\n", "probability", "found 2"),
    "missing": ("task,he,she\na,,1\nb,2,\n", "count", "2 of 2 rows lack a value"),
    "nan": ("task,he,she\na,nan,1\nb,2,1\n", "log-probability", "1 of 2 rows lack|not a number"),
    "infinite": ("task,he,she\na,-inf,1\nb,2,1\n", "log-probability", "finite"),
    "twice": ("task,item,he,she\na,1,1,1\na,1,2,1\nb,1,1,1\n", "count", "appears twice"),
    "families": (
        "task,template,family,he,she\na,k,f,1,1\nb,k,g,1,1\n", "count", "is in two families",
    ),
    "no common task": (
        "task,template,he,she\na,k,1,1\nb,l,1,1\n", "count", "a and b have no answer in some",
    ),
    "zeros": ("task,he,she\na,0,0\nb,0,0\n", "count", "every number is zero"),
    "values": ("task,he,she\na,0,0\nb,0,0\n", "counts", "cannot be \"counts\".*count"),
    "empty": ("task,he,she\n", "count", "no row below"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_every_mistake_is_one_line(name: str, tmp_path: Path, run: Run) -> None:
    text, values, message = BAD[name]
    path = tmp_path / "answers.csv"
    path.write_text(text)
    with pytest.raises(LmprobeError, match=message):
        lmprobe.probe(lmprobe.load_model(path, values=values), base="uniform")
    code, out, error = run("run", path, "--values", values, "--base", "uniform")
    assert (code, out) == (2, "")
    assert error.strip().count("\n") == 0


def test_what_belongs_to_models_or_to_tables_alone_is_refused(tmp_path: Path) -> None:
    frame = answers()
    (tmp_path / "answers.csv").write_text(frame.to_csv(index=False))
    for text, message in (
        ("value = 1", 'no entry is called "value"'),
        ("title = 1", "title must be text, found 1"),
        ("texts = -1", "texts must be a number that is not negative"),
        ("without_group = 1.5", "without_group must be a share"),
        ('words = "he"', "words must be a table"),
    ):
        (tmp_path / "answers.toml").write_text(f"{text}\n")
        with pytest.raises(LmprobeError, match=message):
            lmprobe.load_model(tmp_path / "answers.csv")
    for options, message in (
        ({"tokenizer": "somewhere"}, "tokenizer"),
        ({"revision": "main"}, "revision"),
    ):
        with pytest.raises(InputError, match=message):
            lmprobe.load_model(frame, **options)
    with pytest.raises(InputError, match=r"values.*this is a model"):
        lmprobe.load_model("reference:faithful", values="count")
    for option in ({"scorer": "pll"}, {"prior": True}):
        with pytest.raises(InputError, match="is for models"):
            lmprobe.probe(frame, base="labor", **option)
    with pytest.raises(LmprobeError, match='no attribute column "hee"; did you mean "he"'):
        lmprobe.probe(frame, base="labor", attributes=["hee", "she"])
    with pytest.raises(LmprobeError, match='no task "nurses"'):
        lmprobe.probe(frame, base="labor", tasks=["nurses", "cook"])
    with pytest.raises(LmprobeError, match="answers nothing else"):
        lmprobe.load_model(frame).encode([])


def test_other_columns_are_left_out_by_choosing_attributes(tmp_path: Path) -> None:
    frame = answers().assign(comment="said so")
    frame.to_csv(tmp_path / "answers.csv", index=False)
    with pytest.raises(LmprobeError, match="line 2: 'said so' in the column \"comment\""):
        lmprobe.probe(tmp_path / "answers.csv", base="labor")
    result = lmprobe.probe(tmp_path / "answers.csv", base="labor", attributes=["she", "he"])
    assert result.rows[0].attributes == ("she", "he")
    assert "--attribute she,he" in run_again(result)


def test_which_directions_the_numbers_tell() -> None:
    frame = answers()
    assert [row.direction.short for row in lmprobe.probe(frame, base="labor").rows] == ["T->A"]
    with pytest.raises(InputError, match=r"log-probability.*groups of a row"):
        lmprobe.probe(frame, base="labor", direction="A->T")
    whole = lmprobe.load_model(frame, values="sentence-log-likelihood")
    both = lmprobe.probe(whole, base="labor")
    assert [row.direction.short for row in both.rows] == ["T->A", "A->T"]
    expected = np.zeros((4, 2, len(TASKS)))
    for k in range(4):
        for a, group in enumerate(("he", "she")):
            own = frame[frame.template == f"frame {k}"]
            total = np.exp(own[group]).sum()
            for t, task in enumerate(TASKS):
                expected[k, a, t] = np.exp(own[own.task == task][group]).sum() / total
    assert np.allclose(both.row("labor", "A->T").predicted, expected, atol=1e-12)
    ragged = lmprobe.load_model(frame.drop(index=[0]), values="sentence-log-likelihood")
    one_way = lmprobe.probe(ragged, base="labor")
    assert [row.direction.short for row in one_way.rows] == ["T->A"]
    assert any("some templates lack 1 of 18 items" in note.text for note in one_way.notes)
    with pytest.raises(InputError, match="some templates lack"):
        lmprobe.probe(ragged, base="labor", direction="A->T")


def test_a_task_that_a_template_lacks_is_left_out_with_a_note() -> None:
    frame = answers()
    frame = frame[~((frame.task == "cook") & (frame.template == "frame 1"))]
    result = lmprobe.probe(frame, base="labor")
    assert result.rows[0].tasks == tuple(task for task in TASKS if task != "cook")
    assert any(note.kind is NoteKind.LEFT_OUT and "cook" in note.text for note in result.notes)
    with pytest.raises(InputError, match='a template has no answer for the task "cook"'):
        lmprobe.probe(frame, base="labor", tasks=["cook", "nurse"])


def test_a_count_of_zero_is_half_a_text_in_the_association_and_forbids_a_strength() -> None:
    frame = pd.DataFrame({"task": TASKS, "he": [0, 90, 0, 99, 55, 60], "she": [90, 0, 88, 1, 5, 4]})
    result = lmprobe.probe(lmprobe.load_model(frame, values="count"), base="labor")
    row = result.rows[0]
    assert any("3 of 12 numbers are zero" in note.text for note in result.notes)
    counts, margins = frame[["he", "she"]].to_numpy().T, row.base_table / row.base_table.sum()
    raked = np.maximum(counts / counts.sum(axis=0), 0.5 / counts.sum(axis=0))
    for _ in range(20_000):
        raked *= (margins.sum(axis=1) / raked.sum(axis=1))[:, None]
        raked *= margins.sum(axis=0) / raked.sum(axis=0)
    moved = raked / raked.sum(axis=0) - row.base_rate
    assert row.association.value == pytest.approx((row.lean * moved).mean(), abs=1e-8)
    # A result that was saved has the same tables.
    tables = ProbeResult.from_json(result.to_json()).rows[0].tables()
    assert tables.published()["association"][0] == pytest.approx(row.association.value)
    assert row.strength.interval.status is IntervalStatus.TOO_FEW_UNITS
    assert math.isnan(row.strength.value)
    assert json.loads(result.to_json())["rows"][0]["strength"]["value"] is None
    (why,) = [note.text for note in row.notes if note.text.startswith("no strength")]
    assert "4 of 12 cells (template, group and task) have fewer than 3 texts" in why


def slope(counts: np.ndarray, base: np.ndarray) -> float:
    """Return the slope of the log odds, as the formula has it."""
    odds, world = np.log(counts[0] / counts[1]), np.log(base[0] / base[1])
    away = world - world.mean()
    return float((away @ odds) / (away @ world))


@pytest.mark.parametrize("texts", [100, 5000])
def test_a_planted_strength_is_given_with_many_texts_and_withheld_with_few(texts: int) -> None:
    tasks = [f"task {number}" for number in range(12)]
    odds = np.linspace(-2, 2, len(tasks))
    rates = 1 / (1 + np.exp(-np.stack([odds, -odds])))
    base = pd.DataFrame({"task": tasks, "he": rates[0], "she": rates[1]})
    rng = np.random.default_rng(3)
    he = rng.binomial(texts, 1 / (1 + np.exp(-2 * odds)), (6, len(tasks)))
    frame = pd.DataFrame({
        "task": tasks * 6, "template": np.repeat(range(6), len(tasks)),
        "he": he.ravel(), "she": texts - he.ravel(),
    })  # fmt: skip
    row = lmprobe.probe(lmprobe.load_model(frame, values="count"), base=base).rows[0]
    if texts == 100:
        assert row.strength.interval.status is IntervalStatus.TOO_FEW_UNITS
        return
    expected = np.mean([slope(np.stack([own, texts - own]), rates) for own in he])
    assert row.strength.value == pytest.approx(expected, abs=1e-10)
    assert 2 in row.strength.interval
    assert row.strength.value == pytest.approx(2, abs=0.02)
    # The same shares as probabilities have no sampling of texts to fear, but for a zero.
    shares = frame.assign(he=frame.he / texts, she=frame.she / texts)
    by_share = lmprobe.probe(lmprobe.load_model(shares, values="probability"), base=base).rows[0]
    assert by_share.strength.value == pytest.approx(row.strength.value)
    shares.loc[0, ["he", "she"]] = [0.0, 1.0]
    zero = lmprobe.probe(lmprobe.load_model(shares, values="probability"), base=base).rows[0]
    assert math.isnan(zero.strength.value)
    assert any(re.search("1 of 144 cells.*probability 0", note.text) for note in zero.notes)


def test_the_interval_of_a_strength_has_the_bias_of_the_logarithms() -> None:
    """Beside the same shares as probabilities: log p of n texts is (1 - p) / 2pn too low."""
    tasks = [f"task {number}" for number in range(30)]
    odds = np.tile([-1.5, -0.5, 0.5, 1.5, 2.2], 6)
    rates = 1 / (1 + np.exp(-odds))
    base = pd.DataFrame({"task": tasks, "he": rates, "she": 1 - rates})
    he = np.random.default_rng(8).binomial(100, rates, (4, len(tasks)))
    frame = pd.DataFrame({
        "task": tasks * 4, "template": np.repeat(range(4), len(tasks)),
        "he": he.ravel(), "she": 100 - he.ravel(),
    })  # fmt: skip
    shares = frame.assign(he=frame.he / 100, she=frame.she / 100)
    counted, shared = (
        lmprobe.probe(lmprobe.load_model(table, values=values), base=base).rows[0]
        for table, values in ((frame, "count"), (shares, "probability"))
    )
    away = odds - odds.mean()
    low = [(1 - p) / (2 * p * 100) for p in (he / 100, 1 - he / 100)]
    bias = abs(((low[0] - low[1]) @ away / (away @ odds)).mean())
    assert bias > 0.01
    assert counted.strength.value == pytest.approx(shared.strength.value)
    assert counted.strength.interval.low == pytest.approx(shared.strength.interval.low - bias)
    assert counted.strength.interval.high == pytest.approx(shared.strength.interval.high + bias)
    assert any(
        "wider by what few texts, or zeros, may move: strength" in note.text
        for note in counted.notes
    )


def test_rows_of_zeros_say_nothing() -> None:
    frame = pd.DataFrame({
        "task": [*TASKS, "nurse", "cook"], "item": ["1"] * 6 + ["2"] * 2,
        "he": [1, 10, 3, 9, 5, 6, 0, 0], "she": [10, 2, 8, 1, 5, 4, 0, 1],
    })  # fmt: skip
    result = lmprobe.probe(lmprobe.load_model(frame, values="count"), base="labor")
    assert result.rows[0].predicted[0, 0, 0] == pytest.approx(1 / 11)
    assert result.rows[0].predicted[0, 0, 4] == pytest.approx(0.25)
    assert any("1 row of zeros" in note.text for note in result.notes)


def test_one_prompt_says_nothing_about_others() -> None:
    model = lmprobe.load_model(counts().query("template == 'prompt 1'"), values="count")
    result = lmprobe.probe(model, base="labor")
    assert result.rows[0].interval.status is IntervalStatus.TOO_FEW_UNITS
    assert result.rows[0].verdict is Verdict.UNDECIDED
    assert any("says nothing about other ones" in note.text for note in result.notes)
    alone = lmprobe.probe(model, base="labor", resample="tasks").rows[0]
    assert alone.interval.status is IntervalStatus.OK


def test_tables_are_compared_from_their_files_and_from_saved_results(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.csv" for name in ("first", "second")]
    for seed, path in enumerate(paths):
        answers(seed).to_csv(path, index=False)
    for resample in ("both", "templates"):
        direct = lmprobe.compare(paths, base="labor", resample=resample)
        saved = lmprobe.compare(
            [lmprobe.probe(path, base="labor").to_json() for path in paths]
            and [
                ProbeResult.from_json(lmprobe.probe(path, base="labor").to_json())
                for path in paths
            ],
            resample=resample,
        )  # fmt: skip
        assert direct.rows[0].value == pytest.approx(saved.rows[0].value)
        assert direct.rows[0].interval.low == pytest.approx(saved.rows[0].interval.low)
    by_count = lmprobe.load_model(answers().assign(he=3, she=4), values="count")
    mixed = lmprobe.compare([paths[0], by_count], base="labor")
    assert any("scored by log-probability" in note.text for note in mixed.rows[0].notes)
    other = answers(templates=3)
    with pytest.raises(InputError, match="the same templates"):
        lmprobe.compare([paths[0], other], base="labor")


def test_the_same_items_are_drawn_alike_for_both_models() -> None:
    """What two models share of the sampling of items is no part of their difference."""
    first = answers(items=6)
    second = first.assign(he=first.he + np.random.default_rng(5).normal(0, 0.01, len(first)))
    alone = lmprobe.probe(first, base="labor", resample="templates").rows[0]
    both = lmprobe.compare([first, second], base="labor", resample="templates").rows[0]
    assert both.interval.width < alone.interval.width / 20


def test_a_sweep_ranks_tables_of_one_layout(tmp_path: Path) -> None:
    for seed, templates in enumerate((4, 4, 3)):
        answers(seed, templates=templates).to_csv(tmp_path / f"{seed}.csv", index=False)
    result = lmprobe.sweep([tmp_path / f"{seed}.csv" for seed in range(3)], base="labor")
    assert [row.templates for row in result.rows] == ["answers", "answers", "answers 2"]
    assert not result.failures
    values = [lmprobe.probe(tmp_path / f"{n}.csv", base="labor").rows[0].value for n in range(3)]
    assert [row.value for row in result.rows] == pytest.approx(values)


def test_a_table_answers_for_a_set_by_the_names_of_its_templates(tmp_path: Path) -> None:
    tasks = ["nurse", "carpenter", "lawyer"]
    chosen = lmprobe.load_templates("neutral").with_words(["he", "she"], tasks)
    table = chosen.item_table()
    rng = np.random.default_rng(0)
    table["he"], table["she"] = rng.normal(size=(2, len(table)))
    shuffled = table.sample(frac=1, random_state=1)
    shuffled.to_csv(tmp_path / "answers.csv", index=False)
    result = lmprobe.probe(tmp_path / "answers.csv", "neutral", "labor", tasks=tasks)
    assert result.templates == tuple(template.name for template in chosen.templates)
    assert result.families == chosen.families
    assert result.provenance["templates"]["sha256"] == chosen.sha256
    assert "--templates neutral" in run_again(result)
    own = lmprobe.probe(table, base="labor").rows[0]
    assert np.allclose(result.rows[0].predicted, own.predicted, atol=1e-12)
    compared = lmprobe.compare(
        ["reference:faithful", tmp_path / "answers.csv"], "neutral", "labor", tasks=tasks
    )
    assert [row.direction.short for row in compared.rows] == ["T->A"]
    with pytest.raises(InputError, match="has no answers for 1 of"):
        lmprobe.probe(table[table.template != chosen.templates[0].name], "neutral", "labor",
                      tasks=tasks)  # fmt: skip


def test_no_network_library_is_loaded(tmp_path: Path) -> None:
    answers().to_csv(tmp_path / "answers.csv", index=False)
    code = (
        "import sys, lmprobe; lmprobe.probe('answers.csv', base='labor'); "
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_recipe_gives_what_a_probe_gives() -> None:
    """Sentences, a plain loop over transformers, answers: as if lmprobe had asked the model."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = lmprobe.load_model("reference:causal-faithful", device="cpu")
    folder = model.folder
    network = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    words: dict[str, Any] = {"attributes": ["he", "she"], "tasks": ["nurse", "carpenter", "cook"]}
    table = lmprobe.load_templates("everyday").with_words(**words).item_table()

    def likelihood(text: str) -> float:
        # Without the end token, which this tokenizer writes.
        ids = torch.tensor([tokenizer(text)["input_ids"][:-1]])
        with torch.inference_mode():
            logs = network(ids).logits[0, :-1].log_softmax(-1)
        return float(logs.gather(1, ids[0, 1:, None]).sum())

    for group in words["attributes"]:
        table[group] = [likelihood(text) for text in table[group]]
    recorded = lmprobe.load_model(table, values="sentence-log-likelihood")
    by_recipe = lmprobe.probe(recorded, base="labor")
    probed = lmprobe.probe(model, "everyday", "labor", **words, cache=False)
    for row in probed.rows:
        twin = by_recipe.row("labor", row.direction)
        # Single cells differ by the rounding of float32, the numbers by less.
        assert np.abs(row.predicted - twin.predicted).max() < 1e-5
        for own, other in ((row, twin), (row.strength, twin.strength)):
            assert other.value == pytest.approx(own.value, abs=1e-6)
            assert other.interval.low == pytest.approx(own.interval.low, abs=1e-5)
