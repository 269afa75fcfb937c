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
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, TypeVar

import numpy as np

from lmprobe.errors import shortened

T = TypeVar("T")
Reader = Callable[[Any, str, Mapping[str, Any]], Any]
"""Reads a JSON value that stands at a path, within the object around it."""

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
    value: T = _reader(hint)(document, "result", {})
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
        required = field.default is dataclasses.MISSING is field.default_factory
        key = field.metadata.get("key") or field.name
        options = {name: field.metadata.get(name, False) for name in ("flat", "inherited")}
        fields[field.name] = _Key(
            field.name,
            key,
            **options,
            optional=field.metadata.get("optional", False),
            required=required,
            hint=hints[field.name],
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


@cache
def _reader(hint: Any) -> Reader:
    """Return what reads values of a type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint is object:
        return lambda value, where, around: value
    if origin in (typing.Union, types.UnionType):
        return _union_reader(arguments)
    if origin is typing.Literal:
        return _checked(lambda value: value in arguments, f"one of {arguments}")
    if origin is np.ndarray:
        return _array_reader(typing.get_args(arguments[1])[0])
    if origin is tuple and arguments[-1] is not ...:
        return _tuple_reader(tuple(map(_reader, arguments)))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping_reader(_reader(arguments[0]), _reader(arguments[1]))
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return _sequence_reader(_reader(arguments[0]))
    if dataclasses.is_dataclass(hint):
        # Not called yet: a class may hold others of its own kind.
        return lambda value, where, around: _read_object(hint, value, where, around)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda value, where, around: hint(value)
    if hint is float:
        return _read_float
    if hint is int:
        return _checked(lambda value: isinstance(value, int) and not isinstance(value, bool), "int")
    return _checked(lambda value: isinstance(value, hint), hint.__name__)


def _checked(fits: Callable[[Any], bool], expected: str) -> Reader:
    def read(value: Any, where: str, around: Mapping[str, Any]) -> Any:
        if not fits(value):
            raise _unexpected(value, where, expected)
        return value

    return read


def _read_float(value: Any, where: str, around: Mapping[str, Any]) -> float:
    if value is None or value == UNDEFINED:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _unexpected(value, where, "float")
    # A whole number stays one, so that it is written as it was read.
    return value if isinstance(value, int) and abs(value) < 2**53 else float(value)


def _array_reader(dtype: Any) -> Reader:
    def read(value: Any, where: str, around: Mapping[str, Any]) -> Any:
        if not isinstance(value, list):
            raise _unexpected(value, where, "a list")
        # Text that looks like a number would be taken for one.
        array = np.array(value)
        if array.dtype.kind not in ("iu" if issubclass(dtype, np.integer) else "biufO"):
            raise _unexpected(value, where, f"a list of {dtype.__name__}")
        return array.astype(dtype)

    return read


def _tuple_reader(readers: tuple[Reader, ...]) -> Reader:
    def read(value: Any, where: str, around: Mapping[str, Any]) -> Any:
        if not isinstance(value, list) or len(value) != len(readers):
            raise _unexpected(value, where, f"a list of {len(readers)}")
        pairs = zip(readers, value, strict=True)
        return tuple(reader(item, where, around) for reader, item in pairs)

    return read


def _sequence_reader(item: Reader) -> Reader:
    def read(value: Any, where: str, around: Mapping[str, Any]) -> Any:
        if not isinstance(value, list):
            raise _unexpected(value, where, "a list")
        return tuple(item(part, f"{where}[{number}]", around) for number, part in enumerate(value))

    return read


def _mapping_reader(key: Reader, item: Reader) -> Reader:
    def read(value: Any, where: str, around: Mapping[str, Any]) -> Any:
        if not isinstance(value, Mapping):
            raise _unexpected(value, where, "an object")
        return {
            key(name, where, around): item(part, f"{where}.{name}", around)
            for name, part in value.items()
        }

    return read


def _union_reader(members: tuple[Any, ...]) -> Reader:
    readers = [_reader(member) for member in members if member is not type(None)]

    def read(value: Any, where: str, around: Mapping[str, Any]) -> Any:
        if value is None and type(None) in members:
            return None
        if len(readers) == 1:
            return readers[0](value, where, around)
        for reader in readers:
            try:
                return reader(value, where, around)
            except (TypeError, ValueError, LookupError):
                continue
        raise _unexpected(value, where, "another type")

    return read


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
            values[key.name] = _read_flat(key, keys, document, where, around)
        elif key.key in source:
            path = f"{where}.{key.key}"
            values[key.name] = _reader(key.hint)(source[key.key], path, document)
        elif key.required:
            raise KeyError(key.key)
    value = kind(**values)
    if hasattr(value, "validate"):
        value.validate()
    return value


def _read_flat(
    key: _Key, keys: list[_Key], document: Mapping[str, Any], where: str, around: Mapping[str, Any]
) -> Any:
    if typing.get_origin(key.hint) is None:
        return _reader(key.hint)(document, where, around)
    others = {other.key for other in keys} | {"schema", "kind"}
    rest = {name: item for name, item in document.items() if name not in others}
    return _reader(key.hint)(rest, where, document)


def _unexpected(value: Any, where: str, expected: str) -> TypeError:
    return TypeError(f"{where} must be {expected}, found {shortened(repr(value), 60)}")
