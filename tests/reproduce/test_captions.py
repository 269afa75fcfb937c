"""COCO captions: the shipped patterns give what the published metric code gives."""

from __future__ import annotations

import numpy as np
import pytest

from lmprobe.cli.output import emit
from lmprobe.reproduce.captions import MODELS, caption_data, captions
from lmprobe.reproduce.experiment import Reproduction
from lmprobe.reproduce.leakage_coco import SAME_ERRORS, as_wrong, leakage_coco
from lmprobe.reproduce.settings import ExperimentSettings

pytestmark = pytest.mark.xdist_group("captions")

# What the published metric code (princetonvisualai/directional-bias-amp, 537e76f) returns for
# the same labels and mentions: task->attribute, attribute->task.
PUBLISHED = {
    "baseline_ft": (-0.04106121303670841, -0.0049617497619532476),
    "equalizer": (0.0049508844558819425, -0.004521758376447476),
    "confident": (-0.0004487983030537265, -0.004867613099359735),
    "upweight": (-0.003550782124298784, -0.005239855488921393),
    "balanced": (-0.03222877372424018, -0.004850648917028907),
    "confusion": (-0.01702487115031224, -0.004961711607765402),
}


@pytest.fixture(scope="module")
def result() -> Reproduction:
    return captions(ExperimentSettings(), replicates=250)


@pytest.mark.parametrize("model", MODELS)
def test_values_are_those_of_the_published_code(result: Reproduction, model: str) -> None:
    rows = {row.name: row.details["published_value"] for row in result.rows}
    values = [rows[f"as published: {MODELS[model]} {way}"] for way in ("T->A", "A->T")]
    assert values == pytest.approx(PUBLISHED[model], abs=1e-15)


def test_a_loop_over_images_gives_the_value_when_all_are_kept(result: Reproduction) -> None:
    data, _ = caption_data("published")
    images = np.repeat(np.arange(len(data.times)), data.times)
    gender, objects = data.gender[images], data.objects[images]
    said = data.said_gender["equalizer"][images]
    pairs = []
    for a in range(2):
        for t in range(79):
            chance = gender[:, a].mean() * objects[:, t].mean()
            lean = np.sign((gender[:, a] * objects[:, t]).mean() - chance)
            given = objects[:, t] == 1
            if given.any():
                pairs.append(lean * (said[given, a].mean() - gender[given, a].mean()))
    rows = {row.name: row.value for row in result.rows}
    assert rows["all images kept: Equalizer T->A"] == pytest.approx(np.mean(pairs), abs=1e-12)


def test_the_claim_of_figure_3(result: Reproduction) -> None:
    rows = {row.name: row for row in result.rows}
    task = rows["as published: Equalizer T->A"].details
    assert task["change_verdict"] == "higher"
    assert 0.02 < task["change_interval"]["low"] < task["change"] < task["change_interval"]["high"]
    assert result.details["images"] == 10_840
    assert result.details["left_out"]["baseline"] == 2_173
    # The change is paired: narrower than two separate intervals make it.
    alone = [rows[f"as published: {name} A->T"].interval for name in ("baseline", "Equalizer")]
    paired = rows["as published: Equalizer A->T"].details["change_interval"]
    assert paired["high"] - paired["low"] < 0.8 * np.hypot(*(interval.width for interval in alone))
    assert Reproduction.from_json(result.to_json()).to_json() == result.to_json()


def test_a_terminal_shows_the_published_way_alone(
    result: Reproduction, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    emit(result)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    # One line for each model and direction: nothing is stacked or wrapped.
    assert sum(line.startswith("confusion ") for line in lines) == 2
    assert not any("all images kept" in line for line in lines)
    emit(result, verbose=True)
    assert "task->attribute, all images kept" in capsys.readouterr().out


@pytest.mark.slow
def test_leakage_of_captions() -> None:
    result = leakage_coco(ExperimentSettings(), models=("equalizer",), rounds=2)
    rows = {row.name: row.value for row in result.rows}
    assert 0.6 < rows["labels: dataset leakage"] < 0.8
    model, labels = rows["Equalizer: model leakage"], rows["Equalizer: dataset leakage"]
    assert rows["Equalizer: leakage amplification"] == pytest.approx(model - labels)
    assert rows[f"Equalizer: {SAME_ERRORS}"] > 0.02


def test_labels_that_are_as_wrong_as_a_model_know_nothing_of_the_group() -> None:
    draw = np.random.default_rng(0)
    group = draw.integers(0, 2, 40_000)
    labels = (draw.random((40_000, 2)) < 0.3).astype(np.int64)
    # The model names the first object for one group alone, and invents the second one.
    said = np.stack([labels[:, 0] * group, draw.random(40_000) < 0.2], axis=1).astype(np.int64)
    wrong = as_wrong(labels, said, draw)
    for k in range(2):
        for value in (0, 1):
            rows = labels[:, k] == value
            assert wrong[rows, k].mean() == pytest.approx(said[rows, k].mean(), abs=0.015)
    present = labels[:, 0] == 1
    rates = [wrong[present & (group == code), 0].mean() for code in (0, 1)]
    assert rates[0] == pytest.approx(rates[1], abs=0.03)
