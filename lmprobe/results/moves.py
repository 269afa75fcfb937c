"""Which tasks a model moves away from its base, and how far: the shares behind a value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lmprobe.metrics.association import Floats
from lmprobe.metrics.directional import defined_mean
from lmprobe.results.format import format_percent


@dataclass(frozen=True, slots=True)
class Move:
    """The share of one pair in the base and by the model."""

    attribute: str
    task: str
    base: float
    model: float

    def __str__(self) -> str:
        """Return the move in a few words, such as `baker (she 65% → 82%)`."""
        base, model = (format_percent(share, digits=2) for share in (self.base, self.model))
        return f"{self.task} ({self.attribute} {base} → {model})"


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """(A, T) shares in the base and by the model, with the lean of every pair.

    A task is moved by the mean over its groups: beyond the base where that is positive, back
    where it is negative. Its `Move` names the group towards which the base leans.
    """

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    base: Floats
    model: Floats
    lean: Floats

    @property
    def by_task(self) -> Floats:
        """The mean amplification of each task, (T,); NaN where no pair of it is defined."""
        return np.asarray(defined_mean(self._pairs, axis=0))

    @property
    def _pairs(self) -> Floats:
        return np.asarray(self.lean * (self.model - self.base))

    def example(self, value: float) -> Move | None:
        """Return the task that is moved by the amount nearest to `value`."""
        away = np.abs(self.by_task - value)
        if np.isnan(away).all():
            return None
        task = int(np.nanargmin(away))
        return self._move(task, 1.0 if self.by_task[task] >= 0 else -1.0)

    def beyond(self, most: int) -> tuple[Move, ...]:
        """Return the tasks that are moved farthest beyond the base."""
        return self._farthest(1.0, most)

    def back(self, most: int) -> tuple[Move, ...]:
        """Return the tasks that are moved farthest back."""
        return self._farthest(-1.0, most)

    def _farthest(self, sign: float, most: int) -> tuple[Move, ...]:
        moved = np.nan_to_num(sign * self.by_task)
        order = np.argsort(-moved, kind="stable")[:most]
        # What is less than rounding is no move.
        return tuple(self._move(int(task), sign) for task in order if moved[task] > 1e-9)

    def _move(self, task: int, sign: float) -> Move:
        """Return the pair of the task that moved most that way, of those with a positive lean."""
        moved = np.nan_to_num(sign * self._pairs[:, task], nan=-np.inf)
        towards = self.lean[:, task] > 0
        group = int(np.argmax(np.where(towards, moved, -np.inf) if towards.any() else moved))
        return Move(
            self.attributes[group],
            self.tasks[task],
            float(self.base[group, task]),
            float(self.model[group, task]),
        )
