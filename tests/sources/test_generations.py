"""Generated texts as an answer table: the words and rules against slow versions of themselves."""

from __future__ import annotations

import hashlib
import json
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import lmprobe
from lmprobe import ProbeResult, count_generations
from lmprobe.errors import LmprobeError
from lmprobe.results import IntervalStatus, NoteKind
from lmprobe.sources.counting.languages import LANGUAGES
from lmprobe.sources.counting.lexicon import ATTRIBUTES
from lmprobe.sources.counting.rules import Mentions
from tests.sources.oracles import Labels

Run = Callable[..., tuple[int, str, str]]

ENGLISH: Labels = (
    ("he", (*ATTRIBUTES["he"], "old boy")),
    ("she", (*ATTRIBUTES["she"], "mother in law", "boy scout leader")),
)
GERMAN: Labels = (
    ("he", ("er", "ihm", "Koch", "großer Bruder")),
    ("she", ("sie", "Köchin", "Ärztin", "große Schwester")),
)
CHINESE: Labels = (("he", ("他", "男人")), ("she", ("她", "女人")))


def slow_mentions(text: str, labels: Labels) -> list[int]:
    """Walk through the text letter by letter; at each word take the longest form that fits."""
    text = unicodedata.normalize("NFC", text.replace("\u00ad", ""))
    words: list[tuple[int, int]] = []
    start = None
    for place, letter in enumerate(f"{text} "):
        inside = letter.isalnum() or letter == "_"
        if inside and start is None:
            start = place
        elif not inside and start is not None:
            words.append((start, place))
            start = None
    found, at = [], 0
    while at < len(words):
        fits = [
            (len(parts), number)
            for number, (_, forms) in enumerate(labels)
            for parts in (form.lower().split() for form in forms)
            if len(parts) <= len(words) - at
            and [text[slice(*words[at + n])].lower() for n in range(len(parts))] == parts
            and all(
                joins(text[words[at + n][1] : words[at + n + 1][0]]) for n in range(len(parts) - 1)
            )
        ]
        if fits:
            length, number = max(fits)
            found.append(number)
            at += length
        else:
            at += 1
    return found


def joins(between: str) -> bool:
    """Tell whether two parts of a name may have this between them."""
    return between.isspace() or between.strip() in ("-", "@-@")


TRAPS = st.sampled_from(
    ["he", "He", "HE", "she", "She", "him", "himself", "man", "men", "human", "mankind", "woman",
     "sheet", "Sherman", "theme", "he's", "he’s", "she/her", "s/he", "he_she", "_he", "the",
     "hero",
     "Man-made", "she-wolf", "old boy", "Old-Boy", "old\nboy", "boy", "mother in law",
     "mother-in-law",
     "Boy Scout Leader", "boy scout", "old", "in", "3he", "hé", "he\u0301", "s\u00adhe", "é",
     "戦場",
     "\n", "\r\n", "\t", ".", ",", "-", "—", "“", "”", "(", ")", "'", "’", "...", "nobody", "x"]
)  # fmt: skip
GERMAN_TRAPS = st.sampled_from(
    ["er", "Er", "ER", "der", "Lehrer", "er's", "ihm", "sie", "Sieb", "KÖCHIN", "Köchin",
     "Ko\u0308chin",
     "Köchinnen", "koch", "Kochbuch", "Ärztin", "ÄRZTIN", "Tierärztin", "Zahn\u00adärztin", "-",
     "\n",
     "großer Bruder", "Großer  Bruder", "große Schwester", "Große-Schwester", "groß", "„", "“", "."]
)  # fmt: skip
CHINESE_TRAPS = st.sampled_from(
    ["他", "她", "他们", "其他", "吉他", "男人", "女人", "人", "老师", "。", "\n", "he", "，"]
)


def written(pieces: st.SearchStrategy[str], gaps: list[str]) -> st.SearchStrategy[str]:
    gap = st.sampled_from(gaps)
    pairs = st.lists(st.tuples(pieces, gap), max_size=12)
    return pairs.map(lambda parts: "".join(piece + space for piece, space in parts))


