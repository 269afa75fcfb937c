"""The rules by which a sentence counts as a co-occurrence."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Protocol

import numpy as np
from ahocorasick_rs import BytesAhoCorasick, MatchKind

from lmprobe.errors import InputError
from lmprobe.registry import Registry
from lmprobe.sources.counting.languages import Sentences, Spelling, language_of, unspaced_ends
from lmprobe.sources.counting.lexicon import PAPER_ATTRIBUTES, Labelled, Lexicon, Words


class Rule(Protocol):
    """Reads blocks of text and says which sentences count.

    Its class may have `default_attributes`, the English words of each group that it counts
    when the caller names none.
    """

    def pairs(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield (attribute, task) of each sentence that counts.

        A block holds whole lines of UTF-8 that end in line feeds. A line must count the
        same whatever stands before and after it, so that blocks may be cut anywhere
        between lines.
        """


def english_only(name: str, lexicon: Lexicon) -> None:
    """Refuse a rule that is about English in any other language."""
    if lexicon.language != "en":
        raise InputError(
            f'the rule "{name}" is for English, and the language is "{lexicon.language}"; '
            "choose the rule word"
        )


rules: Registry[Callable[[Lexicon], Rule]] = Registry("rules", "lmprobe.sources.counting.rules")
"""The rules by name; each is called with the words and gives a `Rule`."""


# Only about one sentence in a hundred names an occupation, so the rules first ask a finder for
# places to look at, at memory speed, and read no other sentence.
#
# Up to 16 short words the library compares 16 or 32 bytes at a time; beyond that it slows
# down to a third, so two searches for half the words each are the faster way.
_TOGETHER = 16

# For `translate`: letters A-Z become lower-case, what is no part of a word becomes a space.
_PLAIN = bytes(
    byte if byte >= 128 or chr(byte).isalnum() or byte == ord("_") else ord(" ")
    for byte in bytes(range(256)).lower()
)


class Finder:
    """Searches blocks for needles; places may be more than the true matches, never fewer.

    A search reports no match that overlaps an earlier one. That is enough here: no needle
    crosses the end of a sentence, so a sentence with a match always has one reported.
    """

    def __init__(self, needles: Iterable[bytes], *, ignore_case: bool = False) -> None:
        """Prepare the search; a needle that contains another one adds no place."""
        self._fold = _fold if ignore_case else bytes
        distinct = sorted({bytes(self._fold(needle)) for needle in needles})
        shortest = [
            needle
            for needle in distinct
            if not any(other in needle for other in distinct if other != needle)
        ]
        # Words with the same beginning go together: they share the first comparison.
        self._searches = [
            BytesAhoCorasick(shortest[start : start + _TOGETHER], matchkind=MatchKind.LeftmostFirst)
            for start in range(0, len(shortest), _TOGETHER)
        ]

    def places(self, block: bytes) -> list[int]:
        """Return the offsets at which a needle starts, in ascending order."""
        folded = self._fold(block)
        matches = (search.find_matches_as_indexes(folded) for search in self._searches)
        return sorted(start for _, start, _ in chain.from_iterable(matches))


class WordFinder:
    """Searches blocks for whole words, upper and lower case alike.

    It leaves out places inside longer words ("editor" in "creditors"): they are almost as many
    as the others, and reading the sentence around them costs far more than this. A word with
    bytes beyond ASCII is always given, as only decoded text tells where it begins and ends.
    """

    def __init__(self, words: Iterable[bytes]) -> None:
        """Prepare the search for words whose letters A-Z are lower-case."""
        self._words = frozenset(words)
        self._finder = Finder(self._words, ignore_case=True)
        self._reach = max(map(len, self._words)) + 1
        # "o'brien" is no run of letters: with such a word every place will do.
        self._whole = all(word.translate(_PLAIN) == word for word in self._words)

    def places(self, block: bytes) -> list[int]:
        """Return offsets in ascending order, at least one in each word that is looked for."""
        places = self._finder.places(block)
        if not self._whole:
            return places
        return [place for place in places if self._may_be_word(block, place)]

    def _may_be_word(self, block: bytes, place: int) -> bool:
        before = block[max(0, place - self._reach) : place].translate(_PLAIN)
        after = block[place : place + self._reach].translate(_PLAIN)
        word = before.rpartition(b" ")[2] + after.partition(b" ")[0]
        return word in self._words or not word.isascii()


