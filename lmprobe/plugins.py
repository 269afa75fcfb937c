"""Everything an extension needs: the registries, the protocols and the types.

Names are loaded when they are first used, as those of `lmprobe` itself are, so that a
package that extends lmprobe can import this module without loading torch. See
docs/extending.md for an example of each kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lmprobe.lazy import attach, type_checking_imports
from lmprobe.registry import Registry

if TYPE_CHECKING:
    from lmprobe.cli.options import (
        Json as Json,
        Output as Output,
        Quiet as Quiet,
        Verbose as Verbose,
        settings_options as settings_options,
    )
    from lmprobe.cli.output import emit as emit
    from lmprobe.errors import (
        DataFileError as DataFileError,
        InputError as InputError,
        LmprobeError as LmprobeError,
        ModelError as ModelError,
    )
    from lmprobe.io.work import Progress as Progress
    from lmprobe.leakage.attackers import Attacker as Attacker, attackers as attackers
    from lmprobe.leakage.rounds import Trial as Trial
    from lmprobe.metrics.association import Association as Association
    from lmprobe.metrics.direction import Direction as Direction
    from lmprobe.metrics.metric import (
        ItemMetric as ItemMetric,
        Metric as Metric,
        MetricResult as MetricResult,
        PredictedTables as PredictedTables,
        metrics as metrics,
        table_form as table_form,
    )
    from lmprobe.models.kind import (
        BatchedModel as BatchedModel,
        TransformersModel as TransformersModel,
        kinds as kinds,
    )
    from lmprobe.models.scorers import Scorer as Scorer, scorers as scorers
    from lmprobe.reproduce.experiment import (
        Experiment as Experiment,
        ReproducedRow as ReproducedRow,
        Reproduction as Reproduction,
        comparison_table as comparison_table,
        experiment as experiment,
        experiments as experiments,
        grid_table as grid_table,
    )
    from lmprobe.reproduce.settings import ExperimentSettings as ExperimentSettings
    from lmprobe.results import (
        Column as Column,
        ColumnKind as ColumnKind,
        Estimate as Estimate,
        Figure as Figure,
        Interval as Interval,
        Note as Note,
        NoteKind as NoteKind,
        Page as Page,
        Section as Section,
        Series as Series,
        Statement as Statement,
        Table as Table,
        Verdict as Verdict,
        decide as decide,
    )
    from lmprobe.results.result import Result as Result
    from lmprobe.results.settings import (
        OptionGroup as OptionGroup,
        Settings as Settings,
        setting as setting,
    )
    from lmprobe.sources.counting.engines import Engine as Engine, engines as engines
    from lmprobe.sources.counting.lexicon import Lexicon as Lexicon
    from lmprobe.sources.counting.rules import Rule as Rule, rules as rules
    from lmprobe.sources.source import (
        MissingLabels as MissingLabels,
        Source as Source,
        sources as sources,
    )
    from lmprobe.stats.method import (
        IntervalMethod as IntervalMethod,
        Sample as Sample,
        Traits as Traits,
        declare as declare,
        groups_of as groups_of,
        intervals as intervals,
        observations_of as observations_of,
    )
    from lmprobe.sweeping.engines import SweepEngine as SweepEngine, sweep_engines as sweep_engines

REGISTRIES = (
    "sources", "kinds", "scorers", "intervals", "metrics", "attackers", "rules", "engines",
    "experiments", "sweep_engines",
)  # fmt: skip
"""Each kind of extension; its registry is the name of that kind in this module."""

__getattr__, __dir__ = attach(__name__, __file__)
__all__ = [*sorted(type_checking_imports(__file__)), "REGISTRIES", "Registry", "registry"]


def registry(kind: str) -> Registry[Any]:
    """Return the registry of a kind, such as `sources`."""
    extensions: Registry[Any] = __getattr__(kind)
    return extensions
