"""A template set: the sentences of one file, expanded, with what they are about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from unicodedata import normalize

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.files import find_shipped, shipped_folder, shipped_names
from lmprobe.io.table_files import FORMAT_NAMES
from lmprobe.templates.checks import check_sentences
from lmprobe.templates.items import (
    ITEM_COLUMNS,
    FilledSentence,
    ItemTable,
    checked_turns,
    is_item_table,
    read_item_set,
)
from lmprobe.templates.lexicon import Findings, read_document
from lmprobe.templates.own_words import choose_words
from lmprobe.templates.reader import Contents, Line, read_set
from lmprobe.templates.template import (
    LexiconEntry,
    Template,
    fields,
    words_by_label,
    written_article,
)

if TYPE_CHECKING:
    import pandas as pd

MOST_TEMPLATES = 100_000
"""Larger sets are refused before they are expanded: probing them would take days."""
MOST_SENTENCES = 100_000_000


Role = Literal["attribute", "task"]

# Keys of a template set that no other file has.
_KEYS = {"sentences", "slots"}


@dataclass(frozen=True, slots=True)
class TemplateSet:
    """Templates over one attribute and one task, and the words that may fill these."""

    name: str
    description: str
    source: str
    language: str
    sha256: str
    attribute_slot: str
    task_slot: str
    attributes: tuple[str, ...]
    """The attributes that a probe compares by default: words, keys or names of groups."""
    all_attributes: tuple[str, ...]
    tasks: tuple[str, ...] = field(repr=False)
    templates: tuple[Template, ...] = field(repr=False)
    task_tags: Mapping[str, tuple[str, ...]] = field(repr=False)
    attribute_words: Mapping[str, tuple[str, ...]] = field(repr=False)
    """The words of each attribute: its own, or those of the group."""
    task_words: Mapping[str, tuple[str, ...]] = field(repr=False)
    crossed: tuple[str, ...] = ()
    """The names of the attributes that are crossed, such as race and gender."""
    attribute_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """For crossed attributes: the value of each, by the name of the intersection."""
    file: str = ""
    """The name of the file, of a set that does not come with lmprobe."""
    own_words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Of the words that were chosen and that the file does not have: as they were given."""
    contents: Contents = field(default_factory=Contents, repr=False)
    """What the file says, before it is expanded."""

    @property
    def template_names(self) -> tuple[str, ...]:
        """The name of each template: its sentence, with the slots that are filled later."""
        return tuple(template.name for template in self.templates)

    @property
    def families(self) -> tuple[str, ...]:
        """Return the paraphrase family of each template.

        A template whose sentence names no family is a family of its own, under its own name; with
        the turns of a chat, one sentence after every turn is a family.
        """
        return tuple(template.family or template.name for template in self.templates)

    @property
    def turns(self) -> tuple[str, ...]:
        """Return the turn of a chat before each template; empty where there is none."""
        return tuple(template.turn for template in self.templates if template.turn)

    @property
    def system(self) -> str | None:
        """What a system turn before those of the user says."""
        return self.contents.system

    @property
    def size(self) -> int:
        """The number of sentences."""
        words = (sum(len(words[label]) for label in labels) for labels, words in self._chosen())
        return len(self.templates) * prod(words)

    def with_chat(
        self, turns: Sequence[str] | None = None, system: str | None = None
    ) -> TemplateSet:
        """Return the set with every template after each of the turns; by default after its own.

        >>> chat = load_templates("neutral").with_chat(["Who is that?", "Describe a friend."])
        >>> len(chat.templates), chat.templates[20].turn, len(set(chat.families))
        (40, 'Describe a friend.', 20)
        """
        if turns is None and system is None:
            return self
        given = checked_turns(self.contents.chat if turns is None else turns)
        contents = replace(self.contents, chat=tuple(given), system=system)
        made = _made(contents, file=self.file)
        choices = {name: getattr(self, name) for name in ("attributes", "tasks", "own_words")}
        return replace(made, **choices).with_words()

    def with_words(
        self, attributes: Sequence[str] | None = None, tasks: Sequence[str] | None = None
    ) -> TemplateSet:
        """Return the set with these attributes and tasks; by default those that it has.

        A word that the set does not know is added where its templates can take it: a noun or a
        name, with its forms as in "man/men" where they write several. What is spelt nearly as a
        known word is refused, unless it begins with a plus sign.

        >>> neutral = load_templates("neutral").with_words(["she", "man"], ["nurse", "pilot"])
        >>> [sentence.text for sentence in neutral.sentences()][:2]
        ['She became a nurse.', 'The man became a nurse.']
        """
        words = [
            [self.own_words.get(role, {}).get(label, label) for label in labels]
            if given is None
            else _words(given, role)
            for role, given, labels in (
                ("attributes", attributes, self.attributes),
                ("tasks", tasks, self.tasks),
            )
        ]
        contents, who, what = choose_words(self.contents, *words)
        own = {"attributes": who.own, "tasks": what.own}
        added = {role: words for role, words in own.items() if words}
        made = _made(contents, file=self.file) if added or self.own_words else self
        return replace(
            made, attributes=who.labels, tasks=what.labels, own_words=added, contents=self.contents
        )

    def words_and_forms(self, role: Role) -> dict[str, tuple[str, ...]]:
        """Return every word of each attribute or task that the file has, with its forms.

        >>> load_templates("fitbert").words_and_forms("attribute")["he"]
        ('he', 'him', 'his', 'himself')
        """
        slot = self.attribute_slot if role == "attribute" else self.task_slot
        return words_by_label(self.contents.slots[slot], forms=True)

    def sentences(self) -> Iterator[FilledSentence]:
        """Yield every sentence that a probe scores: by template, then task, then attribute."""
        who, what = (
            [(label, word) for label in labels for word in words[label]]
            for labels, words in self._chosen()
        )
        for number in range(len(self.templates)):
            for task in what:
                yield from self._filled(number, task, who)

    def some_sentences(self, most: int = 16) -> Iterator[FilledSentence]:
        """Yield a few sentences, from all parts of the set: templates, tasks, attributes, words."""
        (attributes, attribute_words), (tasks, task_words) = self._chosen()
        compared = _spread(attributes, min(len(attributes), most // 2))
        count = min(most // len(compared), max(len(self.templates), len(tasks)))
        numbers = _spread(range(len(self.templates)), count)
        for place, (number, task) in enumerate(zip(numbers, _spread(tasks, count), strict=True)):
            who, (what,) = (
                [(label, words[label][place % len(words[label])]) for label in labels]
                for labels, words in ((compared, attribute_words), ([task], task_words))
            )
            yield from self._filled(number, what, who)

    def _chosen(self) -> tuple[tuple[tuple[str, ...], Mapping[str, tuple[str, ...]]], ...]:
        return (self.attributes, self.attribute_words), (self.tasks, self.task_words)

    def _filled(
        self, number: int, task: tuple[str, str], attributes: Sequence[tuple[str, str]]
    ) -> Iterator[FilledSentence]:
        """Yield the sentences of a template about a task, each label with the word written."""
        template, family = self.templates[number], self.families[number]
        for label, word in attributes:
            text = template.sentence(word, task[1]).text
            yield FilledSentence(template.name, family, *task, label, word, text, template.turn)

    def item_table(self) -> pd.DataFrame:
        """Return the sentences as an item table: one row per template and task.

        Its columns are `task`, `template`, `family` and one per attribute. The words of a task
        are its items, with a column `item`. Attributes with several words are refused: an item
        has one sentence of each, and the probability of a group is the sum over its words.
        """
        import pandas as pd

        if self.turns:
            raise InputError(
                f"{self.name}: its sentences stand after turns of a chat, for which item tables "
                "have no column; remove `chat`, and put the turn before every sentence where it "
                "is scored"
            )
        for name in self.attributes:
            if len(words := self.attribute_words[name]) > 1:
                raise InputError(
                    f'{self.name}: "{name}" stands for {len(words)} words ({", ".join(words[:3])}, '
                    "...), and an item table has one sentence for each attribute"
                )
            if name in ITEM_COLUMNS:
                raise InputError(
                    f'{self.name}: the attribute "{name}" is called as a column of item tables is; '
                    "give it another name"
                )
        grouped = any(len(self.task_words[task]) > 1 for task in self.tasks)
        rows: dict[tuple[str, str], dict[str, str]] = {}
        for sentence in self.sentences():
            row = {"task": sentence.task, "template": sentence.template, "family": sentence.family}
            row |= {"item": sentence.task_word} if grouped else {}
            items = rows.setdefault((sentence.template, sentence.task_word), row)
            items[sentence.attribute] = sentence.text
        return pd.DataFrame(rows.values())


def _words(given: Sequence[str], role: str) -> list[str]:
    """Return words as files have them, letters and accents together."""
    words = [given] if isinstance(given, str) else list(given)
    if isinstance(given, str) or not all(isinstance(word, str) for word in words):
        raise InputError(f"`{role}` must be a list of words, found {given!r}")
    return [normalize("NFC", word) for word in words]


T = TypeVar("T")


def _spread(items: Sequence[T], count: int) -> list[T]:
    """Return so many of the items, evenly from first to last; again the same if they are fewer."""
    return [items[place * len(items) // count % len(items)] for place in range(count)]


AnySet = TemplateSet | ItemTable
"""Sentences to probe with: made from templates and words, or finished in a table."""


def load_templates(given: Any) -> AnySet:
    """Load a bundled template set by name, or one of your own by path: a TOML or an item table.

    >>> load_templates("fitbert").templates[0].sentence("she", "nurse").text
    'She is a new nurse.'
    """
    if isinstance(given, TemplateSet | ItemTable):
        return given
    return read_item_set(given) if is_item_table(given) else load_template_set(given)


def load_template_set(name_or_path: str | Path) -> TemplateSet:
    """Load a template set that is no item table."""
    path = find_shipped(name_or_path, "templates", ".toml")
    if path.is_file() and path.suffix.lower() != ".toml":
        raise DataFileError(
            f"{path}: a template set is a .toml file, an item table ({FORMAT_NAMES}), or one that "
            "lmprobe ls templates lists"
        )
    contents, findings = check_set(path)
    findings.raise_any()
    shipped = path.parent == shipped_folder("templates")
    return _made(contents, file="" if shipped else path.name)


def _made(contents: Contents, *, file: str) -> TemplateSet:
    """Return the set of a file, expanded."""
    attributes, tasks = (contents.slots[slot] for slot in contents.roles)
    words = tuple(dict.fromkeys(entry.label for entry in attributes))
    return TemplateSet(
        name=contents.name,
        description=contents.description,
        source=contents.source,
        language=contents.language,
        sha256=contents.sha256(),
        attribute_slot=contents.attribute,
        task_slot=contents.task,
        attributes=contents.default or words,
        all_attributes=words,
        tasks=tuple(dict.fromkeys(entry.label for entry in tasks)),
        templates=_expand(contents),
        task_tags={entry.label: entry.tags for entry in tasks},
        attribute_words=words_by_label(attributes),
        task_words=words_by_label(tasks),
        crossed=contents.crossed,
        attribute_values={
            entry.label: tuple(entry.values[name] for name in contents.crossed)
            for entry in attributes
        }
        if contents.crossed
        else {},
        file=file,
        contents=contents,
    )


def is_template_set(name_or_path: str | Path) -> bool:
    """Tell whether this is a bundled template set or a file that was meant to be one."""
    path = Path(name_or_path)
    if str(name_or_path) in template_names():
        return True
    return path.suffix == ".toml" and path.is_file() and bool(_KEYS & set(read_document(path)[0]))


def check_set(path: Path) -> tuple[Contents, Findings]:
    """Return what a template file says and every mistake in it, two equal templates included."""
    contents, findings = read_set(path)
    check_sentences(contents, findings)
    if not findings.problems:
        _check_size(contents, findings)
    if not findings.problems:
        seen: set[str] = set()
        for template in _expand(contents):
            if template.name in seen:
                findings.add("sentences", f'two templates come out as "{template.name}"')
            seen.add(template.name)
    return contents, findings


def _check_size(contents: Contents, findings: Findings) -> None:
    """Note that a set is too large, before it is expanded."""
    count = max(1, len(contents.chat)) * sum(
        prod(len(contents.slots[slot]) for slot in _varying(line, contents))
        for line in contents.lines
    )
    if count > MOST_TEMPLATES:
        message = f"come to {count:,} templates; at most {MOST_TEMPLATES:,} are expanded"
        findings.add("sentences", f"{message}: give the slots fewer words")
        return
    sentences = count * prod(len(contents.slots[slot]) for slot in contents.roles)
    if sentences > MOST_SENTENCES:
        message = f"come to {sentences:,} sentences; at most {MOST_SENTENCES:,} are expanded"
        findings.add("sentences", f"{message}: give fewer attributes, tasks or templates")


def template_names() -> tuple[str, ...]:
    """Return the names of the template sets that come with lmprobe."""
    return shipped_names("templates", ".toml")


def _varying(line: Line, contents: Contents) -> list[str]:
    """Return the slots of a sentence that multiply it, in the order of the file."""
    used = {place.slot for place in fields(line.pattern)} - set(contents.roles)
    return [slot for slot in contents.slots if slot in used]


def _expand(contents: Contents) -> tuple[Template, ...]:
    """Return one template per turn, sentence and choice of words, earlier slots slowest."""
    who, what = ({entry.word: entry for entry in contents.slots[slot]} for slot in contents.roles)
    agree = contents.attribute_entries[0].agree
    templates = []
    for turn, line in product(contents.chat or ("",), contents.lines):
        varying = _varying(line, contents)
        for choice in product(*(contents.slots[slot] for slot in varying)):
            fixed = dict(zip(varying, choice, strict=True))
            name = _name(line, fixed, contents.language, agree)
            templates.append(
                Template(
                    name=f"{turn} > {name}" if turn else name,
                    family=line.family or (name if turn else None),
                    turn=turn,
                    language=contents.language,
                    pattern=line.pattern,
                    fixed=fixed,
                    attribute_slot=contents.attribute,
                    task_slot=contents.task,
                    attribute_entries=who,
                    task_entries=what,
                )
            )
    return tuple(templates)


def _name(line: Line, fixed: Mapping[str, LexiconEntry], language: str, agree: str | None) -> str:
    """Return the sentence as the file has it, with the words of this template filled in.

    They are written as they are in the lexicon, not as they agree.
    """
    name = ""
    for piece in line.pattern:
        if isinstance(piece, str):
            name += piece
        elif piece.slot in fixed:
            entry = fixed[piece.slot]
            word = entry.written(piece.form, LexiconEntry(""))
            lead = written_article(piece, entry, word, language, agree) if piece.article else None
            gap = "" if lead is None or lead.endswith("'") else " "
            name += f"{lead or ''}{gap}{word}"
        else:
            name += str(piece)
    return name
