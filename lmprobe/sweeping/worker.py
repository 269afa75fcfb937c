"""A process that runs jobs: it reads them from standard input and answers on standard output.

A job is one line of JSON; so is the answer, the error or null. The result is written to the
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
from typing import Any

from lmprobe.errors import LmprobeError
from lmprobe.io.files import write_text
from lmprobe.models import LanguageModel, load_model
from lmprobe.probing.probe import probe
from lmprobe.sweeping.jobs import ProbeJob

THREADS = 1
"""Threads of every probe on a CPU: results do not depend on how many run beside each other."""

ENVIRONMENT = {"OMP_NUM_THREADS": str(THREADS), "MKL_NUM_THREADS": str(THREADS)}
"""What a worker's process needs before any numerical library is loaded."""


class Prober:
    """Runs jobs one after the other; the last model stays loaded for the next job."""

    def __init__(self) -> None:
        """Start without a model."""
        self._key: Any = None
        self._model: LanguageModel | None = None

    def run(self, job: ProbeJob, folder: Path) -> str | None:
        """Save the result of a job in the folder; return the error if the model fails."""
        try:
            result = probe(self._loaded(job), job.templates or None, list(job.base), **job.probe)
            save_probe(job, folder, result.to_json())
        except LmprobeError as problem:
            # Kept in a result that is read on the command line and in Python.
            return problem.message(lambda argument: argument.name)
        except MemoryError:
            return "not enough memory for this model"
        except Exception as problem:  # A model's own code may raise anything.
            return f"{type(problem).__name__}: {problem}"
        return None

    def _loaded(self, job: ProbeJob) -> LanguageModel:
        key = (job.subject, json.dumps(dict(job.model), sort_keys=True))
        if self._model is None or self._key != key:
            self._model = None
            self._model = load_model(job.subject.model, revision=job.subject.revision, **job.model)
            self._key = key
        return self._model


def probe_path(job: ProbeJob, folder: Path) -> Path:
    """Return where the result of a job is saved."""
    return folder / f"{job.key}.json"


def save_probe(job: ProbeJob, folder: Path, text: str) -> None:
    """Write the result of a job, unless it is there already.

    A worker whose driver was killed ends its job first, and by then the next sweep may have saved
    the same result.
    """
    path = probe_path(job, folder)
    if not path.exists():
        write_text(path, text)


def main() -> None:
    """Serve jobs until standard input closes."""
    # An interrupt from the terminal reaches every process; the driver ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    warnings.simplefilter("ignore")
    prober = Prober()
    for line in sys.stdin:
        error = prober.run(ProbeJob.from_json(line), Path(sys.argv[1]))
        print(json.dumps(error), file=answers, flush=True)


if __name__ == "__main__":
    main()
