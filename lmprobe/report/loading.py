"""Opens the saved result of any job."""

from __future__ import annotations

import importlib
from pathlib import Path

from lmprobe.errors import DataFileError, did_you_mean
from lmprobe.report.result import Result, refusing_damage
from lmprobe.results.document import read_document
from lmprobe.results.restored import check_types

# Names, not classes: only the job that made the file is imported.
KINDS = {
    "amplification": "lmprobe.tabular.result.AmplificationResult",
    "check": "lmprobe.gating.result.CheckResult",
    "comparison": "lmprobe.probing.comparison.ComparisonResult",
    "count": "lmprobe.corpus.result.CountResult",
    "disparity": "lmprobe.tabular.disparity_result.DisparityResult",
    "leakage": "lmprobe.leakage.result.LeakageResult",
    "leakage-tradeoff": "lmprobe.leakage.tradeoff.Tradeoff",
    "plan": "lmprobe.stats.plan.PlanResult",
    "probe": "lmprobe.probing.result.ProbeResult",
    "reproduction": "lmprobe.reproduce.result.Reproduction",
    "reproductions": "lmprobe.reproduce.result.ReproductionSet",
    "sweep": "lmprobe.sweeping.result.SweepResult",
}
"""Where the result of each job is defined, by the `kind` of its JSON document."""


def load_result(text_or_path: str | Path) -> Result:
    """Return the result of any job from its JSON text, its file, or the folder of a run.

    Version 1 had probes only; they are still read.
    """
    document, where = read_document(text_or_path)
    kind = str(document.get("kind"))
    if kind not in KINDS:
        raise DataFileError(f'{where}: no job "{kind}"; {did_you_mean(kind, KINDS)}')
    module, _, name = KINDS[kind].rpartition(".")
    job: type[Result] = getattr(importlib.import_module(module), name)
    result = job.from_json(text_or_path)
    # Provenance has no fixed form: whether it can be shown is seen by showing it.
    with refusing_damage(where):
        check_types(result.page())
        check_types(result.tables())
    return result
