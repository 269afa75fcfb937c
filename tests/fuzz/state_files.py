"""Readers of what lmprobe keeps for itself: cached scores, the state of a count."""

from __future__ import annotations

import atexit
import json
import math
import random
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tests.fuzz import mutations
from tests.fuzz.reader import Reader, WrongNumber

_KEY = "0" * 64


def readers() -> list[Reader]:
    """Return the readers of this file."""
    return [
        Reader("cache-entry", "entry.json", _entries, damage_entry, read_cache_entry),
        Reader("count-checkpoint", "state.json", _states, mutations.damage_json, read_checkpoint),
    ]


def _entries() -> tuple[bytes, ...]:
    from lmprobe.models.cache import Entry

    entry = Entry("reference:amplified", {"log": (-1.0, -2.5), "mass": (0.5,)})
    return (entry.to_json(_KEY).encode(),)


def damage_entry(rng: random.Random, content: bytes) -> bytes:
    """Damage an entry; half of the time with a checksum that fits the damage."""
    from lmprobe.io.sealed import seal

    changed = mutations.damage_json(rng, content)
    if rng.random() < 0.5:
        return changed
    try:
        document = json.loads(changed)
        document.pop("sha256", None)
        return seal(document, _KEY).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):
        return changed


def read_cache_entry(path: Path) -> None:
    """An entry that is damaged is no entry; what is read has finite numbers."""
    from lmprobe.models.cache import Entry

    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    entry = Entry.from_json(text, _KEY)
    if entry is None:
        return
    entry.to_json(_KEY)
    if not all(math.isfinite(one) for row in entry.numbers.values() for one in row):
        raise WrongNumber("a number of the cache is not finite")


@cache
def _counted() -> tuple[Any, Any, bytes, list[list[int]]]:
    """Return a plan and its words, the state of the finished count, and its counts."""
    from lmprobe.corpus.count import count, count_words
    from lmprobe.corpus.plan import plan

    folder = Path(tempfile.mkdtemp(prefix="lmprobe-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    text, state = folder / "counted.txt", folder / "state.json"
    text.write_text("He is a nurse. She is a cook.\n" * 50)
    words = count_words(attributes={"he": ["he"], "she": ["she"]}, tasks=["nurse", "cook"])
    planned = plan(str(text))
    counts = count(planned, words, checkpoint=state).counts.tolist()
    return planned, words, state.read_bytes(), counts


def _states() -> tuple[bytes, ...]:
    return (_counted()[2],)


def read_checkpoint(path: Path) -> None:
    """A count that goes on from a checkpoint gives the counts of one without, or refuses it."""
    from lmprobe.corpus.count import count

    planned, words, _, counts = _counted()
    found = count(planned, words, checkpoint=path).counts.tolist()
    if found != counts:
        raise WrongNumber(f"{found}, without the checkpoint {counts}")
