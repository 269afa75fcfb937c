"""`make mutate`: changes the core in small ways and reports the changes that no test notices.

Each mutant is given to the test files that import its module, those that import it most
directly first, in a copy of the repository and in a process that is forked with every library
loaded; the first test that fails catches it, if the same test passes without the change. Mutants
that no test could notice are listed with the reason in equivalent.toml. An outcome is kept in a
file as soon as it is known, so that a study can be stopped and goes on where it was.
"""

from __future__ import annotations

import argparse
import compileall
import importlib
import json
import os
import resource
import shutil
import sys
import time
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.imports import Nearness
from tests.mutation.mutants import Mutant, sample

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
COPIED = ("lmprobe", "templates", "base_rates", "tests", "docs", "benchmarks")
LOADED = (
    "numpy",
    "scipy.stats",
    "pandas",
    "duckdb",
    "sklearn",
    "torch",
    "transformers.models.bert.modeling_bert",
)
LOG = "mutation.log"
MARKS = "not slow and not browser and not real and not gpu"


def main() -> int:
    """Run the study; the exit code is 1 when fewer mutants are caught than was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--wanted", type=float, default=0.95)
    parser.add_argument("--outcomes", type=Path, default=ROOT / ".mutation.jsonl")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many minutes")
    parser.add_argument("--budget", type=float, default=60.0, help="CPU seconds for one mutant")
    parser.add_argument("--again", action="store_true", help="try the survivors again")
    options = parser.parse_args()
    mutants = sample(ROOT, number=options.number, seed=options.seed)
    known = read_outcomes(options.outcomes, again=options.again)
    end = time.monotonic() + 60 * options.minutes
    waiting = [mutant for mutant in mutants if identity(mutant) not in known]
    if waiting:
        laboratory = Laboratory(options.outcomes.with_suffix(".copy"), options.budget)
        for mutant in waiting:
            if time.monotonic() > end:
                break
            outcome = laboratory.judge(mutant)
            known[identity(mutant)] = outcome
            with options.outcomes.open("a", encoding="utf-8") as file:
                file.write(json.dumps([identity(mutant), *outcome]) + "\n")
            print(f"{outcome[0]:<9} {mutant.name}  {outcome[1]}", flush=True)
    return report(mutants, known, options.wanted)


def read_outcomes(path: Path, *, again: bool) -> dict[str, tuple[str, str]]:
    """Return what is known of each mutant: caught or survived, and by which test."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = {name: (outcome, test) for name, outcome, test in map(json.loads, lines)}
    return {name: one for name, one in found.items() if not (again and one[0] == "survived")}


def report(mutants: list[Mutant], known: dict[str, tuple[str, str]], wanted: float) -> int:
    """Print the survivors and the share that was caught."""
    equivalent = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8"))
    judged = [mutant for mutant in mutants if identity(mutant) in known]
    counted: Counter[str] = Counter()
    for mutant in judged:
        outcome, name = known[identity(mutant)][0], identity(mutant)
        outcome = "equivalent" if outcome == "survived" and name in equivalent else outcome
        counted[outcome] += 1
        if outcome != "caught":
            print(f"{outcome}: {name}  {equivalent.get(name, '')}")
    share = counted["caught"] / max(1, counted["caught"] + counted["survived"])
    print(
        f"{len(judged)} of {len(mutants)} mutants judged: {counted['caught']} caught, "
        f"{counted['survived']} survived, {counted['equivalent']} equivalent; {share:.1%} caught"
    )
    return 0 if share >= wanted and len(judged) == len(mutants) else 1


def identity(mutant: Mutant) -> str:
    """Return what names a mutant while lines move: the file, the changed line, the change."""
    text = (ROOT / mutant.path).read_text(encoding="utf-8").splitlines()[mutant.line - 1]
    return f"{mutant.path}: {text.strip()}: {mutant.change}"


