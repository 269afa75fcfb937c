"""How a table was sampled, as its TOML says; a TOML of the same name that is something else."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from lmprobe.errors import DataFileError, InputError
from lmprobe.sources import Sampling, load_base_rates
from lmprobe.sources.csv_file import read_table, write_table
from lmprobe.sources.table import table_of

CSV = "task,he,she\nnurse,1,9\ncook,6,4\n"


def written(folder: Path, toml: str) -> Path:
    path = folder / "mine.csv"
    path.write_text(CSV)
    path.with_suffix(".toml").write_text(toml)
    return path


def test_a_table_without_a_word_about_it_is_taken_as_exact(tmp_path: Path) -> None:
    assert read_table(written(tmp_path, 'title = "x"')).sampling is None
    assert read_table(written(tmp_path, "counts = false")).sampling is None


def test_counts_are_a_sample(tmp_path: Path) -> None:
    sampling = read_table(written(tmp_path, "counts = true")).sampling
    assert sampling is not None
    assert sampling.counts
    assert sampling.standard_errors is None


def test_standard_errors_follow_the_labels_asked_for(tmp_path: Path) -> None:
    toml = '[standard_errors]\ncook = [0.5, 1]\nnurse = [2, 3]\n[aliases]\nchef = "cook"\n'
    table = read_table(written(tmp_path, toml))
    assert table.sampling is not None
    assert not table.sampling.counts
    assert table.sampling.standard_errors is not None
    assert table.sampling.standard_errors.tolist() == [[2, 0.5], [3, 1]]
    chosen = table.sampling_of(("she", "he"), ("chef",))
    assert chosen is not None
    assert chosen.standard_errors is not None
    assert chosen.standard_errors.tolist() == [[1], [0.5]]


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("counts = 1", "counts must be true or false"),
        ("standard_errors = 1", "standard_errors must be a table of tasks"),
        ("standard_errors = { nurse = [1, -1] }", "standard_errors must be a table of tasks"),
        ("standard_errors = { nurse = [1, inf] }", "standard_errors must be a table of tasks"),
        ("standard_errors = { nurs = [1, 1] }", 'no task "nurs" in the table; did you mean'),
        ("standard_errors = { nurse = [1] }", '"nurse" has 1 numbers, the table has 2'),
        ("standard_errors = { nurse = [1, 1] }", 'no line for "cook"; add it'),
        ("counts = true\nstandard_errors = { }", "counts and standard_errors exclude each other"),
    ],
)
def test_mistakes(tmp_path: Path, toml: str, message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        read_table(written(tmp_path, toml))


@pytest.mark.parametrize("sampling", [None, Sampling(), Sampling(np.array([[1.5, 2], [0, 1e-9]]))])
def test_sampling_survives_writing(tmp_path: Path, sampling: Sampling | None) -> None:
    table = table_of("t", [[1, 2], [3, 4]], ["he", "she"], ["a", "b"], sampling=sampling)
    back = read_table(write_table(table, tmp_path / "t.csv")).sampling
    assert (back is None) == (sampling is None)
    if sampling is not None and back is not None and sampling.standard_errors is not None:
        np.testing.assert_array_equal(back.standard_errors, sampling.standard_errors)


def test_shipped_counts_say_so() -> None:
    assert load_base_rates("wikipedia").sampling.counts  # type: ignore[attr-defined]
    assert load_base_rates("labor").sampling is None  # type: ignore[attr-defined]


SET = 'sentences = ["x"]\nname = "mine"\n[slots]\nx = ["y"]\n'


@pytest.mark.parametrize("toml", [SET, 'name = "words"\nentries = ["x"]\n'])
def test_a_template_set_or_lexicon_of_the_same_name_is_no_description(
    tmp_path: Path, toml: str
) -> None:
    path = written(tmp_path, toml)
    assert read_table(path).provenance["title"] == "mine.csv"
    table = table_of("mine", [[1, 2], [3, 4]], ["he", "she"], ["a", "b"])
    with pytest.raises(InputError, match=r"is a template set or a lexicon.*choose another name"):
        write_table(table, path)
    assert path.read_text() == CSV
    assert path.with_suffix(".toml").read_text() == toml


def test_many_columns_are_read_in_seconds(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(100_000)]
    path = tmp_path / "wide.csv"
    path.write_text(f"task,{','.join(names)}\nnurse,{','.join(['1'] * len(names))}\n")
    start = time.perf_counter()
    world = load_base_rates(path).association(names, ["nurse"])
    assert time.perf_counter() - start < 5
    assert world.joint.shape == (100_000, 1)
