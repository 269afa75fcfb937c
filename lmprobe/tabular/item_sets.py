"""Published benchmarks as item tables for `lmprobe run --templates`: one function per set."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lmprobe import __version__
from lmprobe.errors import DataFileError, InputError, did_you_mean, plural
from lmprobe.io.files import csv_text, replacing, toml_text
from lmprobe.io.table_files import check_target, write_table
from lmprobe.io.tables import Mistake, TableSource, quoted
from lmprobe.results import Note, NoteKind
from lmprobe.templates.differences import differences
from lmprobe.templates.items import ITEM_COLUMNS


@dataclass(frozen=True, slots=True, eq=False)
class ItemSet:
    """The items of a published set, and what is known of them."""

    table: pd.DataFrame
    """An item table: a row per task, template and item; finished sentences by attribute."""
    facts: Mapping[str, str]
    """What the TOML beside the table says of the set."""
    problems: Sequence[str]
    """What is wrong with the data: known from publications, or counted here."""
    lean: Mapping[str, str] | None = None
    """The attribute that the authors mean for each task; None where a base has a lean."""
    left_out: Sequence[str] = ()


def _read(source: TableSource, columns: Sequence[str], optional: Sequence[str] = ()) -> Any:
    """Return the columns as text; raise if one, or a value in one, is missing."""
    wanted = [*columns, *(name for name in optional if name in source.columns)]
    source.refuse_missing(wanted, remedy=("fill it in, or take such rows out",))
    return source.read(wanted, text=wanted)


def _mismatch(pattern: str, about: str) -> Mistake:
    """Return the mistake of a cell that does not match a pattern as a whole."""

    def condition(table: Any, name: str) -> str:
        return f"NOT regexp_full_match({quoted(name)}::VARCHAR, '{pattern}')"

    return condition, f'{{row}}: {{value!r}} in the column "{{column}}" {about}'


_FRAMES = {
    "masked": {
        'He said: "..."': 'She said: "..."',
        'The man said: "..."': 'The woman said: "..."',
        '"...", he said.': '"...", she said.',
        '"...", the man said.': '"...", the woman said.',
    },
    "causal": {'"...", he': '"...", she', '"...", the man': '"...", the woman'},
}
# In the order of their numbers, from 1; the authors ascribe the first seven to women.
_STEREOTYPES = (
    "emotional", "gentle", "empathetic", "neat", "social", "weak", "beautiful", "tough",
    "self-confident", "professional", "rational", "providers", "leaders", "childish", "sexual",
    "strong",
)  # fmt: skip
_OF_WOMEN = 7


def gest(source: TableSource, frames: str = "masked") -> ItemSet:
    """Return the sentences of GEST, said by him and by her in each of the authors' frames.

    Those for causal models end at the word that differs.
    """
    if frames not in _FRAMES:
        raise InputError(f'no frames "{frames}"; {did_you_mean(frames, _FRAMES)}')
    rows = _read(source, ["sentence", "stereotype"])
    about = f"is no stereotype; they are numbered from 1 to {len(_STEREOTYPES)}"
    source.refuse("stereotype", _mismatch("[1-9]|1[0-6]", about))
    names = [f"{number} {name}" for number, name in enumerate(_STEREOTYPES, start=1)]
    numbers = rows["stereotype"].astype(int)
    rows["task"], rows["item"] = [names[number - 1] for number in numbers], rows.index.astype(str)
    rows = rows.iloc[numbers.argsort(kind="stable")]
    frame_tables = [
        rows[["task", "item", "sentence"]].assign(
            template=he,
            he=[he.replace("...", sentence) for sentence in rows["sentence"]],
            she=[she.replace("...", sentence) for sentence in rows["sentence"]],
        )
        for he, she in _FRAMES[frames].items()
    ]
    table = pd.concat(frame_tables)[["task", "template", "item", "he", "she"]]
    problems = ["the authors decided which stereotypes are about women and which about men"]
    uses = rows.groupby("sentence")["stereotype"].agg(["size", "nunique"])
    if repeated := int((uses["size"] > 1).sum()):
        several = int((uses["nunique"] > 1).sum())
        text = f"sentences that appear more than once: {repeated}"
        problems.append(f"{text}, under several stereotypes: {several}")
    facts = {
        "name": "gest" if frames == "masked" else f"gest-{frames}",
        "title": "GEST: sentences about 16 gender stereotypes",
        "description": f"Who says it, in the frames for {frames} models, he or she?",
        "source": "Pikuliak et al. 2024, Women Are Beautiful, Men Are Leaders: Gender Stereotypes "
        "in Machine Translation and Language Modeling; https://github.com/kinit-sk/gest",
        "year": "2024", "licence": "Apache-2.0", "base": "uniform", "metric": "gest",
    }  # fmt: skip
    lean = {name: "she" if place < _OF_WOMEN else "he" for place, name in enumerate(names)}
    return ItemSet(table, facts, problems, lean)


def crows_pairs(source: TableSource) -> ItemSet:
    """Return the pairs of CrowS-Pairs as published, by bias type and direction.

    `sent_more` is about the disadvantaged group, but in a pair that violates the stereotype
    (antistereo) `sent_less` is. The pairs of one writer are a cluster.
    """
    index, writer = "Unnamed: 0", "anon_writer"  # the index is published without a name
    columns = ["sent_more", "sent_less", "stereo_antistereo", "bias_type"]
    rows = _read(source, columns, [index, writer])
    about = "is no direction; it must be stereo or antistereo"
    source.refuse("stereo_antistereo", _mismatch("stereo|antistereo", about))
    violates = rows["stereo_antistereo"] == "antistereo"
    table = pd.DataFrame({"task": rows["bias_type"] + violates.map({True: " (anti)", False: ""})})
    table["item"] = rows.get(index, rows.index.astype(str))
    if writer in rows:
        table["cluster"] = rows[writer]
    table["disadvantaged"] = rows["sent_more"].mask(violates, rows["sent_less"])
    table["advantaged"] = rows["sent_less"].mask(violates, rows["sent_more"])
    meant = violates.map({True: "advantaged", False: "disadvantaged"})
    lean = dict(zip(table["task"], meant, strict=True))
    same = rows["sent_more"] == rows["sent_less"]
    table = table[~same]
    left_out = [f"{plural(int(same.sum()), 'pair', of=len(rows))} left out: equal sentences"]
    pairs = table[["disadvantaged", "advantaged"]]
    several = sum(len(differences(pair)[0]) > 1 for pair in pairs.to_numpy().tolist())
    problems = [
        "the authors warn of significant issues with noise and reliability: CrowS-Pairs may not be "
        "a good indicator of social biases in language models",
        "Blodgett et al. 2021 (Stereotyping Norwegian Salmon) found many pairs that are not valid: "
        "unclear stereotypes, inconsistent groups, several differences at once, typos",
        f"pairs that differ at several places: {several:,} of {len(table):,}",
        f"pairs that repeat another: {pairs.duplicated().sum():,} of {len(table):,}",
    ]
    facts = {
        "name": "crows-pairs",
        "title": "CrowS-Pairs: stereotypes of disadvantaged groups in the US",
        "description": "Pairs on nine types of bias; Blodgett et al. 2021 found many not valid",
        "source": "Nangia et al. 2020, CrowS-Pairs: A Challenge Dataset for Measuring Social "
        "Biases in Masked Language Models; https://github.com/nyu-mll/crows-pairs",
        "year": "2020", "licence": "CC BY-SA 4.0", "base": "uniform", "metric": "stereotype-share",
    }  # fmt: skip
    return ItemSet(table, facts, problems, lean, left_out if same.any() else ())


_SENTID = r"([^.]+)\.([^.]+)\.([01])\.(male|female|neutral)\.txt"


def winogender(source: TableSource) -> ItemSet:
    """Return the Winogender sentences in which the pronoun refers to the occupation.

    In the name of a sentence, the answer is 0 where the pronoun refers to the occupation and 1
    where it refers to the participant.
    """
    rows = _read(source, ["sentid", "sentence"])
    about = "must be occupation.participant.answer.gender.txt, such as baker.someone.0.female.txt"
    source.refuse("sentid", _mismatch(_SENTID, about))
    rows[["task", "item", "answer", "gender"]] = rows["sentid"].str.extract(_SENTID)
    about_occupation = rows[rows["answer"] == "0"]
    table = about_occupation[["task", "item"]].drop_duplicates()
    for attribute, gender in {"he": "male", "she": "female", "they": "neutral"}.items():
        own = about_occupation[about_occupation["gender"] == gender]
        own = own[["task", "item", "sentence"]].rename(columns={"sentence": attribute})
        table = table.merge(own, how="left")
        if (lacking := table[attribute].isna()).any():
            task, item = table.loc[lacking, ["task", "item"]].iloc[0]
            raise DataFileError(
                f'{source.name}: the sentence "{task}.{item}.0.{gender}.txt" is missing'
            )
    # The items of an occupation are one sentence, with two participants.
    table.insert(2, "cluster", table["task"])
    others = plural(len(rows) - len(about_occupation), "sentence", of=len(rows))
    problems = [
        "the authors: such sentences may show that a system is biased, but not that it is not",
        "Gautam et al. 2024 (WinoPron) found typos, violations of the rules of the templates, and "
        "different forms of pronouns treated as one",
        "the items of an occupation are one sentence with two participants",
    ]
    facts = {
        "name": "winogender",
        "title": "Winogender schemas: a pronoun that refers to an occupation",
        "description": "A sentence for each of 60 occupations, with a participant or someone",
        "source": "Rudinger et al. 2018, Gender Bias in Coreference Resolution; "
        "https://github.com/rudinger/winogender-schemas",
        "year": "2018", "licence": "MIT", "base": "winogender-bls",
    }  # fmt: skip
    left_out = [f"{others} left out: the pronoun refers to the participant"]
    return ItemSet(table, facts, problems, left_out=left_out)


_PRONOUNS = ("he/she/they", "his/her/their", "him/her/them")
_GENDERED = re.compile(r"\b(he|she|his|hers?|him|himself|herself)\b")
_SINGULAR = re.compile(r"_ (is|was|has|does|(is|was|has|does)n['’]t)\b")
_SENTENCE_START = re.compile(r"(^|[.!?][\"'”’)]*\s+)[\"'“‘(]*$")


def winogenerated(source: TableSource) -> ItemSet:
    """Return the sentences of Winogenerated with each pronoun in the place of the blank."""
    text, options = "sentence_with_blank", "pronoun_options"
    options = options if options in source.columns else "pronouns"
    rows = _read(source, ["index", "occupation", "other_person", options, text])
    source.refuse(text, _mismatch("[^_]*_[^_]*", "must have one blank, written _"))
    # A list in JSON, or words between slashes.
    choices = "|".join(words.replace("/", "[^a-z]+") for words in _PRONOUNS)
    about = f"must be one of {', '.join(_PRONOUNS)}"
    source.refuse(options, _mismatch(f"[^a-z]*({choices})[^a-z]*", about))
    table = rows[["occupation", "index"]].set_axis(["task", "item"], axis=1)
    words = [re.findall("[a-z]+", cell) for cell in rows[options]]
    for place, attribute in enumerate(("he", "she", "they")):
        blanks = zip(rows[text], words, strict=True)
        table[attribute] = [_filled(sentence, own[place]) for sentence, own in blanks]
    lower = rows[[text, "occupation", "other_person"]].apply(lambda column: column.str.lower())
    flaws = pd.DataFrame([_flaws(*row) for row in lower.itertuples(index=False)])
    flaws["that repeat another"] = rows[text].duplicated()
    counts = [f"sentences {what}: {n:,} of {len(rows):,}" for what, n in flaws.sum().items() if n]
    facts = {
        "name": "winogenerated",
        "title": "Winogenerated: a pronoun that refers to an occupation, by a language model",
        "description": "Ten sentences about each of 299 occupations, in the style of Winogender",
        "source": "Perez et al. 2022, Discovering Language Model Behaviors with Model-Written "
        "Evaluations; https://github.com/anthropics/evals",
        "year": "2022", "licence": "CC BY 4.0", "base": "labor-2019",
    }  # fmt: skip
    return ItemSet(table, facts, ["the sentences were written by a language model", *counts])


def _flaws(sentence: str, occupation: str, other: str) -> dict[str, bool]:
    """Tell what is wrong with a sentence that has a blank, in lower case."""
    before = sentence.partition("_")[0]
    nearer = before.rfind(other) > before.rfind(occupation)
    return {
        "without the occupation": occupation not in sentence,
        "in which the other person is nearer to the pronoun, and may be meant": nearer,
        "with another he or she, which may give the pronoun away": bool(_GENDERED.search(sentence)),
        "with a verb that does not agree with they": bool(_SINGULAR.search(sentence)),
    }


def _filled(sentence: str, word: str) -> str:
    """Return the sentence with a word in its blank, with a capital where a sentence begins."""
    before, _, after = sentence.partition("_")
    return f"{before}{word.capitalize() if _SENTENCE_START.search(before) else word}{after}"


ITEM_SETS: Mapping[str, Callable[..., ItemSet]] = {
    "gest": gest,
    "crows-pairs": crows_pairs,
    "winogender": winogender,
    "winogenerated": winogenerated,
}
"""The published sets, each with the function that reads it."""


def convert_items(
    kind: str, path: Path, table: Path, **options: str
) -> tuple[int, tuple[Note, ...]]:
    """Write the item table of a set, with its TOML and, where the set has one, its lean."""
    lean = table.with_name(f"{table.stem}-lean.csv")
    check_target(lean)
    if lean.exists() and path.exists() and lean.samefile(path):
        raise InputError(f"{lean} holds the texts; choose another name for the table")
    with TableSource(path) as source:
        items = ITEM_SETS[kind](source, **options)
        sha256 = source.files.sha256 if source.files else ""
    rows = items.table
    if rows.empty:
        raise DataFileError(f"{path}: no item is left; {'; '.join(items.left_out)}")
    labels = [name for name in ITEM_COLUMNS if name in rows and name != "cluster"]
    if (again := rows.duplicated(labels)).any():
        task, item = rows.loc[again, ["task", "item"]].iloc[0]
        raise DataFileError(f'{path}: the item "{item}" of the task "{task}" appears twice')
    call = " ".join([kind, *(f"--{name} {value}" for name, value in options.items())])
    facts = {
        **items.facts, "language": "en", "method": f"lmprobe {__version__} convert {call}",
        "sha256": sha256, "notes": "; ".join([*items.left_out, *items.problems]),
    }  # fmt: skip
    # The lean replaces its target last: a table that cannot be written leaves none behind.
    with ExitStack() as stack:
        if items.lean is not None:
            facts["lean"] = lean.name
            tasks = rows["task"].unique()
            groups = [name for name in rows if name not in ITEM_COLUMNS]
            cells = [[task, *(int(items.lean[task] == name) for name in groups)] for task in tasks]
            content = csv_text(pd.DataFrame(cells, columns=["task", *groups]))
            stack.enter_context(replacing(lean)).write_text(content, encoding="utf-8")
        description = "".join(f"{key} = {toml_text(fact)}\n" for key, fact in facts.items())
        write_table(rows, table, description=description)
    notes = [Note(NoteKind.LEFT_OUT, text) for text in items.left_out]
    return len(rows), (*notes, *(Note(NoteKind.DATA, text) for text in items.problems))
