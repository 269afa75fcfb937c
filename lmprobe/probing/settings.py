"""The choices of a probe, each with its default and help text, and those of loading a model.

The public functions, the options of the commands, the provenance and the command that runs a
probe again all derive from these classes. Nothing heavy is imported here: the command line
reads this module for its help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lmprobe.core.choices import Dtype, LeanWeighting, Missing, Pairs, Resample
from lmprobe.results.settings import Settings, setting

if TYPE_CHECKING:
    from lmprobe.stats.verdicts import Choices


# Without slots, so that `ProbeSettings.seed` is the default: signatures are written with it.
@dataclass(frozen=True)
class ProbeSettings(Settings):
    """What decides the numbers of a probe, apart from the model, the templates and the bases."""

    attributes: tuple[str, ...] | None = setting(
        None,
        "The groups to compare, such as he,she,they; by default those of the template set.",
        flags=("--attribute", "--attributes"),
    )
    tasks: tuple[str, ...] | None = setting(
        None,
        "The tasks to compare, such as nurse,cook; by default those of the template set.",
        flags=("--task", "--tasks"),
    )
    lean: str | None = setting(
        None, "Take the lean from these base rates; by default from the base itself."
    )
    lean_weighting: LeanWeighting = setting(
        "joint",
        "How the lean is computed: as in Eq. 2 of the paper, or as in its published code.",
    )
    scorer: str = setting("auto", "How candidates are scored: see `lmprobe ls scorers`.")
    prior: bool = setting(
        False, "Divide each probability by that with the other word masked (masked models)."
    )
    missing: Missing = setting("drop", "How to treat words that the base does not have.")
    pseudo_count: float = setting(0.5, "The count that `--missing smooth` adds to every cell.")
    interval: str = setting("bootstrap", "The interval method: see `lmprobe ls intervals`.")
    resample: Resample = setting("both", "What the bootstrap resamples.")
    confidence: float = setting(0.95, "Confidence level of the interval, between 0 and 1.")
    simultaneous: bool = setting(
        False, "Make all intervals of the result cover simultaneously at this confidence."
    )
    seed: int = setting(0, "Random seed.", minimum=0)
    min_mass: float | None = setting(
        None,
        "The least total probability of the candidates, below which a model is uninformed; by "
        "default twice that of random words.",
        minimum=0,
    )

    @property
    def choices(self) -> Choices:
        """How intervals are made."""
        from lmprobe.stats.verdicts import Choices

        return Choices(self.interval, self.resample, self.confidence, self.simultaneous, self.seed)


@dataclass(frozen=True)
class CompareSettings(ProbeSettings):
    """What decides the numbers of a comparison: those of its probes, and which are paired."""

    pairs: Pairs = setting("first", "Compare every model with the first, or all pairs of models.")
    margin: float | None = setting(
        None, "Test whether the models are equivalent within this difference, such as 0.01."
    )


@dataclass(frozen=True)
class ModelSettings(Settings):
    """How a model is loaded."""

    kind: str = setting("auto", "Load as auto, masked or causal: see `lmprobe ls kinds`.")
    tokenizer: str | None = setting(
        None, "A folder or hub id of a tokenizer, if that of the model is missing or wrong."
    )
    device: str = setting("auto", "The device: auto, cpu, cuda, cuda:1, mps.")
    dtype: Dtype = setting("float32", "The floating-point type of the model.")
    batch_size: str = setting("auto", "Sentences per batch: auto, or a number.")
    revision: str | None = setting(None, "The branch, tag or commit of a model on the hub.")

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `load_model`: a batch size in digits is a number."""
        size = self.batch_size
        return self.to_dict() | {"batch_size": int(size) if size.isdecimal() else size}
