"""What a sentence must keep to so that one word of it can be masked and guessed."""

from __future__ import annotations

import re
from collections import Counter

from lmprobe.errors import did_you_mean
from lmprobe.templates.contents import Contents, Line
from lmprobe.templates.lexicon import NUMBERS
from lmprobe.templates.pattern import Field, fields, literal
from lmprobe.templates.problems import Findings


def check_sentences(contents: Contents, findings: Findings) -> None:
    """Note every sentence that cannot be expanded and masked, and every slot without use."""
    for line in contents.lines:
        messages = [
            *_missing_roles(line, contents),
            *_repeated(line, contents),
            *_given_away(line, contents),
            *_glued(line, contents),
        ]
        for one in fields(line.pattern):
            messages += _field_problems(one, contents)
        for message in messages:
            findings.add(line.key, f'"{line.text}": {message}', near=line.text)
    used = {one.slot for line in contents.lines for one in fields(line.pattern)}
    for slot in contents.slots:
        if slot not in used and slot not in (contents.attribute, contents.task):
            findings.add(f"slots.{slot}", "no sentence uses this slot; use it or remove it")


def _missing_roles(line: Line, contents: Contents) -> list[str]:
    used = {one.slot for one in fields(line.pattern)}
    return [
        f"has no mask slot for the {role}; add {{{slot}}}"
        for role, slot in (("attribute", contents.attribute), ("task", contents.task))
        if slot in contents.slots and slot not in used
    ]


def _repeated(line: Line, contents: Contents) -> list[str]:
    messages = []
    for slot, times in Counter(one.slot for one in fields(line.pattern)).items():
        if times > 1 and slot in (contents.attribute, contents.task):
            messages.append(
                f"{{{slot}}} stands {times} times, and one mention gives the masked other away; "
                "keep one and word the rest without it"
            )
        elif times > 1:
            messages.append(f"{{{slot}}} stands {times} times; define a second slot for it")
    return messages


def _given_away(line: Line, contents: Contents) -> list[str]:
    """Return complaints about attributes written out: "{pronoun} lost his keys" is no test."""
    words = {
        form
        for entry in contents.slots.get(contents.attribute, ())
        for form in (entry.word, *entry.forms.values())
    }
    written = literal(line.pattern)
    return [
        f'the word "{word}" of the attribute is written out, which gives the masked one away; '
        "word it without"
        for word in sorted(words)
        if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", written, re.IGNORECASE)
    ]


def _glued(line: Line, contents: Contents) -> list[str]:
    """Return complaints about slots that touch a letter: the mask would cut a word in two."""
    roles = (contents.attribute, contents.task)
    messages = []
    for left, right in zip(line.pattern, line.pattern[1:], strict=False):
        pair = [one for one in (left, right) if isinstance(one, Field) and one.slot in roles]
        if not pair:
            continue
        if isinstance(left, Field) and isinstance(right, Field):
            messages.append(f"{{{left.slot}}} touches {{{right.slot}}}; put a space between")
        elif isinstance(left, str) and left[-1].isalnum():
            messages.append(f'{{{pair[0].slot}}} touches "{left[-1]}"; put a space before it')
        elif isinstance(right, str) and right[0].isalnum():
            messages.append(f'{{{pair[0].slot}}} touches "{right[0]}"; put a space after it')
    return messages


def _field_problems(one: Field, contents: Contents) -> list[str]:
    if one.slot not in contents.slots:
        hint = did_you_mean(one.slot, contents.slots)
        return [f"the slot {{{one.slot}}} is not defined under [slots]; {hint}"]
    messages = []
    entries = contents.slots[one.slot]
    if one.form and (without := [entry.word for entry in entries if not entry.has(one.form)]):
        hint = did_you_mean(one.form, {form for entry in entries for form in entry.forms})
        messages.append(
            f'{{{one.slot}:{one.form}}}: no form "{one.form}" for {_some(without)}; {hint}'
        )
    if one.article and any(set(NUMBERS) & set(entry.forms) for entry in entries):
        messages.append(
            f"{{a:{one.slot}}} has words with a plural form, which take no article; drop a:"
        )
    elif one.article and contents.language != "en":
        without = [entry.word for entry in entries if entry.article is None]
        if without:
            messages.append(
                f"{{a:{one.slot}}} knows the articles of English only; give {_some(without)} "
                f'an article, as in {{ word = "{without[0]}", article = "..." }}'
            )
    return messages


def _some(words: list[str]) -> str:
    shown = ", ".join(f'"{word}"' for word in words[:5])
    return shown if len(words) <= 5 else f"{shown} and {len(words) - 5} more"
