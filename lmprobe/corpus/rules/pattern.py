"""Only where somebody is said to be the task: "she was a very good editor".

This is what the probe's templates say, so these counts have the contexts of its prompts.
A sentence counts when it says so of exactly one attribute and exactly one task:

    WORD  is/was/'s/became/has been/...     [now, also, ...]  [a, an, the, one of the]  TASK
    WORD  works/served/trained/... as       with up to three describing words before TASK

A describing word is any word but one that would change who is meant (prepositions,
pronouns, articles, conjunctions, negations), so "he was seen by a nurse" and "she is not
a cook" do not count, nor does "he is a nurse's son".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lmprobe.corpus.finder import WordFinder
from lmprobe.corpus.lexicon import Lexicon
from lmprobe.corpus.rules.rule import english_only, rules
from lmprobe.corpus.rules.word import needles, owners, phrase, plain
from lmprobe.corpus.sentences import Sentences
from lmprobe.corpus.spelling import Spelling

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
        self._sentences = Sentences()
        self._spelling = Spelling("en")
        self._finder = WordFinder(needles(lexicon))
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
        block = self._spelling.composed(block)
        for start, end in self._sentences.around(block, self._finder.places(block)):
            sentence = block[start:end].lower().decode("utf-8", "replace")
            found = {
                (self._attribute[plain(one["attribute"])], self._task[plain(one["task"])])
                for one in self._said.finditer(sentence)
            }
            if len(found) == 1:
                yield found.pop()


def _any(forms: Iterable[str]) -> str:
    """Return an expression for any of the forms, the longest first."""
    return "|".join(phrase(form) for form in sorted(forms, key=lambda form: (-len(form), form)))


def _spaced(words: str) -> str:
    return words.replace(" ", r"\s+")
