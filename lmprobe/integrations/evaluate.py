"""Directional bias amplification as a metric of Hugging Face's `evaluate`, without a download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lmprobe.errors import MissingExtraError
from lmprobe.metrics.directional import directional_amplification

try:
    import datasets
    import evaluate
except ImportError as problem:
    raise MissingExtraError(
        "lmprobe.integrations.evaluate needs evaluate: pip install evaluate"
    ) from problem

_DESCRIPTION = "Directional bias amplification (Wang & Russakovsky, ICML 2021)."
_INPUTS = """
predictions: what the model said, 0/1, a probability, or a class
references: the true task labels
attributes: the group of each example
predicted_attributes: the group that a model guessed (optional)
"""
_CITATION = """\
@inproceedings{wang2021directional,
  title={Directional Bias Amplification},
  author={Wang, Angelina and Russakovsky, Olga},
  booktitle={ICML},
  year={2021}
}"""


class BiasAmplification(evaluate.Metric):  # type: ignore[misc]  # evaluate has no types
    """`compute(predictions=..., references=..., attributes=...)`, batches included.

    The result has `attribute_to_task`; with `predicted_attributes=` also `task_to_attribute`;
    and the number of undefined pairs of each. A value that is undefined is an error, as in
    `directional_amplification`.
    """

    def __init__(self) -> None:
        """Keep the batches in memory: no file is left in a cache."""
        super().__init__(config_name="default", keep_in_memory=True)

    def _info(self) -> Any:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            # Numbers are tried first: 0/1 is one task, present or not; words are classes.
            features=[
                datasets.Features(
                    predictions=datasets.Value(kind),
                    references=datasets.Value(kind),
                    attributes=datasets.Value(group),
                )
                for group in ("string", "int64")
                for kind in ("float64", "string")
            ],
        )

    def _compute(
        self,
        predictions: Sequence[Any],
        references: Sequence[Any],
        attributes: Sequence[Any],
        predicted_attributes: Sequence[Any] | None = None,
    ) -> dict[str, float | int]:
        def groups(names: Sequence[Any] | None) -> Any:
            return None if names is None else np.array([str(name) for name in names], dtype=object)

        amplification = directional_amplification(
            groups(attributes),
            np.array(references),
            task_predictions=np.array(predictions),
            attribute_predictions=groups(predicted_attributes),
        )
        values: dict[str, float | int] = {}
        for measured in amplification.directions:
            name = measured.direction.slug
            values |= {name: measured.value, f"{name}_undefined_pairs": measured.undefined_pairs}
        return values
