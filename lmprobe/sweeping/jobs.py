"""The jobs of a sweep: each model with each template set is one probe."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

from lmprobe import __version__
from lmprobe.errors import Argument, DataFileError, InputError
from lmprobe.io.files import refuse_pipe
from lmprobe.models.load import evident_kind
from lmprobe.results.settings import EXPERT, MODEL, Settings, setting
from lmprobe.sources.load import find_source
from lmprobe.templates import AnySet

# checkpoint-500, step_500, 500: what a folder of checkpoints is called ends in its step.
_FOLDER_STEP = re.compile(r"(\d+)$")
# step1000, global_step1000, stage1-step1000-tokens5B; the digits of a commit or version are none.
_REVISION_STEP = re.compile(r"(?:step|checkpoint|iter|epoch)[-_]?(\d+)(?![\d.])", re.IGNORECASE)
# A checkpoint has one of these; the second is that of an adapter.
_MODEL = ("config.json", "adapter_config.json")


@dataclass(frozen=True)
class SweepSettings(Settings):
    """Which models, and where they are probed."""

    revisions: tuple[str, ...] | None = setting(
        None, "Probe each model at these revisions, such as step1000,step2000,main.", MODEL
    )
    checkpoints: str | None = setting(
        None,
        "A folder of checkpoints of one training run, such as checkpoint-500.",
        MODEL,
        metavar="DIR",
    )
    runs: bool = setting(
        False, "The models are training runs of one model: also report their mean over runs.", MODEL
    )
    engine: str = setting("local", "Where the probes run: see `lmprobe ls sweep_engines`.", EXPERT)
    workers: int = setting(1, "Number of probes that run in parallel.", EXPERT, minimum=1)

    def __post_init__(self) -> None:
        """Check that the choices go together."""
        Settings.__post_init__(self)
        if self.runs and self.checkpoints:
            raise InputError(
                "the checkpoints of a folder are steps of one run: give ",
                Argument("runs"),
                " models",
            )


@dataclass(frozen=True, slots=True)
class Subject:
    """One model of a sweep."""

    model: str
    """A hub id, a folder, a `.gguf` file or a bundled model."""
    label: str
    """What the results call it."""
    revision: str | None = None
    step: int | None = None
    """The training step of a checkpoint, where there is one."""
    run: str | None = None
    """The training run that the step belongs to."""


@dataclass(frozen=True, slots=True)
class ProbeJob:
    """One model on one template set, against every base; what a worker is given."""

    subject: Subject
    templates: str
    """The name or path of the set; empty for the model's own."""
    base: tuple[str, ...]
    probe: Mapping[str, Any]
    """Keyword arguments of `probe`."""
    model: Mapping[str, Any]
    """Keyword arguments of `load_model`."""
    identity: str = ""
    """What the names stood for when the sweep began: the model's files, the set, the bases."""

    @property
    def key(self) -> str:
        """The name of the job's file, which no other job has."""
        text = json.dumps([asdict(self), __version__], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def to_json(self) -> str:
        """Return the job as one line for a worker."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> ProbeJob:
        """Read a job back."""
        document = json.loads(line)
        document["subject"] = Subject(**document["subject"])
        document["base"] = tuple(document["base"])
        return cls(**document)


def subjects(
    models: Sequence[str | Path],
    *,
    revisions: Sequence[str] = (),
    checkpoints: str | Path | None = None,
) -> tuple[Subject, ...]:
    """Return the models of a sweep, in the order given; text files of names are read.

    With `revisions` each model is probed at each of them; `checkpoints` names a folder whose
    sub-folders, such as checkpoint-500, are the states of one training run.
    """
    if revisions and checkpoints is not None:
        raise InputError(
            "give ", Argument("revisions"), " or ", Argument("checkpoints"), ", not both"
        )
    subjects = [
        subject
        for model in _names(models)
        for subject in (
            [_at_revision(model, revision) for revision in revisions] or [Subject(model, model)]
        )
    ]
    if checkpoints is not None:
        subjects += _checkpoints(Path(checkpoints))
    if not subjects:
        raise InputError("a sweep needs at least one model, or a folder of checkpoints")
    for subject in subjects:
        evident_kind(subject.model)  # An invalid URL is an error before anything is asked.
    refuse_twice("model", [subject.label for subject in subjects])
    return tuple(subjects)


def refuse_twice(what: str, names: Sequence[str]) -> None:
    """Raise if two models, sets or bases of a sweep have the same name in its result."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f'the {what} "{name}" appears twice in the sweep; give it once')


def _names(models: Sequence[str | Path]) -> Iterator[str]:
    """Yield the models; a `.txt` file stands for the lines in it, # begins a comment."""
    for model in map(str, models):
        if not model.endswith(".txt"):
            yield model
            continue
        refuse_pipe(Path(model))
        try:
            lines = Path(model).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            raise DataFileError(f"{model}: the list of models cannot be read ({problem})") from None
        names = [line.partition("#")[0].strip() for line in lines]
        if not any(names):
            raise DataFileError(f"{model}: the list names no model; write one per line")
        yield from (name for name in names if name)


def _at_revision(model: str, revision: str) -> Subject:
    match = _REVISION_STEP.search(revision)
    step, run = (int(match[1]), model) if match else (None, None)
    return Subject(model, f"{model}@{revision}", revision, step, run)


def _checkpoints(folder: Path) -> list[Subject]:
    """Return the checkpoints of a training run, by step; one without a number is no step."""
    if not folder.is_dir():
        raise DataFileError(f"{folder}: no such folder of checkpoints")
    paths = [path for path in folder.iterdir() if any((path / name).is_file() for name in _MODEL)]
    if not paths:
        raise DataFileError(
            f"{folder}: no checkpoint in it; expected folders such as checkpoint-500 with a "
            "config.json in each"
        )
    subjects = []
    for path in paths:
        match = _FOLDER_STEP.search(path.name)
        step, run = (int(match[1]), str(folder)) if match else (None, None)
        subjects.append(Subject(str(path), path.name, step=step, run=run))
    return sorted(
        subjects, key=lambda subject: (subject.step is None, subject.step or 0, subject.label)
    )


def file_states(name: str) -> list[tuple[str, int, int]]:
    """Return names, sizes and times: they change with a file, which need not be read."""
    path = Path(name).expanduser()
    files = [path] if path.is_file() else sorted(path.iterdir()) if path.is_dir() else []
    states = [(file.name, file.stat()) for file in files if file.is_file()]
    return [(file, state.st_size, state.st_mtime_ns) for file, state in states]


def longest_first(jobs: Sequence[ProbeJob], sets: Mapping[str, AnySet]) -> list[ProbeJob]:
    """Return the jobs by the size of their model, then of their set, so that none is long at last.

    The jobs of a model stay together. One of the hub, whose files are not known here, has no size.
    """
    sizes = {
        job.subject: sum(size for _, size, _ in file_states(job.subject.model)) for job in jobs
    }
    # Models of one size in the order given.
    order = {subject: number for number, subject in enumerate(sizes)}

    def rank(job: ProbeJob) -> tuple[int, int, int]:
        words = sets[job.templates or job.subject.model]
        sentences = len(words.families) * len(words.attributes) * len(words.tasks)
        return -sizes[job.subject], order[job.subject], -sentences

    return sorted(jobs, key=rank)


def base_facts(name: str) -> Any:
    """Return the content of base rates of that name, so that an edited table gets a new key."""
    source = find_source(name)
    return asdict(source) if is_dataclass(source) else dict(source.provenance)


def identity(*facts: Any) -> str:
    """Return a short hash of the facts; of an object that has no JSON form, its type counts."""

    def plain(fact: Any) -> Any:
        return fact.tolist() if hasattr(fact, "tolist") else type(fact).__qualname__

    return hashlib.sha256(json.dumps(facts, default=plain).encode()).hexdigest()[:16]
