"""Probes a model while `transformers.Trainer` trains it, without changing the training.

Values go through the Trainer's own logging, so TensorBoard, MLflow and Weights & Biases show
them beside the loss.
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
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
    """Probes after every evaluation, or every `every` steps, and logs what it finds.

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

    Each probe is in `results` with the step it was made at, each that failed in `errors`.

    >>> ProbeCallback(base="labor", every=100).every
    100
    """

    def __init__(
        self,
        trainer: Any = None,
        *,
        templates: Any = None,
        base: Any | Sequence[Any] = "labor",
        every: int | None = None,
        tokenizer: Any = None,
        **options: Any,
    ) -> None:
        """Check the choices: a mistake should not wait for the first probe."""
        if every is not None and (not isinstance(every, int) or every < 1):
            raise InputError(f"`every` must be a positive number of steps, found {every!r}")
        refuse_unknown("ProbeCallback", options, [each.name for each in options_of(ProbeSettings)])
        self.templates = load_templates(templates) if _is_name(templates) else templates
        self.base = list(base) if isinstance(base, list | tuple) else [base]
        for name in filter(_is_name, (*self.base, options.get("lean"))):
            find_source(str(name))
        # The default sets of all kinds have the same words.
        words = self.templates or load_templates(default_templates())
        resolved(from_mapping(ProbeSettings, options | {"lean": None}), words)
        self.trainer, self.every, self.tokenizer, self.options = trainer, every, tokenizer, options
        self.results: list[tuple[int, ProbeResult]] = []
        self.errors: list[tuple[int, str]] = []

    def on_train_begin(self, args: Any, state: Any, control: Any, **events: Any) -> None:
        """Refuse to begin with a model that cannot be probed, rather than fail at every probe."""
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
        tokenizer = self.tokenizer if self.tokenizer is not None else events["processing_class"]
        if tokenizer is None:
            raise InputError(
                "ProbeCallback needs the model's tokenizer: give `tokenizer=`, or the Trainer a "
                "`processing_class`"
            )
        return load_model(events["model"], tokenizer=tokenizer)

    def _probe(self, state: Any, events: dict[str, Any]) -> dict[str, float]:
        """Probe and log; several evaluations of the same weights are one probe.

        What goes wrong is logged and kept: a training run is worth more than a probe of it. Every
        random generator gets back its state, so that the training goes on as without us.
        """
        step, states = int(state.global_step), (random.getstate(), np.random.get_state())  # noqa: NPY002
        last = self.results[-1][1] if self.results else None
        try:
            with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
                model = self._load(events)
                if last is not None and last.provenance["content_hash"] == model.content_hash:
                    return logged(last)
                result = probe(model, self.templates, self.base, cache=False, **self.options)
        except Exception as problem:  # A model's own code may raise anything.
            self.errors.append((step, str(problem)))
            _log.warning("lmprobe: no probe at step %d: %s", step, problem)
            return {}
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002
        self.results.append((step, result))
        values = logged(result)
        if self.trainer is not None:
            self.trainer.log(dict(values))
        else:
            state.log_history.append({**values, "step": step})
        return values


def _is_name(given: Any) -> bool:
    return isinstance(given, str | Path)


def logged(result: ProbeResult) -> dict[str, float]:
    """Return the numbers of a probe under the names that a Trainer logs.

    `eval_lmprobe/labor/task_to_attribute` is the value; `/low`, `/high`, `/association` and
    `/mass` follow it. What is not defined is left out: a logger cannot show it. The prefix lets a
    Trainer choose its best model by one of them.
    """
    values: dict[str, float] = {}
    for row in result.rows:
        name = f"eval_lmprobe/{row.base}/{row.direction.slug}"
        values |= {
            name: row.value,
            f"{name}/low": row.interval.low,
            f"{name}/high": row.interval.high,
            f"{name}/association": math.nan if row.association is None else row.association.value,
            f"{name}/mass": float(row.candidate_mass.mean()),
        }
    return {name: value for name, value in values.items() if math.isfinite(value)}
