"""Words of one's own in the slots of a template set: where they fit, and the file where not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import cycle, product
from pathlib import Path
from typing import Any

from lmprobe.errors import InputError, did_you_mean
from lmprobe.io.files import toml_key, toml_text
from lmprobe.templates.checks import check_sentences
from lmprobe.templates.lexicon import Findings, read_entries
from lmprobe.templates.reader import Contents
from lmprobe.templates.template import LexiconEntry, english, fields, words_by_label

NEW = "+"
"""Before a word that is new although it is spelt nearly as a known one: +waiter, beside writer."""

_ALIKE = 0.8
"""From this ratio of `difflib` on, a word may be another one, misspelt."""

# Where a set has pronouns, a noun needs an article ("the man"), unless it is a name, has a
# determiner, or is a pronoun of the third person itself.
_PRONOUNS = frozenset(
    ("he", "she", "it", "they", "one", "xe", "ze", "zie", "ey", "ve", "fae", "thon", "someone")
)
_OTHER_PERSONS = frozenset(("i", "you", "we"))
_DETERMINERS = frozenset(
    "the a an this that some any every each no my your his her its our their".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Choice:
    """The labels that are compared in a role, and those that the set did not know, as given."""

    labels: tuple[str, ...]
    own: Mapping[str, str]


class _DoesNotFitError(InputError):
    """A word that the templates cannot take as it is; a file can say what is missing."""


def choose_words(
    contents: Contents, attributes: Sequence[str], tasks: Sequence[str]
) -> tuple[Contents, Choice, Choice]:
    """Return the set with the words that it did not know, and what is chosen in each role.

    Such words join those of the set, or take their place if none of these is chosen.
    """
    try:
        extended, who, what = _extended(contents, attributes, tasks)
        if who.own or what.own:
            _check(extended, contents)
    except _DoesNotFitError as problem:
        raise _with_file(contents, attributes, tasks, str(problem)) from None
    return extended, who, what


def _extended(
    contents: Contents, attributes: Sequence[str], tasks: Sequence[str], *, guess: bool = False
) -> tuple[Contents, Choice, Choice]:
    """Return the set with the words of both roles.

    The attributes come first, because the forms of a task follow those that are compared. With
    `guess` the forms and the agreement that nobody gave are guessed.
    """
    contents, who = _with_words(
        contents, "attribute", attributes, contents.attribute_entries, guess
    )
    compared = [entry for entry in contents.attribute_entries if entry.label in who.labels]
    contents, what = _with_words(contents, "task", tasks, compared, guess)
    return contents, who, what


def _with_words(
    contents: Contents,
    role: str,
    given: Sequence[str],
    compared: Sequence[LexiconEntry],
    guess: bool,
) -> tuple[Contents, Choice]:
    """Return the set with the words of one role; words agree with the attributes compared."""
    slot = contents.attribute if role == "attribute" else contents.task
    entries = contents.slots[slot]
    members = words_by_label(entries)
    # A known word stays one, even if it is marked as new.
    given = [bare if (bare := word.removeprefix(NEW)) in members else word for word in given]
    new = [word for word in given if word not in members]
    alone = len(new) == len(given)
    names = _form_names(contents, slot, compared) if new else ()
    added = tuple(_entry(word, role, contents, names, alone=alone, guess=guess) for word in new)
    agreements = sorted({entry.agree for entry in entries if entry.agree}, reverse=True)
    if guess and role == "attribute" and agreements:
        added = tuple(
            replace(entry, agree=entry.agree or agree)
            for entry, agree in zip(added, cycle(agreements), strict=False)
        )
    findings = Findings(Path(contents.name))
    read_entries(map(entry_table, added), f"slots.{slot}", findings)
    for problem in findings.problems:
        raise InputError(f"the {role}s {', '.join(new)}: {problem.message}")
    label_of = dict(zip(new, (entry.label for entry in added), strict=True))
    labels = tuple(label_of.get(word, word) for word in given)
    if len(set(labels)) != len(labels) or not labels:
        raise too_few(role, labels)
    if new:
        slots = {**contents.slots, slot: (*(() if alone else entries), *added)}
        contents = replace(contents, slots=slots)
        if role == "attribute":
            # What crossed attributes say of every word is not known of these.
            contents = replace(contents, crossed=(), default=())
    return contents, Choice(labels, {label: word for word, label in label_of.items()})


def too_few(role: str, labels: Sequence[str]) -> InputError:
    """Return the error about words of which fewer than two are different."""
    return InputError(
        f"a probe compares at least two different {role}s, found: {', '.join(labels)}"
    )


def _entry(
    given: str, role: str, contents: Contents, names: Sequence[str], *, alone: bool, guess: bool
) -> LexiconEntry:
    """Return the entry of a word that the set does not know."""
    entries = contents.slots[contents.attribute if role == "attribute" else contents.task]
    marked = given.startswith(NEW)
    word, *forms = (part.strip() for part in given.removeprefix(NEW).split("/"))
    members = words_by_label(entries)
    for entry in entries:
        if entry.word == word and not forms:
            several = len(members[entry.label]) > 1
            if alone and several:
                return replace(entry, group=None, values={})
            raise InputError(
                f'"{word}" is a word of the {role} "{entry.label}" in {contents.name}; choose '
                f'"{entry.label}"{", or words alone" if several else ""}'
            )
    _refuse_misspelt(word, role, entries, deliberate=marked or bool(forms))
    if not guess and role == "attribute" and any(entry.agree for entry in entries):
        raise _DoesNotFitError(
            f'{contents.name}: other words agree with the attribute, and how they do with "{word}" '
            "is not known"
        )
    required = [name for name in names if name != "singular"]
    added = LexiconEntry(word, dict(zip(required, forms, strict=False)))
    pronouns = contents.language == "en" and any(entry.word in _PRONOUNS for entry in entries)
    if pronouns and not forms:
        added = _noun_phrase(word, deliberate=marked)
    if not guess and (len(forms) > len(required) or not set(required) <= set(added.forms)):
        raise InputError(_about_forms(given, word, required, contents.name))
    return replace(added, forms={name: added.forms.get(name, added.word) for name in names})


def _form_names(contents: Contents, slot: str, compared: Sequence[LexiconEntry]) -> tuple[str, ...]:
    """Return the names of the forms in which the templates write the known words of a slot."""
    entries, places = contents.slots[slot], [fields(line.pattern) for line in contents.lines]
    wanted = {place.form for line in places for place in line if place.slot == slot}
    agreeing = {(who.agree, who.number) for who in compared}
    used = {
        entry.best_form(form, agree, number)
        for form, entry in product(wanted, entries)
        for agree, number in (
            [(entry.agree, entry.number)] if slot == contents.attribute else agreeing
        )
    }
    own_forms = dict.fromkeys(name for entry in entries for name in entry.forms)
    return tuple(name for name in own_forms if name in used)


def _about_forms(given: str, word: str, names: Sequence[str], name: str) -> str:
    """Return what is wrong with the number of forms."""
    if not names:
        return f'"{given}": the templates of {name} write a word in one form only; give {word}'
    return (
        f'"{given}": the templates of {name} also write a word as {", ".join(names)}; give the '
        f"forms in this order: {'/'.join([word, *(form.upper() for form in names)])}"
    )


def _refuse_misspelt(
    word: str, role: str, entries: Sequence[LexiconEntry], *, deliberate: bool
) -> None:
    """Raise if a word is spelt nearly as a known one or as one of its forms."""
    spelt = {
        spelling.casefold(): (spelling, entry.label)
        for entry in entries
        for spelling in (*entry.forms.values(), entry.word, entry.label)
    }
    same = word.casefold() in spelt
    # In a short word, one wrong letter is a larger share of it.
    size = max(len(word), 2)
    cutoff = min(_ALIKE, (size - 1) / size)
    near = get_close_matches(word.casefold(), spelt, n=1, cutoff=cutoff)
    if same or (near and not deliberate):
        spelling, label = spelt[near[0]]
        hint = did_you_mean(label, {entry.label for entry in entries})
        is_form = "" if spelling == label else f' ("{spelling}" is a word of it)'
        own = "" if same else f"; a word of your own is written {NEW}{word}"
        raise InputError(f'the template set has no {role} "{word}"; {hint}{is_form}{own}')


def _noun_phrase(word: str, *, deliberate: bool) -> LexiconEntry:
    """Return a noun or a name with its forms, where a set has English pronouns."""
    if word in _PRONOUNS:
        return LexiconEntry(word)
    first = word.split(" ")[0]
    bare = first[:1].islower() and first not in _DETERMINERS
    singular = english().singular_noun(word) if bare else False
    plural = singular and singular != word and not deliberate
    if plural or word.casefold() in _OTHER_PERSONS:
        remedy = f'such as "{singular}"; a singular is written {NEW}{word}' if plural else "a name"
        raise InputError(
            f'the templates have verbs for the third person singular, and "{word}" is another; '
            f"give a noun in the singular, {remedy}"
        )
    phrase = f"the {word}" if bare else word
    forms = {"object": phrase, "possessive": f"{phrase}'s"}
    return LexiconEntry(phrase, forms, group=word if bare else None)


def _findings(contents: Contents) -> Findings:
    findings = Findings(Path(contents.name))
    check_sentences(contents, findings)
    return findings


def _check(extended: Contents, contents: Contents) -> None:
    """Raise if a sentence cannot take the words, or would tell what is hidden."""
    before = {warning.key for warning in _findings(contents).warnings}
    findings = _findings(extended)
    new = [warning for warning in findings.warnings if warning.key not in before]
    for problem in (*findings.problems, *new):
        raise _DoesNotFitError(f"{contents.name}: {problem.message}")


def _with_file(
    contents: Contents, attributes: Sequence[str], tasks: Sequence[str], reason: str
) -> InputError:
    """Return the error that says which file to write, with the file as its note.

    Sentences that cannot take the words are left out of the file.
    """
    draft, who, what = _extended(contents, attributes, tasks, guess=True)
    findings = _findings(draft)
    bad = {problem.key for problem in (*findings.problems, *findings.warnings)}
    lines = tuple(line for line in draft.lines if line.key not in bad)
    used = {place.slot for line in lines for place in fields(line.pattern)}
    slots = {slot: entries for slot, entries in draft.slots.items() if slot in used}
    for slot, choice in ((draft.attribute, who), (draft.task, what)):
        members = [entry for entry in draft.slots[slot] if entry.label in choice.labels]
        slots[slot] = tuple(sorted(members, key=lambda entry: choice.labels.index(entry.label)))
    name = f"{contents.name}-own"
    draft = replace(draft, name=name, lines=lines, slots=slots, crossed=(), default=())
    if _findings(draft).problems or not lines:
        return InputError(reason)
    without = " (it leaves such sentences out)" if bad else ""
    error = InputError(
        f"{reason}; write {name}.toml as below{without}, correct its words and their forms, and "
        "give it as the template set"
    )
    error.add_note(template_text(draft))
    return error


def template_text(contents: Contents) -> str:
    """Return the file of a template set, its lexicons written out."""
    keys = ("name", "description", "source", "language", "attribute", "task")
    texts = [
        {"family": line.family, "text": line.text} if line.family else line.text
        for line in contents.lines
    ]
    slots = {
        slot: [entry_table(entry) for entry in entries] for slot, entries in contents.slots.items()
    }
    lines = [
        *(f"{key} = {toml_text(getattr(contents, key))}" for key in keys),
        *_list("sentences", texts),
        "",
        "[slots]",
        *(line for slot, items in slots.items() for line in _list(toml_key(slot), items)),
    ]
    return "\n".join(lines) + "\n"


def entry_table(entry: LexiconEntry) -> Any:
    """Return an entry as a file writes it: a word alone, or a table."""
    table = {
        "key": entry.group,
        "word": entry.word,
        "number": None if entry.number == "singular" else entry.number,
        "agree": entry.agree,
        "noun_gender": entry.noun_gender,
        "article": entry.articles,
        "forms": entry.forms,
        "tags": list(entry.tags),
    }
    given = {name: value for name, value in table.items() if value}
    return entry.word if len(given) == 1 else given


def _list(key: str, items: Sequence[Any]) -> list[str]:
    return [f"{key} = [", *(f"    {toml_text(item)}," for item in items), "]"]
