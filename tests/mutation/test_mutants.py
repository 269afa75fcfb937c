"""The list of equivalent mutants stays true while the code changes; a mutant is one change."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.mutation.mutants import CORE, all_names, sample
from tests.mutation.run import HERE, ROOT, equivalents


def test_every_equivalent_mutant_exists() -> None:
    assert sorted(set(equivalents(HERE / "equivalent")) - all_names(ROOT)) == []


def test_every_equivalent_mutant_has_a_reason() -> None:
    assert all(len(reason.split()) > 3 for reason in equivalents(HERE / "equivalent").values())


def test_changes_of_one_line_have_different_names(tmp_path: Path) -> None:
    for package in CORE:
        (tmp_path / "lmprobe" / package).mkdir(parents=True)
    source = "def f(x: int) -> bool:\n    return x < 1 or x < 1\n"
    (tmp_path / "lmprobe" / CORE[0] / "f.py").write_text(source)
    mutants = sample(tmp_path, number=100, seed=0)
    path = f"lmprobe/{CORE[0]}/f.py: return x < 1 or x < 1: "
    changes = ("Or -> And", "Lt -> LtE", "1 -> 2", "Lt -> LtE (2)", "1 -> 2 (2)")
    assert {one.name for one in mutants} == all_names(tmp_path) == {path + one for one in changes}
    changed = {one.name.removeprefix(path): ast.unparse(one.tree.body[0].body) for one in mutants}  # type: ignore[attr-defined]
    assert changed == {
        "Or -> And": "return x < 1 and x < 1",
        "Lt -> LtE": "return x <= 1 or x < 1",
        "1 -> 2": "return x < 2 or x < 1",
        "Lt -> LtE (2)": "return x < 1 or x <= 1",
        "1 -> 2 (2)": "return x < 1 or x < 2",
    }
