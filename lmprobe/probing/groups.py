"""Groups of words behind the labels of a probe: what each word carried, and crossed groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmprobe.core.direction import Direction
from lmprobe.probing.baseline import Baseline
from lmprobe.probing.scores import Scores
from lmprobe.results import Note, NoteKind
from lmprobe.templates import TemplateSet


@dataclass(frozen=True, slots=True)
class GroupedWord:
    """One word of a group, and which part of the group's probability it carried."""

    axis: str
    """`attribute` or `task`."""
    group: str
    word: str
    share: float
    """When the group is guessed: the mean over templates and what is given."""


def grouped_words(
    scores: Mapping[Direction, Scores], templates: TemplateSet
) -> tuple[GroupedWord, ...]:
    """Return the words of every label that is not its own only word, with their shares."""
    words: list[GroupedWord] = []
    for direction, table in scores.items():
        forward = direction is Direction.TASK_TO_ATTRIBUTE
        labels = table.attributes if forward else table.tasks
        members = templates.attribute_words if forward else templates.task_words
        if all(members[label] == (label,) for label in labels):
            continue
        # What is guessed comes first, (words, templates, given).
        guessed = np.moveaxis(_by_word(table, templates).probabilities(), 1 if forward else 2, 0)
        start = 0
        for label in labels:
            own = guessed[start : start + len(members[label])]
            shares = (own / own.sum(axis=0)).mean(axis=(1, 2))
            words += [
                GroupedWord(direction.predicted, label, word, float(share))
                for word, share in zip(members[label], shares, strict=True)
            ]
            start += len(own)
    return tuple(words)


def _by_word(scores: Scores, templates: TemplateSet) -> Scores:
    attributes = tuple(w for label in scores.attributes for w in templates.attribute_words[label])
    tasks = tuple(w for label in scores.tasks for w in templates.task_words[label])
    return replace(
        scores, attributes=attributes, tasks=tasks, attribute_of=attributes, task_of=tasks
    )


def group_notes(scores: Scores, templates: TemplateSet) -> tuple[Note, ...]:
    """Return a note about the attributes, or the tasks, if they have different numbers of words."""
    notes = []
    for role, labels, words in (
        ("groups", scores.attributes, templates.attribute_words),
        ("tasks", scores.tasks, templates.task_words),
    ):
        sizes = {label: len(words[label]) for label in labels}
        if len(set(sizes.values())) > 1:
            listed = ", ".join(f"{label} {size}" for label, size in sizes.items())
            text = (
                f"the {role} have different numbers of words, and the probability of one is the "
                f"sum over its words, so one with more words is predicted more often: {listed}"
            )
            notes.append(Note(NoteKind.GROUPS, text))
    return tuple(notes)


def margins(
    baselines: Sequence[Baseline], scores: Mapping[Direction, Scores], templates: TemplateSet
) -> Iterator[tuple[str, list[Baseline], dict[Direction, Scores]]]:
    """Yield each crossed attribute with the bases and the guesses of its values alone."""
    for place, name in enumerate(templates.crossed if len(templates.crossed) > 1 else ()):
        owner = {label: values[place] for label, values in templates.attribute_values.items()}
        merged = [
            against.merged(owner)
            for against in baselines
            if len({owner[label] for label in against.rates.association.attributes}) > 1
        ]
        yield name, merged, {direction: _merged(one, owner) for direction, one in scores.items()}


def _merged(scores: Scores, owner: Mapping[str, str]) -> Scores:
    return replace(
        scores,
        attributes=tuple(dict.fromkeys(owner[label] for label in scores.attributes)),
        attribute_of=tuple(owner[label] for label in scores.attribute_of),
    )
