"""Loads a model by name, path or object, or says in one line why it cannot be probed.

The weights of a checkpoint are read when they are first needed: a model that answered before
need not be opened for answers that are in the cache.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, get_args

from lmprobe.errors import Argument, InputError, MissingExtraError, ModelError, did_you_mean, plural
from lmprobe.metrics.direction import Dtype
from lmprobe.models.cache import ModelRecord, read_record, record_key
from lmprobe.models.checkpoint import Checkpoint, check_vocabulary, find_checkpoint, find_tokenizer
from lmprobe.models.forward import BALANCED, first_line, quiet_transformers, resolve_device
from lmprobe.models.kind import AUTO, TransformersModel, kind_of, kinds
from lmprobe.models.kinds.recorded import RECORDED, RecordedModel
from lmprobe.models.kinds.served import SERVED, ServedModel
from lmprobe.models.language_model import LanguageModel, Origin
from lmprobe.models.server import is_url, server_address
from lmprobe.templates.items import is_item_table

_LOCAL = {"local_files_only": True, "trust_remote_code": False}
_LAYER = re.compile(r"\.\d+(?=\.)")


def load_model(
    model: Any,
    *,
    kind: str = "auto",
    tokenizer: Any = None,
    device: str = "auto",
    dtype: str = "float32",
    batch_size: int | str = "auto",
    revision: str | None = None,
    chat: str | Sequence[str] | None = None,
    system: str | None = None,
    max_memory: Mapping[int | str, int | str] | None = None,
    values: str | None = None,
    served_model: str | None = None,
    bos: str | None = None,
) -> TransformersModel | RecordedModel:
    """Return a model that can be probed.

    Parameters
    ----------
    model
        A bundled model ("reference:faithful"), a folder, a GGUF file, an id on the Hugging
        Face hub, or the URL of a server such as vLLM's (only these two use the network); or a
        model, a PEFT model or a pipeline of transformers in memory, which is not changed; or the
        table of answers that a model gave elsewhere (CSV, Parquet, JSON Lines, a DataFrame).
    kind
        "masked", "causal" or that of a plug-in; "auto" is what its configuration says, "served"
        for a URL and "recorded" for a table.
    tokenizer
        The tokenizer of a model in memory; for others a folder, a hub id or an object, if that
        of the checkpoint is missing or wrong.
    device
        "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1" or "mps"; "balanced" spreads a
        model that is larger than one device over all GPUs, then memory and disk.
    dtype
        "float32", "float64", "bfloat16" or "float16".
    batch_size
        A number of sentences, or "auto": as many as fit into memory; of a server 16
        requests.
    revision
        Branch, tag or commit of a hub id.
    chat, system
        Turns of the user, and the text of a system turn before them, that stand before the
        sentences of every probe that gives none; see `probe`.
    max_memory
        With `device="balanced"`: the most that each device may hold, as accelerate takes it,
        such as {0: "20GiB", "cpu": "60GiB"}; by default what is free.
    values
        What the numbers of an answer table are: "log-probability", "sentence-log-likelihood",
        "probability" or "count"; by default what the TOML beside it says, else the first.
    served_model
        Which of the models of a server, if it has several; `URL#NAME` says the same.
    bos
        The beginning-of-text token as it is written, if a server puts none before a text.
    """
    choices = dict(locals())
    if dtype not in get_args(Dtype):
        raise InputError(f'no dtype "{dtype}"; {did_you_mean(dtype, get_args(Dtype))}')
    if kind != AUTO:
        kinds.get(kind)
    evident, own = evident_kind(model, kind), own_choices(model, choices)
    for name, default in (load_model.__kwdefaults__ or {}).items():
        if name not in own and choices[name] != default:
            wanted = " or ".join(_WHAT_IS[each] for each in _CHOICES[name])
            raise InputError(Argument(name), f" is for {wanted}; this is {_WHAT_IS[evident]}")
    if max_memory is not None and device != BALANCED:
        raise InputError(Argument("max_memory"), " is for ", Argument("device", BALANCED))
    if not isinstance(max_memory, Mapping | None):
        raise InputError(
            Argument("max_memory"), f' says how much each device may hold, such as {{0: "20GB", '
            f'"cpu": "60GB"}}; found {max_memory!r}'
        )  # fmt: skip
    if evident == RECORDED:
        return RecordedModel(model, values=values)
    if device == BALANCED:
        _need(("accelerate",), 'the device "balanced" spreads a model over devices')
    loaded: Any
    if evident == SERVED:
        if kind not in (AUTO, SERVED):
            raise ModelError(f'this is a server, whose models are "{SERVED}", not {kind}')
        loaded = ServedModel(model, served_model=served_model, bos=bos, batch_size=batch_size)
    else:
        weights: OpenableWeights
        if isinstance(model, str | Path):
            checkpoint = find_checkpoint(model, revision=revision)
            weights = _from_checkpoint(checkpoint, kind, tokenizer, device, dtype)
            weights.max_memory = max_memory
        elif revision is not None:
            raise ModelError("a revision belongs to a hub id; this model is in memory")
        else:
            weights = _from_memory(model, kind, tokenizer, device, dtype)
        made: Any = kinds.get(weights.kind)
        loaded = made(weights, batch_size=batch_size)
    loaded.chat, loaded.system = [chat] if isinstance(chat, str) else chat, system
    answering: TransformersModel = loaded
    return answering


_LOADED = ""
"""Instead of a kind: of a model that lmprobe loads, its configuration says it."""

# The choices that only models of some kinds have.
_CHOICES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("tokenizer", "device", "dtype", "revision", "max_memory"), (_LOADED,)),
    **dict.fromkeys(("chat", "system", "batch_size"), (_LOADED, SERVED)),
    **dict.fromkeys(("served_model", "bos"), (SERVED,)),
    "values": (RECORDED,),
}
_WHAT_IS = {
    _LOADED: "a model that lmprobe loads",
    SERVED: "the URL of a server",
    RECORDED: "a table of answers",
}


def evident_kind(model: Any, kind: str = AUTO) -> str:
    """Return "served" for a URL and "recorded" for a table of answers, else ""."""
    if is_url(model):
        server_address(model)
        return SERVED
    return RECORDED if kind == RECORDED or (kind == AUTO and is_item_table(model)) else _LOADED


def own_choices(model: Any, choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the choices of `load_model` that there are for such a model."""
    kind = evident_kind(model, choices["kind"])
    return {name: value for name, value in choices.items() if kind in _CHOICES.get(name, (kind,))}


