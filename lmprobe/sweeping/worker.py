"""A process that probes: reads jobs from standard input, keeps results, answers on its output.

One job is one line of JSON; the answer is one line too. The result itself is written to the
sweep's folder, whole or not at all, so that nothing is lost when the driver ends. When standard
input closes, because the driver is done or was killed, the worker ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmprobe.errors import LmprobeError
from lmprobe.io.files import write_text
from lmprobe.sweeping.jobs import Job

if TYPE_CHECKING:
    from lmprobe.models import LanguageModel

THREADS = 1
"""Threads of every probe on a CPU: results do not depend on how many run beside each other."""

ENVIRONMENT = {"OMP_NUM_THREADS": str(THREADS), "MKL_NUM_THREADS": str(THREADS)}
"""What a worker's process needs before any numerical library is loaded."""


class Prober:
    """Runs jobs one after the other and keeps the last model, which the next may need again."""

    def __init__(self) -> None:
        """Start without a model."""
        self._key: Any = None
        self._model: LanguageModel | None = None

    def run(self, job: Job, folder: Path) -> str:
        """Probe and keep the result; return the file's name."""
        from lmprobe.probing.probe import probe

        result = probe(self._loaded(job), job.templates, list(job.base), **job.probe)
        return keep(job, folder, result.to_json())

    def _loaded(self, job: Job) -> LanguageModel:
        from lmprobe.models import load_model

        key = (job.subject, json.dumps(dict(job.model), sort_keys=True))
        if self._model is None or self._key != key:
            self._model = None
            self._model = load_model(job.subject.model, revision=job.subject.revision, **job.model)
            self._key = key
        return self._model


def keep(job: Job, folder: Path, text: str) -> str:
    """Write the result of a job, unless it is there already; return the file's name.

    A worker whose driver was killed ends its job first, and by then the next sweep may have kept
    the same result.
    """
    path = folder / f"{job.key}.json"
    if not path.exists():
        write_text(path, text)
    return path.name


def answer(prober: Prober, job: Job, folder: Path) -> dict[str, Any]:
    """Run one job; a model that fails is an answer, not an end."""
    try:
        return {"key": job.key, "file": prober.run(job, folder)}
    except LmprobeError as problem:
        return {"key": job.key, "error": str(problem)}
    except MemoryError:
        return {"key": job.key, "error": "not enough memory for this model"}
    except Exception as problem:  # A model's own code may raise anything.
        return {"key": job.key, "error": f"{type(problem).__name__}: {problem}"}


def main() -> None:
    """Serve jobs until standard input closes."""
    folder = Path(sys.argv[1])
    # An interrupt from the terminal reaches every process; the driver ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    warnings.simplefilter("ignore")
    prober = Prober()
    for line in sys.stdin:
        job = Job.from_json(line)
        answers.write(json.dumps(answer(prober, job, folder)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
