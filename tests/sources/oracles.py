"""The rules of counting written out slowly, from their description."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from lmprobe.sources.counting.languages import LANGUAGES
from lmprobe.sources.counting.lexicon import Lexicon
from lmprobe.sources.counting.rules import rules

Pairs = Counter[tuple[int, int]]
Labels = tuple[tuple[str, tuple[str, ...]], ...]

CLOSING = "\"')]}’”»"


def counted(rule: str, words: Lexicon, text: str) -> Pairs:
    """Return the counts of the rule itself."""
    return Counter(rules.get(rule)(words).pairs(text.encode()))


def slow_paper(words: Lexicon, text: str) -> Pairs:
    counts: Pairs = Counter()
    for line in text.split("\n"):
        if "=" in line:
            continue
        for sentence in line.split("."):
            selected = None
            for number, (_, forms) in enumerate(words.tasks):
                if any(form in sentence for form in forms):
                    selected = number if selected is None else None
            tokens = sentence.split(" ")
            groups = [
                number
                for number, (_, forms) in enumerate(words.attributes)
                if any(form in tokens for form in forms)
            ]
            if selected is not None and len(groups) == 1:
                counts[groups[0], selected] += 1
    return counts


def slow_word(words: Lexicon, text: str) -> Pairs:
    counts: Pairs = Counter()
    for line in unicodedata.normalize("NFC", text.replace("\u00ad", "")).split("\n"):
        for sentence in slow_sentences(line, words.language):
            if LANGUAGES[words.language].spaced:
                attributes = slow_labels(sentence, words.attributes)
                tasks = slow_labels(sentence, words.tasks)
            else:
                attributes, tasks = slow_longest(sentence, words)
            if len(attributes) == 1 and len(tasks) == 1:
                counts[attributes.pop(), tasks.pop()] += 1
    return counts


def slow_sentences(line: str, language: str = "en") -> Iterator[str]:
    """Yield the sentences of a line, character by character."""
    if not LANGUAGES[language].spaced:
        yield from re.findall(r"[^。！？!?]*(?:[。！？!?]+[」』）”’]*|$)", line)
        return
    start = i = 0
    while i < len(line):
        if line[i] not in ".!?":
            i += 1
            continue
        mark = i
        while i < len(line) and line[i] in ".!?":
            i += 1
        run = line[mark:i]
        if language != "en" and line[i : i + 1] == "“":
            i += 1
        while i < len(line) and line[i] in CLOSING:
            i += 1
        gap = i
        while i < len(line) and line[i] in " \t\v\f":
            i += 1
        follows = line[i : i + 1]
        small = "a" <= follows <= "z" if language == "en" else follows.islower()
        if i == gap or small or (run == "." and is_abbreviated(line[start:mark], language)):
            continue
        yield line[start:i]
        start = i
    yield line[start:]


def is_abbreviated(before: str, language: str) -> bool:
    """Tell whether the word before a full stop is an abbreviation, an initial or an ordinal."""
    rules = LANGUAGES[language]
    word = re.split(r"[ \t\v\f(\[{\"']", before.removesuffix(" "))[-1]
    if len(word.encode()) > max([12, *map(len, rules.abbreviations)]):
        return False
    return bool(
        word.encode() in rules.abbreviations
        or re.fullmatch(r"(?:[A-Za-z]\.)+[A-Za-z]", word)
        or (rules.ordinals and re.fullmatch(r"\d{1,2}", word))
        or (len(word) == 1 and word.isupper())
    )


def slow_labels(sentence: str, named: Labels) -> set[int]:
    result = set()
    for number, (_, forms) in enumerate(named):
        spellings = "|".join(f"{form}|{form.replace('ß', 'ss')}" for form in forms)
        spellings = spellings.replace("'", "['’]").replace(" ", r"\s+")
        if re.search(rf"\b(?:{spellings})\b", sentence, re.IGNORECASE):
            result.add(number)
    return result


def slow_longest(sentence: str, words: Lexicon) -> tuple[set[int], set[int]]:
    """Walk from left to right and take the longest word that begins at each place."""
    attributes, tasks, place = set(), set(), 0
    forms_of_words = {
        form: ("a", n) for n, (_, forms) in enumerate(words.attributes) for form in forms
    }
    forms_of_words |= {form: ("t", n) for n, (_, forms) in enumerate(words.tasks) for form in forms}
    forms_of_words |= dict.fromkeys(LANGUAGES[words.language].longer_words, ("", 0))
    while place < len(sentence):
        here = [form for form in forms_of_words if sentence.startswith(form, place)]
        if not here:
            place += 1
            continue
        longest = max(here, key=len)
        kind, number = forms_of_words[longest]
        if kind:
            (attributes if kind == "a" else tasks).add(number)
        place += len(longest)
    return attributes, tasks


BE = {"is", "was", "are", "were", "became"}
STOP = {"of", "by", "not", "a", "an", "the", "he", "she", "and", "is", "was", "in", "as", "her"}
ADVERBS = {"now", "also"}


def slow_pattern(words: Lexicon, tokens: list[str]) -> Pairs:
    """Say who is said to be what, token by token, for texts without punctuation."""
    result = set()
    tasks = {form: i for i, (_, forms) in enumerate(words.tasks) for form in forms}
    groups = {form: i for i, (_, forms) in enumerate(words.attributes) for form in forms}
    for i, token in enumerate(tokens):
        if token not in groups:
            continue
        starts = [i + 1]
        while starts[-1] < len(tokens) and tokens[starts[-1]] in ADVERBS:
            starts.append(starts[-1] + 1)
        befores = [at + 1 for at in starts if tokens[at : at + 1] and tokens[at] in BE]
        for at in starts:
            for skip in (0, 1) if tokens[at : at + 1] and tokens[at] in {"is", "was"} else (0,):
                said = tokens[at + skip : at + skip + 2]
                if len(said) == 2 and said[0] in {"works", "serving"} and said[1] == "as":
                    befores.append(at + skip + 2)
        for at in befores:
            result |= {(groups[token], tasks[task]) for task in reached(tokens, at, tasks)}
    return Counter(result) if len(result) == 1 else Counter()


def reached(tokens: list[str], at: int, tasks: dict[str, int]) -> list[str]:
    """Return the first task that the describing words from `at` on lead to."""
    options = [at]
    while options[-1] < len(tokens) and tokens[options[-1]] in ADVERBS:
        options.append(options[-1] + 1)
    options += [place + 1 for place in options if tokens[place : place + 1] in (["a"], ["the"])]
    for place in list(options):
        while place < len(tokens) and tokens[place] in ADVERBS:
            place += 1
            options.append(place)
    nearest = []
    for place in options:
        for more in range(4):
            between = tokens[place : place + more]
            if len(between) < more or any(word in STOP for word in between):
                break
            for size in (2, 1):
                name = " ".join(tokens[place + more : place + more + size])
                if name in tasks:
                    nearest.append((place + more, name))
    return [name for where, name in nearest if where == min(nearest)[0]][:1]
