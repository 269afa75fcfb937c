"""The same text counts the same in every wrapping, size of parts and number of workers."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings, strategies as st

from lmprobe.errors import DataFileError, InputError, LmprobeError, MissingExtraError
from lmprobe.sources.counting.corpus import CorpusPlan, joined, plan
from lmprobe.sources.counting.count import count, count_cooccurrences
from lmprobe.sources.counting.lexicon import lexicon

WORDS = lexicon({"he": ["he", "his"], "she": ["she", "her"]}, ["cook", "editor", "nurse"])
DOCUMENTS = [
    "He is a cook. Was she an editor?\nHer editor, é, left. The nurse saw him.",
    "戦場 his cook.\r\nShe is the nurse – his nurse. “Her cook!” he said. She is a nurse.",
    "The editor wrote. He is an editor, she said. His editor, Dr. Who, is a cook.",
] * 7
TEXT = "\n".join(DOCUMENTS) + "\n"
# Per three documents: "He is a cook" and "his cook" | "Was she an editor", "Her editor"
# and "She is a nurse"; every other sentence names two of something or nobody.
BY_HAND = [[14, 0, 0], [0, 14, 7]]


def counts_of(corpus: Any, **options: Any) -> list[list[float]]:
    actual: list[list[float]] = count(plan(corpus, **options), WORDS).counts.tolist()
    return actual


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode())
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(part=st.integers(1, 700), rule=st.sampled_from(["word", "paper"]))
def test_no_size_of_parts_changes_a_count(file: Path, part: int, rule: str) -> None:
    whole = count(plan(file), WORDS, rule=rule)
    cut = count(plan(file, part=part), WORDS, rule=rule)
    assert cut.counts.tolist() == whole.counts.tolist()
    assert cut.size == whole.size == file.stat().st_size


def wrapped(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the same documents in every form that a corpus comes in."""
    raw = TEXT.encode()
    rows = [{"text": text, "id": str(i)} for i, text in enumerate(DOCUMENTS)]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    compress = zstandard.ZstdCompressor().compress
    contents = {
        "plain.txt": raw,
        "marked.txt": b"\xef\xbb\xbf" + raw,
        "windows.txt": raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
        "plain.txt.gz": gzip.compress(raw),
        "plain.txt.zst": compress(raw[:100]) + compress(raw[100:]),  # two frames
        "rows.jsonl": lines,
        "rows.jsonl.gz": gzip.compress(lines),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        yield name, folder / name
    pd.DataFrame(rows).to_parquet(folder / "rows.parquet", row_group_size=4)
    yield "parquet", folder / "rows.parquet"
    dataset = datasets.Dataset.from_list(rows)
    dataset.save_to_disk(folder / "saved")
    yield "dataset on disk", folder / "saved"
    yield "dataset in memory", dataset
    yield "texts", DOCUMENTS
    yield "one text", [TEXT]
    halves = folder / "halves" / "AA"
    halves.mkdir(parents=True)
    (halves / "wiki_00").write_text("\n".join(DOCUMENTS[:9]) + "\n", newline="")
    (halves / "more.jsonl").write_bytes(b"".join(lines.splitlines(keepends=True)[9:]))
    (halves / "ignored.png").write_bytes(b"He is a cook.")
    yield "folder", folder / "halves"
    yield "pattern", f"{folder}/halves/*/[wm]*"
    yield "paths", [halves / "wiki_00", halves / "more.jsonl"]


def test_every_wrapping_counts_the_same(tmp_path: Path) -> None:
    for name, corpus in wrapped(tmp_path):
        assert (name, counts_of(corpus)) == (name, BY_HAND)
        # Smaller than any of the files, so that one cut up by mistake would count twice.
        assert (name, counts_of(corpus, part=60)) == (name, BY_HAND)


def test_an_empty_cell_is_a_row_without_text(tmp_path: Path) -> None:
    texts = pd.DataFrame({"text": ["He is a cook.", None, "She is a nurse."]})
    texts.to_parquet(tmp_path / "texts.parquet")
    texts.astype("category").to_parquet(tmp_path / "kinds.parquet")
    texts.to_json(tmp_path / "texts.jsonl", orient="records", lines=True)
    datasets.Dataset.from_pandas(texts).save_to_disk(tmp_path / "saved")
    for name in ("texts.parquet", "kinds.parquet", "texts.jsonl", "saved"):
        assert counts_of(tmp_path / name) == [[1, 0, 0], [0, 0, 1]]


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    path = tmp_path / "marked.txt"
    path.write_bytes(b"\xef\xbb\xbfhe is a cook .\n")
    assert count(plan(path), WORDS, rule="paper").counts[0, 0] == 1


def test_a_dataset_of_the_hub_is_streamed(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text("".join(json.dumps({"t": d}) + "\n" for d in DOCUMENTS))
    assert counts_of(f"hf://{tmp_path}?split=train", field="t") == BY_HAND
    with pytest.raises(DataFileError, match="cannot open this dataset"):
        plan(f"hf://{tmp_path}/nothing")
    with pytest.raises(InputError, match=r"write hf://NAME"):
        plan(f"hf://{tmp_path}?spilt=train")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert counts_of("-") == BY_HAND


def test_several_corpora_are_one(file: Path) -> None:
    for other in (file, DOCUMENTS):
        both = count(joined([plan(file), plan(other)]), WORDS)
        assert both.counts.tolist() == (2 * np.array(BY_HAND)).tolist()


def test_two_workers_count_the_same(file: Path) -> None:
    assert count(plan(file, part=100), WORDS, workers=2).counts.tolist() == BY_HAND
    assert count(plan(iter(DOCUMENTS)), WORDS, workers=2).counts.tolist() == BY_HAND
    # The first part takes longest and is the last to come back.
    large = file.with_name("large.txt")
    large.write_bytes(TEXT.encode() * 2_000)
    both = count(joined([plan(large), plan(file)]), WORDS, workers=2)
    assert both.counts.tolist() == (2_001 * np.array(BY_HAND)).tolist()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_count_goes_on(file: Path, tmp_path: Path, workers: int) -> None:
    state = tmp_path / "state.json"

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count(plan(file, part=300), WORDS, checkpoint=state, progress=stop, workers=workers)
    size = file.stat().st_size
    # Progress goes on where it stopped; a complete state answers by itself.
    seen: list[int] = []
    for last in ([size], []):
        seen.clear()
        again = count(
            plan(file, part=300), WORDS, checkpoint=state, progress=lambda at, _: seen.append(at)
        )
        assert (again.counts.tolist(), again.size) == (BY_HAND, size)
        assert all(at > size // 2 for at in seen)
        assert seen[-1:] == last


def test_a_checkpoint_of_another_count_is_refused(file: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    count(plan(file), WORDS, checkpoint=state)
    with pytest.raises(DataFileError, match="belongs to another count"):
        count(plan(file), WORDS, rule="paper", checkpoint=state)
    file.write_bytes(file.read_bytes().replace(b"cook", b"kook"))  # as long as before
    with pytest.raises(DataFileError, match="belongs to another count"):
        count(plan(file), WORDS, checkpoint=state)
    for content in (b"{}", b"", b"\xff"):
        state.write_bytes(content)
        with pytest.raises(DataFileError, match="this is no checkpoint of a count"):
            count(plan(file), WORDS, checkpoint=state)
    with pytest.raises(InputError, match="a checkpoint needs files"):
        count(plan(DOCUMENTS), WORDS, checkpoint=state)


def test_labels_and_plurals_of_the_public_function() -> None:
    text = ["He met the secretaries.", "She is a secretary."]
    words: Any = {"attributes": {"m": ["he"], "f": ["she"]}, "tasks": {"office": ["secretary"]}}
    for plurals, counts in ((False, [[0], [1]]), (True, [[1], [1]])):
        result = count_cooccurrences(text, plurals=plurals, **words)
        assert (result.attributes, result.tasks) == (("m", "f"), ("office",))
        assert result.counts is not None
        assert result.counts.tolist() == counts


@pytest.mark.parametrize(
    ("attributes", "tasks", "message"),
    [
        ({"he": ["he"]}, ["cook"], "at least two attributes"),
        ({"he": ["he"], "she": ["he"]}, ["cook"], "stands for both 'he' and 'she'"),
        (["he", "she"], [], "`tasks`: no word is given"),
        (["he", "she"], "cook", "must be several words"),
        (["he", "she"], ["cook", "cook"], "'cook' appears twice"),
        (["he", "she"], ["Ph.D."], "full stop"),
        (["he", "she"], ["-", "cook"], "'-' has no letter or digit"),
        (["he", "she"], ["truck driver", "truck-driver"], "stands for two labels"),
    ],
)
def test_words_that_cannot_be_counted(attributes: Any, tasks: Any, message: str) -> None:
    for rule in ("word", "pattern"):
        with pytest.raises(InputError, match=message):
            count_cooccurrences(["He is a cook."], attributes=attributes, tasks=tasks, rule=rule)


@pytest.mark.parametrize(
    ("corpus", "options", "message"),
    [
        (["Nobody here"], {}, r"no sentence of texts in memory \(12 bytes\) counts"),
        (DOCUMENTS, {"rule": "words"}, 'did you mean "word"'),
        (DOCUMENTS, {"engine": "locale"}, 'did you mean "local"'),
        (DOCUMENTS, {"workers": 0}, "`workers` must be 1 or more"),
        (7, {}, "must be a path or an iterable of texts"),
    ],
)
def test_counts_that_cannot_be(corpus: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        count(plan(corpus), WORDS, **options)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    broken = {
        "cut.txt.gz": (gzip.compress(TEXT.encode())[:-9], "compressed data is broken"),
        "not.txt.zst": (b"plain", "compressed data is broken"),
        "wide.txt": (TEXT.encode("utf-16"), "this is UTF-16; save it as UTF-8"),
        "bad.jsonl": (b'{"text": "x"}\n{"text": \n', "is not JSON"),
        "other.jsonl": (b'{"body": "x"}\n', r'in the field "text" \(it has body\)'),
        "list.jsonl": (b'{"text": ["x"]}\n', 'field "text" of a row holds a list, not text'),
        "array.json": (b'[{"text": "x"},\n{"text": "y"}]\n', "each line must be one JSON object"),
    }
    for name, (content, message) in broken.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataFileError, match=rf"{name}: .*{message}"):
            counts_of(tmp_path / name)
    pd.DataFrame({"body": ["x"]}).to_parquet(tmp_path / "other.parquet")
    pd.DataFrame({"text": [1, 2]}).to_parquet(tmp_path / "numbers.parquet")
    (tmp_path / "empty").mkdir()
    rows = datasets.Dataset.from_list([{"text": "He is a cook."}])
    datasets.DatasetDict(train=rows).save_to_disk(tmp_path / "both")
    for corpus, message in (
        (tmp_path / "other.parquet", r'no column is called "text" \(it has body\)'),
        (tmp_path / "numbers.parquet", r'numbers.parquet: the column "text" holds int64'),
        (tmp_path / "missing.txt", "no such file or folder"),
        (f"{tmp_path}/*.nothing", "no file matches"),
        (tmp_path / "empty", "no text, JSON Lines or Parquet"),
        (tmp_path / "both", r"choose a split, such as .*both/train"),
    ):
        with pytest.raises(DataFileError, match=message):
            plan(corpus)
    assert counts_of(tmp_path / "both" / "train")[0][0] == 1


def test_ray_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r'pip install "ray\[data\]"'):
        count(plan(file), WORDS, engine="ray")


class Deadly:
    """A part whose worker dies."""

    size = 1

    def __reduce__(self) -> Any:
        return (os._exit, (9,))


def test_a_killed_process_is_a_clear_error(file: Path) -> None:
    deadly: Any = CorpusPlan([Deadly()], ("deadly",))  # type: ignore[list-item]
    with pytest.raises(LmprobeError, match="a counting process was killed"):
        count(joined([plan(file), deadly]), WORDS, workers=2)


ABANDONED = """
import multiprocessing, time
from lmprobe.sources.counting.count import count_cooccurrences

def texts():
    yield "He is a cook. " * 400_000
    yield "He is a cook. " * 400_000
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)
    time.sleep(60)

if __name__ == "__main__":
    words = {"he": ["he"], "she": ["she"]}
    count_cooccurrences(texts(), attributes=words, tasks=["cook"], workers=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are not listed in /proc")
def test_processes_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ABANDONED)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        children = [Path("/proc") / pid for pid in parent.stdout.readline().split()]
        parent.kill()
    assert children
    while any(child.exists() for child in children):
        time.sleep(0.05)
