"""A probe's result made without a model, and a runner of commands, for all tests."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from lmprobe import plugins
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.probing.result import ProbeResult, ProbeRow
from lmprobe.results import Interval, Note, NoteKind

# How long an example takes is no property of the code on a machine that is shared.
settings.register_profile("lmprobe", deadline=None, max_examples=50)
settings.load_profile("lmprobe")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slow tests: at the end one worker would wait for the other."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what was imported: torch alone is a million objects."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let Python's end find everything again."""
    gc.unfreeze()


# fmt: off
OCCUPATIONS = (
    "attendant", "baker", "cashier", "cleaner", "constructor", "cook", "counselor", "driver",
    "farmer", "guard", "hairdresser", "janitor", "laborer", "lawyer", "librarian", "mechanic",
    "mover", "nurse", "salesperson", "sheriff", "tailor", "teacher", "accountant", "auditor",
    "clerk", "designer", "developer", "editor", "manager", "physician", "secretary", "writer",
)
ADJECTIVES = (
    "new", "known", "single", "private", "personal", "professional", "recognized", "young",
    "senior", "good",
)
# fmt: on
BASES = ("uniform", "wikipedia", "labor", "corpus")

Made = Callable[..., ProbeResult]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep away from the scores on this machine: other thread counts round in other ways."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMPROBE_CACHE", str(tmp_path_factory.mktemp("lmprobe-cache")))
        yield


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Run]:
    """Return the maker of runners: for one command, or for any, in a terminal of some width."""

    from lmprobe.cli.main import main

    def runner(*name: str, columns: int = 80) -> Run:
        monkeypatch.setenv("COLUMNS", str(columns))

        def run(*words: str | Path) -> tuple[int, str, str]:
            monkeypatch.setattr(sys, "argv", ["lmprobe", *name, *map(str, words)])
            with pytest.raises(SystemExit) as left:
                main()
            captured = capsys.readouterr()
            return int(left.value.code or 0), captured.out, captured.err

        return run

    return runner


@pytest.fixture
def own_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take out again what a test registers or loads as a plug-in."""
    for kind in plugins.REGISTRIES:
        registry = plugins.registry(kind)
        registry.names()
        monkeypatch.setattr(registry, "_found", dict(registry._found))


@pytest.fixture(scope="session")
def made() -> Made:
    """Return the maker of results: its words, bases and seed may be chosen."""
    return make_result


@pytest.fixture(scope="session")
def result() -> ProbeResult:
    """Return a result like that of a real probe: 20 templates, 32 tasks, four bases."""
    return make_result()


def make_result(
    attributes: Sequence[str] = ("he", "she"),
    tasks: Sequence[str] = OCCUPATIONS,
    bases: Sequence[str] = BASES,
    templates: Sequence[str] | None = None,
    model: str = "example/made-up-model",
    notes: Sequence[str] = ("the tokenizer splits 2 words, scored whole: mover (2), cashier (2)",),
    seed: int = 0,
) -> ProbeResult:
    """Return a result whose tables are random but whose verdicts differ from base to base."""
    rng = np.random.default_rng(seed)
    sentences = tuple(
        templates
        if templates is not None
        else [f"[pronoun] {verb} a {word} [task]." for verb in ("is", "was") for word in ADJECTIVES]
    )
    share = rng.dirichlet(np.full(len(attributes), 2.0), len(tasks)).T
    rows = tuple(
        _row(base, direction, tuple(attributes), tuple(tasks), share, len(sentences), rng)
        for base in bases
        for direction in DIRECTIONS
    )
    return ProbeResult(
        rows=rows,
        templates=sentences,
        families=tuple(str(number) for number in range(len(sentences))),
        provenance=_provenance(model, attributes, tasks, bases),
        notes=tuple(Note(NoteKind.SPLIT_WORDS, text) for text in notes),
        split_words={"mover": 2, "cashier": 2},
    )


def _row(
    base: str,
    direction: Direction,
    attributes: tuple[str, ...],
    tasks: tuple[str, ...],
    share: Any,
    templates: int,
    rng: np.random.Generator,
) -> ProbeRow:
    groups, doings = share.shape
    forward = direction == "task->attribute"
    world = share if forward else share / share.sum(axis=1, keepdims=True)
    centre = 1 / groups if forward else 1 / doings
    base_rate = np.full(share.shape, centre) if base == "uniform" else world + 0.0
    push = {"uniform": 0.4, "labor": 0.25, "wikipedia": -0.2}.get(base, 0.0)
    lean = np.sign(world - centre)
    noise = rng.normal(0, 0.1 * centre, (templates, groups, doings))
    odd = rng.normal(0, 0.05 * centre, (templates, 1, 1)) * lean
    predicted = np.clip(base_rate + push * centre * lean + noise + odd, 0.001, 0.999)
    predicted /= predicted.sum(axis=1 if forward else 2, keepdims=True)
    if base == "wikipedia" and forward:
        base_rate[:, -1] = np.nan
    cells = (lean * (predicted - base_rate)).reshape(templates, -1)
    means = np.nanmean(cells, axis=1)
    wide = 3 * means.std() / np.sqrt(templates) + 0.01 * centre
    return ProbeRow(
        base=base,
        direction=direction,
        attributes=attributes,
        tasks=tasks,
        predicted=predicted,
        base_rate=base_rate,
        lean=lean,
        interval=Interval(means.mean() - wide, means.mean() + wide, 0.95, "bootstrap"),
        candidate_mass=rng.uniform(0.3, 0.6, templates),
        lean_source="winobias-majority" if base == "uniform" else base,
        lean_weighting="joint",
        families=tuple(str(number) for number in range(templates)),
        dropped_attributes=("they",) if base == "labor" else (),
        notes=(Note(NoteKind.LEFT_OUT, "1 attribute without a column, left out: they"),)
        if base == "labor"
        else (),
    )


def _provenance(
    model: str, attributes: Sequence[str], tasks: Sequence[str], bases: Sequence[str]
) -> dict[str, Any]:
    table = {
        "title": "Employed people by occupation and sex",
        "source": "made up for this test",
        "year": 2016,
        "licence": "public domain",
        "unit": "thousands of people",
        "method": "drawn at random",
        "sha256": "0" * 64,
        "notes": None,
    }
    return {
        "model": model,
        "revision": "0123456789abcdef",
        "loading": {
            "place": "bundled" if model.startswith("reference:") else "hub",
            "kind": "auto",
            "tokenizer": None,
        },
        "content_hash": "f" * 64,
        "tokenizer": "BertTokenizer",
        "scorer": "word-l2r",
        "templates": {"name": "fitbert", "sha256": "a" * 64},
        "bases": {base: dict(table) for base in bases},
        "settings": {
            "attributes": list(attributes),
            "tasks": list(tasks),
            "lean": None,
            "lean_weighting": "joint",
            "prior": False,
            "missing": "drop",
            "pseudo_count": 0.5,
            "interval": "bootstrap",
            "resample": "both",
            "confidence": 0.95,
        },
        "versions": {"lmprobe": "0.1.0", "torch": "2.13.0", "transformers": "5.22.0"},
        "seed": 0,
        "device": "cpu",
        "dtype": "float32",
        "batch_policy": "auto",
    }
