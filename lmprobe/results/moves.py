"""Which pairs are moved away from their base rates, and how far: the shares behind a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import Direction
from lmprobe.results.format import format_percent

# Tasks that are named at either end.
_TASKS = 3
# Digits of a share: more where the two are alike.
_DIGITS = range(2, 6)
_OTHER_WAY = {"beyond": "back", "back from": "beyond"}
# Less than rounding is no move.
_NOISE = 1e-9


@dataclass(frozen=True, slots=True)
class Move:
    """The share of what is predicted, given the other, in the base and by the model."""

    given: str
    predicted: str
    base: float
    model: float

    def __str__(self) -> str:
        """Return the move in a few words, such as `baker (she 65% → 82%)`."""
        for digits in _DIGITS:
            base, model = (format_percent(share, digits) for share in (self.base, self.model))
            if base != model:
                break
        return f"{self.given} ({self.predicted} {base} → {model})"


@dataclass(frozen=True, eq=False)
class Moves:
    """(A, T) shares in the base and by the model in one direction, with the lean of every pair.

    A task is moved with the group that it leans to, the one that moves most of several: beyond the
    base where the share of that pair grows, back where it falls.
    """

    direction: Direction
    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    base: Floats
    model: Floats
    lean: Floats

    @cached_property
    def _pairs(self) -> Floats:
        """How far each pair that leans together is moved beyond the base, (A, T); else NaN."""
        return np.where(self.lean > 0, self.model - self.base, np.nan)

    @cached_property
    def _groups(self) -> NDArray[np.intp]:
        """The group that each task is moved with, (T,)."""
        return np.asarray(np.argmax(np.nan_to_num(np.abs(self._pairs), nan=-1.0), axis=0))

    @cached_property
    def by_task(self) -> Floats:
        """How far each task is moved beyond the base, (T,); NaN where it leans to no group."""
        return np.asarray(np.take_along_axis(self._pairs, self._groups[None], axis=0)[0])

    def example(self, value: float) -> Move | None:
        """Return the task that is moved the way of `value`, if any is, by the nearest amount."""
        same = np.where(self.by_task * value >= 0, self.by_task, np.nan)
        away = np.abs((self.by_task if np.isnan(same).all() else same) - value)
        return None if np.isnan(away).all() else self._move(int(np.nanargmin(away)))

    def beyond(self, most: int = _TASKS) -> tuple[Move, ...]:
        """Return the tasks that are moved farthest beyond the base."""
        return self._farthest(1.0, most)

    def back(self, most: int = _TASKS) -> tuple[Move, ...]:
        """Return the tasks that are moved farthest back."""
        return self._farthest(-1.0, most)

    def sentences(self, value: float, base: str, model: str) -> Iterator[str]:
        """Yield an example with both shares, and the tasks that are moved farthest either way.

        `base` and `model` say whose shares they are, such as `the labels` and `the predictions`.
        """
        ends = {"beyond": self.beyond(), "back from": self.back()} if len(self.tasks) > 1 else {}
        example = self.example(value)
        # A task among those that moved farthest is not said twice: they explain the arrow instead.
        repeated = example in [move for moves in ends.values() for move in moves]
        arrow = f" (share in {base} → in {model})" if repeated else ""
        if example is not None and not repeated:
            shares = map(format_percent, (example.base, example.model))
            yield (
                f"A typical example, {example.given}: the share of “{example.predicted}” is "
                f"{next(shares)} in {base} and {next(shares)} in {model}."
            )
        moved = [(where, moves) for where, moves in ends.items() if moves]
        for where, moves in moved:
            none = "" if len(moved) == len(ends) else f" None moves {_OTHER_WAY[where]}."
            yield f"Farthest {where} {base}{arrow}: {', '.join(map(str, moves))}.{none}"
            arrow = ""

    def _farthest(self, sign: float, most: int) -> tuple[Move, ...]:
        moved = np.nan_to_num(sign * self.by_task)
        order = np.argsort(-moved, kind="stable")[:most]
        return tuple(self._move(int(task)) for task in order if moved[task] > _NOISE)

    def _move(self, task: int) -> Move:
        group = self._groups[task]
        names = {"attribute": self.attributes[group], "task": self.tasks[task]}
        return Move(
            names[self.direction.given],
            names[self.direction.predicted],
            float(self.base[group, task]),
            float(self.model[group, task]),
        )
