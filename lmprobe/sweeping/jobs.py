"""The probes of a sweep: every model with every template set, each one job."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lmprobe import __version__
from lmprobe.errors import DataFileError, InputError
from lmprobe.io.problems import refuse_pipe

_STEP = re.compile(r"(\d+)$")


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


@dataclass(frozen=True, slots=True)
class Job:
    """One model on one template set, against every base; what a worker is given."""

    subject: Subject
    templates: str
    base: tuple[str, ...]
    probe: Mapping[str, Any]
    """Keyword arguments of `probe`."""
    model: Mapping[str, Any]
    """Keyword arguments of `load_model`."""
    identity: str = ""
    """What the model's name stood for when the sweep began, such as the state of its folder."""

    @property
    def key(self) -> str:
        """The name of the job's file: the same for the same job, and for no other."""
        text = json.dumps([asdict(self), __version__], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def to_json(self) -> str:
        """Return the job as one line for a worker."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Job:
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
        raise InputError("give revisions or checkpoints, not both")
    found: list[Subject] = []
    for model in _named(models):
        if revisions:
            found += [
                Subject(model, f"{model}@{one}", revision=one, step=_step(one)) for one in revisions
            ]
        else:
            found.append(Subject(model, model))
    if checkpoints is not None:
        found += _checkpoints(Path(checkpoints))
    if not found:
        raise InputError("a sweep needs at least one model, or a folder of checkpoints")
    labels = [one.label for one in found]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f'the model "{label}" appears twice in the sweep; give it once')
    return tuple(found)


def _named(models: Sequence[str | Path]) -> Iterable[str]:
    """Yield the models; a `.txt` file stands for the lines in it, # begins a comment."""
    for model in map(str, models):
        if not model.endswith(".txt"):
            yield model
            continue
        refuse_pipe(Path(model))
        try:
            lines = Path(model).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            raise DataFileError(f"{model}: the list of models cannot be read ({problem})") from None
        names = [line.partition("#")[0].strip() for line in lines]
        if not any(names):
            raise DataFileError(f"{model}: the list names no model; write one per line")
        yield from (name for name in names if name)


def _checkpoints(folder: Path) -> list[Subject]:
    """Return the checkpoints of a training run, by step."""
    if not folder.is_dir():
        raise DataFileError(f"{folder}: no such folder of checkpoints")
    found = [path for path in folder.iterdir() if (path / "config.json").is_file()]
    if not found:
        raise DataFileError(
            f"{folder}: no checkpoint in it; expected folders such as checkpoint-500 with a "
            "config.json in each"
        )
    named = [Subject(str(path), path.name, step=_step(path.name)) for path in found]
    return sorted(named, key=lambda one: (one.step is None, one.step or 0, one.label))


def _step(name: str) -> int | None:
    match = _STEP.search(name)
    return int(match[1]) if match else None


def identity(model: str) -> str:
    """Return what tells a changed folder or file of the same name apart, without reading it."""
    path = Path(model)
    files = [path] if path.is_file() else sorted(path.rglob("*")) if path.is_dir() else []
    facts = [
        (str(one.relative_to(path.parent)), status.st_size, status.st_mtime_ns)
        for one in files
        if one.is_file()
        for status in [one.stat()]
    ]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16] if facts else ""
