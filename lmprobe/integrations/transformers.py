"""Probes a model while `transformers.Trainer` trains it, without changing the training.

Values go through the Trainer's own logging, so TensorBoard, MLflow and Weights & Biases show
them beside the loss.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback

from lmprobe.errors import InputError
from lmprobe.models import LanguageModel, load_model
from lmprobe.models.kind import default_templates
from lmprobe.probing.probe import probe, resolved
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results.settings import from_mapping, options_of, refuse_unknown
from lmprobe.sources.load import find_source
from lmprobe.templates import load_templates

_log = logging.getLogger(__name__)


class ProbeCallback(TrainerCallback):  # type: ignore[misc]
    """Probes after every evaluation, or every `every` steps, and logs the values.

    `eval_lmprobe/labor/task_to_attribute` is the value; `/low`, `/high`, `/association` and `/mass`
    follow it. Each probe is in `results` with its step, each that failed in `errors`.

    Parameters
    ----------
    trainer
        The Trainer whose `log` reports the values. Without it they are kept in the Trainer's
        history and in the metrics of the evaluation, but no reporting integration sees them.
    templates, base
        What to probe with, as in `probe`; a small set keeps the overhead small.
    every
        Probe every so many steps instead of after evaluations.
    tokenizer
        The model's tokenizer; by default the Trainer's `processing_class`.
    **options
        Any other option of `probe`, such as `attributes`, `tasks` or `scorer`.

    >>> ProbeCallback(base="labor", every=100).every
    100
    """

    def __init__(
        self,
        trainer: Any = None,
        *,
        templates: Any = None,
        base: Any | Sequence[Any] | None = None,
        every: int | None = None,
        tokenizer: Any = None,
        **options: Any,
    ) -> None:
        """Check the options, so that a mistake is an error before the training."""
        if every is not None and (not isinstance(every, int) or every < 1):
            raise InputError(f"`every` must be a positive number of steps, found {every!r}")
        refuse_unknown("ProbeCallback", options, [each.name for each in options_of(ProbeSettings)])
        self.templates = load_templates(templates) if _is_name(templates) else templates
        self.base = base
        bases = base if isinstance(base, list | tuple) else [base]
        for name in filter(_is_name, (*bases, options.get("lean"))):
            find_source(str(name))
        # The default sets of all kinds have the same words.
        words = self.templates or load_templates(default_templates())
        resolved(from_mapping(ProbeSettings, options | {"lean": None}), words)
        self.trainer, self.every, self.tokenizer, self.options = trainer, every, tokenizer, options
        self.results: list[tuple[int, ProbeResult]] = []
        self.errors: list[tuple[int, str]] = []

    def on_train_begin(self, args: Any, state: Any, control: Any, **events: Any) -> None:
        """Refuse a model that cannot be probed."""
        if getattr(args, "fsdp", None) or getattr(args, "deepspeed", None):
            raise InputError(
                "ProbeCallback cannot probe a model whose weights are spread over processes (FSDP, "
                "DeepSpeed); probe its checkpoints with `lmprobe sweep --checkpoints DIR`"
            )
        self._load(events)

    def on_evaluate(
        self, args: Any, state: Any, control: Any, *, metrics: Any = None, **events: Any
    ) -> None:
        """Probe after an evaluation; the Trainer may choose its best model by the metrics."""
        if self.every is None and state.is_world_process_zero:
            values = self._probe(state, events)
            if metrics is not None:
                metrics.update(values)

    def on_step_end(self, args: Any, state: Any, control: Any, **events: Any) -> None:
        """Probe every `every` steps."""
        if self.every and state.is_world_process_zero and state.global_step % self.every == 0:
            self._probe(state, events)

    def _load(self, events: dict[str, Any]) -> LanguageModel:
        tokenizer = events["processing_class"] if self.tokenizer is None else self.tokenizer
        if tokenizer is None:
            raise InputError(
                "ProbeCallback needs the model's tokenizer: give `tokenizer=`, or the Trainer a "
                "`processing_class`"
            )
        return load_model(events["model"], tokenizer=tokenizer)

    def _probe(self, state: Any, events: dict[str, Any]) -> dict[str, float]:
        """Probe and log; several evaluations of the same weights are one probe.

        A probe that fails is logged as a warning: it must not end the training. lmprobe draws from
        no global generator, and torch's get back their state, so the training is unchanged.
        """
        step, last = int(state.global_step), self.results[-1][1] if self.results else None
        try:
            with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
                model = self._load(events)
                if last is not None and last.provenance["content_hash"] == model.content_hash:
                    return _logged(last)
                result = probe(model, self.templates, self.base, cache=False, **self.options)
        except Exception as problem:  # A model's own code may raise anything.
            self.errors.append((step, str(problem)))
            _log.warning("lmprobe: no probe at step %d: %s", step, problem)
            return {}
        self.results.append((step, result))
        values = _logged(result)
        if self.trainer is not None:
            self.trainer.log(dict(values))
        else:
            state.log_history.append({**values, "step": step})
        return values


def _is_name(given: Any) -> bool:
    return isinstance(given, str | Path)


def _logged(result: ProbeResult) -> dict[str, float]:
    """Return the defined numbers of a probe; the prefix lets a Trainer choose its best model."""
    values: dict[str, float] = {}
    for row in result.rows:
        name = f"eval_lmprobe/{row.base}/{row.direction.slug}"
        values |= {
            name: row.value,
            f"{name}/low": row.interval.low,
            f"{name}/high": row.interval.high,
            f"{name}/association": math.nan if row.association is None else row.association.value,
            f"{name}/mass": row.mean_mass,
        }
    return {name: value for name, value in values.items() if math.isfinite(value)}
