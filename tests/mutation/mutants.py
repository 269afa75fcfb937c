"""Mutants of the core: one small change of behaviour each, chosen by a seed.

A mutant swaps a comparison, an arithmetic operator, a constant, a boolean or a keyword's value.
Docstrings, type hints, messages of errors and decorators are left alone: they decide no number.
"""

from __future__ import annotations

import ast
import copy
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

CORE = (
    "core",
    "metrics",
    "intervals",
    "inference",
    "probing",
    "scorers",
    "sources",
    "tabular",
    "leakage",
    "sweeping",
)
"""The packages that decide numbers."""

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
}


@dataclass(frozen=True)
class Mutant:
    """A module with one change."""

    path: Path
    number: int
    """Of the changed line, in the file as it is now."""
    name: str
    """What names it while lines move: the file, the line, the change, and which of several."""
    statement: str
    """The first line of the statement that is changed, without what indents it."""
    tree: ast.Module


def sample(
    root: Path, *, number: int, seed: int, only: Sequence[str] = ("lmprobe/",)
) -> list[Mutant]:
    """Return so many mutants, spread evenly over all places that can be changed.

    `only` limits them to files whose path begins with one of these words.
    """
    places = [
        (path, index)
        for path in _modules(root)
        if str(path.relative_to(root)).startswith(tuple(only))
        for index in range(len(_names(root, path)))
    ]
    chosen = random.Random(seed).sample(places, min(number, len(places)))
    return [_mutant(root, path, index) for path, index in chosen]


def all_names(root: Path) -> set[str]:
    """Return the names of every mutant there is."""
    return {name for path in _modules(root) for name in _names(root, path)}


def _modules(root: Path) -> list[Path]:
    folders = [root / "lmprobe" / package for package in CORE]
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


def _names(root: Path, path: Path) -> list[str]:
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    seen: Counter[str] = Counter()
    names = []
    for node, change, _ in _places(ast.parse(source)):
        name = f"{path.relative_to(root)}: {lines[node.lineno - 1].strip()}: {change}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _mutant(root: Path, path: Path, index: int) -> Mutant:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    node, _, apply = list(_places(tree))[index]
    apply()
    around = [one for one in ast.walk(tree) if isinstance(one, ast.stmt) and _contains(one, node)]
    statement = max(around, key=lambda one: (one.lineno, one.col_offset))
    first = source.splitlines()[statement.lineno - 1].strip()
    name = _names(root, path)[index]
    return Mutant(path.relative_to(root), node.lineno, name, first, tree)


def _contains(statement: ast.stmt, node: ast.expr) -> bool:
    return any(part is node for part in ast.walk(statement))


Place = tuple[ast.expr, str, Callable[[], None]]


def _places(tree: ast.AST) -> Iterator[Place]:
    """Yield every node that can be changed, with the change in words and what makes it."""
    for node in _behaviour(tree):
        if isinstance(node, ast.Compare):
            yield from _comparison(node)
        elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            new = _ARITHMETIC[type(node.op)]
            yield node, f"{_op(node.op)} -> {new.__name__}", _setter(node, "op", new())
        elif isinstance(node, ast.BoolOp):
            new_bool = ast.Or if isinstance(node.op, ast.And) else ast.And
            yield node, f"{_op(node.op)} -> {new_bool.__name__}", _setter(node, "op", new_bool())
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, "drop not", _drop_not(node)
        elif isinstance(node, ast.Constant):
            yield from _constant(node)


def _comparison(node: ast.Compare) -> Iterator[Place]:
    for number, op in enumerate(node.ops):
        new = _COMPARED.get(type(op))
        if new is not None:
            ops = [
                new() if place == number else copy.copy(one) for place, one in enumerate(node.ops)
            ]
            yield node, f"{_op(op)} -> {new.__name__}", _setter(node, "ops", ops)


def _constant(node: ast.Constant) -> Iterator[Place]:
    value = node.value
    if isinstance(value, bool):
        yield node, f"{value} -> {not value}", _setter(node, "value", not value)
    elif isinstance(value, int | float):
        new = value + 1 if isinstance(value, int) else value * 2 + 0.1
        yield node, f"{value} -> {new}", _setter(node, "value", new)


def _drop_not(node: ast.UnaryOp) -> Callable[[], None]:
    def apply() -> None:
        # `not not x` is the truth of x, which is what is left without the `not`.
        node.operand = ast.UnaryOp(ast.Not(), node.operand)
        ast.fix_missing_locations(node)

    return apply


def _setter(node: ast.AST, name: str, value: object) -> Callable[[], None]:
    return lambda: setattr(node, name, value)


def _op(node: ast.AST) -> str:
    return type(node).__name__


def _behaviour(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that decide behaviour, in the order of the source."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Raise | ast.Assert | ast.JoinedStr | ast.ImportFrom | ast.Import):
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not isinstance(child, ast.ClassDef):
                for default in (*child.args.defaults, *child.args.kw_defaults):
                    yield from _with(default) if default is not None else ()
            yield from _behaviour(ast.Module(child.body, []))
            continue
        if isinstance(child, ast.AnnAssign):
            if child.value is not None:
                yield from _with(child.value)
            continue
        if isinstance(child, ast.expr):
            yield from _with(child)
        else:
            yield from _behaviour(child)


def _with(node: ast.expr) -> Iterator[ast.expr]:
    if not isinstance(node, ast.JoinedStr):
        yield node
        yield from _behaviour(node)
