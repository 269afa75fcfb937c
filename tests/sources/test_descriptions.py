"""The TOML beside a table: what each entry may be, and what is written of a table."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.core.association import Association
from lmprobe.errors import DataFileError, InputError
from lmprobe.sources import Sampling, align_base_rates, load_base_rates
from lmprobe.sources.csv_file import read_table, write_table
from lmprobe.sources.load import find_source
from lmprobe.sources.source import PROVENANCE
from lmprobe.sources.table import Table, from_frame, provenance_of, table_of
from lmprobe.sources.uniform import Uniform

CSV = "task,he,she\nnurse,1,9\ncook,6,4\n"
HE_SHE = ["he", "she"]


def described(folder: Path, toml: str, text: str = CSV) -> Table:
    path = folder / "mine.csv"
    path.write_text(text, encoding="utf-8")
    path.with_suffix(".toml").write_text(toml, encoding="utf-8")
    return read_table(path)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("title = 3", "title must be text"),
        ("year = true", "year must be a whole number or text"),
        ("year = 2020.5", "year must be a whole number or text"),
        ("notes = 3", "notes must be text or a list of texts"),
        ('notes = ["a", 3]', "notes must be text or a list of texts"),
        ("rows = { nurse = 3 }", "rows must be a table of tasks"),
        ("aliases = 3", "aliases must be a table of words"),
        ('counts = "yes"', "counts must be true or false"),
        ("standard_errors = { nurse = 1 }", "standard_errors must be a table of tasks"),
        ("standard_errors = { nurse = [true, 1] }", "standard_errors must be a table of tasks"),
        ('standard_errors = { nurse = ["1", 1] }', "standard_errors must be a table of tasks"),
        ("standard_errors = { nurse = [nan, 1] }", "standard_errors must be a table of tasks"),
        ("standard_errors = { nurse = [-1e-9, 1] }", "standard_errors must be a table of tasks"),
        (
            "standard_errors = { nurse = [1, 1, 1], cook = [1, 1] }",
            '"nurse" has 3 numbers, the table has 2 attributes',
        ),
    ],
)
def test_an_entry_of_another_kind_is_refused(tmp_path: Path, toml: str, message: str) -> None:
    with pytest.raises(DataFileError, match=rf"mine\.toml: .*{message}"):
        described(tmp_path, toml)


def test_entries_of_every_kind_are_read(tmp_path: Path) -> None:
    toml = 'year = 2020\nnotes = "one"\nseries = "ACS"\ncounts = false\n[rows]\nnurse = "Nurses"\n'
    errors = "[standard_errors]\nnurse = [0, 0.5]\ncook = [1, 2e3]\n"
    table = described(tmp_path, toml + errors)
    assert table.provenance["year"] == 2020
    assert table.provenance["notes"] == ("one",)
    assert table.provenance["series"] == "ACS"
    assert table.sampling is not None
    assert table.sampling.standard_errors is not None
    assert table.sampling.standard_errors.tolist() == [[0, 1], [0.5, 2000]]
    assert described(tmp_path, 'year = "2019-20"').provenance["year"] == "2019-20"
    assert described(tmp_path, 'notes = ["a", "b"]').provenance["notes"] == ("a", "b")


def test_decomposed_words_of_the_description_are_those_of_the_table(tmp_path: Path) -> None:
    csv = "task,il,elle\ninfirmie\u0300re,1,9\n"
    errors = '[standard_errors]\n"infirmie\u0300re" = [1, 2]\n'
    table = described(tmp_path, errors + '[aliases]\nsoeur = "infirmie\u0300re"\n', csv)
    found = table.sampling_of(("elle",), ("soeur",))
    assert found is not None
    assert found.standard_errors is not None
    assert found.standard_errors.tolist() == [[2]]
    frame = pd.DataFrame({"task": ["infirmie\u0300re"], "il": [1], "elle": [9]})
    assert from_frame(frame).tasks == ("infirmi\u00e8re",)


def test_a_description_is_written_with_every_fact_and_read_again(tmp_path: Path) -> None:
    facts = {"title": 'É \x7f "q"', "source": "s", "year": 2020, "licence": None, "notes": ["ñ"]}
    errors = np.array([[0.5, 1.0], [2.0, 0.0]])
    table = table_of(
        "t", [[1, 2], [3, 4]], HE_SHE, ["a b", "c"], provenance=facts, sampling=Sampling(errors)
    )
    table = replace(table, aliases={"sea": "c"})
    path = write_table(table, tmp_path / "t.csv")
    text = path.with_suffix(".toml").read_text("utf-8")
    assert "É" in text  # readable as it is
    assert "\x7f" not in text
    assert text.endswith("\n")
    document = tomllib.loads(text)
    assert document == {
        "title": "É \x7f \"q\"", "source": "s", "year": 2020, "notes": ["ñ"],
        "sha256": table.provenance["sha256"],
        "standard_errors": {"a b": [0.5, 2.0], "c": [1.0, 0.0]},
        "aliases": {"sea": "c"},
    }  # fmt: skip
    again = read_table(path)
    assert again.provenance == table.provenance
    assert again.aliases == {"sea": "c"}
    assert again.association(HE_SHE, ["sea"]).joint.tolist() == pytest.approx(
        np.array([[2 / 6], [4 / 6]])
    )


@pytest.mark.parametrize(
    ("sampling", "line"), [(None, False), (Sampling(), True), (Sampling(np.ones((2, 1))), False)]
)
def test_counts_are_said_to_be_counts_only_where_they_are(
    tmp_path: Path, sampling: Sampling | None, line: bool
) -> None:
    table = table_of("t", [[1], [3]], HE_SHE, ["a"], sampling=sampling)
    path = write_table(table, tmp_path / "new" / "folder" / "t.csv")
    text = path.with_suffix(".toml").read_text("utf-8")
    assert ("counts = true" in text) == line
    assert ("[standard_errors]" in text) == (sampling is not None and not line)
    assert "[aliases]" not in text


def test_a_provenance_has_every_key_and_nothing_else() -> None:
    bare = provenance_of({}, title="mine.csv", sha256="00")
    assert tuple(bare) == PROVENANCE
    assert bare == dict.fromkeys(PROVENANCE) | {"title": "mine.csv", "sha256": "00", "notes": ()}
    known = provenance_of({"title": "T", "counts": True, "sha256": "no"}, title="x", sha256="00")
    assert (known["title"], known["sha256"]) == ("T", "00")
    assert tuple(known) == PROVENANCE
    for source in (Uniform(), load_base_rates("labor"), table_of("t", [[1], [2]], HE_SHE, ["a"])):
        assert set(source.provenance) | {"series"} == set(PROVENANCE)


def test_the_counts_of_a_model_are_complete_whatever_lies_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "corpus_counts.csv"
    path.write_text(CSV)
    path.with_suffix(".toml").write_text('title = "other"\ncounts = true\n')
    model = SimpleNamespace(name="m", folder=tmp_path)
    source: Any = load_base_rates("corpus", model=model)
    assert source.provenance["title"] == "What the model was trained on"
    assert set(source.provenance) | {"series"} == set(PROVENANCE)
    assert len(source.provenance["sha256"]) == 64
    assert (source.sampling, source.complete) == (None, True)
    aligned = align_base_rates(source, HE_SHE, ["cook"])
    assert not aligned.taken_as_exact
    for nothing in (None, SimpleNamespace(name="m"), SimpleNamespace(folder=None)):
        with pytest.raises(InputError, match='base rates "corpus" are the counts of a model'):
            load_base_rates("corpus", model=nothing)
    with pytest.raises(InputError, match="known only together with a model"):
        find_source("corpus").association(HE_SHE, ["cook"])


def test_an_association_of_shares_is_a_table_of_its_joint_rates() -> None:
    shares = Association.from_conditional([[0.25, 0.5], [0.75, 0.5]], HE_SHE, ["a", "b"])
    source: Any = load_base_rates(shares)
    assert source.counts.tolist() == [[0.125, 0.25], [0.375, 0.25]]
    counted = Association.from_counts([[1, 2], [3, 4]], HE_SHE, ["a", "b"])
    assert load_base_rates(counted).counts.tolist() == [[1, 2], [3, 4]]  # type: ignore[attr-defined]


def test_zeros_and_fractions_of_a_frame_are_counts() -> None:
    frame = pd.DataFrame({"he": [0, 0.5], "she": [3, 0]}, index=["a", "b"])
    assert from_frame(frame).counts.tolist() == [[0, 0.5], [3, 0]]
    assert from_frame(frame).name == "DataFrame"


@pytest.mark.parametrize(
    ("he", "she", "message"),
    [
        ([1, -1], [np.nan, 2], 'task "b", column "he": found -1.0; counts must be finite'),
        ([1, 2], [np.inf, -2], 'task "a", column "she": found inf; counts must be finite'),
        (["x", 2], [1, 2], "every column but `task` must hold numbers"),
    ],
)
def test_the_first_count_of_a_frame_that_cannot_be_is_named(
    he: Any, she: Any, message: str
) -> None:
    frame = pd.DataFrame({"task": ["a", "b"], "he": he, "she": she})
    with pytest.raises(DataFileError, match=message):
        from_frame(frame)


def test_labels_of_a_frame_differ() -> None:
    frame = pd.DataFrame([["a", 1, 2], ["b", 1, 2]], columns=["task", "he", "he"])
    with pytest.raises(DataFileError, match='the column "he" appears twice'):
        from_frame(frame)
    with pytest.raises(DataFileError, match='the task "1" appears twice'):
        from_frame(pd.DataFrame({"he": [1, 2], "she": [1, 2]}, index=[1, "1"]))


def test_a_table_whose_numbers_do_not_fit_its_labels_is_not_cut_to_them(tmp_path: Path) -> None:
    short = Table("t", ("he", "she"), ("a", "b"), np.ones((2, 1)), {})
    with pytest.raises(ValueError, match="shorter"):
        short.csv()
    errors = table_of("t", [[1, 1], [1, 1]], HE_SHE, ["a", "b"], sampling=Sampling(np.ones((2, 1))))
    with pytest.raises(ValueError, match="shorter"):
        write_table(errors, tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []
