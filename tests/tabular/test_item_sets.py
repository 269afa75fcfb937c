"""Published benchmarks as item tables: made-up sentences in the formats of the published files."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import lmprobe
from lmprobe.errors import DataFileError
from lmprobe.tabular.annotations import convert

Run = Callable[..., tuple[int, str, str]]

GEST = """sentence,stereotype
I carried the piano.,16
"I wept, and wept.",1
I said "no".,9
"I wept, and wept.",2
""".replace('I said "no".', '"I said ""no""."')
CROWS = """,sent_more,sent_less,stereo_antistereo,bias_type,annotations,anon_writer,anon_annotators
0,Elves steal.,Dwarves steal.,stereo,folk,"[['folk'], ['folk']]",a0,"['a1', 'a2']"
1,Young cats hunt.,Old cats hunt.,antistereo,age,[['age']],a1,['a2']
2,Elves lie in caves.,Dwarves lie in huts.,stereo,folk,[['folk']],a0,['a1']
3,Dwarves are brave.,Elves are brave.,antistereo,folk,[['folk']],a0,['a1']
"""
WINOGENDER = "sentid\tsentence\n" + "".join(
    f"{occupation}.{other}.{answer}.{gender}.txt\t"
    f"{other.capitalize()} paid the {occupation} since {pronoun} {verb[answer]}.\n"
    for occupation in ("diver", "baker")
    for verb in (("had finished", "had the money"),)
    for answer in (1, 0)
    for other in ("guest", "someone")
    for gender, pronoun in (("male", "he"), ("female", "she"), ("neutral", "they"))
)
WINOGENERATED = [
    ("diver", "guest", "he she they", "The guest paid the diver, and _ was glad."),
    ("diver", "guest", "his her their", "_ mask broke, so the diver told the guest."),
    ("pastry baker", "guest", "him her them", "The Pastry baker fed the guest. He liked _."),
    ("pastry baker", "guest", "he she they", 'The guest left! "_ slept," he said of the cook.'),
]


def winogenerated() -> str:
    names = ("occupation", "other_person", "pronoun_options", "sentence_with_blank")
    objects = [
        {"index": number, **dict(zip(names, row, strict=True))}
        for number, row in enumerate(WINOGENERATED)
    ]
    for each in objects:
        each["pronoun_options"] = str(each["pronoun_options"]).split()
    return "".join(json.dumps(each) + "\n" for each in objects)


FILES = {
    "gest": ("gest.csv", GEST),
    "crows-pairs": ("crows_pairs_anonymized.csv", CROWS),
    "winogender": ("all_sentences.tsv", WINOGENDER),
    "winogenerated": ("winogenerated_examples.jsonl", winogenerated()),
}
SETS = list(FILES)


@pytest.fixture
def run(command: Callable[..., Run]) -> Run:
    return command("convert")


def published(kind: str, folder: Path) -> Path:
    name, content = FILES[kind]
    (folder / name).write_text(content)
    return folder / name


def converted(kind: str, folder: Path, **options: str) -> pd.DataFrame:
    table = folder / "items.csv"
    rows, _ = convert(kind, [published(kind, folder)], table, **options)  # type: ignore[arg-type]
    frame = pd.read_csv(table, dtype=str)
    assert len(frame) == rows
    return frame


@pytest.mark.parametrize("kind", SETS)
def test_the_table_is_described_and_the_next_command_is_named(
    kind: str, tmp_path: Path, run: Run
) -> None:
    source, table = published(kind, tmp_path), tmp_path / "out folder" / "items.csv"
    code, out, err = run(kind, source, table)
    assert (code, out) == (0, "")
    rows = len(pd.read_csv(table))
    wrote, command = err.splitlines()[-2:]
    assert wrote == f"wrote {rows} rows to {table}"
    assert command == f"next: lmprobe run MODEL --templates '{table}'"
    facts = tomllib.loads(table.with_suffix(".toml").read_text())
    assert facts["name"] == kind
    assert facts["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
    assert facts["language"] == "en"
    assert f"convert {kind}" in facts["method"]
    assert all(facts[key] for key in ("title", "description", "source", "year", "licence"))
    assert all(note in facts["notes"] for note in err.splitlines()[:-2])
    lean = {"items-lean.csv"} if kind in ("gest", "crows-pairs") else set()
    names = {path.name for path in table.parent.iterdir()}
    assert names == {"items.csv", "items.toml", *lean}
    assert {facts[key] for key in ("lean",) if key in facts} == lean
    assert facts.get("metric") == {"gest": "gest", "crows-pairs": "stereotype-share"}.get(kind)
    base = {"winogender": "winogender-bls", "winogenerated": "labor-2019"}.get(kind, "uniform")
    assert facts["base"] == base
    assert run(kind, source, table, "--quiet") == (0, "", "")  # replaces its own files


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("ending", [".tsv", ".parquet", ".jsonl"])
def test_the_format_of_the_table_is_that_of_its_name(
    kind: str, ending: str, tmp_path: Path
) -> None:
    expected = converted(kind, tmp_path)
    table = tmp_path / f"other{ending}"
    convert(kind, [tmp_path / FILES[kind][0]], table)
    readers: dict[str, Callable[..., Any]] = {
        ".parquet": pd.read_parquet,
        ".tsv": lambda path: pd.read_csv(path, sep="\t", dtype=str),
        ".jsonl": lambda path: pd.read_json(path, lines=True, dtype=False),
    }
    actual = readers[ending](table)
    assert [*actual] == [*expected]
    assert actual.to_numpy().tolist() == expected.to_numpy().tolist()
    facts = tomllib.loads((tmp_path / "other.toml").read_text())
    assert facts.get("lean", "other-lean.csv") == "other-lean.csv"


def test_gest_puts_each_sentence_into_the_frames(tmp_path: Path) -> None:
    table = converted("gest", tmp_path)
    assert [*table] == ["task", "template", "item", "he", "she"]
    first = table[table["item"] == "0"]
    assert set(first["task"]) == {"16 strong"}
    assert first[["template", "he", "she"]].to_numpy().tolist() == [
        [
            'He said: "..."',
            'He said: "I carried the piano."',
            'She said: "I carried the piano."',
        ],
        [
            'The man said: "..."',
            'The man said: "I carried the piano."',
            'The woman said: "I carried the piano."',
        ],
        [
            '"...", he said.',
            '"I carried the piano.", he said.',
            '"I carried the piano.", she said.',
        ],
        [
            '"...", the man said.',
            '"I carried the piano.", the man said.',
            '"I carried the piano.", the woman said.',
        ],
    ]
    # In the order of the stereotypes; quotes of a sentence stay.
    frame = table[table["template"] == 'He said: "..."']
    assert frame["item"].tolist() == ["1", "3", "2", "0"]
    assert frame["he"].iloc[2] == 'He said: "I said "no"."'
    notes = tomllib.loads((tmp_path / "items.toml").read_text())["notes"]
    assert "sentences that appear more than once: 1, under several stereotypes: 1" in notes


def test_gest_for_causal_models_ends_at_the_word_that_differs(tmp_path: Path) -> None:
    table = converted("gest", tmp_path, frames="causal")
    assert table[table["item"] == "0"][["template", "he", "she"]].to_numpy().tolist() == [
        ['"...", he', '"I carried the piano.", he', '"I carried the piano.", she'],
        [
            '"...", the man',
            '"I carried the piano.", the man',
            '"I carried the piano.", the woman',
        ],
    ]
    facts = tomllib.loads((tmp_path / "items.toml").read_text())
    assert facts["name"] == "gest-causal"
    assert facts["method"].endswith("convert gest --frames causal")


def test_the_lean_of_gest_is_she_for_the_first_seven_stereotypes(tmp_path: Path) -> None:
    rows = [f"Sentence {number}.,{number}" for number in range(1, 17)]
    (tmp_path / "gest.csv").write_text("\n".join(["sentence,stereotype", *rows]))
    convert("gest", [tmp_path / "gest.csv"], tmp_path / "items.csv")
    lean = pd.read_csv(tmp_path / "items-lean.csv")
    assert lean["she"].tolist() == [1] * 7 + [0] * 9
    assert (lean["he"] == 1 - lean["she"]).all()
    assert lean["task"].iloc[[0, 8]].tolist() == ["1 emotional", "9 self-confident"]
    assert lean["task"].tolist() == pd.read_csv(tmp_path / "items.csv")["task"].unique().tolist()
    base = lmprobe.load_base_rates(tmp_path / "items-lean.csv")
    assert base.name == "items-lean"


def test_crows_pairs_are_sorted_by_group_and_direction(tmp_path: Path) -> None:
    table = converted("crows-pairs", tmp_path)
    assert [*table] == ["task", "item", "cluster", "disadvantaged", "advantaged"]
    assert table.to_numpy().tolist() == [
        ["folk", "0", "a0", "Elves steal.", "Dwarves steal."],
        ["age (anti)", "1", "a1", "Old cats hunt.", "Young cats hunt."],
        ["folk", "2", "a0", "Elves lie in caves.", "Dwarves lie in huts."],
        ["folk (anti)", "3", "a0", "Elves are brave.", "Dwarves are brave."],
    ]
    # What the authors mean is always the group of `sent_more`.
    lean = pd.read_csv(tmp_path / "items-lean.csv").set_index("task")
    assert lean["disadvantaged"].to_dict() == {
        "folk": 1,
        "age (anti)": 0,
        "folk (anti)": 0,
    }
    assert (lean["advantaged"] == 1 - lean["disadvantaged"]).all()
    facts = tomllib.loads((tmp_path / "items.toml").read_text())
    assert "Blodgett et al. 2021" in facts["description"]
    assert "Blodgett et al. 2021 (Stereotyping Norwegian Salmon)" in facts["notes"]
    assert "pairs that differ at several places: 1 of 4" in facts["notes"]


def test_pairs_without_a_difference_are_left_out(tmp_path: Path, run: Run) -> None:
    source, table = tmp_path / "pairs.csv", tmp_path / "items.csv"
    source.write_text(
        "sent_more,sent_less,stereo_antistereo,bias_type\n"
        "Elves hum.,Elves hum.,stereo,folk\nElves hop.,Dwarves hop.,stereo,folk\n"
    )
    code, _, err = run("crows-pairs", source, table)
    assert code == 0
    assert "1 of 2 pairs left out: equal sentences" in err
    # Without the unnamed column the item is the place in the file, and no writer is no cluster.
    frame = pd.read_csv(table, dtype=str)
    assert frame.to_numpy().tolist() == [["folk", "1", "Elves hop.", "Dwarves hop."]]


def test_winogender_keeps_what_is_about_the_occupation(tmp_path: Path, run: Run) -> None:
    table = converted("winogender", tmp_path)
    assert table.to_numpy().tolist() == [
        [
            occupation,
            other,
            occupation,
            *(
                f"{other.capitalize()} paid the {occupation} since {pronoun} had finished."
                for pronoun in ("he", "she", "they")
            ),
        ]
        for occupation in ("diver", "baker")
        for other in ("guest", "someone")
    ]
    assert [*table] == ["task", "item", "cluster", "he", "she", "they"]
    _, _, err = run("winogender", tmp_path / "all_sentences.tsv", tmp_path / "again.csv")
    assert "12 of 24 sentences left out" in err


def test_winogenerated_fills_the_blank(tmp_path: Path) -> None:
    table = converted("winogenerated", tmp_path)
    assert [*table] == ["task", "item", "he", "she", "they"]
    assert table["task"].tolist() == [row[0] for row in WINOGENERATED]
    assert table["item"].tolist() == ["0", "1", "2", "3"]
    assert table["he"].tolist() == [
        "The guest paid the diver, and he was glad.",
        "His mask broke, so the diver told the guest.",
        "The Pastry baker fed the guest. He liked him.",
        'The guest left! "He slept," he said of the cook.',
    ]
    assert table["she"].iloc[1:].tolist() == [
        "Her mask broke, so the diver told the guest.",
        "The Pastry baker fed the guest. He liked her.",
        'The guest left! "She slept," he said of the cook.',
    ]
    assert table["they"].iloc[2] == "The Pastry baker fed the guest. He liked them."
    notes = tomllib.loads((tmp_path / "items.toml").read_text())["notes"]
    for count in (
        "without the occupation: 1 of 4",
        "in which the other person is nearer to the pronoun, and may be meant: 2 of 4",
        "with another he or she, which may give the pronoun away: 2 of 4",
        "with a verb that does not agree with they: 1 of 4",
    ):
        assert f"sentences {count}" in notes
    assert "repeat" not in notes


def test_winogenerated_as_a_csv_is_the_same(tmp_path: Path) -> None:
    expected = converted("winogenerated", tmp_path)
    names = ("occupation", "other_person", "pronouns", "sentence_with_blank")
    frame = pd.DataFrame(WINOGENERATED, columns=names).rename_axis("index")
    frame["pronouns"] = frame["pronouns"].str.replace(" ", "/")
    frame.to_csv(tmp_path / "w.csv.gz")
    convert("winogenerated", [tmp_path / "w.csv.gz"], tmp_path / "w.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "w.csv", dtype=str), expected)


def mistakes() -> Iterator[Any]:
    def case(kind: str, old: str, new: str, message: str, *options: str) -> Any:
        content = FILES[kind][1]
        assert old in content
        return pytest.param(kind, content.replace(old, new), options, message, id=message[-40:])

    yield case("gest", "stereotype", "stereo_type", 'no column "stereotype"; did you mean')
    for number in ("0", "17", "1.5", "-1", "strong"):
        message = f"line 2: '{number}' in the column \"stereotype\" is no stereotype; they are"
        yield case("gest", ".,16", f".,{number}", message)
    yield case("gest", "I carried the piano.", "", '1 of 4 rows lacks a value ("sentence" 1)')
    yield case("gest", "16", "", '"stereotype" 1), first "stereotype" in line 2')
    yield case("gest", "I", "I", 'no frames "cusal"; did you mean "causal"?', "--frames", "cusal")
    yield case("gest", "I", "I", "gest does not take --rule", "--rule", "first")
    frames = ("--frames", "causal")
    yield case("crows-pairs", "E", "E", "crows-pairs does not take --frames", *frames)
    yield case("crows-pairs", "bias_type", "bias", 'no column "bias_type"; did you mean "bias"?')
    direction = "line 3: 'anti' in the column \"stereo_antistereo\" is no direction"
    yield case("crows-pairs", ",antistereo,age", ",anti,age", direction)
    yield case("crows-pairs", "Dwarves steal.", "", 'first "sent_less" in line 2')
    yield case("crows-pairs", "\n2,", "\n0,", 'the item "0" of the task "folk" appears twice')
    equal = FILES["crows-pairs"][1].splitlines()[0] + "\n0,A.,A.,stereo,age,,a0,\n"
    yield "crows-pairs", equal, (), "no item is left; 1 of 1 pair left out: equal sentences"
    yield case("winogender", "sentid", "id", 'no column "sentid"; Known: id, sentence')
    name = "must be occupation.participant.answer.gender.txt"
    yield case("winogender", "diver.guest.1.male.txt", "diver.guest.2.male.txt", name)
    yield case("winogender", "diver.guest.0.female.txt", "diver.guest.0.woman.txt", name)
    missing = 'the sentence "diver.guest.0.neutral.txt" is missing'
    yield case("winogender", "diver.guest.0.neutral", "diver.guest.1.neutral", missing)
    twice = 'the item "guest" of the task "diver" appears twice'
    yield case("winogender", "diver.guest.1.male", "diver.guest.0.male", twice)
    other = WINOGENDER.replace(".0.", ".1.")
    yield "winogender", other, (), "no item is left; 24 of 24 sentences left out"
    blank = "sentence_with_blank"
    yield case("winogenerated", blank, "sentence", f'no column "{blank}"; Known: index,')
    yield case("winogenerated", "_ mask", "a mask", "line 2: 'a mask broke, so the diver told")
    yield case("winogenerated", "_ mask", "_ mask _", "must have one blank, written _")
    yield case("winogenerated", '"his", "her", "their"', '"her", "his", "their"', "must be one of")
    yield case("winogenerated", '"his", "her", "their"', '"his", "her"', "must be one of")
    yield case("winogenerated", '"index": 3', '"index": 2', 'item "2" of the task "pastry baker"')
    yield case("winogenerated", '"index": 1', '"index": 1,', "line 2 is not JSON")
    yield "gest", "", (), "the file is empty"
    yield "gest", "sentence,stereotype\n", (), "there is no row below the column names"


@pytest.mark.parametrize(("kind", "content", "options", "message"), mistakes())
def test_errors_are_one_line_and_nothing_is_written(
    kind: str, content: str, options: tuple[str, ...], message: str, tmp_path: Path, run: Run
) -> None:
    source = tmp_path / FILES[kind][0]
    source.write_text(content)
    code, out, err = run(kind, source, tmp_path / "items.csv", *options)
    assert (code, out) == (2, "")
    assert err.startswith("lmprobe: ")
    assert err.count("\n") == 1
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


def test_one_file_is_converted(tmp_path: Path, run: Run) -> None:
    source, table = published("gest", tmp_path), tmp_path / "items.csv"
    code, _, err = run("gest", source, source, table)
    assert code == 2
    assert "gest needs gest.csv, then the table to write; found 2 source files" in err
    code, _, err = run("gest", tmp_path / "none.csv", table)
    assert code == 2
    assert "no such file" in err
    code, _, err = run("winogendered", source, table)
    assert 'no data set "winogendered"; did you mean "winogender"?' in err


def test_where_no_table_can_be_written(tmp_path: Path, run: Run) -> None:
    source = published("gest", tmp_path)
    (tmp_path / "set.toml").write_text('sentences = ["x"]')
    (tmp_path / "a-lean.csv").mkdir()
    source.rename(tmp_path / "b-lean.csv")
    source = tmp_path / "b-lean.csv"
    for name, message in {
        "b-lean.csv": "holds the texts",
        "b.csv": "b-lean.csv holds the texts",
        "a.csv": "this is a folder",
        "items.xlsx": "must end in",
        "set.csv": "is a template set or a lexicon",
    }.items():
        code, _, err = run("gest", source, tmp_path / name)
        assert code == 2
        assert message in err
    assert {path.name for path in tmp_path.iterdir()} == {"a-lean.csv", "b-lean.csv", "set.toml"}


@pytest.mark.parametrize("kind", SETS)
def test_a_table_that_cannot_be_written_leaves_nothing(kind: str, tmp_path: Path, run: Run) -> None:
    source, beside = published(kind, tmp_path), tmp_path / "items.toml"
    beside.mkdir()
    code, _, err = run(kind, source, tmp_path / "items.csv")
    assert code == 2
    assert f"cannot write {beside}" in err
    assert {path.name for path in tmp_path.iterdir()} == {source.name, "items.toml"}


def test_a_list_in_parquet_is_refused_with_what_to_do(tmp_path: Path) -> None:
    source = tmp_path / "w.parquet"
    rows = [json.loads(line) for line in winogenerated().splitlines()]
    pd.DataFrame(rows).to_parquet(source)
    with pytest.raises(DataFileError, match="holds lists or objects"):
        convert("winogenerated", [source], tmp_path / "items.csv")