TEXTS = written(TRAPS, [" ", " ", " ", "", "-", "\n"])


@given(TEXTS)
def test_words_are_those_that_a_slow_walk_finds(text: str) -> None:
    assert Mentions(ENGLISH, "en").labels(text) == slow_mentions(text, ENGLISH)


@given(written(GERMAN_TRAPS, [" ", " ", "", "\n"]))
def test_german_words_are_those_that_a_slow_walk_finds(text: str) -> None:
    assert Mentions(GERMAN, "de").labels(text) == slow_mentions(text, GERMAN)


@given(written(CHINESE_TRAPS, [""]))
def test_chinese_words_are_found_from_left_to_right_and_the_longest_first(text: str) -> None:
    forms = {form: number for number, (_, words) in enumerate(CHINESE) for form in words}
    longer = LANGUAGES["zh"].longer_words
    expected, place = [], 0
    while place < len(text):
        here = [form for form in (*forms, *longer) if text.startswith(form, place)]
        longest = max(here, key=len, default=text[place])
        expected += [forms[longest]] if longest in forms else []
        place += len(longest)
    assert Mentions(CHINESE, "zh").labels(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HE's human.", [0]),
        ("The sheet, the theme, Sherman and mankind.", []),
        ("she/her", [1, 1]),
        ("“He’s” – himself", [0, 0]),
        ("The man-\nmade woman", [0, 1]),
        ("Old boy, boy scout leader, boy", [0, 1, 0]),
        ("", []),
    ],
)
def test_words_by_hand(text: str, expected: list[int]) -> None:
    assert Mentions(ENGLISH, "en").labels(text) == expected


def slow_groups(rule: str, mentions: list[int]) -> set[int]:
    """Return the groups that a text counts for, as the rule is described."""
    numbers = {group: mentions.count(group) for group in mentions}
    if rule == "all":
        return set(numbers)
    if rule == "only":
        return set(numbers) if len(numbers) == 1 else set()
    if rule == "first":
        return {mentions[0]} if mentions else set()
    return {
        group
        for group, number in numbers.items()
        if all(number > other for key, other in numbers.items() if key != group)
    }


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["nurse", "cook", "Köchin"]),
        st.sampled_from(["Write of a {x}.", "=Tell, \"me\"\n"]),
        st.sampled_from(["a", "b"]),
        TEXTS.filter(lambda text: text.strip() != ""),
    ),
    min_size=1,
    max_size=30,
)  # fmt: skip


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(ROWS, st.sampled_from(["first", "majority", "all", "only"]), st.booleans())
def test_the_table_counts_the_texts_of_each_prompt_and_task(
    rows: list[tuple[str, ...]], rule: str, clustered: bool
) -> None:
    frame = pd.DataFrame(rows, columns=["task", "template", "cluster", "text"])
    frame = frame if clustered else frame.drop(columns="cluster")
    expected: dict[tuple[str, ...], list[int]] = {}
    without: Counter[str] = Counter()
    for task, template, cluster, text in rows:
        key = (task, template, cluster, cluster) if clustered else (task, template)
        groups = slow_groups(rule, slow_mentions(text, ENGLISH))
        counts = expected.setdefault(key, [0, 0])
        for group in groups:
            counts[group] += 1
        without[task] += not groups
    if not any(map(any, expected.values())):
        with pytest.raises(LmprobeError, match="has a group by the rule"):
            count_generations(frame, attributes=dict(ENGLISH), rule=rule)
        return
    actual = count_generations(frame, attributes=dict(ENGLISH), rule=rule)
    more = ["item", "cluster"] if clustered else []
    assert [*actual.table] == ["task", "template", *more, "he", "she"]
    table = actual.table.itertuples(index=False)
    assert [tuple(row) for row in table] == [(*key, *counts) for key, counts in expected.items()]
    assert actual.texts == len(rows)
    assert actual.without_group == pytest.approx(without.total() / len(rows))
    tasks = Counter(task for task, *_ in rows)
    assert actual.without_group_by_task == pytest.approx(
        {task: without[task] / tasks[task] for task in tasks}
    )


