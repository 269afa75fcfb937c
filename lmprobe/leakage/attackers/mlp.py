"""The paper's attacker: a small network, trained for 100 epochs, best snapshot on the dev rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lmprobe.errors import InputError
from lmprobe.io.progress import Progress
from lmprobe.leakage.attackers.attacker import attackers
from lmprobe.leakage.inputs import Codes
from lmprobe.leakage.rounds import Trial


@attackers.register("mlp")
@dataclass(frozen=True, slots=True)
class Mlp:
    """The paper's network of four layers, 300 wide (Wang et al. 2019, section 4.1).

    The fields are its recipe; `layers` and `width` are what their Table 2 varies. `patience`
    ends a training whose dev accuracy has not risen for so many epochs. It is off unless
    asked for, because a later epoch might have been better.
    """

    layers: int = 4
    width: int = 300
    epochs: int = 100
    batch_size: int = 128
    learning_rate: float = 5e-5
    patience: int | None = None

    def __post_init__(self) -> None:
        """Refuse a network or a training without any size."""
        for name in ("layers", "width", "epochs", "learning_rate"):
            if not getattr(self, name) > 0:
                raise InputError(f"`{name}` must be positive, found {getattr(self, name)}")
        if self.batch_size < 2:
            raise InputError(f"`batch_size` must be 2 or more, found {self.batch_size}")
        if self.patience is not None and self.patience < 1:
            raise InputError(f"`patience` must be 1 or more, found {self.patience}")

    def attack(self, trials: Sequence[Trial], *, device: str, progress: Progress) -> list[Codes]:
        """Return the guesses; all trials train side by side in one batched network."""
        # torch takes seconds to import; the other attackers do without it.
        from lmprobe.leakage.training import train_and_guess

        return train_and_guess(self, trials, device=device, progress=progress)
