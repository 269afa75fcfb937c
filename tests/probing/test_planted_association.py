"""What was planted in the reference models is recovered, whatever articles and word lengths do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lmprobe import load_model, probe
from lmprobe.metrics.association import lean_of_counts
from lmprobe.metrics.direction import Direction
from lmprobe.sources import load_base_rates
from lmprobe.templates import load_templates
from lmprobe.templates.sets import template_names

PAIR = ("he", "she")


def english_sets() -> list[Any]:
    """Every shipped English set of pronouns and the occupations of the labour statistics."""
    jobs = set(load_templates("fitbert").tasks)
    names = []
    for name in template_names():
        templates = load_templates(name)
        pronouns = set(PAIR) <= set(templates.all_attributes)
        # The reference models take no turns.
        fits = pronouns and not templates.turns
        if templates.language == "en" and fits and set(templates.tasks) == jobs:
            names.append(name)
    assert {"fitbert", "fitbert-iclr", "everyday", "neutral"} <= set(names)
    # The smallest of them is quick.
    marks = {name: () if name == "fitbert-iclr" else pytest.mark.slow for name in names}
    return [pytest.param(name, marks=marks[name]) for name in names]


@pytest.mark.parametrize("scorer", ["auto", "word-l2r"])
@pytest.mark.parametrize("templates", english_sets())
@pytest.mark.parametrize("kind", ["amplified", "faithful"])
def test_association_recovers_what_was_planted(kind: str, templates: str, scorer: str) -> None:
    model = load_model(f"reference:{kind}")
    direction = Direction.ATTRIBUTE_TO_TASK
    row = probe(model, templates, "labor", attributes=PAIR, scorer=scorer).row("labor", direction)
    trained, base = (
        load_base_rates(name, model=model).association(row.attributes, row.tasks)
        for name in ("corpus", "labor")
    )
    change = trained.conditional(direction) - base.conditional(direction)
    planted = float((lean_of_counts(base.joint, direction) * change).mean())
    assert row.association is not None
    assert row.association.value == pytest.approx(planted, abs=0.001)
    assert (planted > 0.005) == (kind == "amplified")
    assert np.isfinite(row.association.interval.width)
