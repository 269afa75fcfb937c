"""What an attacker is, and the registry that finds one by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from lmprobe.errors import InputError
from lmprobe.io.progress import Progress
from lmprobe.leakage.inputs import Codes
from lmprobe.leakage.rounds import Trial
from lmprobe.registry import Registry


class Attacker(Protocol):
    """Learns to guess the group from its inputs.

    The first line of the class's docstring is what a listing of the attackers shows.
    """

    def attack(self, trials: Sequence[Trial], *, device: str, progress: Progress) -> list[Codes]:
        """Return the guessed group of every test row, trial by trial.

        An attacker learns from the train rows, may choose between versions of itself by
        the dev rows, and looks at the test rows only to guess.
        """
        ...


attackers: Registry[Callable[[], Attacker]] = Registry("attackers", "lmprobe.leakage.attackers")


def find_attacker(attacker: str | Attacker) -> Attacker:
    """Return the attacker of that name, or the one that was given."""
    if isinstance(attacker, str):
        return attackers.get(attacker)()
    if not callable(getattr(attacker, "attack", None)):
        raise InputError(
            f"`attacker` must be a name or an object with a method `attack`, found {attacker!r}"
        )
    return attacker
