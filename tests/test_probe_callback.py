"""Probing while a Trainer trains: logged by the Trainer, and the training is unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checkpoints import CORPUS, save_checkpoint

from lmprobe.errors import InputError

TASKS = ["nurse", "baker", "lawyer"]
NAME = "eval_lmprobe/labor/task_to_attribute"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # With dropout, so that a disturbed random state would show in the weights.
    place = tmp_path_factory.mktemp("trained")
    return save_checkpoint(place, "Bert", hidden_dropout_prob=0.2)


def train(folder: Path, output: Path, **options: Any) -> tuple[Any, Any]:
    """Train a few steps; with options, probe on the way. Return the Trainer and the callback."""
    import torch
    import transformers

    from lmprobe.integrations.transformers import ProbeCallback

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(0)
    arguments = transformers.TrainingArguments(
        output_dir=str(output),
        max_steps=4,
        per_device_train_batch_size=4,
        eval_strategy="steps",
        eval_steps=2,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
        seed=1,
    )
    data = [tokenizer(sentence) for sentence in CORPUS]
    trainer = transformers.Trainer(
        model=transformers.AutoModelForMaskedLM.from_pretrained(folder),
        args=arguments,
        train_dataset=data,
        eval_dataset=data[:4],
        data_collator=transformers.DataCollatorForLanguageModeling(tokenizer, seed=2),
        processing_class=tokenizer,
    )
    callback = None
    if options:
        own = trainer if options.pop("attached", True) else None
        callback = ProbeCallback(own, tasks=TASKS, templates="neutral", **options)
        trainer.add_callback(callback)
    trainer.train()
    return trainer, callback


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


@pytest.mark.parametrize("every", [0, -1, 2.5])
def test_a_wrong_number_of_steps_is_refused(every: Any) -> None:
    from lmprobe.integrations.transformers import ProbeCallback

    with pytest.raises(InputError, match="positive number of steps"):
        ProbeCallback(every=every)