class Laboratory:
    """A copy of the repository in which mutants are tried, one at a time."""

    def __init__(self, folder: Path, budget: float) -> None:
        """Copy the repository and load the libraries that the tests need."""
        shutil.rmtree(folder, ignore_errors=True)
        ignored = shutil.ignore_patterns("__pycache__", "_site")
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        for path in ROOT.iterdir():
            if path.is_file() and path.suffix in (".md", ".toml", ".txt", ".cff", ""):
                shutil.copy(path, folder)
        for name in ("lmprobe", "tests"):
            compileall.compile_dir(folder / name, quiet=2)
        self.folder, self.budget = folder, budget
        self.nearness = Nearness(ROOT)
        self.passing: set[str] = set()
        self.failing: set[str] = set()
        self.useful: dict[Path, list[str]] = defaultdict(list)
        """Tests that caught a mutant of the same module: tried first."""
        for module in LOADED:
            importlib.import_module(module)

    def judge(self, mutant: Mutant) -> tuple[str, str]:
        """Return whether a test notices the change, and which."""
        target = self.folder / mutant.path
        original = target.read_text(encoding="utf-8")
        files = self.nearness.tests_of(mutant.path)
        try:
            target.write_text(mutant.source, encoding="utf-8")
            for cached in (target.parent / "__pycache__").glob(f"{target.stem}.*"):
                cached.unlink()
            tried = self.useful[mutant.path][:8]
            found = self._run(tried) if tried else None
            found = found or self._run(files)
            while found is not None and not self._passes_unchanged(found, target, original, mutant):
                self.failing.add(found)
                found = self._run([file for file in files if file not in self.failing])
        finally:
            target.write_text(original, encoding="utf-8")
        if found is None:
            return "survived", ""
        if "::" in found and found not in self.useful[mutant.path]:
            self.useful[mutant.path].insert(0, found)
        return "caught", found

    def _passes_unchanged(self, test: str, target: Path, original: str, mutant: Mutant) -> bool:
        if test.startswith("ended by") or test in self.passing:
            return True
        target.write_text(original, encoding="utf-8")
        # A file that cannot be imported is reported by its name alone.
        passes = self._run([test] if "::" in test else [test, "--collect-only"]) is None
        target.write_text(mutant.source, encoding="utf-8")
        if passes:
            self.passing.add(test)
        return passes

    def _run(self, tests: list[str]) -> str | None:
        """Return the first test that fails, or how pytest ended; None if nothing fails."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _be_tested(self.folder, tests, self.failing, self.budget, writing)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = pipe.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if said:
            return said.splitlines()[0]
        if status < 0:
            return f"ended by signal {-status}: a test did not end"
        # 5: no test was left.
        if status not in (0, 5):
            last = (self.folder / LOG).read_text(encoding="utf-8", errors="replace")[-2000:]
            raise SystemExit(f"pytest ended with {status} and no test failed:\n{last}")
        return None


class FirstFailure:
    """A plug-in of pytest: reports the first failure, and ends when the time is used up."""

    def __init__(self, answer: int, budget: float, ignored: set[str]) -> None:
        """Remember where to answer."""
        self.answer, self.budget, self.ignored = answer, budget, ignored

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out tests that fail without any change."""
        items[:] = [item for item in items if item.nodeid not in self.ignored]

    def pytest_collectreport(self, report: Any) -> None:
        """Report a file that cannot be imported."""
        self._end_if_failed(report)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Report a failure, or end because no time is left."""
        self._end_if_failed(report)
        if time.process_time() > self.budget:
            os._exit(0)

    def _end_if_failed(self, report: Any) -> None:
        if report.failed:
            os.write(self.answer, f"{report.nodeid}\n{report.longrepr}".encode()[:4000])
            os._exit(1)


def _be_tested(
    folder: Path, tests: list[str], failing: set[str], budget: float, answer: int
) -> None:
    """Be the process of one mutant: run the tests and end."""
    seconds = int(2 * budget) + 60
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    os.chdir(folder)
    log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ |= {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for name in [name for name in sys.modules if name.partition(".")[0] in ("lmprobe", "tests")]:
        del sys.modules[name]
    sys.path[:] = [str(folder), *(path for path in sys.path if Path(path or ".") != ROOT)]
    plugin = FirstFailure(answer, budget, failing)
    # Libraries that are loaded already bring plug-ins of pytest, which it wanted to load itself.
    quiet = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
    words = ["-q", "-x", "-m", MARKS, "-p", "no:xdist", "-p", "no:randomly", "-W", quiet, *tests]
    code = pytest.main(words, plugins=[plugin])
    os._exit(int(code))


if __name__ == "__main__":
    raise SystemExit(main())
