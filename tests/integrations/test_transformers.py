"""Probing while a Trainer trains: logged by the Trainer, and the training is unchanged."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers

from lmprobe import load_model
from lmprobe.errors import InputError, LmprobeError
from lmprobe.integrations.transformers import ProbeCallback
from tests.checkpoints import CORPUS, save_checkpoint

TASKS = ["nurse", "baker", "lawyer"]
NAME = "eval_lmprobe/labor/task_to_attribute"


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # With dropout, so that a disturbed random state would show in the weights.
    return save_checkpoint(tmp_path_factory.mktemp("masked"), "Bert", hidden_dropout_prob=0.2)


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("causal")
    words = load_model("reference:causal-amplified").folder
    tokenizer = transformers.AutoTokenizer.from_pretrained(words)
    size = {"n_layer": 1, "n_embd": 16, "n_head": 2, "n_positions": 32, "resid_pdrop": 0.2}
    own = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = transformers.GPT2Config(vocab_size=len(tokenizer), **size, **own)
    transformers.GPT2LMHeadModel(config).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


def train(folder: Path, output: Path, *, peft: bool = False, **options: Any) -> tuple[Any, Any]:
    """Train four steps; with options, probe on the way. Return the Trainer and the callback."""
    pytest.importorskip("accelerate", reason="a Trainer needs accelerate")
    masks = folder.name.startswith("masked")
    kind = transformers.AutoModelForMaskedLM if masks else transformers.AutoModelForCausalLM
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(0)
    model = kind.from_pretrained(folder)
    if peft:
        import peft as adapters

        model = adapters.get_peft_model(
            model, adapters.LoraConfig(target_modules=["c_attn"], fan_in_fan_out=True)
        )
    arguments = {"save_strategy": "no", "gradient_accumulation_steps": 1 if masks else 2}
    arguments |= options.pop("arguments", {})
    data = [tokenizer(sentence) for sentence in CORPUS]
    trainer = transformers.Trainer(
        model=model,
        args=transformers.TrainingArguments(
            output_dir=str(output), report_to=[], use_cpu=True, disable_tqdm=True, seed=1,
            max_steps=4, per_device_train_batch_size=4, eval_strategy="steps", eval_steps=2,
            **arguments,
        ),
        train_dataset=data,
        eval_dataset={"a": data[:4], "b": data[4:8]},
        data_collator=transformers.DataCollatorForLanguageModeling(
            tokenizer, mlm=masks, seed=2 if masks else None
        ),
        processing_class=tokenizer,
    )  # fmt: skip
    callback = None
    if options:
        own = trainer if options.pop("attached", True) else None
        callback = ProbeCallback(own, **{"tasks": TASKS, "templates": "neutral", **options})
        trainer.add_callback(callback)
    trainer.train()
    return trainer, callback


def same_weights(first: Any, other: Any) -> bool:
    before, after = first.model.state_dict(), other.model.state_dict()
    return all(torch.equal(before[name], after[name]) for name in before)


def test_training_is_unchanged_and_the_trainer_logs(masked: Path, tmp_path: Path) -> None:
    """Two datasets are evaluated with the same weights: that is one probe."""
    plain, _ = train(masked, tmp_path / "plain")
    probed, callback = train(masked, tmp_path / "probed", base="labor")
    assert probed.model.training == plain.model.training
    assert same_weights(plain, probed)
    assert [step for step, _ in callback.results] == [2, 4]
    logged = [entry for entry in probed.state.log_history if NAME in entry]
    assert [entry["step"] for entry in logged] == [2, 4]
    row = callback.results[0][1].row("labor", "T->A")
    ends = (row.interval.low, row.interval.high)
    assert logged[0][NAME] == row.value
    assert (logged[0][f"{NAME}/low"], logged[0][f"{NAME}/high"]) == ends
    assert logged[0][f"{NAME}/mass"] == pytest.approx(float(row.candidate_mass.mean()))


def test_every_so_many_steps_without_a_trainer(masked: Path, tmp_path: Path) -> None:
    trainer, callback = train(masked, tmp_path, attached=False, every=3)
    assert [step for step, _ in callback.results] == [3]
    assert [entry["step"] for entry in trainer.state.log_history if NAME in entry] == [3]


@pytest.mark.slow
@pytest.mark.parametrize("peft", [False, True])
def test_causal_models_and_adapters_with_accumulated_gradients(
    causal: Path, tmp_path: Path, peft: bool
) -> None:
    if peft:
        pytest.importorskip("peft", reason="the extra `peft` is not installed")
    plain, _ = train(causal, tmp_path / "plain", peft=peft)
    probed, callback = train(causal, tmp_path / "probed", peft=peft, base="labor", every=2)
    assert callback.errors == []
    assert [step for step, _ in callback.results] == [2, 4]
    assert same_weights(plain, probed)


@pytest.mark.slow
def test_the_best_model_can_be_chosen_by_a_probe(masked: Path, tmp_path: Path) -> None:
    best = {"metric_for_best_model": NAME, "greater_is_better": False}
    arguments = {"save_strategy": "steps", "save_steps": 2, "load_best_model_at_end": True, **best}
    trainer, callback = train(masked, tmp_path, base="labor", arguments=arguments)
    values = {step: result.row("labor", "T->A").value for step, result in callback.results}
    step = min(values, key=values.__getitem__)
    assert Path(trainer.state.best_model_checkpoint).name == f"checkpoint-{step}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"templates": "neutrl"}, "neutral"),
        ({"base": "labr"}, "labor"),
        ({"lean": "labr"}, "labor"),
        ({"tasks": ["nurs", "cook"]}, '"nurs"'),
        ({"confidence": "high"}, "confidence"),
        *(({"every": item}, "positive number of steps") for item in (0, -1, 2.5)),
    ],
)
def test_a_mistake_is_found_before_the_training(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LmprobeError, match=message):
        ProbeCallback(**options)
    with pytest.raises(TypeError, match="unexpected keyword argument 'tempo'"):
        ProbeCallback(tempo=1)


def test_a_training_that_cannot_be_probed_does_not_begin() -> None:
    callback = ProbeCallback(base="labor")
    with pytest.raises(InputError, match="needs the model's tokenizer"):
        callback.on_train_begin(None, None, None, model=None, processing_class=None)
    with pytest.raises(InputError, match="spread over processes"):
        callback.on_train_begin(SimpleNamespace(fsdp=["full_shard"]), None, None)


def test_a_probe_that_fails_does_not_end_the_training(
    masked: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A scorer of other models is found at the first probe only."""
    trainer, callback = train(masked, tmp_path, base="labor", scorer="sentence")
    assert trainer.state.global_step == 4
    assert {step for step, _ in callback.errors} == {2, 4}
    assert callback.results == []
    assert "no probe at step 2: " in caplog.text