def _fold(text: bytes) -> bytes | memoryview:
    """Set the bit that tells a-z from A-Z in every byte; offsets stay.

    Some other characters become equal as well, which only adds places to look at, and it
    is ten times as fast as lower-casing.
    """
    return np.bitwise_or(np.frombuffer(text, np.uint8), np.uint8(0x20)).data


_WORD = re.compile(r"\w+")


@rules.register("word")
def word_rule(lexicon: Lexicon) -> Rule:
    """One task and one attribute per sentence, as whole words."""
    spaced = language_of(lexicon.language).spaced
    return WordRule(lexicon) if spaced else UnspacedWordRule(lexicon)


class _SentenceReader:
    """Yields the sentences of a block in which a task may stand."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._finder = WordFinder(needles(lexicon))
        self._sentences = Sentences(lexicon.language)
        self._spelling = Spelling(lexicon.language)

    def sentences(self, block: bytes) -> Iterator[bytes]:
        block = self._spelling.composed(block)
        for start, end in self._sentences.around(block, self._finder.places(block)):
            yield block[start:end]


class WordRule:
    """Words are what is between spaces and punctuation."""

    def __init__(self, lexicon: Lexicon) -> None:
        """Prepare the words for the search."""
        self._reader = _SentenceReader(lexicon)
        self._tasks = _Matcher(words for _, words in lexicon.tasks)
        self._attributes = _Matcher(words for _, words in lexicon.attributes)

    def pairs(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield (attribute, task) of each sentence that counts."""
        for sentence in self._reader.sentences(block):
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
        """Prepare the words for the search."""
        self._attributes = owners(words for _, words in lexicon.attributes)
        self._tasks = owners(words for _, words in lexicon.tasks)
        self._finder = _LongestFinder((*self._attributes, *self._tasks), lexicon.language)
        self._spelling = Spelling(lexicon.language)

    def pairs(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield (attribute, task) of each sentence that counts."""
        block = self._spelling.composed(block)
        matches = deque(self._finder.matches(block))
        for end in unspaced_ends(block):
            forms = []
            while matches and matches[0][1] < end:
                forms.append(matches.popleft()[0])
            attributes = {self._attributes[form] for form in forms if form in self._attributes}
            tasks = {self._tasks[form] for form in forms if form in self._tasks}
            if len(attributes) == 1 and len(tasks) == 1:
                yield attributes.pop(), tasks.pop()


class _LongestFinder:
    """Finds words that touch, and longer ones that contain one of them and mean something else."""

    def __init__(self, forms: Iterable[str], language: str) -> None:
        self._forms = list(dict.fromkeys((*forms, *language_of(language).longer_words)))
        self._search = BytesAhoCorasick(
            [form.encode() for form in self._forms], matchkind=MatchKind.LeftmostLongest
        )

    def matches(self, block: bytes) -> Iterator[tuple[str, int]]:
        """Yield each word with the offset at which it starts."""
        # Lower-casing bytes changes A-Z alone, and no offset.
        for form, start, _ in self._search.find_matches_as_indexes(block.lower()):
            yield self._forms[form], start


class Mentions:
    """Finds the words of several labels in a text, told apart as the rule `word` does.

    >>> words = (("he", ("he", "boy")), ("she", ("she", "she-wolf")))
    >>> Mentions(words, "en").labels("HE's human. The She-Wolf, the boy and the sheet.")
    [0, 1, 0]
    """

    def __init__(self, labels: Labelled, language: str) -> None:
        """Prepare the words for the search."""
        self._spelling = Spelling(language)
        self._matcher: _Matcher | None = None
        words = [words for _, words in labels]
        if language_of(language).spaced:
            self._matcher = _Matcher(words)
        else:
            self._owners = owners(words)
            self._finder = _LongestFinder(self._owners, language)

    def labels(self, text: str) -> list[int]:
        """Return the number of the label of each word, in the order of the text.

        Of words that overlap, the first counts, and of those that begin together the longest.
        """
        block = self._spelling.composed(text.encode("utf-8", "replace"))
        if self._matcher is not None:
            return list(self._matcher.mentions(block))
        forms = (form for form, _ in self._finder.matches(block))
        return [self._owners[form] for form in forms if form in self._owners]


def _words(sentence: bytes) -> list[bytes]:
    """Return the runs of letters, digits and underscores, A-Z in lower case."""
    if sentence.isascii():
        return sentence.translate(_PLAIN).split()
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

    def labels(self, words: list[bytes], sentence: bytes) -> set[int]:
        labels = {self._label[word] for word in self._label.keys() & words}
        for part in self._phrases.keys() & words:
            text = _text(sentence)
            labels |= {
                label for expression, label in self._phrases[part] if expression.search(text)
            }
        return labels

    def mentions(self, text: bytes) -> Iterator[int]:
        """Yield the label of each word in order; of words that overlap, the first and longest."""
        written = _text(text)
        words = [(*word.span(), word[0].encode()) for word in _WORD.finditer(written)]
        places = [
            (start, -end, self._label[word]) for start, end, word in words if word in self._label
        ]
        for part in self._phrases.keys() & {word for _, _, word in words}:
            for expression, label in self._phrases[part]:
                for match in expression.finditer(written):
                    places.append((match.start(), -match.end(), label))
        done = 0
        for start, end, label in sorted(places):
            if start >= done:
                yield label
                done = -end


def phrase(form: str) -> str:
    """Return an expression for a name of several words, spaced or hyphenated, with ' or ’."""
    joined = r"(?:\s+|\s*@?-@?\s*)".join(map(re.escape, re.split(r"[\s-]+", form)))
    return joined.replace("'", "['’]")


_ADVERB = (
    "also|now|then|once|still|later|currently|previously|formerly|originally|initially|"
    "already|again|always|soon|only|just|both|himself|herself|themself|themselves"
)
_BE = (
    "is|was|am|are|were|(?:has|have|had|will have|would have) been|"
    "(?:will|would|can|could|may|might|must|should) be|"
    "becomes?|became|(?:has|have|had) become|(?:will|would) become|remains?|remained"
)
_WORK_AS = (
    "(?:(?:is|was|am|are|were|has been|have been|had been) )?"
    "(?:works?|worked|working|serves?|served|serving|trains?|trained|training|"
    "employed|hired|qualifies|qualified|practi[cs]es|practi[cs]ed) as"
)
_NOT_DESCRIBING = (
    "of|by|with|without|to|for|from|in|on|at|as|into|onto|over|under|about|against|after|before|"
    "between|during|near|like|than|that|which|who|whom|whose|where|when|while|because|if|"
    "and|or|but|nor|not|no|never|a|an|the|this|these|those|his|her|their|its|my|your|our|"
    "he|she|they|it|him|them|i|we|you|is|was|are|were|be|been|being|am|has|have|had"
)


@rules.register("pattern")
class PatternRule:
    """Attribute, copula, task."""

    def __init__(self, lexicon: Lexicon) -> None:
        """Prepare the words for the search."""
        english_only("pattern", lexicon)
        self._reader = _SentenceReader(lexicon)
        self._task = owners(words for _, words in lexicon.tasks)
        self._attribute = owners(words for _, words in lexicon.attributes)
        adverbs = rf"(?:(?:{_ADVERB})\s+)*"
        describing = rf"(?:(?!(?:{_NOT_DESCRIBING})\b)\w+(?:\s*(?:@-@|-)\s*\w+)*,?\s+)"
        # The task is caught in a look-ahead, so that matches may share words.
        self._said = re.compile(
            rf"(?<!\w)(?P<attribute>{_any(self._attribute)})(?!\w)"
            rf"(?:\s+{adverbs}(?:{_spaced(_BE)}|{_spaced(_WORK_AS)})|\s*['’]s)\s+"
            rf"(?={adverbs}(?:one of the\s+|(?:an?|the)\s+)?{adverbs}{describing}{{0,3}}?"
            rf"(?P<task>{_any(self._task)})(?!\w|\s*['’]))"
        )

    def pairs(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield (attribute, task) of each sentence that counts."""
        for sentence in self._reader.sentences(block):
            pairs = {
                (self._attribute[plain(match["attribute"])], self._task[plain(match["task"])])
                for match in self._said.finditer(_text(sentence))
            }
            if len(pairs) == 1:
                yield pairs.pop()


def _any(forms: Iterable[str]) -> str:
    """Return an expression for any of the forms, the longest first."""
    return "|".join(phrase(form) for form in sorted(forms, key=lambda form: (-len(form), form)))


def _spaced(words: str) -> str:
    return words.replace(" ", r"\s+")


@rules.register("paper")
class PaperRule:
    """Substrings for tasks, tokens between spaces for attributes."""

    default_attributes = PAPER_ATTRIBUTES

    def __init__(self, lexicon: Lexicon) -> None:
        """Prepare the words for the search."""
        english_only("paper", lexicon)
        needles = [
            (word.encode(), task) for task, (_, words) in enumerate(lexicon.tasks) for word in words
        ]
        self._finder = Finder(needle for needle, _ in needles)
        self._every = BytesAhoCorasick([needle for needle, _ in needles])
        self._task = [task for _, task in needles]
        # With a space on each side, a token between spaces is a substring too.
        tokens = [
            (f" {word} ".encode(), group)
            for group, (_, words) in enumerate(lexicon.attributes)
            for word in words
        ]
        self._tokens = BytesAhoCorasick([token for token, _ in tokens])
        self._group = [group for _, group in tokens]

    def pairs(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield (attribute, task) of each sentence that counts."""
        spans = list(self._spans(block))
        sentences = [block[start:end] for start, end in spans]
        headings = _HeadingLines(block)
        # The attribute first: it rules out most sentences.
        for number, groups in self._groups_of(sentences).items():
            if len(groups) == 1 and spans[number][0] not in headings:
                task = self._selected(sentences[number])
                if task is not None:
                    yield groups.pop(), task

    def _spans(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield start and end of each sentence in which a task may match."""
        end = 0
        for place in self._finder.places(block):
            if place < end:
                continue
            full_stop = block.rfind(b".", 0, place) + 1
            start = block.rfind(b"\n", full_stop, place) + 1 or full_stop
            end = block.find(b".", place)
            end = end if end >= 0 else len(block)
            line_feed = block.find(b"\n", place, end)
            end = line_feed if line_feed >= 0 else end
            yield start, end

    def _groups_of(self, sentences: list[bytes]) -> dict[int, set[int]]:
        """Return the attributes in each sentence that has any.

        All sentences are searched at once, because a call costs more than a search.
        """
        groups: dict[int, set[int]] = {}
        joined = b" %b " % b" \n ".join(sentences)
        number, end = -1, -1
        for word, start, _ in self._tokens.find_matches_as_indexes(joined, overlapping=True):
            while start >= end:
                number += 1
                end += len(sentences[number]) + 3
            groups.setdefault(number, set()).add(self._group[word])
        return groups

    def _selected(self, sentence: bytes) -> int | None:
        matches = self._every.find_matches_as_indexes(sentence, overlapping=True)
        tasks = {self._task[match[0]] for match in matches}
        # Each task switches the selection on or off, so an odd number leaves the last one.
        return max(tasks) if len(tasks) % 2 else None


class _HeadingLines:
    """The lines with a "=" in them, as Wikipedia's headings have; asked for in ascending order."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._end = -1
        self._heading = False

    def __contains__(self, place: int) -> bool:
        if place > self._end:
            start = self._block.rfind(b"\n", max(self._end, 0), place) + 1
            end = self._block.find(b"\n", place)
            self._end = end if end >= 0 else len(self._block)
            self._heading = self._block.find(b"=", start, self._end) >= 0
        return self._heading
