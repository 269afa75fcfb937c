"""How many sentences a batch takes: a number, or what fits."""

from __future__ import annotations

from collections.abc import Sequence

from lmprobe.errors import InputError, ModelError

# Tokens in one batch of automatic size. More gained nothing on a CPU with a model of
# bert-base's size (benchmarks/runner.py); a GPU needs larger batches to be busy.
_TOKENS = {"cpu": 1024, "mps": 8192, "cuda": 32768}

# Every token of a tree of sentences is compared with all its others: large ones take long.
_LARGEST_TREE = 512


class BatchSize:
    """Either a fixed number of sentences or, with "auto", as many as a budget of tokens allows.

    The automatic size is halved whenever memory runs out, and stays there.
    """

    def __init__(self, wanted: int | str, device: str) -> None:
        """Check what was asked for; `device` is a type such as "cuda"."""
        if isinstance(wanted, str) and wanted.isdecimal():
            wanted = int(wanted)
        if wanted != "auto" and (
            isinstance(wanted, str | bool) or not isinstance(wanted, int) or wanted < 1
        ):
            raise InputError(f'the batch size must be "auto" or at least 1, found {wanted!r}')
        self.policy = str(wanted)
        self._fixed = wanted if isinstance(wanted, int) else None
        self._tokens = _TOKENS.get(device, _TOKENS["cpu"])

    @property
    def tree(self) -> tuple[int, int]:
        """How many sentences, and how many tokens, a tree of them may have."""
        return self._fixed or self._tokens, min(self._tokens, _LARGEST_TREE)

    def rows(self, lengths: Sequence[int], trees: bool = False) -> int:
        """Return how many of the next rows to take, sentences or trees; their lengths fall."""
        fixed = 1 if self._fixed and trees else self._fixed
        fitting = fixed or max(1, self._tokens // lengths[0])
        return min(len(lengths), fitting)

    def halve(self, sentences: int, tokens: int) -> None:
        """Take half as many tokens from now on, or say that memory is too small."""
        if self._fixed or sentences == 1:
            raise ModelError(
                f"out of memory with {sentences} sentence{'s' if sentences > 1 else ''}, "
                f"{tokens} tokens; "
                + ('use the batch size "auto"' if self._fixed else "use a smaller model or dtype")
            )
        self._tokens = tokens // 2
