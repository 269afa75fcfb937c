"""Models in memory, pipelines, adapters, other tokenizers; GGUF files."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from typer.testing import CliRunner

import lmprobe
from lmprobe.cli.main import app
from lmprobe.errors import InputError, MissingExtraError, ModelError
from lmprobe.models import Cloze, load_model
from lmprobe.models.forward import quiet_transformers
from lmprobe.models.scorers import score
from lmprobe.probing.settings import run_again
from tests.checkpoints import checkpoint, own_cache, trained_tokenizer

__all__ = ["checkpoint", "own_cache"]

Checkpoint = Callable[[str], Path]
SENTENCES = [Cloze("She became a new nurse, people said.", 17, 22), Cloze("He worked.", 0, 2)]


def parts(folder: Path) -> tuple[Any, Any]:
    with quiet_transformers():
        return (
            transformers.AutoModelForMaskedLM.from_pretrained(folder),
            transformers.AutoTokenizer.from_pretrained(folder),
        )


def answers(model: Any) -> np.ndarray:
    return score(model, SENTENCES).log_probability


def test_a_model_in_memory_answers_as_its_folder_does(checkpoint: Checkpoint) -> None:
    network, tokenizer = parts(checkpoint("Bert"))
    model = load_model(network, tokenizer=tokenizer)
    assert (model.kind, model.device, model.dtype) == ("masked", "cpu", "float32")
    assert model.name.endswith("(in memory)")
    assert model.folder is None
    np.testing.assert_array_equal(answers(model), answers(load_model(checkpoint("Bert"))))


def test_a_model_in_training_is_left_as_it_was(checkpoint: Checkpoint) -> None:
    network, tokenizer = parts(checkpoint("Bert"))
    network.train()
    network.bert.embeddings.eval()
    modes = [module.training for module in network.modules()]
    state = torch.random.get_rng_state()
    model = load_model(network, tokenizer=tokenizer)
    np.testing.assert_array_equal(answers(model), answers(load_model(checkpoint("Bert"))))
    assert [module.training for module in network.modules()] == modes
    assert torch.equal(torch.random.get_rng_state(), state)
    with pytest.raises(ModelError):
        score(model, [Cloze("Ж", 0, 1)])
    assert [module.training for module in network.modules()] == modes


def test_the_hash_follows_the_weights(checkpoint: Checkpoint) -> None:
    network, tokenizer = parts(checkpoint("Bert"))
    before = load_model(network, tokenizer=tokenizer).content_hash
    assert load_model(network, tokenizer=tokenizer).content_hash == before
    with torch.no_grad():
        network.bert.embeddings.word_embeddings.weight[5, 5] += 1
    assert load_model(network, tokenizer=tokenizer).content_hash != before


def test_probe_takes_a_model_and_its_tokenizer(checkpoint: Checkpoint) -> None:
    network, tokenizer = parts(checkpoint("Bert"))
    result = lmprobe.probe(
        network, "neutral", "uniform", tokenizer=tokenizer, tasks=["nurse", "baker", "lawyer"]
    )
    assert result.provenance["model"].endswith("(in memory)")
    assert result.provenance["revision"] is None
    again = lmprobe.probe(
        checkpoint("Bert"), "neutral", "uniform", tasks=["nurse", "baker", "lawyer"]
    )
    assert [row.value for row in result.rows] == [row.value for row in again.rows]
    assert result.provenance["loading"]["place"] == "memory"
    assert run_again(result).startswith("lmprobe run FOLDER-OF-THE-MODEL --templates neutral")


def test_a_pipeline_brings_both(checkpoint: Checkpoint) -> None:
    with quiet_transformers():
        fill = transformers.pipeline("fill-mask", model=str(checkpoint("Bert")), device="cpu")
    np.testing.assert_array_equal(
        answers(load_model(fill)), answers(load_model(checkpoint("Bert")))
    )


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (object(), {}, "found object, which gives no probabilities"),
        (torch.nn.Linear(2, 2), {}, "found Linear"),
        (None, {"revision": "main"}, "a revision belongs to a hub id"),
    ],
)
def test_objects_that_are_no_model(model: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_model(model, **options)


def test_what_a_model_in_memory_needs(checkpoint: Checkpoint) -> None:
    network, tokenizer = parts(checkpoint("Bert"))
    with pytest.raises(InputError, match="needs its tokenizer"):
        load_model(network)
    with pytest.raises(InputError, match=r"has the dtype float32 .*model\.to\(torch\.bfloat16\)"):
        load_model(network, tokenizer=tokenizer, dtype="bfloat16")


def adapted(network: Any) -> Any:
    peft = pytest.importorskip("peft")

    torch.manual_seed(3)
    config = peft.LoraConfig(r=2, target_modules=["query"], init_lora_weights=False)
    return peft.get_peft_model(network, config)


def test_a_peft_model_and_its_folder(checkpoint: Checkpoint, tmp_path: Path) -> None:
    network, tokenizer = parts(checkpoint("Bert"))
    wrapped = adapted(network)
    result = load_model(wrapped, tokenizer=tokenizer)
    values = answers(result)
    assert np.abs(values - answers(load_model(checkpoint("Bert")))).max() > 1e-3
    with wrapped.disable_adapter():
        plain = answers(load_model(wrapped, tokenizer=tokenizer))
    np.testing.assert_allclose(plain, answers(load_model(checkpoint("Bert"))), atol=1e-4)
    wrapped.save_pretrained(tmp_path / "adapter")
    opened = load_model(tmp_path / "adapter")
    assert opened.kind == "masked"
    np.testing.assert_allclose(answers(opened), values, atol=1e-4)
    assert opened.content_hash != load_model(checkpoint("Bert")).content_hash


def test_an_adapter_without_its_base_says_how(checkpoint: Checkpoint, tmp_path: Path) -> None:
    adapted(parts(checkpoint("Bert"))[0]).save_pretrained(tmp_path)
    path = tmp_path / "adapter_config.json"
    described = json.loads(path.read_text())
    for base, message in (("org/base", "is an adapter of org/base"), (None, "does not name")):
        path.write_text(json.dumps({**described, "base_model_name_or_path": base}))
        with pytest.raises(ModelError, match=message):
            load_model(tmp_path)


def without_tokenizer(folder: Path, copy: Path) -> Path:
    return Path(shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*token*")))


def test_another_tokenizer(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """A checkpoint whose own tokenizer is missing, with one from a folder or made by hand."""
    bare = without_tokenizer(checkpoint("Bert"), tmp_path / "bare")
    tokenizer = trained_tokenizer("BertTokenizer")
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    expected = answers(load_model(checkpoint("Bert")))
    hashes = set()
    for given in (tmp_path / "tokenizer", str(tmp_path / "tokenizer"), tokenizer):
        model = load_model(bare, tokenizer=given)
        hashes.add(model.content_hash)
        np.testing.assert_array_equal(answers(model), expected)
    assert len(hashes) == 2, "the same files, and the object made from them"
    with pytest.raises(ModelError, match="a tokenizer is a folder or a hub id"):
        load_model(bare, tokenizer=tmp_path / "nowhere")


def test_the_command_that_runs_again_repeats_kind_and_tokenizer(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    """The command itself is run: BERT as a causal model, with the tokenizer of another folder."""
    bare = without_tokenizer(checkpoint("Bert"), tmp_path / "bare")
    with quiet_transformers():
        config = transformers.AutoConfig.from_pretrained(bare, is_decoder=True)
        transformers.BertLMHeadModel(config).save_pretrained(bare)
    model = load_model(bare, kind="causal", tokenizer=checkpoint("Bert"))
    result = lmprobe.probe(model, "neutral", "uniform", tasks=["nurse", "baker", "lawyer"])
    command = shlex.split(run_again(result))
    assert command[-4:] == ["--kind", "causal", "--tokenizer", str(checkpoint("Bert"))]
    printed = CliRunner().invoke(app, [*command[1:], "--json", "--quiet"], catch_exceptions=False)
    again = json.loads(printed.stdout)
    assert again["provenance"]["content_hash"] == result.provenance["content_hash"]
    assert [row["value"] for row in again["rows"]] == [row.value for row in result.rows]


def test_gguf_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"not one")
    with pytest.raises(ModelError, match=r"is no GGUF file: it begins with b'not '"):
        load_model(path)
    path.write_bytes(b"GGUF" + bytes(20))
    pytest.importorskip("gguf", reason="the extra `gguf` is not installed")
    with pytest.raises(ModelError, match=r"model\.gguf cannot be read"):
        load_model(path)
    with pytest.raises(ModelError, match="a revision belongs to a hub id"):
        load_model(path, revision="main")
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(MissingExtraError, match=r"needs gguf: pip install gguf"):
        load_model(path)
