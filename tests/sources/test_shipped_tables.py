"""Every shipped table: its provenance, its checksum, and the numbers behind it."""

from __future__ import annotations

import csv
import gzip
import hashlib
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from lmprobe.io.files import shipped_folder, shipped_names
from lmprobe.metrics.association import lean
from lmprobe.metrics.direction import DIRECTIONS
from lmprobe.sources import load_base_rates
from lmprobe.sources.source import BaseTable
from lmprobe.templates import load_lexicon
from tests.reference_data import REFERENCE, needs_reference

FOLDER = shipped_folder("base_rates")
NAMES = shipped_names("base_rates", ".csv")


@pytest.fixture(autouse=True)
def _no_tables_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LMPROBE_BASE_RATES", str(tmp_path))


def table(name: str) -> BaseTable:
    result = load_base_rates(name)
    assert isinstance(result, BaseTable)
    return result


def rows(name: str, delimiter: str = ",") -> list[dict[str, str]]:
    with (REFERENCE / name).open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter=delimiter))


def test_the_promised_tables_are_there() -> None:
    promised = {"labor", "winobias", "winobias-majority", "bergsma", "labor-2022", "wikipedia"}
    assert promised <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_table_says_where_it_is_from(name: str) -> None:
    result = table(name)
    for key in ("title", "source", "year", "licence", "unit", "method"):
        assert result.provenance[key], key
    content = (FOLDER / f"{name}.csv").read_bytes()
    assert result.provenance["sha256"] == hashlib.sha256(content).hexdigest()
    # The checksum is written down, not only computed on reading.
    assert hashlib.sha256(content).hexdigest() in (FOLDER / f"{name}.toml").read_text()
    assert result.provenance["notes"]
    groups = ("White", "Black", "Asian", "Hispanic") if "race" in name else ("he", "she")
    assert result.attributes == groups
    assert content == result.csv().encode()


YEARS = [f"labor-acs-{year}" for year in (2013, 2014, 2015, 2016)]


def source_rows(name: str) -> dict[str, str]:
    return dict(table(name).units)


@needs_reference("acs_occupations_2013_2016.csv")
@pytest.mark.parametrize("name", YEARS)
def test_acs_tables_are_the_published_men_and_women(name: str) -> None:
    year = name.rpartition("-")[2]
    published = {
        row["occupation"]: (float(row["men"]), float(row["women"]))
        for row in rows("acs_occupations_2013_2016.csv")
        if row["year"] == year
    }
    result = table(name)
    assert result.provenance["year"] == int(year)
    assert result.tasks == table("labor").tasks
    for task, (men, women) in zip(result.tasks, result.counts.T.tolist(), strict=True):
        assert (men, women) == published[source_rows(name)[task]]


@needs_reference("cpsaat11_2020.csv")
@pytest.mark.parametrize("name", ["labor-cps-2020", "labor-race-2020"])
def test_cps_2020_is_employment_times_the_published_shares(name: str) -> None:
    with (REFERENCE / "cpsaat11_2020.csv").open(encoding="utf-8-sig") as stream:
        published = {row[0]: row for row in csv.reader(stream)}
    result = table(name)
    assert result.tasks == table("labor").tasks
    for task, counts in zip(result.tasks, result.counts.T, strict=True):
        _, employed, women, *races, _ = published[source_rows(name)[task]]
        shares = races if "race" in name else [str(Decimal(100) - Decimal(women)), women]
        people = [
            float(Decimal(employed.replace(",", "")) * Decimal(share) / 100) for share in shares
        ]
        np.testing.assert_allclose(counts, people, rtol=1e-9)


@needs_reference("cpsaat11_2020.csv")
def test_the_detailed_cps_2020_is_employment_times_the_published_shares() -> None:
    with (REFERENCE / "cpsaat11_2020.csv").open(encoding="utf-8-sig") as stream:
        published = {row[0]: row[1:3] for row in csv.reader(stream) if row}
    result = table("labor-cps-2020-detailed")
    assert list(result.units) == list(result.tasks)
    for task, counts in zip(result.tasks, result.counts.T.tolist(), strict=True):
        employed, women = (Decimal(cell.replace(",", "")) for cell in published[result.units[task]])
        assert counts == [float(employed * share / 100) for share in (Decimal(100) - women, women)]


