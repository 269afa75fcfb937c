"""Probes a model while `transformers.Trainer` trains it, without changing the training.

Values go through the Trainer's own logging, so TensorBoard, MLflow and Weights & Biases show
them beside the loss.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import TrainerCallback

from lmprobe.errors import InputError
from lmprobe.models import load_model
from lmprobe.probing.probe import probe, resolved
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results.settings import from_mapping, options_of, refuse_unknown
from lmprobe.sources.load import find_source
from lmprobe.templates import load_templates

if TYPE_CHECKING:
    from lmprobe.models import LanguageModel
    from lmprobe.probing.result import ProbeResult

_log = logging.getLogger(__name__)

PREFIX = "eval_lmprobe"
"""Every logged name begins so: `eval_` lets a Trainer choose its best model by one of them."""


class ProbeCallback(TrainerCallback):  # type: ignore[misc]
    """Probes after every evaluation, or every `every` steps, and logs what it finds.

    Parameters
    ----------
    trainer
        The Trainer whose `log` reports the values. Without it they are kept in the Trainer's
        history and in the metrics of the evaluation, but no reporting integration sees them.
    templates, base
        What to probe with; a small set keeps the overhead small.
    every
        Probe every so many steps instead of after evaluations.
    tokenizer
        The model's tokenizer; by default the Trainer's `processing_class`.
    **options
        Any other option of `probe`, such as `attributes`, `tasks` or `scorer`.

    Examples
    --------
    >>> callback = ProbeCallback(base="labor", every=100)
    >>> callback.every
    100
    """

    def __init__(
        self,
        trainer: Any = None,
        *,
        templates: Any = "fitbert",
        base: Any | Sequence[Any] = "labor",
        every: int | None = None,
        tokenizer: Any = None,
        **options: Any,
    ) -> None:
        """Check the choices: a mistake should not wait for the first probe."""
        if every is not None and (not isinstance(every, int) or every < 1):
            raise InputError(f"`every` must be a positive number of steps, found {every!r}")
        refuse_unknown("ProbeCallback", options, [one.name for one in options_of(ProbeSettings)])
        self.templates = load_templates(templates) if _is_name(templates) else templates
        self.base = list(base) if isinstance(base, list | tuple) else [base]
        for one in (*self.base, options.get("lean")):
            if _is_name(one):
                find_source(str(one))
        lean = options.get("lean") if _is_name(options.get("lean")) else None
        resolved(from_mapping(ProbeSettings, options | {"lean": lean}), self.templates)
        self.trainer = trainer
        self.every = every
        self.tokenizer = tokenizer
        self.options = options
        self.results: list[tuple[int, ProbeResult]] = []
        """Each probe with the step it was made at."""
        self.errors: list[tuple[int, str]] = []
        """Each probe that failed, with its step; the training went on."""

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
        """Probe after an evaluation, unless steps were asked for."""
        if self.every is None:
            values = self._probe(state, events)
            if metrics is not None:
                metrics.update(values)

    def on_step_end(self, args: Any, state: Any, control: Any, **events: Any) -> None:
        """Probe every `every` steps."""
        if self.every is not None and state.global_step % self.every == 0:
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
        """Probe, log, and leave everything as it was; only the main process does.

        Several evaluations of the same weights, one per dataset, are one probe. What goes wrong
        is logged and kept in `errors`: a training run is worth more than a probe of it.
        """
        if not state.is_world_process_zero:
            return {}
        try:
            with _unchanged_random_state():
                model = self._load(events)
                if self.results and self.results[-1][1].provenance["content_hash"] == (
                    model.content_hash
                ):
                    return logged(self.results[-1][1])
                result = probe(model, self.templates, self.base, cache=False, **self.options)
        except Exception as problem:  # A model's own code may raise anything.
            self.errors.append((int(state.global_step), str(problem)))
            _log.warning("lmprobe: no probe at step %d: %s", state.global_step, problem)
            return {}
        self.results.append((int(state.global_step), result))
        values = logged(result)
        if self.trainer is not None:
            self.trainer.log(dict(values))
        else:
            state.log_history.append({**values, "step": state.global_step})
        return values


def _is_name(given: Any) -> bool:
    return isinstance(given, str | Path)


def logged(result: ProbeResult) -> dict[str, float]:
    """Return the numbers of a probe under the names that a Trainer logs.

    `eval_lmprobe/labor/task_to_attribute` is the value; `/low`, `/high`, `/association` and
    `/mass` follow it. What is not defined is left out: a logger cannot show it.
    """
    values: dict[str, float] = {}
    for row in result.rows:
        name = f"{PREFIX}/{row.base}/{row.direction.slug}"
        numbers = {
            "": row.value,
            "/low": row.interval.low,
            "/high": row.interval.high,
            "/association": np.nan if row.association is None else row.association.value,
            "/mass": float(row.candidate_mass.mean()),
        }
        values |= {f"{name}{part}": one for part, one in numbers.items() if np.isfinite(one)}
    return values


@contextmanager
def _unchanged_random_state() -> Iterator[None]:
    """Give every generator back the state it had, so that training goes on as without us."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    cpu = torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        torch.set_rng_state(cpu)
        if cuda:
            torch.cuda.set_rng_state_all(cuda)
