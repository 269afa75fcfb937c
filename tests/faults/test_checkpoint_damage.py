"""A checkpoint of a count that was changed is refused, never counted with."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from lmprobe.errors import DataFileError
from lmprobe.sources.counting.corpus import plan
from lmprobe.sources.counting.count import count, count_words
from tests.fuzz.mutations import damage_bytes

WORDS = count_words(attributes=None, tasks=["nurse", "cook"])
TEXT = "She is a nurse. He is a cook.\nHe met a nurse. A cook saw him.\n" * 60


def counted(state: Path | None, **options: Any) -> list[list[float]]:
    result = count(plan("text.txt", part=400), WORDS, checkpoint=state, **options)
    return result.counts.tolist()  # type: ignore[no-any-return]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the checkpoint of a count that was stopped half-way."""

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT)
    with pytest.raises(KeyboardInterrupt):
        counted(Path("state.json"), progress=stop)
    return Path("state.json")


def change_a_number(document: dict[str, Any], rng: random.Random) -> None:
    """Change one thing that decides the counts."""
    rows, done = document["counts"], document["done"]
    row = rng.randrange(len(rows))
    match rng.randrange(6):
        case 0:
            rows[row][2] = rng.choice([rows[row][2] + 1, -rows[row][2], 0, 1.5, None, "7", True])
        case 1:
            rows[row][rng.randrange(2)] += rng.choice([-1, 1])
        case 2:
            rows.append(list(rng.choice(rows)))
        case 3:
            del rows[row]
        case 4:
            done.remove(rng.choice(done))
        case 5:
            done.append(rng.choice([-1, max(done) + 1, done[0], done[0] + 0.5, str(done[0])]))


def test_changed_numbers_are_refused(state: Path) -> None:
    whole, rng = state.read_text(), random.Random(20261)
    for _ in range(100):
        document = json.loads(whole)
        change_a_number(document, rng)
        state.write_text(json.dumps(document))
        with pytest.raises(DataFileError, match="was changed"):
            counted(state)


@pytest.mark.slow
def test_damaged_bytes_give_the_right_counts_or_none(state: Path) -> None:
    whole, rng = state.read_bytes(), random.Random(20262)
    truth, refused = counted(None), 0
    for _ in range(200):
        state.write_bytes(damage_bytes(rng, whole))
        try:
            assert counted(state) == truth
        except DataFileError:
            refused += 1
    assert refused > 190
