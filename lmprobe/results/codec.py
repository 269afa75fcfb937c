"""Turns results into JSON and back, from the types of their fields alone.

A frozen dataclass becomes an object with a key for each field. What a class cannot say with its
types it says beside them:

- `json_keys`, a class variable: the keys in their order, if it is not that of the fields. A key
  may also be a property: it is written for readers of the JSON and not read back.
- `json_field(...)`: options of one field.
- `json_tag`, a class variable: the key that names the class, one of those that derive from it.
- `json_nan`, a class variable: what an undefined number becomes, if null means something else.
- `validate(self)`: called after reading; raises ValueError where the parts do not fit together.

An undefined number is null; null is read as NaN where a number is required.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, TypeVar

import numpy as np

from lmprobe.errors import shortened

T = TypeVar("T")
UNDEFINED = "NaN"
"""The `json_nan` of tables and figures, where null is an empty cell."""


def json_field(
    *,
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    key: str = "",
    flat: bool = False,
    inherited: bool = False,
    optional: bool = False,
) -> Any:
    """Return a field of a dataclass with options for its JSON form.

    Parameters
    ----------
    key
        The key, if it is not the name of the field.
    flat
        The keys of the field's value stand beside those of the other fields. For a mapping:
        all keys that no other field has.
    inherited
        Not written: read from the object around this one.
    optional
        Not written where it is empty.
    """
    metadata = {"key": key, "flat": flat, "inherited": inherited, "optional": optional}
    options: dict[str, Any] = {"default": default, "default_factory": default_factory}
    given = {name: value for name, value in options.items() if value is not dataclasses.MISSING}
    return dataclasses.field(metadata=metadata, **given)


def to_json(value: Any, nan: str | None = None) -> Any:
    """Return a value in JSON's own types; `nan` is what an undefined number becomes."""
    if value is None or isinstance(value, str | bool | int):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else nan
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind != "f" or np.isfinite(value).all():
            return value.tolist()
        return to_json(value.tolist(), nan)
    if dataclasses.is_dataclass(value):
        return _object(value, nan)
    if isinstance(value, Mapping):
        return {to_json(key): to_json(item, nan) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return to_json(value._asdict(), nan)
    if isinstance(value, Sequence | set | frozenset):
        return [to_json(item, nan) for item in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def from_json(kind: type[T], document: Any) -> T:
    """Return what `to_json` wrote; KeyError, TypeError or ValueError where it is damaged."""
    hint: Any = kind
    value: T = _read(hint, document, "result", {})
    return value


@dataclasses.dataclass(frozen=True, slots=True)
class _Key:
    """How one attribute of a class stands in its JSON object."""

    name: str
    key: str
    flat: bool = False
    inherited: bool = False
    optional: bool = False
    required: bool = False
    hint: Any = None


@cache
def _keys(kind: type) -> tuple[_Key, ...]:
    """Return the keys of a class in the order of its JSON object, then what is not written."""
    fields: dict[str, _Key] = {}
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        options = ("flat", "inherited", "optional")
        fields[field.name] = _Key(
            name=field.name,
            key=field.metadata.get("key") or field.name,
            required=field.default is dataclasses.MISSING is field.default_factory,
            hint=hints[field.name],
            **{option: field.metadata.get(option, False) for option in options},
        )
    order = getattr(kind, "json_keys", tuple(fields))
    # A property has no type: it is written, and not read.
    written = [fields.pop(name, _Key(name, name)) for name in order]
    if forgotten := [name for name, key in fields.items() if not key.inherited]:
        raise TypeError(f"{kind.__name__}.json_keys lacks {', '.join(forgotten)}")
    return (*written, *fields.values())


def _object(value: Any, nan: str | None) -> dict[str, Any]:
    kind: Any = type(value)
    nan = getattr(kind, "json_nan", nan)
    tag = getattr(kind, "json_tag", None)
    document: dict[str, Any] = {} if tag is None else {tag: kind.__name__}
    for key in _keys(kind):
        if key.inherited:
            continue
        item = getattr(value, key.name)
        if key.optional and not item and item != 0:
            continue
        written = to_json(item, nan)
        if key.flat:
            document |= written or {}
        else:
            document[key.key] = written
    return document


def _read(hint: Any, value: Any, where: str, around: Mapping[str, Any]) -> Any:
    """Return a JSON value in its type; it stands at the path `where`, in the object `around`."""
    if hint is float:
        return _read_float(value, where)
    if hint is Any or hint is object:
        return value
    if dataclasses.is_dataclass(hint):
        return _read_object(hint, value, where, around)
    if isinstance(hint, type):
        if issubclass(hint, Enum):
            return hint(value)
        if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
            raise _unexpected(value, where, hint.__name__)
        return value
    origin, arguments = _parts(hint)
    if origin in (typing.Union, types.UnionType):
        return _read_union(arguments, value, where, around)
    if origin is typing.Literal:
        if value not in arguments:
            raise _unexpected(value, where, f"one of {arguments}")
        return value
    if issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise _unexpected(value, where, "an object")
        return {
            _read(arguments[0], name, where, around): _read(
                arguments[1], part, f"{where}.{name}", around
            )
            for name, part in value.items()
        }
    if not isinstance(value, list):
        raise _unexpected(value, where, "a list")
    if origin is np.ndarray:
        return _read_array(typing.get_args(arguments[1])[0], value, where)
    if origin is tuple and arguments[-1] is not ...:
        if len(value) != len(arguments):
            raise _unexpected(value, where, f"a list of {len(arguments)}")
        return tuple(_read(*pair, where, around) for pair in zip(arguments, value, strict=True))
    return tuple(
        _read(arguments[0], part, f"{where}[{number}]", around) for number, part in enumerate(value)
    )


@cache
def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    return typing.get_origin(hint), typing.get_args(hint)


def _read_float(value: Any, where: str) -> float:
    if value is None or value == UNDEFINED:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _unexpected(value, where, "float")
    # A whole number stays one, so that it is written as it was read.
    return value if isinstance(value, int) and abs(value) < 2**53 else float(value)


def _read_array(dtype: Any, value: list[Any], where: str) -> Any:
    # Text that looks like a number would be taken for one.
    array = np.array(value)
    if array.dtype.kind not in ("iu" if issubclass(dtype, np.integer) else "biufO"):
        raise _unexpected(value, where, f"a list of {dtype.__name__}")
    return array.astype(dtype)


def _read_union(members: tuple[Any, ...], value: Any, where: str, around: Mapping[str, Any]) -> Any:
    hints = [member for member in members if member is not type(None)]
    if value is None and len(hints) < len(members):
        return None
    if len(hints) == 1:
        return _read(hints[0], value, where, around)
    for hint in hints:
        try:
            return _read(hint, value, where, around)
        except (TypeError, ValueError, LookupError):
            continue
    names = " or ".join(getattr(hint, "__name__", str(hint)) for hint in hints)
    raise _unexpected(value, where, names)


def _read_object(kind: Any, document: Any, where: str, around: Mapping[str, Any]) -> Any:
    if not isinstance(document, Mapping):
        raise _unexpected(document, where, "an object")
    if hasattr(kind, "json_tag"):
        # A base class stands for each of those that derive from it.
        kinds = {subclass.__name__: subclass for subclass in (kind, *kind.__subclasses__())}
        kind = kinds[document[kind.json_tag]]
    values: dict[str, Any] = {}
    keys = [key for key in _keys(kind) if key.hint is not None]
    for key in keys:
        source = around if key.inherited else document
        if key.flat:
            # Written properties are no part of a mapping that takes all other keys.
            values[key.name] = _read_flat(key, _keys(kind), document, where, around)
        elif key.key in source:
            path = f"{where}.{key.key}"
            values[key.name] = _read(key.hint, source[key.key], path, document)
        elif key.required:
            raise KeyError(key.key)
    value = kind(**values)
    if hasattr(value, "validate"):
        value.validate()
    return value


def _read_flat(
    key: _Key,
    keys: tuple[_Key, ...],
    document: Mapping[str, Any],
    where: str,
    around: Mapping[str, Any],
) -> Any:
    if typing.get_origin(key.hint) is None:
        return _read(key.hint, document, where, around)
    others = {other.key for other in keys} | {"schema", "kind"}
    rest = {name: item for name, item in document.items() if name not in others}
    return _read(key.hint, rest, where, document)


def _unexpected(value: Any, where: str, expected: str) -> TypeError:
    return TypeError(f"{where} must be {expected}, found {shortened(repr(value), 60)}")
