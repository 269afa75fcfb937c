"""A checkpoint of a count that was changed is refused, never counted with."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmprobe.corpus.count import count, count_words
from lmprobe.corpus.plan import plan
from lmprobe.errors import DataFileError
from lmprobe.io.sealed import checksum

WORDS = count_words(attributes=None, tasks=["nurse", "cook"])
TEXT = "She is a nurse. He is a cook.\nHe met a nurse. A cook saw him.\n" * 60
PART = 400

Document = dict[str, Any]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def state(corpus: Path, tmp_path: Path) -> Path:
    """Return the checkpoint of a count that was stopped half-way."""
    path = tmp_path / "state.json"

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count(plan(corpus, part=PART), WORDS, checkpoint=path, progress=stop)
    return path


def numbers_changed(document: Document, rng: random.Random) -> None:
    """Change one thing that decides the counts."""
    rows, done = document["counts"], document["done"]
    row = rng.randrange(len(rows))
    parts = len(TEXT) // PART + 1
    match rng.randrange(8):
        case 0:
            rows[row][2] += rng.choice([-1, 1, 1000])
        case 1:
            rows[row][rng.randrange(2)] += rng.choice([-1, 1])
        case 2:
            rows.append(list(rng.choice(rows)))
        case 3:
            del rows[row]
        case 4:
            done.remove(rng.choice(done))
        case 5:
            done.append(rng.choice([number for number in range(parts) if number not in done]))
        case 6:
            done.append(rng.choice([-1, parts + 5, done[0], done[0] + 0.5, str(done[0])]))
        case 7:
            rows[row][2] = rng.choice([-rows[row][2], 0, 1.5, None, "7", True])


def test_300_changed_files_are_refused(corpus: Path, state: Path) -> None:
    whole = state.read_text()
    rng = random.Random(20261)
    for _ in range(300):
        document = json.loads(whole)
        numbers_changed(document, rng)
        state.write_text(json.dumps(document))
        with pytest.raises(DataFileError, match="was changed"):
            count(plan(corpus, part=PART), WORDS, checkpoint=state)


def test_damaged_bytes_give_the_right_counts_or_none(corpus: Path, state: Path) -> None:
    whole = state.read_bytes()
    truth = count(plan(corpus, part=PART), WORDS).counts.tolist()
    rng = random.Random(20262)
    refused = 0
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        state.write_bytes(damaged[: rng.choice([len(whole), rng.randrange(len(whole))])])
        try:
            found = count(plan(corpus, part=PART), WORDS, checkpoint=state).counts.tolist()
        except DataFileError:
            refused += 1
        else:
            assert found == truth
    assert refused > 190


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found["done"].append(10_000), "part 10000 of a corpus that has"),
        (lambda found: found["done"].append(-1), "part -1 of"),
        (lambda found: found["counts"].append([2, 0, 1]), "which cannot be"),
        (lambda found: found["counts"].append([0, 2, 1]), "which cannot be"),
        (lambda found: found["counts"].append([-1, 0, 1]), "which cannot be"),
        (lambda found: found["counts"][0].__setitem__(2, -4), "counts -4 sentences"),
        (lambda found: found["done"].clear(), "which cannot be"),
        (lambda found: found["done"].append(found["done"][0]), "names a part twice"),
        (lambda found: found["counts"].append(found["counts"][0]), "counts a pair twice"),
        (lambda found: found["done"].append(1.0), "not whole"),
    ],
)
def test_a_right_checksum_does_not_make_it_possible(
    corpus: Path, state: Path, change: Callable[[Document], None], message: str
) -> None:
    document = json.loads(state.read_text())
    del document["sha256"]
    change(document)
    state.write_text(json.dumps({**document, "sha256": checksum(document)}))
    with pytest.raises(DataFileError, match=message):
        count(plan(corpus, part=PART), WORDS, checkpoint=state)


@pytest.mark.parametrize("text", ["[]", "null", "7", '"x"', "[" * 5000, '{"format": []}', ""])
def test_what_never_was_a_checkpoint(corpus: Path, state: Path, text: str) -> None:
    state.write_text(text)
    with pytest.raises(DataFileError, match="this is no checkpoint of a count"):
        count(plan(corpus, part=PART), WORDS, checkpoint=state)