ANY = [
    {"task": "nurse", "template": "A.", "text": "She,\n\"the\" human, he. She."},
    {"task": "nurse", "template": "A.", "text": "The sheet."},
    {"task": "nurse", "template": "B.", "text": "His mother."},
    {"task": "cook", "template": "A.", "text": "Er kocht, he said."},
    {"task": "cook", "template": "B.", "text": "Women, men."},
]  # fmt: skip


@pytest.fixture
def run(command: Callable[..., Run]) -> Run:
    return command("convert", "generations")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ANY))
    return path


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet", ".jsonl.gz", ".tsv"])
def test_convert_writes_the_table_and_what_is_known_of_it(
    ending: str, tmp_path: Path, run: Run
) -> None:
    source, table = tmp_path / f"texts{ending}", tmp_path / "out" / "answers.csv"
    frame = pd.DataFrame(ANY).assign(model="x", score=1.5)
    if "json" in ending:
        frame.to_json(source, orient="records", lines=True)
    elif ending == ".parquet":
        frame.to_parquet(source)
    else:
        frame.to_csv(source, index=False, sep="\t" if ending == ".tsv" else ",")
    code, out, err = run(source, table)
    assert (code, out) == (0, "")
    assert "5 texts of 2 tasks and 2 prompts" in err
    assert "he 40%, she 40%, without a group 20%" in err
    assert "wrote 4 rows to" in err
    assert table.read_text() == (
        '"task","template","he","she"\n"nurse","A.",0,1\n"nurse","B.",1,0\n'
        '"cook","A.",1,0\n"cook","B.",0,1\n'
    )
    facts = tomllib.loads(table.with_suffix(".toml").read_text())
    assert facts["values"] == "count"
    assert facts["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
    assert facts["source"] == str(source)
    assert (facts["rule"], facts["language"], facts["texts"]) == ("first", "en", 5)
    assert facts["without_group"] == 0.2
    assert facts["without_group_by_task"] == {"nurse": pytest.approx(1 / 3), "cook": 0}
    assert facts["words"] == {name: list(words) for name, words in ATTRIBUTES.items()}
    assert sorted(path.name for path in table.parent.iterdir()) == ["answers.csv", "answers.toml"]


@pytest.mark.parametrize("name", ["answers.parquet", "answers.jsonl"])
def test_the_table_has_the_format_of_its_name(name: str, texts: Path, run: Run) -> None:
    table = texts.with_name(name)
    words = ("--attribute", "m=he,men;f=she,women", "--rule", "all", "--quiet")
    assert run(texts, table, *words) == (0, "", "")
    parquet = name.endswith("parquet")
    frame = pd.read_parquet(table) if parquet else pd.read_json(table, lines=True)
    assert frame[["m", "f"]].to_numpy().tolist() == [[1, 1], [0, 0], [1, 0], [1, 1]]


def test_built_in_words_of_a_language_leave_out_the_tasks() -> None:
    frame = pd.DataFrame(
        {"task": ["Bäckerin", "Bote"], "text": ["Die Bäckerin.", "Er, der Bäcker"]}
    )
    actual = count_generations(frame, language="de", rule="majority")
    assert actual.table.to_numpy().tolist() == [["Bäckerin", 0, 0], ["Bote", 1, 0]]


def notes_of(texts: dict[str, list[str]], kind: NoteKind) -> list[str]:
    rows = [(task, text) for task, own in texts.items() for text in own]
    counts = count_generations(pd.DataFrame(rows, columns=["task", "text"]))
    return [note.text for note in counts.notes if note.kind is kind]


def test_a_warning_says_where_hardly_any_text_has_a_group() -> None:
    many = {"nurse": ["she", *["it"] * 99], "cook": ["he", *["it"] * 99]}
    (note,) = notes_of(many, NoteKind.MASS)
    assert "only 1% of the texts have a group" in note
    assert not notes_of({"nurse": ["she", "it"], "cook": ["he", "it"]}, NoteKind.MASS)


def test_a_warning_says_where_the_share_differs_between_tasks_beyond_chance() -> None:
    uneven = {"nurse": ["she"] * 90 + ["it"] * 10, "cook": ["he"] * 50 + ["it"] * 50}
    (note,) = notes_of(uneven, NoteKind.MASS)
    assert "10% (nurse) to 50% (cook)" in note
    few = {"nurse": ["she"] * 4, "cook": ["he", "he", "it", "it"]}
    assert not notes_of(few, NoteKind.MASS)


def test_notes_name_a_single_prompt_and_rows_without_a_text() -> None:
    (note,) = notes_of({"nurse": ["she"], "cook": ["he"]}, NoteKind.DATA)
    assert "1 prompt; texts of one prompt say nothing about another prompt" in note
    (note,) = notes_of({"nurse": ["she"], "cook": ["it"]}, NoteKind.LEFT_OUT)
    assert note.startswith("1 of 2 rows")


def test_each_text_is_searched_once_and_progress_counts_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    searched: Counter[str] = Counter()
    search = Mentions.labels

    def labels(self: Mentions, text: str) -> list[int]:
        searched[text] += 1
        return search(self, text)

    monkeypatch.setattr(Mentions, "labels", labels)
    size, steps = 30_000, list[tuple[int, int]]()
    frame = pd.DataFrame({"task": "nurse", "text": [f"she {number}" for number in range(size)]})
    frame.to_json(tmp_path / "texts.jsonl", orient="records", lines=True)
    actual = count_generations(
        tmp_path / "texts.jsonl", progress=lambda done, total: steps.append((done, total))
    )
    assert actual.table.to_numpy().tolist() == [["nurse", 0, size]]
    assert len(searched) == size
    assert set(searched.values()) == {1}
    assert len(steps) > 5  # in batches: the texts are never all in memory
    assert sorted(steps) == steps
    assert steps[-1] == (size, size)
    assert {total for _, total in steps} == {size}


def test_an_interrupt_leaves_nothing_behind(
    texts: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Mentions, text: str) -> list[int]:
        raise KeyboardInterrupt

    monkeypatch.setattr(Mentions, "labels", interrupted)
    code, out, err = run(texts, texts.with_name("answers.csv"))
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    assert [path.name for path in texts.parent.iterdir()] == ["texts.jsonl"]


def cases() -> Iterator[Any]:
    yield '{"task": "nurse", "txt": "She"}', (), 'no column "text"; did you mean "txt"?'
    yield '{"tasks": "nurse", "text": "She"}', (), 'no column "task"; did you mean "tasks"?'
    missing = '{"task": "a", "text": "She"}\n\n{"task": "a", "text": ""}\n{"task": "b"}'
    yield missing, (), '1 of 3 rows lacks a value ("text" 1), first "text" in line 4'
    yield '{"task": "a", "text": "She"}\n{"text": "He"}', (), 'first "task" in line 2'
    prompt = '{"task": "a", "text": "She", "template": "x"}\n{"task": "a", "text": "He"}'
    yield prompt, (), 'first "template" in line 2'
    yield '{"task": "a", "text": "The sheet."}', (), "none of 1 text has a group by the rule first"
    yield '{"task": "a", "text": 1', (), "line 1 is not JSON"
    yield "", (), "the file is empty"
    good = '{"task": "a", "text": "She"}'
    yield good, ("--rule", "frist"), 'no rule "frist" for texts; did you mean "first"?'
    yield good, ("--language", "ed"), 'no rules for counting in the language "ed"'
    yield good, ("--language", "ja"), "give --attribute, such as he=他;she=她"
    yield good, ("--attribute", "he=;she=she"), "--attribute: 'he' needs one or more words"
    yield good, ("--attribute", "he=he"), "at least two attributes, found 1"
    yield good, ("--attribute", "item=he;she=she"), 'the attribute "item" is called as a column'
    yield good, ("--boxes",), "generations does not take --boxes"


@pytest.mark.parametrize(("content", "options", "message"), cases())
def test_errors_are_one_line_and_nothing_is_written(
    content: str, options: tuple[str, ...], message: str, texts: Path, run: Run
) -> None:
    texts.write_text(content)
    code, out, err = run(texts, texts.with_name("answers.csv"), *options)
    assert (code, out) == (2, "")
    assert err.startswith("lmprobe: ")
    assert err.count("\n") == 1
    assert message in err
    assert [path.name for path in texts.parent.iterdir()] == ["texts.jsonl"]


def test_from_texts_to_a_result(tmp_path: Path, run: Run, command: Callable[..., Run]) -> None:
    """Texts, counts, a probe: the value is that of a loop over the texts, and the mass is known."""
    share = {"nurse": 4, "carpenter": 1, "cook": 2}
    texts = [
        {"task": task, "template": prompt, "text": "It rained."}
        | ({"text": "She slept." if number < she + extra else "He slept."} if number < 5 else {})
        for extra, prompt in enumerate(["Tell of a {task}.", "Write about a {task}."])
        for task, she in share.items()
        for number in range(20)
    ]
    source, table = tmp_path / "texts.jsonl", tmp_path / "answers.csv"
    source.write_text("".join(json.dumps(row) + "\n" for row in texts))
    assert run(source, table, "--quiet")[0] == 0
    code, out, err = command("run")(table, "--base", "labor", "--json")
    assert code == 0, err
    document = json.loads(out)
    result = ProbeResult.from_json(out)
    (row,) = result.rows
    pairs = []
    for extra in range(2):
        for place, task in enumerate(row.tasks):
            she = (share[task] + extra) / 5
            for group, shown in enumerate((1 - she, she)):
                base = row.base_table[:, place] / row.base_table[:, place].sum()
                joint = row.base_table / row.base_table.sum()
                apart = joint[group, place] - joint[group].sum() * joint[:, place].sum()
                pairs.append((1 if apart > 0 else -1) * (shown - base[group]))
    assert row.attributes == ("he", "she")
    assert row.value == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)
    # 5 of 20 texts have a group.
    assert document["rows"][0]["candidate_mass"] == pytest.approx([0.25, 0.25])
    answers = document["provenance"]["answers"]
    assert answers["title"] == "Generated texts by the group that they speak of"
    assert (answers["source"], answers["without_group"]) == (str(source), 0.75)
    assert "25% of the texts have a group" in result.to_html()
    code, out, _ = command("run")(table, "--base", "labor", "--json", "--min-mass", "0.5")
    assert json.loads(out)["rows"][0]["verdict"] == "uninformed"
    # Of one prompt alone nothing follows about others, and a tiny share is a warning.
    few = [row for row in texts if row["template"] == texts[0]["template"]] + 300 * [texts[19]]
    source.write_text("".join(json.dumps(row) + "\n" for row in few))
    assert run(source, table, "--quiet")[0] == 0
    result = lmprobe.probe(table, base="labor")
    notes = {note.kind: note.text for note in result.notes}
    assert "one template says nothing about other ones" in notes[NoteKind.DATA]
    assert notes[NoteKind.MASS].startswith("only 4.17% of the texts have a group")
    assert result.rows[0].interval.status is IntervalStatus.TOO_FEW_UNITS


def test_where_no_table_can_be_written(texts: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "set.toml").write_text('sentences = ["x"]')
    for name, message in {
        "folder.csv": "this is a folder",
        "texts.jsonl": "holds the texts",
        "answers.xlsx": "must end in",
        "texts.jsonl/answers.csv": "this is a file, not a folder",
        "set.csv": "is a template set or a lexicon",
    }.items():
        code, _, err = run(texts, tmp_path / name)
        assert code == 2
        assert message in err
    names = {"folder.csv", "set.toml", "texts.jsonl"}
    assert {path.name for path in tmp_path.iterdir()} == names
