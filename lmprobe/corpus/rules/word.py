"""Whole words, case ignored, one task and one attribute per sentence.

A word is a run of letters, digits and underscores, so "cook's", "cook-off" and "l'infirmière"
contain "cook" and "infirmière", and "cookery" does not contain "cook". Where words have no
spaces between, they are found from left to right, the longest first: 経済学者 is not 学者 if both
are looked for. A sentence counts when the words of exactly one task and exactly one
attribute occur in it, each any number of times.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

from ahocorasick_rs import BytesAhoCorasick, MatchKind

from lmprobe.corpus.finder import PLAIN, WordFinder
from lmprobe.corpus.languages import language_of
from lmprobe.corpus.lexicon import Lexicon, Words
from lmprobe.corpus.rules.rule import Rule, rules
from lmprobe.corpus.sentences import Sentences, unspaced_ends
from lmprobe.corpus.spelling import Spelling
from lmprobe.errors import InputError

_WORD = re.compile(r"\w+")


@rules.register("word")
def word_rule(lexicon: Lexicon) -> Rule:
    """One task and one attribute per sentence, as whole words."""
    spaced = language_of(lexicon.language).spaced
    return WordRule(lexicon) if spaced else UnspacedWordRule(lexicon)


class WordRule:
    """Words are what is between spaces and punctuation."""

    def __init__(self, lexicon: Lexicon) -> None:
        """Prepare the words for the search."""
        self._finder = WordFinder(needles(lexicon))
        self._tasks = _Matcher(words for _, words in lexicon.tasks)
        self._attributes = _Matcher(words for _, words in lexicon.attributes)
        self._sentences = Sentences(lexicon.language)
        self._spelling = Spelling(lexicon.language)

    def pairs(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield (attribute, task) of each sentence that counts."""
        block = self._spelling.composed(block)
        for start, end in self._sentences.around(block, self._finder.places(block)):
            sentence = block[start:end]
            words = _words(sentence)
            # The attribute first: it rules out most sentences.
            attributes = self._attributes.labels(words, sentence)
            if len(attributes) == 1:
                tasks = self._tasks.labels(words, sentence)
                if len(tasks) == 1:
                    yield attributes.pop(), tasks.pop()


class UnspacedWordRule:
    """Words touch; they are found from left to right, the longest first."""

    def __init__(self, lexicon: Lexicon) -> None:
        """Prepare the words, and longer ones that contain one of them and mean something else."""
        self._attributes = owners(words for _, words in lexicon.attributes)
        self._tasks = owners(words for _, words in lexicon.tasks)
        longer = language_of(lexicon.language).longer_words
        self._forms = list(dict.fromkeys((*self._attributes, *self._tasks, *longer)))
        self._search = BytesAhoCorasick(
            [form.encode() for form in self._forms], matchkind=MatchKind.LeftmostLongest
        )
        self._spelling = Spelling(lexicon.language)

    def pairs(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield (attribute, task) of each sentence that counts."""
        block = self._spelling.composed(block)
        # Lower-casing bytes changes A-Z alone, and no offset.
        matches = deque(self._search.find_matches_as_indexes(block.lower()))
        for end in unspaced_ends(block):
            forms = []
            while matches and matches[0][1] < end:
                forms.append(self._forms[matches.popleft()[0]])
            attributes = {self._attributes[form] for form in forms if form in self._attributes}
            tasks = {self._tasks[form] for form in forms if form in self._tasks}
            if len(attributes) == 1 and len(tasks) == 1:
                yield attributes.pop(), tasks.pop()


def _words(sentence: bytes) -> list[bytes]:
    """Return the runs of letters, digits and underscores, A-Z in lower case."""
    if sentence.isascii():
        return sentence.translate(PLAIN).split()
    return [word.encode() for word in _WORD.findall(_text(sentence))]


def _text(sentence: bytes) -> str:
    return sentence.lower().decode("utf-8", "replace")


def needles(lexicon: Lexicon) -> Iterator[bytes]:
    """Yield what a lower-cased block must contain where a task may stand.

    Of several words that make one name, the longest will do.
    """
    for _, words in lexicon.tasks:
        for word in words:
            for form in cases(word):
                yield max(re.split(r"[\s'’-]+", form), key=len).encode()


def cases(word: str) -> set[str]:
    """Return how `word` may be written once the letters A-Z are lower-case.

    Blocks are lower-cased as bytes, which leaves letters beyond A-Z as they are: such a
    word is found in lower case, in capitals, with a capital, and as it was given.
    """
    forms = {word, word.lower(), word.upper(), word.capitalize(), word.title()}
    # Python writes the capital of ß as SS; German also has a letter for it.
    forms.add(word.replace("ß", "ẞ").upper())
    return {form.encode().lower().decode() for form in forms}


def owners(labels: Iterable[Words]) -> dict[str, int]:
    """Return the number of the label that each written form stands for.

    A form that stands for two would be counted for neither, or for the wrong one.
    """
    owner: dict[str, int] = {}
    for label, words in enumerate(labels):
        for form in sorted({plain(form) for word in words for form in cases(word)}):
            if owner.setdefault(form, label) != label:
                raise InputError(
                    f'"{form}" stands for two labels where upper and lower case, and spaces and '
                    "hyphens, are alike; leave one out, or choose the rule paper"
                )
    return owner


def plain(form: str) -> str:
    """Return a name of several words in one way of writing."""
    return re.sub(r"\s*@?-@?\s*|\s+", " ", form).replace("’", "'")


class _Matcher:
    """Tells which labels have a word in a sentence."""

    def __init__(self, labels: Iterable[Words]) -> None:
        self._label: dict[bytes, int] = {}
        # By their longest word: a sentence without it need not be searched.
        self._phrases: dict[bytes, list[tuple[re.Pattern[str], int]]] = {}
        for form, label in owners(labels).items():
            if _WORD.fullmatch(form):
                self._label[form.encode()] = label
            else:
                expression = re.compile(rf"(?<!\w){phrase(form)}(?!\w)")
                longest = max(_WORD.findall(form), key=len).encode()
                self._phrases.setdefault(longest, []).append((expression, label))
        self._single = frozenset(self._label)
        self._parts = frozenset(self._phrases)

    def labels(self, words: list[bytes], sentence: bytes) -> set[int]:
        found = {self._label[word] for word in self._single.intersection(words)}
        for part in self._parts.intersection(words):
            text = _text(sentence)
            found |= {label for expression, label in self._phrases[part] if expression.search(text)}
        return found


def phrase(form: str) -> str:
    """Return an expression for a name of several words, spaced or hyphenated, with ' or ’."""
    joined = r"(?:\s+|\s*@?-@?\s*)".join(map(re.escape, re.split(r"[\s-]+", form)))
    return joined.replace("'", "['’]")
