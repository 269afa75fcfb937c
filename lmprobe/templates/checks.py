"""What a sentence must satisfy so that any slot of it can be hidden and guessed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import chain, pairwise

from lmprobe.errors import did_you_mean
from lmprobe.templates.lexicon import NUMBERS, Findings
from lmprobe.templates.reader import Contents
from lmprobe.templates.template import (
    ARTICLES,
    GENDERED,
    Field,
    LexiconEntry,
    Pattern,
    elides,
    fields,
    is_unspaced,
    written_article,
)

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


def check_sentences(contents: Contents, findings: Findings) -> None:
    """Note every sentence that cannot be expanded and masked, and every slot without use."""
    for line in contents.lines:
        places = fields(line.pattern)
        messages = [
            # First: a misspelt slot is why another one is missing.
            *chain.from_iterable(_field_problems(place, contents) for place in places),
            *_missing_roles(line.pattern, contents),
            *_repeated(line.pattern, contents),
            *_given_away(line.pattern, contents),
            *_glued(line.pattern, contents),
        ]
        for message in messages:
            findings.add(line.key, f'"{line.text}": {message}', near=line.text)
        if not messages:
            for message in _visible_hints(line.pattern, contents):
                findings.warn(line.key, f'"{line.text}": {message}', near=line.text)
    for number, turn in enumerate(contents.chat):
        # A turn may name every group alike; one that names some prefers them.
        for message in _given_away((turn,), contents):
            findings.warn(f"chat[{number}]", f'"{turn}": {message}', near=turn)
    used = {place.slot for line in contents.lines for place in fields(line.pattern)}
    for slot in contents.slots:
        if slot not in used and slot not in contents.roles:
            findings.add(f"slots.{slot}", "no sentence uses this slot; use it or remove it")
    _check_agreement(contents, findings)


def _check_agreement(contents: Contents, findings: Findings) -> None:
    """Note misspelt forms, and values of `agree` that no form is called by: nothing would agree."""
    values = {entry.agree for entry in contents.attribute_entries if entry.agree}
    names = {
        part
        for entry in chain.from_iterable(contents.slots.values())
        for name in (*entry.forms, *entry.articles)
        for part in name.split("-")
    }
    for name in sorted(names - values):
        if meant := get_close_matches(name, values, n=1, cutoff=0.85):
            message = f'the form "{name}" is never used: no word says agree = "{name}"'
            findings.add("slots", f'{message}; did you mean "{meant[0]}"?', near=name)
    has_articles = any(place.article for line in contents.lines for place in fields(line.pattern))
    if has_articles and contents.language in GENDERED:
        names |= {"masculine", "feminine", "neuter"}
    unused = sorted(values - names)
    if len(unused) > 1:
        message = f"no form of any word is called {' or '.join(unused)}, so nothing agrees"
        findings.add(f"slots.{contents.attribute}", f"{message}; add forms or remove agree")


def _missing_roles(pattern: Pattern, contents: Contents) -> Iterator[str]:
    used = {place.slot for place in fields(pattern)}
    for role, slot in zip(("attribute", "task"), contents.roles, strict=True):
        if slot in contents.slots and slot not in used:
            yield f"has no mask slot for the {role}; add {{{slot}}}"


def _repeated(pattern: Pattern, contents: Contents) -> Iterator[str]:
    for slot, times in Counter(place.slot for place in fields(pattern)).items():
        if times > 1 and slot in contents.roles:
            yield (
                f"{{{slot}}} stands {times} times, and one mention gives the masked other away; "
                "keep one and word the rest without it"
            )
        elif times > 1:
            yield f"{{{slot}}} stands {times} times; define a second slot for it"


def _given_away(pattern: Pattern, contents: Contents) -> Iterator[str]:
    """Yield complaints about attributes written out: "{pronoun} lost his keys" is no test."""
    entries = contents.attribute_entries
    words = {form for entry in entries for form in (entry.word, *entry.forms.values())}
    written = " ".join(piece for piece in pattern if isinstance(piece, str))
    for word in sorted(words):
        # A word ends where no letter goes on, unless its script has no spaces between words.
        before = "" if is_unspaced(word[0]) else r"(?<!\w)"
        after = "" if is_unspaced(word[-1]) else r"(?!\w)"
        if re.search(f"{before}{re.escape(word)}{after}", written, re.IGNORECASE):
            yield (
                f'the word "{word}" of the attribute is written out, which gives the masked one '
                "away; word it without"
            )


def _glued(pattern: Pattern, contents: Contents) -> Iterator[str]:
    """Yield complaints about slots that touch a letter: the mask would cut a word in two.

    In a script without spaces words touch, and the tokenizer decides.
    """
    for left, right in pairwise(pattern):
        slots = [part.slot for part in (left, right) if isinstance(part, Field)]
        slot = next((slot for slot in slots if slot in contents.roles), None)
        if slot is None:
            continue
        if isinstance(left, Field) and isinstance(right, Field):
            if not _unspaced_words(left, contents) or not _unspaced_words(right, contents):
                yield f"{{{left.slot}}} touches {{{right.slot}}}; put a space between"
        elif isinstance(left, str) and _joins(left[-1]):
            yield f'{{{slot}}} touches "{left[-1]}"; put a space before it'
        elif isinstance(right, str) and _joins(right[0]):
            remedy = "put a space after it"
            if contents.language == "ko":
                remedy = f"give its words a form with the particle, as in {{{slot}:topic}}"
            yield f'{{{slot}}} touches "{right[0]}"; {remedy}'


def _joins(character: str) -> bool:
    return character.isalnum() and not is_unspaced(character)


def _unspaced_words(place: Field, contents: Contents) -> bool:
    words = [entry.word for entry in contents.slots.get(place.slot, ())]
    return all(is_unspaced(word[0]) and is_unspaced(word[-1]) for word in words)


def _field_problems(place: Field, contents: Contents) -> Iterator[str]:
    if place.slot not in contents.slots:
        hint = did_you_mean(place.slot, contents.slots)
        if place.form in contents.slots:
            hint = f"an article is written {{a:{place.form}}} or {{the:{place.form}}}"
        yield f"the slot {{{place.slot}}} is not defined under [slots]; {hint}"
        return
    entries = contents.slots[place.slot]
    if place.article and any(set(NUMBERS) & set(entry.forms) for entry in entries):
        message = "has words with a plural form, which take no article; drop"
        yield f"{place} {message} {place.article}:"
        return
    yield from _form_problems(place, contents)
    yield from _article_problems(place, contents)


def _form_problems(place: Field, contents: Contents) -> Iterator[str]:
    """Yield what is wrong with the forms of a field: missing, or missing where words agree."""
    if place.form is None or place.form == "subject":
        return
    entries = contents.slots[place.slot]
    without = [entry.word for entry in entries if not entry.has(place.form)]
    if without:
        forms = {form for entry in entries for form in entry.forms}
        hint = f'add forms = {{ {place.form} = "..." }}'
        hint = did_you_mean(place.form, forms) if forms else hint
        yield f'{{{place.slot}:{place.form}}}: no form "{place.form}" for {_some(without)}; {hint}'
        return
    for who in _agreements(contents):
        # A word that has a form for what agrees needs it in every case that is asked for.
        lacking = [
            entry.word
            for entry in entries
            if (best := entry.best_form(place.form, who.agree, who.number)) is None
            or (who.agree in entry.forms and best == place.form)
        ]
        if lacking:
            name = f"{place.form}-{who.agree or who.number}"
            yield f'{{{place.slot}:{place.form}}}: no form "{name}" for {_some(lacking)}; add it'


def _article_problems(place: Field, contents: Contents) -> Iterator[str]:
    """Yield complaints about words whose article is not known."""
    if not place.article:
        return
    entries = contents.slots[place.slot]
    without = [entry.word for entry in entries if None in _articles(place, entry, contents)]
    if not without:
        return
    lead = f"{{{place.article}:{place.slot}}}"
    if contents.language in GENDERED:
        yield (
            f"{lead}: the gender of {_some(without)} is not known; give the words of the attribute "
            f'an agreement, agree = "masculine", or the word itself noun_gender = "feminine"'
        )
    else:
        yield (
            f"{lead}: no rule for articles in the language "
            f'"{contents.language}"; give {_some(without)} an article, as in '
            f'{{ word = "{without[0]}", article = {{ {place.article} = "..." }} }}'
        )


def _articles(place: Field, entry: LexiconEntry, contents: Contents) -> set[str | None]:
    """Return the articles of a word, as it agrees with each word of the attribute."""
    return {
        written_article(place, entry, entry.written(place.form, who), contents.language, who.agree)
        for who in _agreements(contents)
    }


def _agreements(contents: Contents) -> list[LexiconEntry]:
    """Return one entry of the attribute for each way in which other words agree with it."""
    entries = contents.attribute_entries
    return list({(entry.agree, entry.number): entry for entry in entries}.values())


def _some(words: list[str]) -> str:
    shown = ", ".join(f'"{word}"' for word in words[:5])
    return shown if len(words) <= 5 else f"{shown} and {len(words) - 5} more"


def _visible_hints(pattern: Pattern, contents: Contents) -> Iterator[str]:
    """Yield what is wrong with visible text beside a slot that depends on the hidden word.

    Slots hide their article and all that agrees with them. What stays visible is the text of the
    sentence itself, and an article or an elided word in it, right before a slot, fits some of
    the words only: "une {occupation}" says that the hidden word is feminine.
    """
    for left, right in pairwise(pattern):
        if not isinstance(left, str) or not isinstance(right, Field) or right.article:
            continue
        if match := re.search(r"(\w+['’]|\w+(?=\s+$))\s*$", left):
            before = match[1].lower().replace("’", "'")
            if before in _WRITTEN.get(contents.language, "").split():
                yield from _article_hint(before, right, contents)
            if contents.language == "fr":
                yield from _elision_hint(before, right, contents)


def _article_hint(before: str, place: Field, contents: Contents) -> Iterator[str]:
    kinds: dict[str, set[str | None]] = {}
    for kind in ARTICLES:
        field, entries = Field(place.slot, place.form, kind), contents.slots[place.slot]
        kinds[kind] = set().union(*(_articles(field, entry, contents) for entry in entries))
    if contents.language == "en":
        kind, varies = "a", kinds["a"] != {before}
    else:
        kind = "a" if before[0] in "ue" and before != "el" else "the"
        varies = any(len(articles) > 1 for articles in kinds.values())
    if varies:
        needed = " or ".join(sorted(article for article in kinds[kind] if article))
        yield (
            f'the article "{before}" is written out, and {{{place.slot}}} takes {needed}: in '
            f"sight, it tells what is hidden; write {{{kind}:{place.slot}}}"
        )


def _elision_hint(before: str, place: Field, contents: Contents) -> Iterator[str]:
    elided = before in _ELIDED.split()
    if not elided and before not in _FULL.split():
        return
    words = {
        entry.written(place.form, who)
        for entry in contents.slots[place.slot]
        for who in contents.attribute_entries
    }
    wrong = sorted(word for word in words if elides(word) != elided)
    if wrong:
        yield (
            f'"{before}" is written out before {{{place.slot}}}, but does not fit "{wrong[0]}": in '
            "sight, it tells how the hidden word begins; word the sentence without it"
        )
