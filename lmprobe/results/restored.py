"""Checks the types of a result that was read from a file."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from lmprobe.errors import shortened

_NUMBERS: dict[Any, tuple[type, ...]] = {
    float: (int, float, np.integer, np.floating),
    int: (int, np.integer),
}


def check_types(value: Any, where: str = "result") -> None:
    """Raise `TypeError` where a field of a dataclass, or of several, is of another type."""
    if isinstance(value, tuple):
        for number, item in enumerate(value):
            check_types(item, f"{where}[{number}]")
    kind: Any = type(value)
    for name, hint in _fields(kind):
        _check(getattr(value, name), hint, f"{where}.{name}")


@cache
def _fields(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return the names and types of the fields of a dataclass; none of another class."""
    if not dataclasses.is_dataclass(kind):
        return ()
    hints = typing.get_type_hints(kind)
    return tuple((field.name, hints[field.name]) for field in dataclasses.fields(kind))


def _check(value: Any, hint: Any, where: str) -> None:
    if not _fits(value, hint, where):
        expected = getattr(hint, "__name__", str(hint))
        raise TypeError(f"{where} must be {expected}, found {shortened(repr(value), 60)}")


def _fits(value: Any, hint: Any, where: str) -> bool:
    """Tell whether a value is of a type; what it is made of is checked in turn."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_accepts(value, argument, where) for argument in arguments)
    if origin is typing.Literal:
        return value in arguments
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and not isinstance(value, bool)
    if origin is tuple:
        return isinstance(value, tuple) and _items_fit(value, arguments, where)
    kind = origin or hint
    if not isinstance(kind, type) or not isinstance(value, kind):
        return kind is typing.Callable or not isinstance(kind, type)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiub"
    if isinstance(value, Mapping) and arguments:
        for key, item in value.items():
            _check(key, arguments[0], f"a key of {where}")
            _check(item, arguments[1], f"{where}.{key}")
    elif isinstance(value, Sequence) and not isinstance(value, str) and arguments:
        return _items_fit(value, (arguments[0], ...), where)
    check_types(value, where)
    return True


def _accepts(value: Any, hint: Any, where: str) -> bool:
    if hint is type(None):
        return value is None
    try:
        return _fits(value, hint, where)
    except TypeError:
        return False


def _items_fit(values: Sequence[Any], hints: tuple[Any, ...], where: str) -> bool:
    if len(hints) == 2 and hints[1] is ...:
        hints = (hints[0],) * len(values)
    if len(hints) != len(values):
        return False
    for number, (value, hint) in enumerate(zip(values, hints, strict=True)):
        _check(value, hint, f"{where}[{number}]")
    return True
