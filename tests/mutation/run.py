"""`make mutate`: changes the core in small ways and reports the changes that no test notices.

Every test is collected once. Then, once for each file of tests, a forked process records which
statements of the core its tests run; and for each mutant a forked process changes the loaded code
and runs the tests of the changed statement, the quickest first. The first that fails catches it.
A change of what runs at import is made in a process that has not loaded the package yet. Mutants
that no test could notice are listed with the reason in equivalent/PACKAGE.toml. What is known is
kept in files, so that a study can be stopped and goes on where it was.

Processes that tests start see the code as it is: tests with workers, browsers and clusters of
their own are left out.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import math
import os
import resource
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.covering import CoverageMap, Recorder, instrument, record_of
from tests.mutation.mutants import CORE, Mutant, sample
from tests.mutation.patching import (
    compiled,
    functions_below,
    import_changed,
    inside_functions,
    replace_functions,
)

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
# Libraries that a test would otherwise load again and again.
LOADED = (
    "duckdb",
    "hypothesis",
    "lmprobe",
    "numpy",
    "pandas",
    "scipy.stats",
    "sklearn.linear_model",
    "torch",
    "transformers.models.bert.modeling_bert",
)
NOT_USED = ("browser", "faults", "fuzz", "mutation", "real", "test_docs.py", "test_site.py")
PROCESSES = ("ray", "wheel")
"""Groups of tests that work in processes of their own for long."""
WORDS = [
    *("-q", "-s", "-m", "not slow", "-p", "no:randomly", "--timeout", "0"),
    # A module such as exact_test.py is no file of tests.
    *("-o", "python_files=test_*.py"),
    *("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"),
    *(word for name in NOT_USED for word in ("--ignore", f"tests/{name}")),
]
Outcome = tuple[str, str]


def main() -> int:
    """Run the study; the exit code is 1 when fewer mutants are caught than was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=["lmprobe/"], help="beginnings of paths")
    parser.add_argument("--wanted", type=float, default=0.95)
    parser.add_argument("--folder", type=Path, default=ROOT / ".mutation")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many minutes")
    parser.add_argument("--budget", type=float, default=30.0, help="CPU seconds for one mutant")
    parser.add_argument("--again", action="store_true", help="try the survivors again")
    parser.add_argument("--recorded", action="store_true", help="the tests are as they were")
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    mutants = sample(ROOT, number=options.number, seed=options.seed, only=options.only)
    known = read_outcomes(options.folder / "outcomes.jsonl", again=options.again)
    for module in LOADED:
        importlib.import_module(module)
    study = Study(options.folder, options.budget, time.monotonic() + 60 * options.minutes)
    if not options.recorded:
        study.in_fork(study.record)
    waiting = [mutant for mutant in mutants if mutant.name not in known]
    study.judge(waiting)
    return report(mutants, read_outcomes(options.folder / "outcomes.jsonl"), options.wanted)


