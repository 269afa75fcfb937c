"""The TOML beside a table: what each entry may be, how the numbers were sampled."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import DataFileError, InputError
from lmprobe.sources import Sampling, align_base_rates, load_base_rates
from lmprobe.sources.csv_file import read_table, write_table
from lmprobe.sources.source import PROVENANCE, BaseTable, table_of

CSV = "task,he,she\nnurse,1,9\ncook,6,4\n"
HE_SHE = ["he", "she"]
TASKS = ["nurse", "cook", "chef"]


def described(folder: Path, toml: str, text: str = CSV) -> BaseTable:
    path = folder / "mine.csv"
    path.write_text(text, encoding="utf-8")
    path.with_suffix(".toml").write_text(toml, encoding="utf-8")
    return read_table(path)


def errors_of(sampling: Sampling | None) -> list[list[float]]:
    assert sampling is not None
    assert sampling.standard_errors is not None
    assert not sampling.counts
    numbers: list[list[float]] = sampling.standard_errors.tolist()
    return numbers


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('tilte = "x"', 'no entry is called "tilte"; did you mean "title"'),
        ("title = ", ""),
        ("title = 3", "title must be text"),
        ('sha256 = "00"', "the table beside it has changed"),
        ("year = true", "year must be a whole number or text"),
        ('notes = ["a", 3]', "notes must be text or a list of texts"),
        ("rows = { nurse = 3 }", "rows must be a table of tasks"),
        ('aliases = "nurse"', "aliases must be a table of words"),
        ("units = { nurse = 3 }", "units must be a table of tasks"),
        (
            'units = { nurze = "Nurses" }',
            'units: no task "nurze" in the table; did you mean "nurse"',
        ),
        ('[aliases]\nsister = "nurze"', 'means "nurze".*did you mean "nurse"'),
        ('counts = "yes"', "counts must be true or false"),
        *(
            (f"standard_errors = {{ nurse = {row} }}", "standard_errors must be a table of tasks")
            for row in ("1", "[true, 1]", '["1", 1]', "[nan, 1]", "[1, inf]", "[-1e-9, 1]")
        ),
        ("standard_errors = { nurs = [1, 1] }", 'no task "nurs" in the table; did you mean'),
        ("standard_errors = { nurse = [1] }", '"nurse" has 1 numbers, the table has 2 attributes'),
        ("standard_errors = { nurse = [1, 1] }", 'no line for "cook"; add it'),
        ("counts = true\nstandard_errors = { }", "counts and standard_errors exclude each other"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, toml: str, message: str) -> None:
    with pytest.raises(DataFileError, match=rf"mine\.toml: .*{message}"):
        described(tmp_path, toml)


def test_entries_of_every_kind_are_read(tmp_path: Path) -> None:
    toml = 'year = 2020\nnotes = "one"\nseries = "ACS"\ncounts = false\n[rows]\nnurse = "Nurses"\n'
    errors = "[standard_errors]\ncook = [1, 2e3]\nnurse = [0, 0.5]\n"
    table = described(tmp_path, toml + errors)
    facts = [table.provenance[key] for key in ("year", "notes", "series", "title")]
    assert facts == [2020, ("one",), "ACS", "mine.csv"]
    assert errors_of(table.sampling) == [[0, 1], [0.5, 2000]]
    assert described(tmp_path, 'year = "2019-20"').provenance["year"] == "2019-20"
    assert described(tmp_path, 'notes = ["a", "b"]').provenance["notes"] == ("a", "b")
    assert tuple(table.provenance) == PROVENANCE


def test_counts_are_a_sample_and_a_table_that_says_nothing_is_exact(tmp_path: Path) -> None:
    for toml, counts in (("counts = true", True), ("counts = false", False), ("", False)):
        table = described(tmp_path, toml)
        for read in (table, read_table(write_table(table, tmp_path / "again.csv"))):
            assert (read.sampling is not None and read.sampling.counts) == counts
    assert load_base_rates("wikipedia").sampling.counts  # type: ignore[attr-defined]
    assert load_base_rates("labor").sampling is None  # type: ignore[attr-defined]


def test_words_of_the_description_are_those_of_the_table(tmp_path: Path) -> None:
    """In any order, by other names, and with accents written apart."""
    csv = "task,il,elle\ncuisinier,6,4\ninfirmie\u0300re,1,9\n"
    errors = '[standard_errors]\n"infirmie\u0300re" = [1, 2]\ncuisinier = [3, 4]\n'
    table = described(tmp_path, errors + '[aliases]\nsoeur = "infirmie\u0300re"\n', csv)
    selected = table.sampling_of(("elle", "il"), ("soeur", "cuisinier"))
    assert errors_of(selected) == [[2, 4], [1, 3]]


def test_a_description_is_written_with_every_fact_and_read_again(tmp_path: Path) -> None:
    facts = {"title": 'É \x7f "q"', "source": "s", "year": 2020, "licence": None, "notes": ["ñ"]}
    errors = np.array([[0.5, 1.0], [2.0, 0.0]])
    table = table_of(
        "t", [[1, 2], [3, 4]], HE_SHE, ["a b", "c"], provenance=facts, sampling=Sampling(errors)
    )
    aliases, units = {"sea": "c"}, {"a b": "row", "c": "row"}
    path = write_table(replace(table, aliases=aliases, units=units), tmp_path / "t.csv")
    text = path.with_suffix(".toml").read_text("utf-8")
    assert "É" in text  # readable as it is
    assert "\x7f" not in text
    assert tomllib.loads(text) == {
        "title": 'É \x7f "q"', "source": "s", "year": 2020, "notes": ["ñ"],
        "sha256": table.provenance["sha256"],
        "standard_errors": {"a b": [0.5, 2.0], "c": [1.0, 0.0]},
        "aliases": aliases, "units": units,
    }  # fmt: skip
    again = read_table(path)
    assert again.provenance == table.provenance
    assert errors_of(again.sampling) == errors.tolist()
    assert again.units == units
    assert again.association(HE_SHE, ["sea"]).joint[:, 0] == pytest.approx([1 / 3, 2 / 3])


@pytest.mark.parametrize("key", ["units", "rows"])
def test_tasks_of_one_row_of_the_source_are_one_unit(tmp_path: Path, key: str) -> None:
    csv = "task,he,she\nnurse,1,9\ncook,6,4\nchef,6,4\nghost,0,0\n"
    toml = f'[{key}]\ncook = "Cooks"\nchef = "Cooks"\n[aliases]\nbaker = "chef"\n'
    table = described(tmp_path, toml, csv)
    queried = ["baker", "nurse", "ghost", "cook", "pilot"]
    units = {missing: align_base_rates(table, HE_SHE, queried, missing=missing).task_units
             for missing in ("drop", "smooth")}  # fmt: skip
    assert units == {
        "drop": ("Cooks", "nurse", "Cooks"),
        "smooth": ("Cooks", "nurse", "ghost", "Cooks", "pilot"),
    }


def test_a_column_names_the_units_too(tmp_path: Path) -> None:
    csv = "task,he,unit,she\nnurse,1,,9\ncook,6,Cooks,4\nchef,6,Cooks,4\n"
    (tmp_path / "mine.csv").write_text(csv)
    units = [None, "Cooks", "Cooks"]
    frame = pd.DataFrame({"he": [1, 6, 6], "she": [9, 4, 4], "unit": units}, TASKS)
    for source in (load_base_rates(tmp_path / "mine.csv"), load_base_rates(frame)):
        aligned = align_base_rates(source, HE_SHE, TASKS)
        assert aligned.task_units == ("nurse", "Cooks", "Cooks")
        assert aligned.association.counts is not None
        assert aligned.association.counts.tolist() == [[1, 6, 6], [9, 4, 4]]
    assert list(frame.columns) == ["he", "she", "unit"]


def test_each_task_of_a_source_without_units_is_its_own() -> None:
    assert align_base_rates(load_base_rates("uniform"), HE_SHE, TASKS).task_units == tuple(TASKS)


@pytest.mark.parametrize(
    ("header", "message"),
    [("task,he,unit", "found 1 attribute columns"), ("task,unit,he,she,unit", '"unit" appears')],
)
def test_a_column_of_units_is_no_attribute(tmp_path: Path, header: str, message: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(f"{header}\nnurse,1,2,3,4\n")
    with pytest.raises(DataFileError, match=message):
        read_table(path)


SET = 'sentences = ["x"]\nname = "mine"\n[slots]\nx = ["y"]\n'


@pytest.mark.parametrize("toml", [SET, 'name = "words"\nentries = ["x"]\n'])
def test_a_template_set_or_lexicon_of_the_same_name_is_no_description(
    tmp_path: Path, toml: str
) -> None:
    assert described(tmp_path, toml).provenance["title"] == "mine.csv"
    path = tmp_path / "mine.csv"
    with pytest.raises(InputError, match=r"is a template set or a lexicon.*choose another name"):
        write_table(table_of("mine", [[1, 2], [3, 4]], HE_SHE, ["a", "b"]), path)
    assert path.read_text() == CSV
    assert path.with_suffix(".toml").read_text() == toml
