"""One model, template set, base and direction of a sweep: what its probe found, in brief."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from lmprobe.core.direction import Direction
from lmprobe.metrics.directional import defined_mean
from lmprobe.probing.row import ProbeRow
from lmprobe.results import Estimate
from lmprobe.results.estimate import nullable
from lmprobe.sweeping.jobs import Subject


class Question(NamedTuple):
    """A template set, a base and a direction: models are compared within one question."""

    templates: str
    base: str
    direction: Direction

    @property
    def slug(self) -> str:
        """The question in the names of tables and figures."""
        return f"{self.templates}-{self.base}-{self.direction.slug}"

    def to_dict(self) -> dict[str, str]:
        """Return the JSON form."""
        return self._asdict() | {"direction": self.direction.value}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read the JSON form out of whatever else the document holds."""
        return cls(
            str(document["templates"]), str(document["base"]), Direction(document["direction"])
        )


@dataclass(frozen=True, slots=True)
class SweepRow:
    """The numbers of one probe against one base in one direction, without its tables."""

    model: str
    templates: str
    base: str
    direction: Direction
    attributes: tuple[str, ...]
    estimate: Estimate
    association: Estimate | None
    preference: Estimate | None
    candidate_mass: float
    perplexity: float | None
    undefined_pairs: int
    by_task: Mapping[str, float | None]
    """The amplification of each task, the mean over its groups and templates."""
    step: int | None = None
    """The training step of a checkpoint."""
    ranks: tuple[int, int] | None = None
    """The lowest and the highest rank that the intervals allow, 1 the lowest value."""

    @property
    def question(self) -> Question:
        """The template set, base and direction."""
        return Question(self.templates, self.base, self.direction)

    @classmethod
    def of(
        cls, subject: Subject, templates: str, row: ProbeRow, perplexity: float | None
    ) -> SweepRow:
        """Return what a sweep keeps of a probe's row."""
        by_task = np.asarray(defined_mean(row.cells, axis=(0, 1)))
        return cls(
            model=subject.label,
            templates=templates,
            base=row.base,
            direction=row.direction,
            attributes=row.attributes,
            estimate=row.estimate,
            association=row.association,
            preference=row.preference,
            candidate_mass=float(row.candidate_mass.mean()),
            perplexity=perplexity,
            undefined_pairs=row.undefined_pairs,
            by_task={
                task: nullable(float(value)) for task, value in zip(row.tasks, by_task, strict=True)
            },
            step=subject.step,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: a probe's row with the model before it."""
        return {
            "model": self.model,
            "step": self.step,
            "templates": self.templates,
            "base": self.base,
            "attributes": list(self.attributes),
            "direction": self.direction.value,
            **self.estimate.to_dict(),
            "association": self.association and self.association.to_dict(),
            "preference": self.preference and self.preference.to_dict(),
            "candidate_mass": self.candidate_mass,
            "perplexity": nullable(self.perplexity),
            "undefined_pairs": self.undefined_pairs,
            "by_task": dict(self.by_task),
            "ranks": None if self.ranks is None else list(self.ranks),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> SweepRow:
        """Read the JSON form."""
        parts = {
            name: None if document[name] is None else Estimate.from_dict(document[name])
            for name in ("association", "preference")
        }
        ranks, step, perplexity = document["ranks"], document["step"], document["perplexity"]
        return cls(
            model=str(document["model"]),
            templates=str(document["templates"]),
            base=str(document["base"]),
            direction=Direction(document["direction"]),
            attributes=tuple(map(str, document["attributes"])),
            estimate=Estimate.from_dict(document),
            association=parts["association"],
            preference=parts["preference"],
            candidate_mass=float(document["candidate_mass"]),
            perplexity=None if perplexity is None else float(perplexity),
            undefined_pairs=int(document["undefined_pairs"]),
            by_task={
                str(task): None if value is None else float(value)
                for task, value in document["by_task"].items()
            },
            step=None if step is None else int(step),
            ranks=None if ranks is None else (int(ranks[0]), int(ranks[1])),
        )