@needs_reference("winogenerated.csv.gz")
def test_labor_2019_is_the_published_share_of_each_winogenerated_occupation() -> None:
    with gzip.open(REFERENCE / "winogenerated.csv.gz", "rt", encoding="utf-8") as stream:
        published = {row["occupation"]: row for row in csv.DictReader(stream)}
    result = table("labor-2019")
    assert result.tasks == tuple(published) == tuple(result.units)
    retitled = set()
    for row, counts in zip(published.values(), result.counts.T.tolist(), strict=True):
        women = Decimal(row["percent_women_2019"])
        assert counts == [float(100 - women), float(women)]
        if result.units[row["occupation"]] != row["bls_occupation"]:
            retitled.add(row["occupation"])
    assert retitled == {
        "athlete", "coach", "umpire", "musician", "singer", "boat service attendant",
        "auto service attendant", "credit counselor", "loan officer",
    }  # fmt: skip


def test_the_occupations_of_the_lexicon_are_those_of_labor_2019() -> None:
    entries = load_lexicon("occupations-299").entries
    result = table("labor-2019")
    assert tuple(entry.word for entry in entries) == result.tasks
    assert result.counts.sum(axis=0) == pytest.approx(100)
    women = result.counts[1] > 50
    assert [entry.tags == ("majority-female",) for entry in entries] == women.tolist()


def test_the_detailed_table_accounts_for_every_word_and_agrees_with_the_short_one() -> None:
    detailed, short = table("labor-cps-2020-detailed"), table("labor-cps-2020")
    words = dict.fromkeys((*table("labor-2019").tasks, *table("winogender-bls").tasks))
    assert detailed.tasks == tuple(word for word in words if word in detailed.tasks)
    notes = [note for note in detailed.provenance["notes"] if note.startswith("left out")]
    for word in words:
        noted = any(re.search(rf"[:,] {word}(,| \(|$)", note) for note in notes)
        assert noted == (word not in detailed.tasks), word
    common = [task for task in detailed.tasks if task in short.tasks]
    assert len(common) == 21
    for task in common:
        assert detailed.units[task] == short.units[task]
        ours, theirs = (each.counts[:, each.tasks.index(task)] for each in (detailed, short))
        assert (ours == theirs).all()


def women(name: str) -> dict[str, float]:
    """Return the percentage of women in each occupation of a table."""
    result = table(name)
    shares = 100 * result.counts[1] / result.counts.sum(axis=0)
    return dict(zip(result.tasks, shares.tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "other", "common", "mean"),
    [
        ("labor-2019", "labor", 18, 2.4),
        ("labor-2019", "labor-cps-2020", 18, 2.5),
        ("labor-2019", "winogender-bls", 32, 3.9),
        ("labor-cps-2020-detailed", "labor-2019", 268, 3.7),
        ("labor-cps-2020-detailed", "labor", 21, 2.9),
        ("labor-cps-2020-detailed", "winogender-bls", 36, 3.8),
    ],
)
def test_tables_of_the_same_occupations_agree_or_say_where_they_do_not(
    name: str, other: str, common: int, mean: float
) -> None:
    ours, theirs = women(name), women(other)
    gaps = {task: abs(ours[task] - theirs[task]) for task in ours if task in theirs}
    assert len(gaps) == common
    assert np.mean(list(gaps.values())) < mean
    start = f"more than 10 points from {other}: "
    (note,) = (note for note in table(name).provenance["notes"] if note.startswith(start))
    listed = re.findall(r"(?:^|, )([^,(]+) \(([\d.]+), there ([\d.]+);", note.removeprefix(start))
    assert {task for task, _, _ in listed} == {task for task, gap in gaps.items() if gap > 10}
    for task, here, there in listed:
        assert (here, there) == (f"{ours[task]:.1f}", f"{theirs[task]:.1f}")


def test_a_series_has_a_table_per_year() -> None:
    series: dict[str, list[int]] = {}
    for name in NAMES:
        if (first := table(name).provenance["series"]) and "race" not in name:
            series.setdefault(first, []).append(table(name).provenance["year"])
    assert {first: sorted(years) for first, years in series.items()} == {
        "ACS": [2013, 2014, 2015, 2016], "CPS": [2016, 2020, 2022],
    }  # fmt: skip


def test_labour_is_the_papers() -> None:
    """The paper's two rows differ by the mean distance of the shares from one half."""
    shares = table("labor").association(["he", "she"], table("labor").tasks).attribute_given_task
    assert np.abs(shares - 0.5).mean() == pytest.approx(0.26215625, abs=1e-12)
    assert len(table("labor").tasks) == 32


