"""Finds visible text that depends on a hidden word: an article, an elision written out.

Slots hide their article and all that agrees with them. What stays visible is the text of the
sentence itself, and an article or an elided word in it, right before a slot, fits some of
the words only: "une {occupation}" says that the hidden word is feminine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from lmprobe.templates.articles import ARTICLES, GENDERED, elides
from lmprobe.templates.contents import Contents
from lmprobe.templates.template import Field, Pattern, written_article

_WRITTEN = {
    "en": "a an",
    "de": "ein eine einen einem einer eines der die das den dem des",
    "es": "un una el la",
    "fr": "un une le la l'",
    "it": "un uno una un' il lo la l'",
    "pt": "um uma o a",
}
# French words that lose their last vowel before a vowel, and the same when they lost it.
_ELIDED = "d' j' l' m' n' qu' s' t' jusqu' lorsqu' puisqu'"
_FULL = "de je le la me ne que se te jusque lorsque puisque"


def visible_hints(pattern: Pattern, contents: Contents) -> Iterator[str]:
    """Yield what is wrong with text that is visible beside a slot."""
    for left, right in pairwise(pattern):
        if not isinstance(left, str) or not isinstance(right, Field):
            continue
        match = re.search(r"(\w+['’]|\w+(?=\s+$))\s*$", left)
        before = match[1].lower().replace("’", "'") if match else ""
        if right.article or not before:
            continue
        yield from _article_hint(before, right, contents)
        if contents.language == "fr":
            yield from _elision_hint(before, right, contents)


def _article_hint(before: str, one: Field, contents: Contents) -> Iterator[str]:
    language = contents.language
    if before not in _WRITTEN.get(language, "").split():
        return
    kinds = {kind: _articles(kind, one, contents) for kind in ARTICLES}
    varies = any(len(articles) > 1 for articles in kinds.values())
    if language == "en":
        kinds = {"a": kinds["a"]}
        varies = kinds["a"] != {before}
    if varies:
        kind = "a" if language == "en" or (before[0] in "ue" and before != "el") else "the"
        needed = " or ".join(sorted(article for article in kinds[kind] if article))
        yield (
            f'the article "{before}" is written out, and {{{one.slot}}} takes {needed}: in sight, '
            f"it tells what is hidden; write {{{kind}:{one.slot}}}"
        )


def _articles(kind: str, one: Field, contents: Contents) -> set[str | None]:
    """Return the articles that the words of a field take; a language with genders has several."""
    field = Field(one.slot, one.form, kind)
    found = {
        written_article(field, entry, entry.written(one.form, who), contents.language, who.agree)
        for entry in contents.slots[one.slot]
        for who in contents.slots[contents.attribute]
    }
    return found if contents.language in (*GENDERED, "en") else set()


def _elision_hint(before: str, one: Field, contents: Contents) -> Iterator[str]:
    elided = before in _ELIDED.split()
    if not elided and before not in _FULL.split():
        return
    words = {
        entry.written(one.form, who)
        for entry in contents.slots[one.slot]
        for who in contents.slots[contents.attribute]
    }
    wrong = sorted(word for word in words if elides(word) != elided)
    if wrong:
        yield (
            f'"{before}" is written out before {{{one.slot}}}, but does not fit "{wrong[0]}": in '
            "sight, it tells how the hidden word begins; word the sentence without it"
        )
