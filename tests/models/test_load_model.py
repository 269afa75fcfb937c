"""Every way in which a model cannot be loaded gives one clear error; loading asks no network."""

from __future__ import annotations

import json
import logging
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import huggingface_hub
import numpy as np
import pytest
import torch
import transformers

from lmprobe.errors import InputError, ModelError
from lmprobe.models import Cloze, load_model
from lmprobe.models.forward import quiet_transformers
from lmprobe.models.kind import kinds
from lmprobe.models.kinds.masked import MaskedModel
from lmprobe.models.language_model import TokenQuery
from lmprobe.models.scorers import score, scorers
from lmprobe.probing.probe import probe
from tests.checkpoints import checkpoint, trained_tokenizer

__all__ = ["checkpoint"]

Checkpoint = Callable[[str], Path]
SENTENCE = Cloze("She became a new nurse, people said.", 17, 22)


@pytest.fixture
def copied(checkpoint: Checkpoint, tmp_path: Path) -> Path:
    """A BERT checkpoint to damage."""
    return Path(shutil.copytree(checkpoint("Bert"), tmp_path / "model"))


def edit_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_the_hash_follows_what_decides_the_outputs(copied: Path) -> None:
    before = load_model(copied).content_hash
    (copied / "README.md").write_text("words")
    (copied / "truth.json").write_text("{}")
    assert load_model(copied).content_hash == before
    weights = bytearray((copied / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copied / "model.safetensors").write_bytes(weights)
    changed = load_model(copied).content_hash
    edit_json(copied / "config.json", layer_norm_eps=1e-6)
    assert len({before, changed, load_model(copied).content_hash}) == 3


def forbid_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> NoReturn:
        raise AssertionError("touched the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_a_folder_never_touches_the_network(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_sockets(monkeypatch)
    score(load_model(checkpoint("Bert")), [SENTENCE])
    score(load_model(checkpoint("XLMRoberta")), [SENTENCE])


@pytest.fixture
def hub(tmp_path: Path, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> str:
    """A hub cache with one model in it, offline and with sockets blocked; gives its commit."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "hub" / "models--org--tiny-bert"
    shutil.copytree(checkpoint("Bert"), repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    forbid_sockets(monkeypatch)
    return commit


def test_a_hub_model_in_the_cache_works_offline(hub: str, checkpoint: Checkpoint) -> None:
    model = load_model("org/tiny-bert")
    assert (model.name, model.revision, model.content_hash) == ("org/tiny-bert", hub, hub)
    expected = score(load_model(checkpoint("Bert")), [SENTENCE]).log_probability
    assert score(model, [SENTENCE]).log_probability == pytest.approx(expected)
    assert load_model("org/tiny-bert", revision="main").revision == hub


def test_offline_and_not_in_the_cache(hub: str) -> None:
    with pytest.raises(ModelError, match=r'no model "org/other".*HF_HUB_OFFLINE is set'):
        load_model("org/other")
    with pytest.raises(ModelError, match=r'"org/tiny-bert" at revision v2: .*HF_HUB_OFFLINE'):
        load_model("org/tiny-bert", revision="v2")


def test_the_hub_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **options: Any) -> NoReturn:
        raise ConnectionError("no route to host\nmore")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(ModelError, match=r"the hub said: no route to host\. Give a folder"):
        load_model("org/name")


def test_pickled_weights_are_fetched_only_where_there_are_no_others(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queried: list[list[str]] = []

    def fetch(name: str, *, allow_patterns: list[str], **options: Any) -> str:
        queried.append(allow_patterns)
        return str(copied)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    load_model("org/name")
    assert len(queried) == 1
    assert not [pattern for pattern in queried[0] if pattern.endswith(".bin")]


def test_a_tokenizer_of_the_hub_needs_no_weights(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = Path(shutil.copytree(copied, copied.parent / "fetched"))
    (fetched / "model.safetensors").unlink()
    queried: list[str] = []

    def fetch(name: str, *, allow_patterns: list[str], **options: Any) -> str:
        queried.extend(allow_patterns)
        if name == "org/none":
            raise ConnectionError("no route to host")
        return str(fetched)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    assert load_model(copied, tokenizer="org/name").tokenizer.mask_token_id is not None
    assert not [pattern for pattern in queried if pattern.endswith((".bin", ".safetensors"))]
    with pytest.raises(ModelError, match=r'^no tokenizer "org/none".* a folder with tokenizer,'):
        load_model(copied, tokenizer="org/none")


def test_pickled_weights_are_read_as_tensors_only(copied: Path, checkpoint: Checkpoint) -> None:
    from safetensors.torch import load_file

    torch.save(load_file(copied / "model.safetensors"), copied / "pytorch_model.bin")
    (copied / "model.safetensors").unlink()
    expected = score(load_model(checkpoint("Bert")), [SENTENCE]).log_probability
    assert score(load_model(copied), [SENTENCE]).log_probability == pytest.approx(expected)


class Payload:
    """What a hostile pickle holds: code that runs when it is read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path(self.target),))

    def __init__(self, target: Path) -> None:
        self.target = str(target)


def test_a_pickle_with_code_in_it_is_refused(copied: Path, tmp_path: Path) -> None:
    (copied / "model.safetensors").unlink()
    torch.save({"weight": Payload(tmp_path / "ran")}, copied / "pytorch_model.bin")
    with pytest.raises(ModelError, match="weights cannot be read"):
        score(load_model(copied), [SENTENCE])
    assert not (tmp_path / "ran").exists()


def test_code_that_comes_with_a_model_is_not_run(copied: Path, tmp_path: Path) -> None:
    (copied / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Config: pass\n")
    edit_json(copied / "config.json", model_type="own", auto_map={"AutoConfig": "own.Config"})
    with pytest.raises(ModelError, match=r"config\.json cannot be read"):
        load_model(copied)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./nowhere", "no such folder"),
        (Path("nowhere"), "no such folder"),
        ("reference:faithfull", r'no bundled model "reference:faithfull"; did you mean'),
        ("a name with spaces", "neither a folder here nor a hub id"),
        ("", "a model needs a name: a hub id"),
        ("openai:gpt-4o", "neither a folder here nor a hub id"),
        ("refrence:faithful", 'did you mean "reference:faithful"'),
        ("Reference:Amplified", 'did you mean "reference:amplified"'),
    ],
)
def test_names_that_mean_nothing(name: str | Path, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_model(name)


def test_a_bundled_model_is_a_folder_like_others() -> None:
    model = load_model("reference:faithful")
    assert (model.name, model.folder and model.folder.name) == ("reference:faithful", "faithful")
    assert load_model(model.folder).content_hash == model.content_hash


def test_folders_that_hold_no_model(copied: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is a file; a model is a hub id"):
        load_model(copied / "model.safetensors")
    with pytest.raises(ModelError, match="a revision belongs to a hub id"):
        load_model(copied, revision="main")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"no config\.json in"):
        load_model(tmp_path / "empty")
    (copied / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="no weights in"):
        load_model(copied)


def test_damaged_files(copied: Path) -> None:
    whole = (copied / "model.safetensors").read_bytes()
    (copied / "model.safetensors").write_bytes(whole[:-100])
    with pytest.raises(ModelError, match=r"model\.safetensors is damaged \(.*copy it again"):
        load_model(copied)
    (copied / "model.safetensors").write_bytes(whole)
    (copied / "config.json").write_text("{")
    with pytest.raises(ModelError, match=r"config\.json cannot be read"):
        load_model(copied)


def test_the_kind_is_what_the_configuration_says(copied: Path) -> None:
    assert load_model(copied).kind == "masked"
    edit_json(copied / "config.json", is_decoder=True)
    assert load_model(copied).kind == "causal"
    assert load_model(copied, kind="causal").kind == "causal"
    with pytest.raises(InputError, match='no kind called "mask"; did you mean "masked"'):
        load_model(copied, kind="mask")


def test_a_model_that_sees_the_answer_is_not_causal(copied: Path) -> None:
    """Without `is_decoder` BERT's class for causal models reads in both directions."""
    with pytest.raises(ModelError, match="reads in both directions"):
        load_model(copied, kind="causal")
    edit_json(copied / "config.json", architectures=["BertLMHeadModel"])
    with pytest.raises(ModelError, match="reads in both directions"):
        load_model(copied)


@pytest.mark.usefixtures("own_registries")
def test_a_new_kind_is_one_class() -> None:
    """What a kind can read, how it is scored and how it answers is in its class alone."""

    @kinds.register("uppercase")
    class Uppercase(MaskedModel):
        """A masked model that is chosen by name."""

        kind = "uppercase"
        default_scorer = sentence_scorer = "shout"

    @scorers.register("shout")
    class Shout(scorers.get("difference-l2r")):  # type: ignore[misc]
        """The default of masked models under another name."""

        kind = "uppercase"

    assert load_model("reference:faithful").kind == "masked"
    words: dict[str, Any] = {"tasks": ["nurse", "baker"], "cache": False}
    model = load_model("reference:faithful", kind="uppercase")
    assert isinstance(model, Uppercase)
    result = probe(model, "fitbert", "labor", **words)
    assert result.provenance["scorer"] == "shout"
    same = probe(load_model("reference:faithful"), "fitbert", "labor", **words)
    assert result.rows[0].value == same.rows[0].value
    assert result.perplexity is not None
    assert result.to_html()


@pytest.mark.parametrize(
    ("config", "kind", "message"),
    [
        (transformers.T5Config(), "auto", "is an encoder-decoder model"),
        (transformers.ViTConfig(), "auto", "is a vision model"),
        (transformers.GPT2Config(), "masked", "is a gpt2 model, which is not masked"),
        (transformers.DistilBertConfig(), "causal", "is a distilbert model, which is not causal"),
        (transformers.DPRConfig(), "auto", "neither fills masks nor continues text"),
    ],
    ids=lambda value: getattr(value, "model_type", None),
)
def test_models_that_cannot_be_probed(config: Any, kind: str, message: str, copied: Path) -> None:
    config.save_pretrained(copied)
    with pytest.raises(ModelError, match=message) as problem:
        load_model(copied, kind=kind)
    assert "\n" not in str(problem.value)


def test_an_address_is_no_tokenizer_and_the_hub_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forbid_sockets(monkeypatch)
    with pytest.raises(ModelError, match="neither a folder here nor a hub id"):
        load_model("reference:faithful", tokenizer="https://api.example.com/v1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_hidden_layers": 1}, r"has \d+ weights that its configuration does not use"),
        ({"num_hidden_layers": 3}, r"lacks \d+ weights"),
        ({"num_hidden_layers": -1}, "num_hidden_layers is -1 .* must be >= 1"),
        ({"num_hidden_layers": 10**6}, "at most 1000 are read"),
        ({"intermediate_size": 64}, "the weights cannot be read"),
    ],
)
def test_weights_that_do_not_fit_their_configuration(
    change: dict[str, int], message: str, copied: Path
) -> None:
    """A model with fewer layers than the file would answer, and answer something else."""
    edit_json(copied / "config.json", **change)
    with pytest.raises(ModelError, match=message):
        score(load_model(copied), [SENTENCE])