def test_the_direction_that_uniform_takes_is_the_majority() -> None:
    majority = table("winobias-majority")
    result = majority.association(["he", "she"], majority.tasks)
    for direction in DIRECTIONS:
        for weighting in ("joint", "paper"):
            leans = lean(result, direction, weighting)  # type: ignore[arg-type]
            assert leans[0].tolist() == (2 * majority.counts[0] - 1).tolist()
            assert leans[1].tolist() == (-leans[0]).tolist()


PAIRS = [{"laborer", "constructor"}, {"cleaner", "housekeeper"}, {"accountant", "auditor"}]
# How many rows of the source have several tasks, in the tables of many occupations.
SHARED_ROWS = {"labor-2019": 19, "labor-cps-2020-detailed": 21}


@pytest.mark.parametrize("name", NAMES)
def test_tasks_that_share_a_row_of_the_source_have_equal_numbers(name: str) -> None:
    result = table(name)
    shared: dict[str, set[str]] = {}
    for task, unit in zip(result.tasks, result.units_of(result.tasks), strict=True):
        shared.setdefault(unit, set()).add(task)
    groups = [tasks for tasks in shared.values() if len(tasks) > 1]
    for tasks in groups:
        columns = result.counts[:, [result.tasks.index(task) for task in tasks]]
        assert (columns == columns[:, :1]).all()
    if name in SHARED_ROWS:
        assert len(groups) == SHARED_ROWS[name]
        assert {"accountant", "auditor"} in groups
    elif name.startswith(("labor", "winobias")):
        assert sorted(groups, key=min) == sorted(PAIRS, key=min)
    elif name == "winogender-bls":
        assert [len(tasks) for tasks in groups] == [2, 3, 2]
    else:
        assert groups == []


@needs_reference("occupations.csv")
def test_units_are_the_rows_of_the_labour_force() -> None:
    for row in rows("occupations.csv"):
        for name in ("labor", "winobias", "winobias-majority"):
            unit = table(name).units.get(row["occupation"], row["bls_row_title"])
            assert unit == row["bls_row_title"]


@needs_reference("occupations.csv")
@pytest.mark.parametrize(
    ("name", "total", "share"),
    [
        ("labor", "authors_bls2016_thousands", "winobias_pct_women"),
        ("labor-2022", "bls2022_total", "bls2022_pct_women"),
    ],
)
def test_labour_tables_are_employment_times_share(name: str, total: str, share: str) -> None:
    actual, expected = table(name), rows("occupations.csv")
    assert list(actual.tasks) == [row["occupation"] for row in expected]
    for row, column in zip(expected, actual.counts.T, strict=True):
        women = Decimal(row[total]) * Decimal(row[share]) / 100
        assert column.tolist() == [float(Decimal(row[total]) - women), float(women)]


@needs_reference("winobias40.csv", "winogender_occupations_stats.tsv")
@pytest.mark.parametrize(
    ("name", "file", "delimiter", "share"),
    [
        ("winobias", "winobias40.csv", ",", "pct_women"),
        ("bergsma", "winogender_occupations_stats.tsv", "\t", "bergsma_pct_female"),
        ("winogender-bls", "winogender_occupations_stats.tsv", "\t", "bls_pct_female"),
    ],
)
def test_share_tables_are_as_published(name: str, file: str, delimiter: str, share: str) -> None:
    actual, expected = table(name), rows(file, delimiter)
    assert list(actual.tasks) == [row["occupation"] for row in expected]
    for row, column in zip(expected, actual.counts.T, strict=True):
        assert column.tolist() == [float(100 - Decimal(row[share])), float(row[share])]


@needs_reference("winobias40.csv")
def test_majority_table_is_as_published() -> None:
    actual, expected = table("winobias-majority"), rows("winobias40.csv")
    assert list(actual.tasks) == [row["occupation"] for row in expected]
    assert actual.counts[0].tolist() == [float(row["group"] == "male") for row in expected]
    assert (actual.counts.sum(axis=0) == 1).all()


def test_wikipedia_says_that_it_is_wikitext_2_and_what_is_zero() -> None:
    result = table("wikipedia")
    never = [task for task, n in zip(result.tasks, result.counts.sum(axis=0), strict=True) if not n]
    assert "WikiText-2" in result.provenance["title"]
    assert never
    assert any(", ".join(never) in note for note in result.provenance["notes"])


def test_other_spellings_only_where_the_table_says_so() -> None:
    winobias = load_base_rates("winobias")
    first = winobias.association(["he", "she"], ["mechanic", "labourer", "counsellor"])
    other = winobias.association(["he", "she"], ["mechanician", "laborer", "counselor"])
    assert first.joint.tolist() == other.joint.tolist()
    assert first.tasks == ("mechanic", "labourer", "counsellor")
