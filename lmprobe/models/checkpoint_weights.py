"""A checkpoint on disk, opened piece by piece: configuration, tokenizer, and weights last."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from lmprobe.errors import MissingExtraError, ModelError
from lmprobe.models.checkpoint import Checkpoint
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import Origin
from lmprobe.models.problems import first_line
from lmprobe.models.quiet import quiet_transformers
from lmprobe.models.record import ModelRecord

_LAYER = re.compile(r"\.\d+(?=\.)")


class CheckpointWeights:
    """A folder or a GGUF file; the weights are read when the network is first asked for."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        origin: Origin,
        kind: str,
        device: str,
        dtype: str,
        tokenizer: TokenizerFiles,
        tokenizer_name: str,
    ) -> None:
        """Keep where everything is; nothing is read yet."""
        self.name = checkpoint.name
        self.origin = origin
        self.revision = checkpoint.revision
        self.content_hash = tokenizer.content_hash or checkpoint.content_hash
        self.folder: Path | None = checkpoint.folder
        self.device = device
        self.dtype = dtype
        self.tokenizer_name = tokenizer_name
        self._kind = kind
        self._checkpoint = checkpoint
        self._tokenizer = tokenizer
        self.record: tuple[str, ModelRecord] | None = None
        """What to keep beside the answers, so that the next run need not open the model."""

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer, read from the checkpoint or from where the user said."""
        return self._tokenizer.open(self._kind)

    @cached_property
    def config(self) -> Any:
        """The configuration."""
        return open_config(self._checkpoint)

    @contextmanager
    def running(self) -> Iterator[Any]:
        """Give the network; nobody else has it, so there is nothing to restore."""
        yield self.network

    @cached_property
    def network(self) -> Any:
        """The torch module, in evaluation mode on its device."""
        network = self._load(self._checkpoint.base or self._checkpoint)
        if self._checkpoint.base is not None:
            network = _with_adapter(network, self._checkpoint)
        return network.eval().to(self.device)

    def _load(self, checkpoint: Checkpoint) -> Any:
        import torch
        import transformers

        auto = getattr(transformers, kinds.get(self._kind).auto_class)
        options = {"gguf_file": checkpoint.gguf} if checkpoint.gguf else {"config": self.config}
        with quiet_transformers():
            try:
                network, report = auto.from_pretrained(
                    checkpoint.folder,
                    dtype=getattr(torch, self.dtype),
                    local_files_only=True,
                    trust_remote_code=False,
                    weights_only=True,
                    output_loading_info=True,
                    **options,
                )
            # Whatever a damaged or foreign file makes transformers raise, it is the file.
            except Exception as problem:
                raise ModelError(
                    f"{self.name}: the weights cannot be read: {first_line(problem)}"
                ) from problem
        _check_report(self.name, network, report)
        return network


class TokenizerFiles:
    """Where a tokenizer is read from; `content_hash` is set if it is not the model's own."""

    def __init__(
        self, name: str, folder: Path, *, gguf: str | None = None, content_hash: str | None = None
    ) -> None:
        """Keep the place; nothing is read yet."""
        self._name = name
        self._folder = folder
        self._gguf = gguf
        self.content_hash = content_hash

    def open(self, kind: str | None = None) -> Any:
        """Read the tokenizer and check that it can do what is needed of it."""
        from transformers import AutoTokenizer

        options = {"gguf_file": self._gguf} if self._gguf else {}
        try:
            with quiet_transformers():
                tokenizer = AutoTokenizer.from_pretrained(
                    self._folder, local_files_only=True, trust_remote_code=False, **options
                )
        # A missing file, a missing library, bad JSON: the user needs its first line.
        except Exception as problem:
            raise ModelError(
                f"{self._name}: the tokenizer cannot be loaded: {first_line(problem)}"
            ) from problem
        return checked_tokenizer(self._name, tokenizer, kind)


def checked_tokenizer(name: str, tokenizer: Any, kind: str | None = None) -> Any:
    """Return the tokenizer, or raise if words cannot be found, or masked where the kind does."""
    if kind is not None and kinds.get(kind).masks and tokenizer.mask_token_id is None:
        raise ModelError(
            f"{name}: its tokenizer has no mask token, so there is nothing to fill; "
            "give the right one (`tokenizer`, --tokenizer)"
        )
    if not tokenizer.is_fast:
        raise ModelError(
            f"{name}: its tokenizer ({type(tokenizer).__name__}) gives no character offsets, so "
            "the pieces of a word cannot be found; a tokenizer.json would do"
        )
    return tokenizer


def open_config(checkpoint: Checkpoint) -> Any:
    """Read the configuration of a checkpoint, or of the model that an adapter belongs to."""
    from transformers import AutoConfig

    if checkpoint.base is not None:
        return open_config(checkpoint.base)
    if checkpoint.gguf is not None:
        _need("gguf", ("gguf", "accelerate"), f"{checkpoint.name} is a GGUF file")
    options = {"gguf_file": checkpoint.gguf} if checkpoint.gguf else {}
    try:
        with quiet_transformers():
            return AutoConfig.from_pretrained(
                checkpoint.folder, local_files_only=True, trust_remote_code=False, **options
            )
    # Not JSON, an unknown model type, code of its own: all make the config unreadable.
    except Exception as problem:
        what = checkpoint.gguf or "config.json"
        raise ModelError(
            f"{checkpoint.name}: {what} cannot be read: {first_line(problem)}"
        ) from problem


def _with_adapter(network: Any, checkpoint: Checkpoint) -> Any:
    _need("peft", ("peft",), f"{checkpoint.name} is an adapter")
    from peft import PeftModel

    with quiet_transformers():
        try:
            return PeftModel.from_pretrained(network, str(checkpoint.folder))
        # Whatever an adapter of another model makes peft raise, it is the adapter.
        except Exception as problem:
            raise ModelError(
                f"{checkpoint.name}: the adapter cannot be put on {network.name_or_path}: "
                f"{first_line(problem)}"
            ) from problem


def _need(extra: str, modules: tuple[str, ...], why: str) -> None:
    missing = [module for module in modules if not _is_installed(module)]
    if missing:
        raise MissingExtraError(
            f"{why}, which needs {' and '.join(missing)}: pip install 'lmprobe-bias[{extra}]'"
        )


def _is_installed(module: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except ValueError:
        # Python's own sign that an import of it was forbidden.
        return False


def _check_report(name: str, network: Any, report: dict[str, Any]) -> None:
    """Raise if the model lacks weights, or the file has layers that the model does not use."""
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelError(
            f"{name}: the checkpoint lacks {len(missing)} weights of a language model, such as "
            f"{missing[0]}; random ones would answer. It was saved for another purpose "
            f"({', '.join(network.config.architectures or ['unknown'])})"
        )
    known = {_LAYER.sub(".*", key) for key in network.state_dict()}
    # Heads of other tasks may lie beside; another layer of the same kind may not.
    unused = sorted(key for key in report["unexpected_keys"] if _LAYER.sub(".*", key) in known)
    if unused:
        raise ModelError(
            f"{name}: the file has {len(unused)} weights that its configuration does not use, such "
            f"as {unused[0]}: another number of layers. Weights and config.json do not belong "
            "together"
        )
