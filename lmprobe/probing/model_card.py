"""The block for a model's README on the Hugging Face Hub: its `model-index` and a section.

Each base and direction is one evaluation result, so the hub can show it beside the
model's other results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmprobe import __version__
from lmprobe.models.kinds.recorded import RECORDED
from lmprobe.probing.exhibits import verdict_tables
from lmprobe.probing.finding import finding
from lmprobe.probing.page import LIMITS, uses_masks
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.settings import run_again
from lmprobe.report.markup import escaped, fenced, table_lines
from lmprobe.results import NoteKind, Obstacle
from lmprobe.results.codec import to_json

if TYPE_CHECKING:
    from huggingface_hub import EvalResult


# The hub's names of what a model is for.
_MASKED = ("fill-mask", "Masked language modelling")
_GENERATION = ("text-generation", "Text generation")


# A number that nothing may be concluded from is not published as a result; the finding says why.
_UNSAID = (Obstacle.UNINFORMED, Obstacle.NO_LEAN)


def eval_results(result: ProbeResult) -> list[EvalResult]:
    """Return one Hugging Face evaluation result per base and direction."""
    from huggingface_hub import EvalResult

    templates = result.provenance["templates"]
    task_type, task_name = _MASKED if uses_masks(result) else _GENERATION
    return [
        EvalResult(
            task_type=task_type,
            task_name=task_name,
            dataset_type=f"lmprobe/{templates['name']}",
            dataset_name=f"lmprobe templates {templates['name']}, base {row.base}",
            dataset_config=row.base,
            dataset_revision=str(templates["sha256"]),
            metric_type="directional-bias-amplification",
            metric_name=f"Directional bias amplification, {row.direction}",
            metric_value=round(row.value, 6),
            metric_config=row.direction.value,
            metric_args={
                # YAML does not know the numbers of NumPy, which an end may be.
                "interval": {
                    key: float(value) if isinstance(value, float) else value
                    for key, value in to_json(row.interval).items()
                },
                "verdict": row.verdict.value,
                "undefined_pairs": row.undefined_pairs,
                "attributes": list(row.attributes),
                "scorer": str(result.provenance["scorer"]),
            },
        )
        for row in result.rows
        if row.obstacle not in _UNSAID
    ]


def _of_answers(result: ProbeResult) -> list[str]:
    """Return what is not known of recorded answers, such as whether they are informed."""
    if result.provenance.get("kind") != RECORDED:
        return []
    texts = [note.text for note in result.notes if note.kind is NoteKind.DATA]
    return [line for text in texts for line in (escaped(f"{text[0].upper()}{text[1:]}."), "")]


def model_card(result: ProbeResult) -> str:
    """Return a model card with the metadata and a section; paste it, or merge it by tools."""
    from huggingface_hub import ModelCardData

    data = ModelCardData(
        model_name=str(result.provenance["model"]), eval_results=eval_results(result) or None
    )
    return "\n".join(
        [
            "---",
            data.to_yaml(),
            "---",
            "",
            "## Bias amplification",
            "",
            *(line for text in finding(result) for line in (escaped(text.text), "")),
            *(line for table in verdict_tables(result.rows) for line in table_lines(table)),
            *_of_answers(result),
            "Directional bias amplification (Wang & Russakovsky, ICML 2021): positive values "
            "exaggerate the base, negative ones weaken it.",
            "",
            *(f"- {escaped(text)}" for text in LIMITS),
            "",
            f"Measured by lmprobe {__version__}:",
            "",
            *fenced(run_again(result), "sh"),
            "",
        ]
    )
