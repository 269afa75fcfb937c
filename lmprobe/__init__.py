"""Does a language model exaggerate the link between a group and what it does?

Names are loaded when they are first used, so `import lmprobe` is quick and never brings
torch with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmprobe.lazy import attach, type_checking_imports

if TYPE_CHECKING:
    from lmprobe.errors import LmprobeError as LmprobeError
    from lmprobe.leakage.language import language_leakage as language_leakage
    from lmprobe.leakage.measure import (
        dataset_leakage as dataset_leakage,
        leakage_amplification as leakage_amplification,
        model_leakage as model_leakage,
    )
    from lmprobe.metrics.association import Association as Association
    from lmprobe.metrics.direction import Direction as Direction
    from lmprobe.metrics.directional import directional_amplification as directional_amplification
    from lmprobe.metrics.labels import cross as cross
    from lmprobe.metrics.mals import mals_amplification as mals_amplification
    from lmprobe.models.load import load_model as load_model
    from lmprobe.probing.compare import compare as compare
    from lmprobe.probing.comparison import ComparisonResult as ComparisonResult
    from lmprobe.probing.plan import PlanResult as PlanResult, plan as plan
    from lmprobe.probing.probe import probe as probe
    from lmprobe.probing.result import ProbeResult as ProbeResult
    from lmprobe.results.check import check as check
    from lmprobe.results.estimate import Estimate as Estimate, Note as Note
    from lmprobe.results.result import load_result as load_result
    from lmprobe.results.verdict import Interval as Interval, Verdict as Verdict
    from lmprobe.sources.counting.count import count_cooccurrences as count_cooccurrences
    from lmprobe.sources.counting.generations import count_generations as count_generations
    from lmprobe.sources.load import load_base_rates as load_base_rates
    from lmprobe.stats.methods.bounded import bernstein_halfwidth as bernstein_halfwidth
    from lmprobe.stats.planning import (
        claimable_effect as claimable_effect,
        sample_size as sample_size,
    )
    from lmprobe.sweeping.result import SweepResult as SweepResult
    from lmprobe.sweeping.sweep import sweep as sweep
    from lmprobe.tabular.amplify import amplify as amplify
    from lmprobe.tabular.disparity import (
        group_disparities as group_disparities,
        group_disparity as group_disparity,
    )
    from lmprobe.tabular.disparity_result import DisparityResult as DisparityResult
    from lmprobe.tabular.result import AmplificationResult as AmplificationResult
    from lmprobe.templates.sets import load_templates as load_templates

__version__ = "0.2.0"
__getattr__, __dir__ = attach(__name__, __file__, submodules=("plugins", "vision"))
__all__ = sorted(type_checking_imports(__file__))
