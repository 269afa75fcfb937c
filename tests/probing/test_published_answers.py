"""Published answers of real models, against plain loops from the formulas."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import lmprobe
from lmprobe.results import IntervalStatus
from tests.reference_data import REFERENCE, needs_reference

DOCS = Path(__file__).parents[2] / "docs"
GEST = "gest/gest_scores.csv.gz"
PROFILES = "chatbot_profiles.csv"


@pytest.fixture(scope="module")
def published() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pages", DOCS / "published_answers.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def raked(table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Scale rows and columns in turn until both margins are right."""
    table = table.copy()
    for _ in range(20_000):
        table *= (rows / table.sum(axis=1))[:, None]
        table *= columns / table.sum(axis=0)
    return table


@needs_reference(GEST)
def test_gest_is_what_a_loop_gives(published: ModuleType, tmp_path: Path) -> None:
    scores = pd.read_csv(REFERENCE / GEST)
    lean = tmp_path / "stereotypes.csv"
    published.gest_lean().to_csv(lean, index=False)
    models = list(dict.fromkeys(scores.model))
    assert len(models) == 7
    for model in models:
        answers = published.gest_answers(scores, model)
        row = lmprobe.probe(answers, base="uniform", lean=str(lean)).rows[0]
        of_frames, associations = [], []
        cells: dict[tuple[int, int], list[float]] = {}
        for line in scores[scores.model == model].itertuples():
            he = 1 / (1 + 10**-line.score)
            cells.setdefault((line.template, line.stereotype), []).append(he)
        frames = sorted({frame for frame, _ in cells})
        for frame in frames:
            total = 0.0
            he = [sum(cells[frame, s]) / len(cells[frame, s]) for s in range(1, 17)]
            for stereotype, share in enumerate(he, start=1):
                # Positive where the group of the stereotype has more than one half.
                about_men = 1 if stereotype >= 8 else -1
                total += about_men * (share - 0.5) - about_men * ((1 - share) - 0.5)
            of_frames.append(total / 32)
            joint = raked(np.array([he, [1 - p for p in he]]), np.full(2, 0.5), np.full(16, 1 / 16))
            share_he = joint[0] * 16
            signs = np.where(np.arange(1, 17) >= 8, 1, -1)
            associations.append(float((signs * (share_he - 0.5)).mean()))
        assert row.value == pytest.approx(sum(of_frames) / len(frames), abs=1e-12)
        assert row.association is not None
        assert row.association.value == pytest.approx(np.mean(associations), abs=1e-10)
        assert row.strength is None


@needs_reference(PROFILES)
def test_chatbots_are_what_a_loop_gives(published: ModuleType, tmp_path: Path) -> None:
    profiles = pd.read_csv(REFERENCE / PROFILES)
    for model in dict.fromkeys(profiles.model):
        answers, base = published.chatbot_tables(profiles, model)
        base.to_csv(tmp_path / "labour.csv", index=False)
        counted = lmprobe.load_model(answers, values="count")
        row = lmprobe.probe(counted, base=str(tmp_path / "labour.csv"), resample="tasks").rows[0]
        women, men = base.women.to_numpy(), base.men.to_numpy()
        share, whole = women / (women + men), women.sum() / (women + men).sum()
        wrote = answers.women.to_numpy() / (answers.women + answers.men).to_numpy()
        value = np.mean([
            sign * move
            for own, said in zip(share, wrote, strict=True)
            for sign, move in (
                (np.sign(own - whole), said - own), (np.sign(whole - own), own - said),
            )
        ])  # fmt: skip
        assert row.value == pytest.approx(value, abs=1e-12)
        texts = (answers.women + answers.men).to_numpy()
        half = 0.5 / texts
        # Each has a career in which one group has next to no text.
        assert min(answers.women.min(), answers.men.min()) < 3
        assert row.strength is not None
        assert row.strength.interval.status is IntervalStatus.TOO_FEW_UNITS
        seen = np.array([np.maximum(wrote, half), np.maximum(1 - wrote, half)])
        margins = np.array([women, men]) / (women + men).sum()
        joint = raked(seen, margins.sum(axis=1), margins.sum(axis=0))
        said = joint[0] / joint.sum(axis=0)
        association = np.mean(np.sign(share - whole) * (said - share))
        assert row.association is not None
        assert row.association.value == pytest.approx(association, abs=1e-8)


@needs_reference(GEST, PROFILES)
@pytest.mark.slow
def test_the_pages_are_what_their_command_writes(published: ModuleType, tmp_path: Path) -> None:
    gest = published.gest(pd.read_csv(REFERENCE / GEST), tmp_path)
    chatbots = published.chatbots(pd.read_csv(REFERENCE / PROFILES), tmp_path)
    for name, text in (("gest", gest), ("chatbots", chatbots)):
        assert (DOCS / "appendix" / f"{name}.md").read_text(encoding="utf-8") == text, name