def as_model(model: Any, **options: Any) -> LanguageModel:
    """Return a model as it is if it can answer queries, else load it with the options."""
    if callable(getattr(model, "log_probabilities", None)):
        answering: LanguageModel = model
        return answering
    return load_model(model, **options)


def find_kind(model: Any, *, kind: str = "auto", revision: str | None = None) -> str:
    """Return the kind of a model; of a hub id only the configuration is fetched."""
    if evident := evident_kind(model, kind):
        return evident
    if not isinstance(model, str | Path):
        return as_model(model, kind=kind).kind
    checkpoint = find_checkpoint(model, revision=revision, weights=False)
    return kind_of(checkpoint.name, open_config(checkpoint), kind)


def _from_checkpoint(
    checkpoint: Checkpoint, kind: str, tokenizer: Any, device: str, dtype: str
) -> CheckpointWeights:
    """Return the weights, unopened if the model answered before."""
    files = _tokenizer_files(checkpoint, tokenizer)
    content_hash = files.content_hash or checkpoint.content_hash
    key = record_key(content_hash, kind, device)
    record = read_record(key)
    opened: dict[str, Any] = {}
    if record is None:
        config = open_config(checkpoint)
        fitting = kind_of(checkpoint.name, config, kind)
        opened = {"config": config, "tokenizer": files.open(fitting)}
        name = type(opened["tokenizer"]).__name__
        where = device if device == BALANCED else resolve_device(device)
        record = ModelRecord(fitting, name, where)
    weights = CheckpointWeights(
        name=checkpoint.name,
        kind=record.kind,
        origin=Origin(checkpoint.place, kind, _name_of(tokenizer)),
        content_hash=content_hash,
        device=record.device,
        dtype=dtype,
        tokenizer_name=record.tokenizer_name,
        revision=checkpoint.revision,
        folder=checkpoint.folder,
        record=(key, record),
        checkpoint=checkpoint,
        tokenizer_files=files,
    )
    vars(weights).update(opened)
    return weights


