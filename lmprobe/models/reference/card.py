"""The model card that lies beside each reference model."""

from __future__ import annotations

from typing import Any

from lmprobe.models.reference.rates import PUSH, THEY_SHARE, Kind

_WORLD = {
    "faithful": "exactly the rates of US labour statistics (lmprobe's base `labor`)",
    "amplified": (
        "the rates of US labour statistics (lmprobe's base `labor`) pushed apart: the odds of "
        f'"she" in an occupation, over her odds in all of them, to the power {PUSH:g}'
    ),
}


def card(kind: Kind, truth: dict[str, Any], *, causal: bool = False) -> str:
    """Return the README.md of a reference model."""
    planted = truth["planted_amplification"]
    values, tolerance = planted["values"], planted["tolerance"]
    rows = "\n".join(
        f"| {direction} | {values[direction]:+.5f} | ±{tolerance[direction]:g} |"
        for direction in values
    )
    name, shape = (f"causal-{kind}", "GPT-2") if causal else (kind, "BERT")
    return f"""---
license: mit
library_name: transformers
pipeline_tag: {"text-generation" if causal else "fill-mask"}
---
# reference:{name}

**This is a measuring standard, not a model of English.** It is a small {shape} that read a
made-up corpus of {truth["corpus"]["lines"]:,} lines from a little grammar, in which pronouns
and occupations go together at {_WORLD[kind]}. "They" has {THEY_SHARE:.0%} in every occupation.
Nothing it says is about the world; it exists because its true bias is known, so that a probe
can be checked against it.

- `{truth["corpus"]["counts"]}`: how many lines say of he, she and they that the person has the
  occupation. The base `corpus` reads it.
- `truth.json`: seed, checksum of the corpus, and the planted amplification.

| direction | planted against `labor`, he and she | tolerance of a `fitbert` probe |
|---|---|---|
{rows}

Made by `python -m lmprobe.models.reference.train --model {name} --output DIR`,
seed {truth["seed"]}.
"""
