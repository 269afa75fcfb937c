"""The choices of a job, said once.

A job's settings are a frozen dataclass whose fields are made with `setting`. Everything else
derives from it: the defaults of the public function, the options of the command, the
provenance of the result and the command that runs the job again. This module is light on
purpose: the command line imports it before it knows what is asked for.
"""

from __future__ import annotations

import dataclasses
import math
import shlex
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from lmprobe.errors import Argument, InputError, did_you_mean, invalid


class OptionGroup(StrEnum):
    """What an option is about: the titles in the help of every command, in this order."""

    INPUT = "Input"
    COMPARED = "What to compare"
    STATISTICS = "Statistics"
    MODEL = "Model"
    OUTPUT = "Output"
    EXPERT = "Expert options"


INPUT, COMPARED, STATISTICS, MODEL, OUTPUT, EXPERT = OptionGroup


@dataclass(frozen=True, slots=True)
class Option:
    """What the command line needs to know of one setting."""

    name: str
    flags: tuple[str, ...]
    help: str
    default: Any
    kind: type
    """bool, int, float or str: the type of one value."""
    several: bool
    """Whether the setting is a tuple: the option takes a comma-separated list."""
    optional: bool
    choices: tuple[str, ...]
    group: OptionGroup | None = None
    metavar: str | None = None
    """What stands for the value in the help."""
    repeated: bool = False
    """Whether the option is given once per value instead: values may hold commas."""
    minimum: float | None = None
    recorded: bool = True
    """Whether the provenance has the setting even where it is the default."""


def setting(
    default: Any,
    help: str,
    group: OptionGroup | None = None,
    *,
    metavar: str | None = None,
    flags: Sequence[str] = (),
    repeated: bool = False,
    minimum: float | None = None,
    recorded: bool = True,
) -> Any:
    """Return the field of one setting; `flags` are its options where not --its-name.

    `group` is where the help lists it, `metavar` what stands for its value there; by default
    that follows from the type.
    """
    metadata = {"help": help, "repeated": repeated, "minimum": minimum, "recorded": recorded}
    words = {"flags": tuple(flags), "group": group, "metavar": metavar}
    return field(default=default, metadata=metadata | words)


def confidence_setting() -> Any:
    """Return the field of the confidence level, which every job with intervals has."""
    return setting(0.95, "Confidence level of the interval, between 0 and 1.", STATISTICS)


def missing_cells_setting() -> Any:
    """Return the field that says what becomes of rows with empty cells."""
    text = (
        "What to do with rows that lack a value in a column that is used: `drop` leaves them out."
    )
    return setting("error", text, EXPERT, recorded=False)


S = TypeVar("S", bound="Settings")


class Settings:
    """The base of every job's settings: checks types and choices, derives the rest."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Check every value: a wrong type or an unknown choice is one clear error."""
        for option in options_of(type(self)):
            value = getattr(self, option.name)
            if isinstance(value, list):
                value = tuple(value)
            object.__setattr__(self, option.name, _checked(option, value))

    def to_dict(self) -> dict[str, Any]:
        """Return every choice, for the provenance."""
        return {
            option.name: list(value) if isinstance(value, tuple) else value
            for option in options_of(type(self))
            for value in [getattr(self, option.name)]
            if option.recorded or value != option.default
        }

    def words(self) -> list[str]:
        """Return the options that differ from their defaults, as words of a command line."""
        words: list[str] = []
        for option in options_of(type(self)):
            value = getattr(self, option.name)
            if value == option.default:
                continue
            flag = option.flags[0]
            if option.kind is bool:
                words.append(flag)
            elif option.repeated:
                words += [word for item in value for word in (flag, str(item))]
            elif isinstance(value, tuple):
                words += [flag, ",".join(map(str, value))]
            else:
                whole = isinstance(value, float) and value.is_integer()
                words += [flag, str(int(value) if whole else value)]
        return words


def options_of(settings: type) -> tuple[Option, ...]:
    """Return the options of a settings class, in the order of its fields."""
    hints = typing.get_type_hints(settings)
    options = []
    for choice in dataclasses.fields(settings):
        hint = hints[choice.name]
        union = typing.get_origin(hint) in (typing.Union, types.UnionType)
        members = typing.get_args(hint) if union else (hint,)
        kinds = [member for member in members if member is not type(None)]
        several = any(typing.get_origin(kind) is tuple for kind in kinds)
        single = [typing.get_args(kind)[0] if several else kind for kind in kinds]
        # A closed set of words is a Literal: the type is the only place where they are listed.
        is_literal = typing.get_origin(single[0]) is typing.Literal
        literal = typing.get_args(single[0]) if is_literal else ()
        if choice.default is dataclasses.MISSING or "help" not in choice.metadata:
            raise TypeError(f"{settings.__name__}.{choice.name} is not made with `setting`")
        metadata: dict[str, Any] = {**choice.metadata, "choices": literal}
        metadata["flags"] = metadata["flags"] or (f"--{choice.name.replace('_', '-')}",)
        options.append(
            Option(
                name=choice.name,
                default=choice.default,
                kind=str if literal else single[0],
                several=several,
                optional=type(None) in members,
                **metadata,
            )
        )
    return tuple(options)


def command_line(command: str, arguments: Sequence[str], *parts: Sequence[str]) -> str:
    """Return a command of lmprobe, quoted for a shell."""
    return shlex.join(["lmprobe", command, *arguments, *(word for part in parts for word in part)])


def from_mapping(settings: type[S], values: Mapping[str, Any]) -> S:
    """Return the settings among the values (arguments, provenance); others are ignored."""
    names = {option.name for option in options_of(settings)}
    return settings(**{name: value for name, value in values.items() if name in names})


def refuse_unknown(function: str, options: Mapping[str, Any], names: Iterable[str]) -> None:
    """Refuse a keyword argument that a function with `**options` does not know, as Python does."""
    for name in sorted({*options} - {*names}):
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def _checked(option: Option, value: Any) -> Any:
    """Return the value in its type, or say what would do."""
    if value is None and option.optional:
        return None
    if option.several:
        if isinstance(value, str) or not isinstance(value, tuple):
            raise invalid(
                option.name, f' must be a list of words such as ["he", "she"], found {value!r}'
            )
        return tuple(_single(option, item) for item in value)
    return _single(option, value)


def _single(option: Option, value: Any) -> Any:
    expected: Any = {float: (int, float), int: int, bool: bool}.get(option.kind, str)
    number = option.kind in (int, float)
    # numpy's numbers are numbers too, and True is not.
    plain: Any = value.item() if hasattr(value, "item") else value
    if not isinstance(plain, expected) or (number and isinstance(plain, bool)):
        words = {float: "a number", int: "a whole number", bool: "true or false"}
        expected_words = words.get(option.kind, "text")
        raise invalid(
            option.name, f" must be {expected_words}, found {value!r} ({type(value).__name__})"
        )
    if number and math.isnan(plain):
        raise invalid(option.name, f" must be a number, found {plain}")
    if option.choices and plain not in option.choices:
        raise InputError(
            "no ", Argument(option.name), f' "{plain}"; {did_you_mean(str(plain), option.choices)}'
        )
    if option.minimum is not None and plain < option.minimum:
        raise invalid(option.name, f" must be at least {option.minimum}, found {plain}")
    return float(plain) if option.kind is float else plain
