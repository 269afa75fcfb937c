"""Blocks are whole lines, whatever the size of what is read at a time."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from lmprobe.errors import DataFileError
from lmprobe.sources.counting import corpus as blocks
from lmprobe.sources.counting.corpus import line_blocks, text_blocks

TEXT = st.text(st.sampled_from("aé戦 \n\r"), max_size=60).map(str.encode)


@given(TEXT, st.integers(1, 9))
def test_whole_lines_never_tear_a_line_or_a_character(raw: bytes, size: int) -> None:
    result = list(line_blocks(io.BytesIO(raw), "here", size=size))
    assert b"".join(result) == raw.replace(b"\r", b"\n")
    assert all(block.endswith(b"\n") for block in result[:-1])
    for block in result:
        block.decode()


@given(TEXT, st.lists(st.integers(0, 150), max_size=5), st.integers(1, 9))
def test_spans_that_touch_hold_every_line_once(raw: bytes, cuts: list[int], size: int) -> None:
    edges = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
    actual = [
        b"".join(line_blocks(io.BytesIO(raw), "here", start, end, size=size))
        for start, end in pairwise(edges)
    ]
    assert b"".join(actual) == raw.replace(b"\r", b"\n")
    begins = [0, *(i + 1 for i, item in enumerate(raw) if item in b"\n")]
    for (start, end), text in zip(pairwise(edges), actual, strict=True):
        expected = [raw[at:].partition(b"\n") for at in begins if start <= at < end]
        whole = b"".join(line + feed for line, feed, _ in expected)
        assert text == whole.replace(b"\r", b"\n")


@given(st.lists(st.text(st.sampled_from("aé \r\n"))), st.integers(1, 20))
def test_texts_begin_on_lines_of_their_own(texts: list[str], size: int) -> None:
    joined = b"".join(text_blocks(texts, size=size)).decode()
    assert joined == "".join(text.replace("\r", "\n") + "\n" for text in texts)


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "LONGEST_LINE", 1 << 20)
    long = io.BytesIO(b"x" * 3_000_000)
    for line_block in (line_blocks(long, "here", size=9), line_blocks(long, "here", 10, 20)):
        with pytest.raises(DataFileError, match=r"here: a line is longer than 1 MB"):
            list(line_block)
