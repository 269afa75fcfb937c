"""The result of a probe: one row per base and direction, with its provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lmprobe.errors import InputError
from lmprobe.metrics.direction import Direction
from lmprobe.probing.row import ProbeRow
from lmprobe.probing.rows import GroupedWord
from lmprobe.results import Estimate, IntervalStatus, Note, Page, Table, decide, json_field
from lmprobe.results.estimate import Claim
from lmprobe.results.result import Result
from lmprobe.results.table import frame_of

if TYPE_CHECKING:
    import pandas as pd

    from lmprobe.probing.comparison import ComparisonRow
    from lmprobe.results.check import CheckResult, Max

LIMITS = (
    "It compares the model's predictions in these sentences with base rates that you chose: "
    "another base gives another answer, and no base is neutral.",
    "The sentences are a sample of one kind of sentence; the interval describes sentences and "
    "words like these, not people.",
    "It measures intrinsic bias. It does not show harm in a product built on the model, and a "
    "value near zero does not show that such a product is fair.",
    "Compare values within one direction only: task->attribute and attribute->task have "
    "different scales.",
)
"""What this measures and what it does not; every report carries it."""


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """One of several crossed attributes by itself, such as race without gender."""

    attribute: str
    row: ProbeRow = json_field(flat=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProbeResult(Result):
    """The result of `probe`: one row per base and direction, with its provenance."""

    kind: ClassVar[str] = "probe"
    limits: ClassVar[tuple[str, ...]] = LIMITS
    json_keys: ClassVar[tuple[str, ...]] = (
        "rows", "templates", "families", "split_words", "perplexity", "words", "margins", "notes",
        "limits", "provenance",
    )  # fmt: skip

    rows: tuple[ProbeRow, ...]
    templates: tuple[str, ...]
    families: tuple[str, ...]
    provenance: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    split_words: Mapping[str, int] = field(default_factory=dict)
    """The words that the tokenizer splits, and into how many pieces."""
    perplexity: float | None = None
    """The model's perplexity per word on 64 sentences of the templates, or pseudo-perplexity."""
    words: tuple[GroupedWord, ...] = ()
    """The words behind the labels, where these are groups or keys."""
    margins: tuple[Margin, ...] = ()
    """For crossed attributes: the rows of each attribute alone."""

    def row(self, base: str, direction: Direction | str) -> ProbeRow:
        """Return the row of that base and direction (`T->A` and `A->T` are accepted)."""
        wanted = Direction.parse(direction)
        for row in self.rows:
            if row.base == base and row.direction is wanted:
                return row
        have = ", ".join(f"{row.base} {row.direction}" for row in self.rows)
        raise InputError(f'no row for base "{base}" and direction "{direction}"; there are: {have}')

    def claims(self) -> tuple[Claim, ...]:
        """Return the estimate of every base and direction."""
        return tuple(Claim(row.estimate, row.base, row.direction) for row in self.rows)

    def changes(self, since: Result) -> tuple[Claim, ...]:
        """Return the paired differences from an earlier probe."""
        from lmprobe.probing.compare import compare_results
        from lmprobe.probing.settings import CompareSettings, settings_of
        from lmprobe.results.settings import from_mapping

        if not isinstance(since, ProbeResult):
            # Not `super()`: a dataclass with slots is another class than the one written here.
            return Result.changes(self, since)
        names = [str(result.provenance["model"]) for result in (since, self)]
        if names[0] == names[1]:
            names = [f"{names[0]} (earlier)", f"{names[1]} (later)"]
        choices = settings_of(self.provenance).to_dict()
        settings: CompareSettings = from_mapping(CompareSettings, choices)
        rows = compare_results(since, self, (names[0], names[1]), settings)
        return tuple(Claim(_change(row, self, since), row.base, row.direction) for row, _ in rows)

    def check(
        self,
        *,
        max: Max | None = None,
        base: str | Sequence[str] | None = None,
        direction: Direction | str | None = None,
        against: Result | str | Path | None = None,
    ) -> CheckResult:
        """Compare the result with a limit or an earlier result; see `lmprobe.check`."""
        from lmprobe.results.check import check

        return check(self, max=max, base=base, direction=direction, against=against)

    def tables(self) -> tuple[Table, ...]:
        """Return one table per direction."""
        from lmprobe.probing.tables import probe_tables

        return probe_tables(self)

    def page(self) -> Page:
        """Return the whole report."""
        from lmprobe.probing.page import probe_page

        return probe_page(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one line per base and direction; value = association + preference."""
        frame = frame_of(
            self.rows,
            base="base",
            direction="direction.value",
            attributes="attributes",
            value="value",
            low="interval.low",
            high="interval.high",
            confidence="interval.confidence",
            method="interval.method",
            verdict="verdict.value",
            corrected="corrected",
            strength="strength.value",
            association="association.value",
            preference="preference.value",
            template_sd="template_sd",
            absolute="absolute",
            undefined_pairs="undefined_pairs",
            candidate_mass="mean_mass",
            mass_ratio="mass_ratio",
        )
        frame["attributes"] = frame["attributes"].str.join(",")
        return frame.assign(perplexity=self.perplexity)

    def pairs(self) -> pd.DataFrame:
        """Return one line per base, direction, template, attribute and task."""
        import pandas as pd

        return pd.concat([_pairs(row, self.templates) for row in self.rows], ignore_index=True)

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return the rows and the pairs, which are written as CSV."""
        return {"rows": self.to_frame(), "pairs": self.pairs()}

    def validate(self) -> None:
        """Refuse parts that do not fit together, so that no reader of the result has to look."""
        if not self.rows:
            raise ValueError("it has no rows")
        if len(self.families) != len(self.templates):
            raise ValueError(f"{len(self.templates)} templates, {len(self.families)} families")
        needed = {"model": str, "scorer": str, "templates": dict, "bases": dict, "versions": dict}
        for name, kind in needed.items():
            if not isinstance(self.provenance[name], kind):
                raise TypeError(f"provenance.{name} is {self.provenance[name]!r}")
        if lacking := {"name", "sha256"} - set(self.provenance["templates"]):
            raise ValueError(f"provenance.templates lacks {', '.join(sorted(lacking))}")
        keys = [(row.base, row.direction, row.attributes) for row in self.rows]
        if len(set(keys)) < len(keys):
            raise ValueError("several rows of one base and direction")
        for row in (*self.rows, *(margin.row for margin in self.margins)):
            row.check_shapes(len(self.templates))


def _change(row: ComparisonRow, later: ProbeResult, earlier: ProbeResult) -> Estimate:
    """Return the difference of one base and direction, as a check needs it."""
    own, other = (result.row(row.base, row.direction) for result in (later, earlier))
    same_words = (own.attributes, own.tasks) == (other.attributes, other.tasks)
    if same_words and np.allclose(own.cells, other.cells, rtol=0, atol=1e-9, equal_nan=True):
        # The same answers to the same questions: nothing is uncertain about their difference.
        interval = replace(row.interval, low=0.0, high=0.0, status=IntervalStatus.OK)
        verdict = decide(interval, obstacle=own.obstacle)
        return Estimate(0.0, interval, verdict, obstacle=own.obstacle)
    return row.estimate


def _pairs(row: ProbeRow, templates: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    shape = row.predicted.shape
    template, attribute, task = np.indices(shape).reshape(3, row.predicted.size)
    return pd.DataFrame(
        {
            "base": row.base,
            "direction": row.direction.value,
            "template": np.array(templates, dtype=object)[template],
            "attribute": np.array(row.attributes, dtype=object)[attribute],
            "task": np.array(row.tasks, dtype=object)[task],
            "predicted": row.predicted.ravel(),
            "base_rate": np.broadcast_to(row.base_rate, shape).ravel(),
            "lean": np.broadcast_to(row.lean, shape).ravel(),
            "amplification": row.cells.ravel(),
        }
    )
