"""Probing while a Trainer trains: logged by the Trainer, and the training is unchanged."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lmprobe.errors import InputError, LmprobeError
from tests.checkpoints import CORPUS, save_checkpoint

TASKS = ["nurse", "baker", "lawyer"]
NAME = "eval_lmprobe/labor/task_to_attribute"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # With dropout, so that a disturbed random state would show in the weights.
    place = tmp_path_factory.mktemp("trained")
    return save_checkpoint(place, "Bert", hidden_dropout_prob=0.2)


def train(
    folder: Path,
    output: Path,
    *,
    kind: str = "masked",
    peft: bool = False,
    arguments: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Any, Any]:
    """Train a few steps; with options, probe on the way. Return the Trainer and the callback."""
    import torch
    import transformers

    from lmprobe.integrations.transformers import ProbeCallback

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(0)
    chosen = {
        "max_steps": 4,
        "per_device_train_batch_size": 4,
        "eval_strategy": "steps",
        "eval_steps": 2,
        "save_strategy": "no",
        **(arguments or {}),
    }
    model = load(folder, kind)
    if peft:
        import peft as adapters

        model = adapters.get_peft_model(
            model, adapters.LoraConfig(target_modules=["c_attn"], fan_in_fan_out=True)
        )
    data = [tokenizer(sentence) for sentence in CORPUS]
    trainer = transformers.Trainer(
        model=model,
        args=transformers.TrainingArguments(
            output_dir=str(output),
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            seed=1,
            **chosen,  # type: ignore[arg-type]
        ),
        train_dataset=data,
        eval_dataset={"a": data[:4], "b": data[4:8]},
        data_collator=transformers.DataCollatorForLanguageModeling(
            tokenizer, mlm=kind == "masked", seed=2 if kind == "masked" else None
        ),
        processing_class=tokenizer,
    )
    callback = None
    if options:
        own = trainer if options.pop("attached", True) else None
        callback = ProbeCallback(own, tasks=TASKS, templates="neutral", **options)
        trainer.add_callback(callback)
    trainer.train()
    return trainer, callback


def load(folder: Path, kind: str) -> Any:
    import transformers

    if kind == "masked":
        return transformers.AutoModelForMaskedLM.from_pretrained(folder)
    return transformers.AutoModelForCausalLM.from_pretrained(folder)


def test_training_is_unchanged_and_the_trainer_logs(folder: Path, tmp_path: Path) -> None:
    import torch

    plain, _ = train(folder, tmp_path / "plain")
    probed, callback = train(folder, tmp_path / "probed", base="labor")
    assert probed.model.training == plain.model.training
    before, after = plain.model.state_dict(), probed.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert [step for step, _ in callback.results] == [2, 4]
    logged = [entry for entry in probed.state.log_history if NAME in entry]
    assert [entry["step"] for entry in logged] == [2, 4]
    row = callback.results[0][1].row("labor", "T->A")
    assert logged[0][NAME] == row.value
    assert logged[0][f"{NAME}/low"] == row.interval.low
    assert logged[0][f"{NAME}/high"] == row.interval.high
    assert logged[0][f"{NAME}/mass"] == pytest.approx(float(row.candidate_mass.mean()))


def test_every_so_many_steps_without_a_trainer(folder: Path, tmp_path: Path) -> None:
    trainer, callback = train(folder, tmp_path, attached=False, every=3)
    assert [step for step, _ in callback.results] == [3]
    assert [entry["step"] for entry in trainer.state.log_history if NAME in entry] == [3]


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import transformers

    from lmprobe import load_model

    place = tmp_path_factory.mktemp("causal")
    words = load_model("reference:causal-amplified").folder
    tokenizer = transformers.AutoTokenizer.from_pretrained(words)
    size = {"n_layer": 1, "n_embd": 16, "n_head": 2, "n_positions": 32, "resid_pdrop": 0.2}
    own = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = transformers.GPT2Config(vocab_size=len(tokenizer), **size, **own)
    transformers.GPT2LMHeadModel(config).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@pytest.mark.parametrize("peft", [False, True])
def test_causal_models_and_adapters_with_accumulated_gradients(
    causal: Path, tmp_path: Path, peft: bool
) -> None:
    import torch

    if peft:
        pytest.importorskip("peft", reason="the extra `peft` is not installed")
    chosen = {"kind": "causal", "peft": peft, "arguments": {"gradient_accumulation_steps": 2}}
    plain, _ = train(causal, tmp_path / "plain", **chosen)
    probed, callback = train(causal, tmp_path / "probed", base="labor", every=2, **chosen)
    assert callback.errors == []
    assert [step for step, _ in callback.results] == [2, 4]
    before, after = plain.model.state_dict(), probed.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_the_best_model_can_be_chosen_by_a_probe(folder: Path, tmp_path: Path) -> None:
    arguments = {
        "save_strategy": "steps",
        "save_steps": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": NAME,
        "greater_is_better": False,
    }
    trainer, callback = train(folder, tmp_path, base="labor", arguments=arguments)
    values = {step: result.row("labor", "T->A").value for step, result in callback.results}
    best = min(values, key=values.__getitem__)
    assert Path(trainer.state.best_model_checkpoint).name == f"checkpoint-{best}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"templates": "neutrl"}, "neutral"),
        ({"base": "labr"}, "labor"),
        ({"lean": "labr"}, "labor"),
        ({"tasks": ["nurs", "cook"]}, '"nurs"'),
        ({"confidence": "high"}, "confidence"),
    ],
)
def test_a_mistake_is_found_before_the_training(options: dict[str, Any], message: str) -> None:
    from lmprobe.integrations.transformers import ProbeCallback

    with pytest.raises(LmprobeError, match=message):
        ProbeCallback(**options)


def test_an_unknown_option_is_a_type_error() -> None:
    from lmprobe.integrations.transformers import ProbeCallback

    with pytest.raises(TypeError, match="unexpected keyword argument 'tempo'"):
        ProbeCallback(tempo=1)


def test_a_training_that_cannot_be_probed_does_not_begin(folder: Path, tmp_path: Path) -> None:
    from lmprobe.integrations.transformers import ProbeCallback

    callback = ProbeCallback(base="labor")
    with pytest.raises(InputError, match="needs the model's tokenizer"):
        callback.on_train_begin(None, None, None, model=None, processing_class=None)
    with pytest.raises(InputError, match="spread over processes"):
        callback.on_train_begin(SimpleNamespace(fsdp=["full_shard"]), None, None)


def test_a_probe_that_fails_does_not_end_the_training(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from lmprobe.integrations import transformers as integration

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("out of memory")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(integration, "probe", broken)
        trainer, callback = train(folder, tmp_path, base="labor")
    assert trainer.state.global_step == 4
    assert {(2, "out of memory"), (4, "out of memory")} == set(callback.errors)
    assert "no probe at step 2: out of memory" in caplog.text


@pytest.mark.parametrize("every", [0, -1, 2.5])
def test_a_wrong_number_of_steps_is_refused(every: Any) -> None:
    from lmprobe.integrations.transformers import ProbeCallback

    with pytest.raises(InputError, match="positive number of steps"):
        ProbeCallback(every=every)