def test_heads_of_other_tasks_may_lie_beside(copied: Path, checkpoint: Checkpoint) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(copied / "model.safetensors")
    weights |= {"cls.seq_relationship.weight": torch.zeros(2, 16)}
    save_file(weights, copied / "model.safetensors", {"format": "pt"})
    expected = score(load_model(checkpoint("Bert")), [SENTENCE]).log_probability
    result = score(load_model(copied), [SENTENCE]).log_probability
    # The weights begin elsewhere in the file, and sums of unaligned numbers may differ in the end.
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_a_checkpoint_without_the_head(copied: Path) -> None:
    config = transformers.AutoConfig.from_pretrained(copied)
    with quiet_transformers():
        transformers.BertForSequenceClassification(config).save_pretrained(copied)
    with pytest.raises(ModelError, match=r"lacks \d+ weights .*BertForSequenceClassification"):
        score(load_model(copied), [SENTENCE])


def test_tokenizers_that_cannot_be_used(copied: Path) -> None:
    for path in copied.glob("*token*"):
        path.unlink()
    wanted = r"no tokenizer in .*, which holds config\.json, .*model\.safetensors.*`tokenizer`"
    with pytest.raises(ModelError, match=wanted):
        load_model(copied)
    with pytest.raises(ModelError, match="no tokenizer in"):
        load_model("reference:faithful", tokenizer=copied)
    backend = trained_tokenizer("RobertaTokenizer").backend_tokenizer
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend).save_pretrained(copied)
    with pytest.raises(ModelError, match="has no mask token"):
        load_model(copied)

    class Slow(transformers.PreTrainedTokenizerFast):
        is_fast = False

    slow = Slow(tokenizer_object=backend, mask_token="<mask>")
    with pytest.raises(ModelError, match=r"tokenizer \(Slow\) gives no character offsets"):
        load_model(copied, tokenizer=slow)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "float23"}, 'no dtype "float23"; did you mean "float32"'),
        ({"device": "gpu"}, 'no device "gpu"; use auto, cpu, cuda'),
        ({"batch_size": 0}, "`batch_size` must be"),
        ({"batch_size": "many"}, "`batch_size` must be"),
    ],
)
def test_bad_options(checkpoint: Checkpoint, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_model(checkpoint("Bert"), **options)


@pytest.mark.skipif(sys.platform == "darwin", reason="this machine may have MPS")
@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_devices_that_are_not_there(checkpoint: Checkpoint) -> None:
    with pytest.raises(ModelError, match="needs CUDA, which this machine lacks; use cpu"):
        load_model(checkpoint("Bert"), device="cuda:1")
    with pytest.raises(ModelError, match="needs a Mac"):
        load_model(checkpoint("Bert"), device="mps")


@pytest.mark.parametrize(("architecture", "limit"), [("Bert", 64), ("Roberta", 63), ("MPNet", 62)])
def test_a_sentence_that_is_too_long(architecture: str, limit: int, checkpoint: Checkpoint) -> None:
    """RoBERTa's and MPNet's positions begin after that of the padding token (here 0 and 1)."""
    model = load_model(checkpoint(architecture))
    first = len(model.encode([Cloze("nurse", 0, 5)])[0].pieces)
    fits = "nurse" + " nurse" * (limit - 2 - first)
    assert len(model.encode([Cloze(fits, 0, 5)])[0].ids) == limit
    score(model, [Cloze(fits, 0, 5)])
    message = f"reads at most {limit} tokens; a sentence has {limit + 1}: 'nurse nurse.*\\.\\.\\.'"
    with pytest.raises(ModelError, match=message):
        model.encode([SENTENCE, Cloze(fits + " nurse", 0, 5)])


def test_a_class_that_serves_both_kinds_fills_masks(tmp_path: Path) -> None:
    """XLM has one class for masked and causal models; its configuration says which it is."""
    tokenizer = trained_tokenizer("BertTokenizer")
    config = transformers.XLMConfig(
        vocab_size=len(tokenizer),
        emb_dim=16,
        n_layers=1,
        n_heads=2,
        pad_index=tokenizer.pad_token_id,
        mask_index=tokenizer.mask_token_id,
    )
    with quiet_transformers():
        transformers.XLMWithLMHeadModel(config).save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)
    model = load_model(tmp_path)
    assert model.kind == "masked"
    ids = tokenizer("she is a new [MASK].")["input_ids"]
    place, token = ids.index(tokenizer.mask_token_id), tokenizer.convert_tokens_to_ids("nurse")
    with torch.no_grad():
        logits = model.network.eval()(torch.tensor([ids])).logits[0, place]
    assert model.log_probabilities([TokenQuery(tuple(ids), place, token)]) == pytest.approx(
        float(logits.double().log_softmax(-1)[token]), abs=1e-5
    )


def test_loading_leaves_the_log_as_it_was(
    checkpoint: Checkpoint, capfd: pytest.CaptureFixture[str]
) -> None:
    library = logging.getLogger("transformers")
    before = library.level, transformers.utils.logging.is_progress_bar_enabled()
    score(load_model(checkpoint("Electra")), [SENTENCE])
    assert (library.level, transformers.utils.logging.is_progress_bar_enabled()) == before
    assert capfd.readouterr() == ("", "")