def _tokenizer_files(checkpoint: Checkpoint, tokenizer: Any) -> TokenizerFiles:
    if tokenizer is None:
        source = checkpoint
        if checkpoint.base is not None and not list(checkpoint.folder.glob("tokenizer*")):
            source = checkpoint.base
        return TokenizerFiles(checkpoint.name, source.folder, gguf=source.gguf)
    folder, in_memory = checkpoint.folder, None
    if isinstance(tokenizer, str | Path):
        folder, digest = find_tokenizer(tokenizer)
    else:
        in_memory = tokenizer
        digest = hashlib.sha256(tokenizer_text(tokenizer).encode()).hexdigest()
    both = hashlib.sha256(f"{checkpoint.content_hash} {digest}".encode()).hexdigest()
    return TokenizerFiles(checkpoint.name, folder, content_hash=both, in_memory=in_memory)


def _name_of(tokenizer: Any) -> str | None:
    return str(tokenizer) if isinstance(tokenizer, str | Path) else None


def _from_memory(model: Any, kind: str, tokenizer: Any, device: str, dtype: str) -> MemoryWeights:
    origin = Origin("memory", kind, _name_of(tokenizer))
    if isinstance(tokenizer, str | Path):
        folder, _ = find_tokenizer(tokenizer)
        tokenizer = TokenizerFiles(str(tokenizer), folder).open()
    network, tokenizer = model_and_tokenizer(model, tokenizer)
    inner = network.get_base_model() if hasattr(network, "get_base_model") else network
    classes = [type(network).__name__, type(inner).__name__]
    kind = kind_of(classes[-1], network.config, kind, classes)
    own_dtype = str(network.dtype).removeprefix("torch.")
    if dtype not in ("float32", own_dtype):
        raise InputError(
            f"the model in memory has the dtype {own_dtype} and is probed as it is; convert "
            f"it before, as in model.to(torch.{dtype})"
        )
    name = getattr(network, "name_or_path", "") or getattr(network.config, "_name_or_path", "")
    name = f"{name or classes[-1]} (in memory)"
    return MemoryWeights(
        name=name,
        kind=kind,
        origin=origin,
        content_hash=_content_hash(network, tokenizer),
        device=_device_in_memory(network, device),
        dtype=own_dtype,
        tokenizer_name=type(tokenizer).__name__,
        network=network,
        tokenizer=checked_tokenizer(name, tokenizer, kind),
    )


def _device_in_memory(network: Any, device: str) -> str:
    """Return the device that a model in memory is run on."""
    places = set((getattr(network, "hf_device_map", None) or {}).values())
    spread = len(places) > 1 or "disk" in places
    if spread and device in (AUTO, BALANCED):
        return BALANCED
    if spread or device == BALANCED:
        map_is = "has a device map" if spread else "has no device map"
        raise InputError(
            f"the model in memory {map_is} and is probed as it is; leave out ",
            Argument("device"),
            ', or load it with `load_model("...", device="balanced")`',
        )
    return str(network.device) if device == AUTO else resolve_device(device)


@dataclass(eq=False, kw_only=True)
class Weights:
    """What is known of a model without opening it, and the network, tokenizer and config."""

    name: str
    kind: str
    origin: Origin
    content_hash: str
    device: str
    dtype: str
    tokenizer_name: str
    revision: str | None = None
    folder: Path | None = None
    """That of the checkpoint."""
    record: tuple[str, ModelRecord] | None = None
    """To store beside the answers, so that the next run need not open the model."""