def read_outcomes(path: Path, *, again: bool = False) -> dict[str, Outcome]:
    """Return what is known of each mutant: caught or survived, and by which test."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = {name: (outcome, test) for name, outcome, test in map(json.loads, lines)}
    return {name: one for name, one in found.items() if not (again and one[0] == "survived")}


def report(mutants: list[Mutant], known: dict[str, Outcome], wanted: float) -> int:
    """Print the survivors and the share that was caught."""
    equivalent = equivalents(HERE / "equivalent")
    judged = [mutant for mutant in mutants if mutant.name in known]
    counted: Counter[str] = Counter()
    for mutant in judged:
        outcome = known[mutant.name][0]
        if outcome == "survived" and mutant.name in equivalent:
            outcome = "equivalent"
        counted[outcome] += 1
        if outcome != "caught":
            reason = equivalent.get(mutant.name, "")
            print(f"{outcome}, line {mutant.number}: {mutant.name}  {reason}")
    share = counted["caught"] / max(1, counted["caught"] + counted["survived"])
    print(
        f"{len(judged)} of {len(mutants)} mutants judged: {counted['caught']} caught, "
        f"{counted['survived']} survived, {counted['equivalent']} equivalent; {share:.1%} caught"
    )
    return 0 if share >= wanted and len(judged) == len(mutants) else 1


def equivalents(folder: Path) -> dict[str, str]:
    """Return the mutants that no test could notice, with the reason."""
    files = sorted(folder.glob("*.toml"))
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in files]
    return {name: str(reason) for table in tables for name, reason in table.items()}


class Study:
    """Forks a process for everything that runs a test."""

    def __init__(self, folder: Path, budget: float, end: float) -> None:
        """Remember where the results go and when to stop."""
        self.folder, self.budget, self.end = folder, budget, end
        self.map = folder / "map.jsonl"

    def in_fork(self, act: Callable[[], object], seconds: float | None = None) -> str:
        """Do something in a process of its own; return its first line, or how it was ended."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            if seconds is not None:
                limit = int(time.process_time() + seconds)
                resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            self.answer = writing
            act()
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, errors="replace") as pipe:
            answer = pipe.read().partition("\n")[0]
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == -signal.SIGXCPU:
            return "a test did not end"
        if status != 0 and not answer:
            raise SystemExit(f"a process ended with {status}; see {self.folder / 'log'}")
        return answer

    def collect_and(self, act: Callable[[list[Any]], None], *words: str, plugins: Any = ()) -> None:
        """Collect the tests, then do something with them."""
        os.chdir(ROOT)
        log = os.open(self.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        if code := pytest.main([*WORDS, *words], plugins=[Collected(act), *plugins]):
            os._exit(int(code))

    def record(self) -> None:
        """Record what the tests of each file run, unless the file is as it was."""
        _forget_package()
        instrument(ROOT)
        self.collect_and(self._record_files)

    def _record_files(self, items: list[Any]) -> None:
        known = CoverageMap.read(ROOT, self.map)
        for file in dict.fromkeys(item.nodeid.partition("::")[0] for item in items):
            if not known.is_known(file) and time.monotonic() < self.end:
                chosen = [item for item in items if item.nodeid.startswith(f"{file}::")]
                self.in_fork(lambda file=file, chosen=chosen: self._record_file(file, chosen))

    def _record_file(self, file: str, items: list[Any]) -> None:
        recorder = Recorder()
        items[0].config.pluginmanager.register(recorder)
        run_items(items)
        with self.map.open("a", encoding="utf-8") as lines:
            lines.write(record_of(ROOT, file, recorder.found) + "\n")

    def judge(self, mutants: list[Mutant]) -> None:
        """Find out which mutants are caught."""
        covering = CoverageMap.read(ROOT, self.map)
        bodies, imports = [], []
        for mutant in mutants:
            path = ROOT / mutant.path
            is_body = inside_functions(compiled(path), compiled(path, mutant.tree))
            (bodies if is_body else imports).append(mutant)
        if bodies:
            self.in_fork(lambda: self.collect_and(lambda items: self._bodies(bodies, items)))
        for mutant in imports:
            if time.monotonic() < self.end:
                tests = tuple(covering.of(mutant))
                self._keep(mutant, self.in_fork(lambda m=mutant, t=tests: self._import(m, t)))

    def _bodies(self, mutants: list[Mutant], items: list[Any]) -> None:
        covering = CoverageMap.read(ROOT, self.map)
        by_name = {item.nodeid: item for item in items}
        for package in CORE:
            for path in sorted((ROOT / "lmprobe" / package).rglob("*.py")):
                module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                importlib.import_module(module.removesuffix(".__init__"))
        self.functions = functions_below(ROOT / "lmprobe")
        gc.freeze()  # the collector of a child would copy all memory
        for mutant in mutants:
            if time.monotonic() < self.end:
                tests = [by_name[name] for name in covering.of(mutant) if name in by_name]
                seconds = 2 * self.budget
                self._keep(
                    mutant,
                    self.in_fork(lambda m=mutant, t=tests: self._body(m, t), seconds),
                )

    def _body(self, mutant: Mutant, tests: list[Any]) -> None:
        """Be the process of a mutant of a function."""
        path = ROOT / mutant.path
        replace_functions(self.functions, compiled(path), compiled(path, mutant.tree))
        if tests:
            tests[0].config.pluginmanager.register(FirstFailure(self.answer, self.budget))
            run_items(tests)

    def _import(self, mutant: Mutant, tests: tuple[str, ...]) -> None:
        """Be the process of a mutant of what runs at import."""
        path = ROOT / mutant.path
        import_changed(path, compiled(path, mutant.tree))
        _forget_package()
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        place = {test: number for number, test in enumerate(tests)}

        def run(items: list[Any]) -> None:
            chosen = [item for item in items if item.nodeid in place]
            run_items(sorted(chosen, key=lambda item: place[item.nodeid]))

        # To rewrite assertions pytest would load a module with doctests itself, unchanged.
        words = ("--assert=plain", *files)
        self.collect_and(run, *words, plugins=[FirstFailure(self.answer, self.budget)])

    def _keep(self, mutant: Mutant, answer: str) -> None:
        outcome = ("caught", answer) if answer else ("survived", "")
        with (self.folder / "outcomes.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps([mutant.name, *outcome]) + "\n")


class Collected:
    """A plug-in of pytest: gives away what was collected instead of running it."""

    def __init__(self, act: Callable[[list[Any]], None]) -> None:
        """Remember what to do with the tests."""
        self.act = act

    def pytest_runtestloop(self, session: Any) -> bool:
        """Do it."""
        items = [item for item in session.items if not _uses_processes(item)]
        self.act(items)
        return True


class FirstFailure:
    """A plug-in of pytest: reports the first failure, and ends when the time is used up."""

    def __init__(self, answer: int, budget: float) -> None:
        """Remember where to answer."""
        self.answer, self.budget, self.end = answer, budget, math.inf

    def pytest_collectreport(self, report: Any) -> None:
        """Report a file that cannot be imported."""
        self._end_if_failed(report)

    def pytest_runtest_logstart(self) -> None:
        """Begin to count the time: that of collecting the tests is not theirs."""
        self.end = min(self.end, time.process_time() + self.budget)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Report a failure, or end because no time is left."""
        self._end_if_failed(report)
        if time.process_time() > self.end:
            os._exit(0)

    def _end_if_failed(self, report: Any) -> None:
        if report.failed:
            os.write(self.answer, f"{report.nodeid}\n".encode())
            os._exit(0)


def run_items(items: list[Any]) -> None:
    """Run tests, each with what pytest does around it."""
    for number, item in enumerate(items):
        following = items[number + 1] if number + 1 < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _forget_package() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "lmprobe"]:
        del sys.modules[name]


def _uses_processes(item: Any) -> bool:
    group = item.get_closest_marker("xdist_group")
    return group is not None and group.args[0] in PROCESSES


if __name__ == "__main__":
    raise SystemExit(main())
