"""Models that are spread over devices: layers on disk give the same probabilities."""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import lmprobe
from lmprobe.errors import InputError, MissingExtraError
from lmprobe.models import load_model
from lmprobe.models.forward import quiet_transformers
from lmprobe.models.scorers import score
from tests.checkpoints import PRONOUNS, checkpoint, cloze, own_cache
from tests.models.test_causal import CLOZES, save_causal

__all__ = ["checkpoint", "own_cache"]

Checkpoint = Callable[[str], Path]
MASKED = [cloze(f"[{who.capitalize()}] became a new nurse, people said.") for who in PRONOUNS]
needs_accelerate = pytest.mark.skipif(
    importlib.util.find_spec("accelerate") is None, reason="accelerate is not installed"
)


def folder_of(architecture: str, checkpoint: Checkpoint, tmp_path: Path) -> Path:
    if architecture in ("Bert", "Roberta"):
        return checkpoint(architecture)
    return save_causal(tmp_path / architecture, architecture)


def devices(network: Any) -> set[str]:
    """Return where the parameters are; those of layers on disk are nowhere ("meta")."""
    return {parameter.device.type for parameter in network.parameters()}


@needs_accelerate
@pytest.mark.parametrize("architecture", ["Bert", "Roberta", "Llama", "GPT2", "Bloom"])
def test_layers_on_disk_give_the_same_probabilities(
    architecture: str, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    """Llama and GPT-2 read trees, Bloom rows; GPT-2 and BERT share the head with the embedding."""
    folder = folder_of(architecture, checkpoint, tmp_path)
    clozes = MASKED if architecture in ("Bert", "Roberta") else CLOZES
    expected = score(load_model(folder, device="cpu"), clozes).log_probability
    model = load_model(folder, device="balanced", max_memory={"cpu": "20KB"})
    result = score(model, clozes).log_probability
    assert "meta" in devices(model.network)
    assert model.device == "balanced"
    np.testing.assert_allclose(np.exp(result), np.exp(expected), atol=1e-5)
    np.testing.assert_allclose(result, expected, atol=1e-4)
    roomy = load_model(folder, device="balanced")
    np.testing.assert_allclose(score(roomy, clozes).log_probability, expected, atol=1e-4)
    assert devices(roomy.network) == {"cuda" if torch.cuda.is_available() else "cpu"}


@needs_accelerate
@pytest.mark.parametrize("architecture", ["Bert", "Llama"])
def test_a_model_in_memory_that_has_a_device_map(
    architecture: str, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    folder = folder_of(architecture, checkpoint, tmp_path)
    plain = load_model(folder, device="cpu")
    auto = getattr(transformers, plain.auto_class)
    with quiet_transformers():
        network = auto.from_pretrained(
            folder, device_map="auto", max_memory={"cpu": "20KB"}, offload_folder=tmp_path / "off"
        )
        whole = auto.from_pretrained(folder)
    model = load_model(network, tokenizer=plain.tokenizer)
    assert model.device == "balanced"
    clozes = MASKED if architecture == "Bert" else CLOZES
    result, expected = (score(each, clozes).log_probability for each in (model, plain))
    np.testing.assert_allclose(result, expected, atol=1e-4)
    assert "meta" in devices(network), "it is as it was"
    # The weights on disk belong to what the cache knows a model by.
    assert model.content_hash == load_model(whole, tokenizer=plain.tokenizer).content_hash
    with pytest.raises(InputError, match="has a device map"):
        load_model(network, tokenizer=plain.tokenizer, device="cpu")
    with pytest.raises(InputError, match="has no device map"):
        load_model(whole, tokenizer=plain.tokenizer, device="balanced")


@needs_accelerate
def test_the_layers_on_disk_are_removed_with_the_model(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    folder = tmp_path / "pickled"
    with quiet_transformers():
        source = transformers.AutoModelForMaskedLM.from_pretrained(checkpoint("Bert"))
        source.config.save_pretrained(folder)
        load_model(checkpoint("Bert")).tokenizer.save_pretrained(folder)
    # Not safetensors, from which layers are read where they are.
    torch.save(source.state_dict(), folder / "pytorch_model.bin")
    model = load_model(folder, device="balanced", max_memory={"cpu": "20KB"})
    expected = score(load_model(checkpoint("Bert"), device="cpu"), MASKED).log_probability
    np.testing.assert_allclose(score(model, MASKED).log_probability, expected, atol=1e-4)
    assert any(path.is_file() for path in temporary.rglob("*"))
    del model
    gc.collect()
    assert not list(temporary.iterdir())


@needs_accelerate
def test_a_whole_probe_and_its_rerun(checkpoint: Checkpoint) -> None:
    words: dict[str, Any] = {"attributes": ["he", "she"], "tasks": ["nurse", "janitor", "baker"]}
    results = [
        lmprobe.probe(load_model(checkpoint("Bert"), device=device), "neutral", "labor", **words)
        for device in ("cpu", "balanced", "balanced")
    ]
    assert [result.provenance["device"] for result in results[1:]] == ["balanced"] * 2
    values = [result.row("labor", "T->A").value for result in results]
    assert values[1:] == pytest.approx(values[:-1], abs=1e-5)


def test_what_it_needs(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r'`max_memory` is for `device="balanced"`'):
        load_model(checkpoint("Bert"), device="cpu", max_memory={"cpu": "1GB"})
    with pytest.raises(InputError, match="how much each device may hold, such as"):
        load_model(checkpoint("Bert"), device="balanced", max_memory=5)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "accelerate", None)
    monkeypatch.setattr("lmprobe.models.load.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="pip install accelerate"):
        load_model(checkpoint("Bert"), device="balanced")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
@needs_accelerate
@pytest.mark.parametrize("architecture", ["Bert", "Llama"])
def test_over_a_gpu_memory_and_disk(
    architecture: str, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    folder = folder_of(architecture, checkpoint, tmp_path)
    clozes = MASKED if architecture == "Bert" else CLOZES
    expected = score(load_model(folder, device="cpu"), clozes).log_probability
    for memory in ({0: "30KB", "cpu": "20KB"}, {0: "30KB", "cpu": "1GB"}, None):
        model = load_model(folder, device="balanced", max_memory=memory)
        result = score(model, clozes).log_probability
        np.testing.assert_allclose(np.exp(result), np.exp(expected), atol=1e-5)