@dataclass(eq=False, kw_only=True)
class CheckpointWeights(Weights):
    """A folder or a GGUF file; the weights are read when the network is first asked for."""

    checkpoint: Checkpoint
    tokenizer_files: TokenizerFiles
    max_memory: Mapping[int | str, int | str] | None = None
    """The most that each device may hold of a model that is spread over several."""

    @cached_property
    def _offload_folder(self) -> str:
        """The folder of layers for which there is no memory; removed with this object."""
        folder = mkdtemp(prefix="lmprobe-layers-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer, read from the checkpoint or from where the user said."""
        return self.tokenizer_files.open(self.kind)

    @cached_property
    def config(self) -> Any:
        """The configuration."""
        return open_config(self.checkpoint)

    @contextmanager
    def running(self) -> Iterator[Any]:
        """Give the network; only this object has it, so there is nothing to restore."""
        yield self.network

    @cached_property
    def network(self) -> Any:
        """The torch module, in evaluation mode on its device."""
        network = self._load(self.checkpoint.base or self.checkpoint)
        if self.checkpoint.base is not None:
            network = _with_adapter(network, self.checkpoint)
        network = network.eval()
        return network if self.device == BALANCED else network.to(self.device)

    def _load(self, checkpoint: Checkpoint) -> Any:
        import torch
        import transformers

        made: Any = kinds.get(self.kind)
        auto = getattr(transformers, made.auto_class)
        options: dict[str, Any] = {"config": self.config}
        if checkpoint.gguf:
            options = {"gguf_file": checkpoint.gguf}
        if self.device == BALANCED:
            options |= {"device_map": "auto", "offload_folder": self._offload_folder}
            options["max_memory"] = None if self.max_memory is None else dict(self.max_memory)
        with _reading(f"{self.name}: the weights cannot be read"):
            network, report = auto.from_pretrained(
                checkpoint.folder,
                dtype=getattr(torch, self.dtype),
                weights_only=True,
                output_loading_info=True,
                **_LOCAL,
                **options,
            )
        _check_report(self.name, network, report)
        return network


def _check_report(name: str, network: Any, report: dict[str, Any]) -> None:
    """Raise if the model lacks weights, or the file has layers that the model does not use."""
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelError(
            f"{name}: the checkpoint lacks {plural(len(missing), 'weight')} of a language model, "
            f"such as {missing[0]}; random ones would answer. It was saved for another purpose "
            f"({', '.join(network.config.architectures or ['unknown'])})"
        )
    layers = {_LAYER.sub(".*", key) for key in network.state_dict()}
    # Heads of other tasks may lie beside; another layer of the same kind may not.
    unused = sorted(key for key in report["unexpected_keys"] if _LAYER.sub(".*", key) in layers)
    if unused:
        raise ModelError(
            f"{name}: the file has {plural(len(unused), 'weight')} that its configuration does not "
            f"use, such as {unused[0]}: another number of layers. Weights and config.json do not "
            "belong together"
        )


def open_config(checkpoint: Checkpoint) -> Any:
    """Read the configuration of a checkpoint, or of the model that an adapter belongs to."""
    from transformers import AutoConfig

    if checkpoint.base is not None:
        return open_config(checkpoint.base)
    if checkpoint.gguf is not None:
        _need(("gguf", "accelerate"), f"{checkpoint.name} is a GGUF file")
    options = {"gguf_file": checkpoint.gguf} if checkpoint.gguf else {}
    with _reading(f"{checkpoint.name}: {checkpoint.gguf or 'config.json'} cannot be read"):
        return AutoConfig.from_pretrained(checkpoint.folder, **_LOCAL, **options)


def _with_adapter(network: Any, checkpoint: Checkpoint) -> Any:
    _need(("peft",), f"{checkpoint.name} is an adapter")
    from peft import PeftModel

    with _reading(f"{checkpoint.name}: the adapter cannot be put on {network.name_or_path}"):
        return PeftModel.from_pretrained(network, str(checkpoint.folder))


@contextmanager
def _reading(problem_text: str) -> Iterator[None]:
    """Silence transformers, and say in one line why a file cannot be read."""
    try:
        with quiet_transformers():
            yield
    # Not JSON, an unknown model type, a missing library: whatever a damaged or foreign file
    # makes transformers raise, it is the file.
    except Exception as problem:
        raise ModelError(f"{problem_text}: {first_line(problem)}") from problem


def _need(modules: tuple[str, ...], why: str) -> None:
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise MissingExtraError(
            f"{why}, which needs {' and '.join(missing)}: pip install {' '.join(missing)}"
        )


@dataclass(frozen=True, slots=True)
class TokenizerFiles:
    """Where a tokenizer is read from; `content_hash` is set if it is not the model's own."""

    name: str
    """The model, for messages."""
    folder: Path
    gguf: str | None = None
    content_hash: str | None = None
    in_memory: Any = None

    def open(self, kind: str | None = None) -> Any:
        """Read the tokenizer and check that it can do what is needed of it."""
        from transformers import AutoTokenizer

        if self.in_memory is not None:
            return checked_tokenizer(self.name, self.in_memory, kind)
        if self.gguf is None:
            check_vocabulary(self.name, self.folder)
        options = {"gguf_file": self.gguf} if self.gguf else {}
        with _reading(f"{self.name}: the tokenizer cannot be loaded"):
            tokenizer = AutoTokenizer.from_pretrained(self.folder, **_LOCAL, **options)
        return checked_tokenizer(self.name, tokenizer, kind)


def checked_tokenizer(name: str, tokenizer: Any, kind: str | None = None) -> Any:
    """Return the tokenizer, or raise if words cannot be found, or masked where the kind does."""
    if kind is not None and kinds.get(kind).masks and tokenizer.mask_token_id is None:
        raise ModelError(
            f"{name}: its tokenizer has no mask token, so there is nothing to fill; "
            "give the right one (",
            Argument("tokenizer"),
            ")",
        )
    if not tokenizer.is_fast:
        raise ModelError(
            f"{name}: its tokenizer ({type(tokenizer).__name__}) gives no character offsets, so "
            "the pieces of a word cannot be found; a tokenizer.json would do"
        )
    return tokenizer


def tokenizer_text(tokenizer: Any) -> str:
    """Return a text that is the same for tokenizers that do the same."""
    if not hasattr(tokenizer, "special_tokens_map"):
        raise ModelError(
            Argument("tokenizer"),
            f" must be a tokenizer of transformers, a folder or a hub id: found {tokenizer!r}",
        )
    backend = getattr(tokenizer, "backend_tokenizer", None)
    inside = repr(tokenizer) if backend is None else backend.to_str()
    return f"{inside} {json.dumps(tokenizer.special_tokens_map, sort_keys=True, default=str)}"


@dataclass(eq=False, kw_only=True)
class MemoryWeights(Weights):
    """A torch module of transformers with its tokenizer; mode and device are restored."""

    network: Any
    tokenizer: Any

    @property
    def config(self) -> Any:
        """The configuration."""
        return self.network.config

    @contextmanager
    def running(self) -> Iterator[Any]:
        """Give the network on its device in evaluation mode, and restore both afterwards."""
        modes = {module: module.training for module in self.network.modules()}
        before = str(self.network.device)
        moved = self.device not in (BALANCED, before)
        try:
            self.network.eval()
            if moved:
                self.network.to(self.device)
            yield self.network
        finally:
            if moved:
                self.network.to(before)
            for module, mode in modes.items():
                module.training = mode


def model_and_tokenizer(model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """Return the torch module and the tokenizer of an object: a model, or a pipeline of both."""
    import torch

    inner = getattr(model, "model", None)
    if not isinstance(model, torch.nn.Module) and isinstance(inner, torch.nn.Module):
        tokenizer = getattr(model, "tokenizer", None) if tokenizer is None else tokenizer
        model = inner
    if not isinstance(model, torch.nn.Module) or not hasattr(model, "config"):
        raise ModelError(
            f"a model is a hub id, a folder, a .gguf file, or a model or pipeline of transformers; "
            f"found {type(model).__name__}, which gives no probabilities of a sentence"
        )
    if not callable(getattr(tokenizer, "convert_ids_to_tokens", None)):
        raise InputError(
            "a model in memory needs its tokenizer (",
            Argument("tokenizer"),
            f"), found {type(tokenizer).__name__}",
        )
    return model, tokenizer


def _content_hash(network: Any, tokenizer: Any) -> str:
    """Return the hash of weights, configuration, tokenizer and active adapters."""
    import torch

    whole = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        flat = _tensor(network, name, tensor).cpu().contiguous()
        whole.update(f"{name} {flat.dtype} {tuple(flat.shape)}\n".encode())
        whole.update(flat.reshape(-1).view(torch.uint8).numpy().tobytes())
    described = {
        key: value for key, value in network.config.to_dict().items() if not key.startswith("_")
    }
    whole.update(json.dumps(described, sort_keys=True, default=str).encode())
    whole.update(str(getattr(network, "active_adapters", "")).encode())
    whole.update(tokenizer_text(tokenizer).encode())
    return whole.hexdigest()


def _tensor(network: Any, name: str, tensor: Any) -> Any:
    """Return a tensor of the state of a network, read from disk if its layer is there."""
    if tensor.device.type != "meta":
        return tensor.detach()
    from accelerate.utils import align_module_device

    path, _, own_name = name.rpartition(".")
    module = network.get_submodule(path)
    with align_module_device(module):
        return getattr(module, own_name).detach().cpu()


OpenableWeights = CheckpointWeights | MemoryWeights
