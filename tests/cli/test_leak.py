"""`lmprobe leak`: the library's numbers, one JSON document, one clear error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lmprobe.leakage.attackers import Mlp
from lmprobe.leakage.language import language_leakage
from lmprobe.leakage.measure import dataset_leakage, leakage_amplification, model_leakage
from lmprobe.results.codec import to_json
from tests.checkpoints import Checkpoint, checkpoint, own_cache

__all__ = ["checkpoint", "own_cache"]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(command: Callable[..., Run]) -> Run:
    """Return (exit code, standard output, standard error) of the command."""
    return command("leak", columns=120)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 600)
    verb = np.where(rng.random(600) < 0.5, group, rng.integers(0, 3, 600))
    said = np.where(rng.random(600) < 0.8, verb, rng.integers(0, 3, 600))
    several = (rng.random((600, 2)) < 0.3 + 0.3 * group[:, None]).astype(int)
    logits = 3.0 * several - 1.5 + rng.normal(size=(600, 2))
    return pd.DataFrame(
        {
            "gender": np.where(group, "woman", "man"),
            "verb": np.array(["cook", "run", "sit"])[verb],
            "said": np.array(["cook", "run", "sit"])[said],
            "knife": several[:, 0],
            "fork": several[:, 1],
            "knife_logit": logits[:, 0],
            "fork_logit": logits[:, 1],
            "part": np.array(["train", "dev", "test"])[rng.integers(0, 3, 600)],
        }
    )


@pytest.fixture
def table(frame: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "images.csv"
    frame.to_csv(path, index=False)
    return path


def test_dataset_leakage(run: Run, table: Path, frame: pd.DataFrame, tmp_path: Path) -> None:
    words = (table, "-l", "verb", "-a", "gender", "--attacker", "exact", "--at", "0.6")
    words += ("--split", "part", "--share", "0.5", "--rounds", "3", "--seed", "4")
    expected = dataset_leakage(
        frame["verb"], frame["gender"], attacker="exact",
        at=0.6, split=frame["part"], share=0.5, rounds=3, seed=4,
    )  # fmt: skip
    code, out, _ = run(*words, "--json", "--output", tmp_path / "out")
    document = json.loads(out)
    assert code == 0
    assert document["rows"] == to_json(expected.rows)
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == document
    _, out, err = run(*words, "--verbose")
    assert f"{expected.value:.4f}" in out
    assert "at random: 50%" in out
    assert "lower bound" in err
    assert run(*words, "--quiet")[2] == ""


def test_predictions_alone_and_with_several_labels(
    run: Run, table: Path, frame: pd.DataFrame
) -> None:
    both, scores = ["knife", "fork"], ["knife_logit", "fork_logit"]
    words = [word for name in both for word in ("-l", name)]
    words += [word for name in scores for word in ("-p", name)]
    code, out, _ = run(table, *words, "-a", "gender", "--attacker", "logistic", "--json")
    expected = leakage_amplification(
        frame[both], frame[scores].to_numpy(), frame["gender"], attacker="logistic"
    )
    assert code == 0
    assert json.loads(out)["rows"] == to_json(expected.rows)
    alone = ("-p", "said", "-a", "gender", "--attacker", "mlp", "--layers", "1", "--rounds", "2")
    (row,) = json.loads(run(table, *alone, "--json")[1])["rows"]
    smallest = model_leakage(frame["said"], frame["gender"], attacker=Mlp(layers=1), rounds=2)
    assert row == to_json(smallest.rows[0])


def test_a_language_model(run: Run, checkpoint: Checkpoint, tmp_path: Path) -> None:
    templates = tmp_path / "tiny.toml"
    templates.write_text(
        'name = "tiny"\ndescription = "d"\nsource = "s"\nattribute = "pronoun"\ntask = "job"\n'
        'sentences = ["{pronoun} became {a:adjective} {job}, people said."]\n[slots]\n'
        'pronoun = ["he", "she"]\njob = ["nurse", "baker", "lawyer"]\n'
        'adjective = ["new", "known"]\n'
    )
    folder = checkpoint("Bert")
    words = ("--model", folder, "--templates", templates, "--base", "uniform")
    code, out, _ = run(*words, "--json")
    expected = language_leakage(folder, templates, "uniform")
    assert code == 0
    assert json.loads(out)["rows"] == to_json(expected.rows)
    assert "base leakage" in run(*words)[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give a FILE of labels or a --model"),
        (("{table}", "--model", "x"), "one of the two"),
        (("{table}", "--labels", "verb"), "needs --attribute"),
        (("{table}", "--attribute", "gender"), "--labels, --predictions or both"),
        (("--model", "x", "--labels", "verb"), "--labels is for a FILE, not for a --model"),
        (("--model", "x", "--rounds", "9"), "--rounds is for a FILE"),
        (("--model", "reference:faithful", "--device", "warp"), 'no device "warp"'),
        (("{table}", "-l", "verb", "-a", "gender", "--base", "labor"), "--base is for a --model"),
        (
            ("{table}", "-p", "said", "-a", "gender", "--at", "0.5"),
            "--at perturbs labels and needs --labels",
        ),
        (
            ("{table}", "-l", "verb", "-a", "gender", "--threshold", "1"),
            "needs both --labels and --predictions",
        ),
        (("{table}", "-l", "vreb", "-a", "gender"), 'did you mean "verb"'),
        (("{table}", "-l", "verb", "-a", "gender", "--attacker", "exakt"), 'mean "exact"'),
        (
            ("{table}", "-l", "verb", "-a", "gender", "--attacker", "exact", "--layers", "2"),
            "use mlp",
        ),
        (("{table}", "-l", "verb", "-a", "gender", "--at", "0.01"), "drawn at random reach"),
        (("{table}", "-l", "verb", "-a", "gender", "--device", "warp"), 'no device "warp"'),
    ],
)
def test_one_clear_error_each(run: Run, table: Path, words: tuple[str, ...], message: str) -> None:
    code, out, err = run(*[word.format(table=table) for word in words])
    assert code == 2
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
