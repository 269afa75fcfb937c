"""Answers queries about the next token, sharing the computation of common beginnings.

A beginning that several sentences share is run once; what follows it reuses its keys and
values. Beginnings of one length run together, and so do continuations, sorted by length and
padded on the right, where a causal model does not look. The head is applied only where a
token is asked for, and the last token of a sentence is never read, only predicted.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.tally import Floats
from lmprobe.io.progress import Progress, silent
from lmprobe.models.batch import BatchSize
from lmprobe.models.cloze import WORD_START, TokenQuery
from lmprobe.models.forward import check_finite, logits_at, padded, unless_out_of_memory
from lmprobe.models.prefixes import Ids, PrefixGroup, share_prefixes

Asked = Mapping[Ids, Sequence[int]]
"""For each context, the tokens asked for after it."""
Answers = dict[tuple[Ids, int], float]


def log_probabilities(
    network: Any,
    queries: Sequence[TokenQuery],
    *,
    batch_size: BatchSize,
    word_start: NDArray[np.bool_],
    progress: Progress = silent,
) -> Floats:
    """Return log P(token at its position | the tokens before it) of each query (n,).

    `word_start` says of each token whether it begins a word.
    """
    contexts = [query.ids[: query.position] for query in queries]
    asked: dict[Ids, list[int]] = {}
    for context, query in zip(contexts, queries, strict=True):
        tokens = asked.setdefault(context, [])
        if query.token not in tokens:
            tokens.append(query.token)
    sequences = _longest(asked)
    if _reuses_keys(network):
        groups = share_prefixes(sequences)
    else:
        groups = [PrefixGroup((one,), 0) for one in sequences]
    runner = _Runner(network, asked, batch_size, word_start)
    done = 0
    for answered in runner.run(groups):
        done += answered
        progress(done, len(sequences))
    values = [
        runner.answers[context, query.token]
        for context, query in zip(contexts, queries, strict=True)
    ]
    return check_finite(np.array(values))


def _longest(contexts: Mapping[Ids, Any]) -> list[Ids]:
    """Return the contexts that do not begin a longer one."""
    ordered = sorted(contexts)
    following = [*ordered[1:], ()]
    return [one for one, after in zip(ordered, following, strict=True) if after[: len(one)] != one]


def _reuses_keys(network: Any) -> bool:
    """Tell whether a network attends to stored keys and values only; recurrent states do not."""
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    if "past_key_values" not in inspect.signature(network.forward).parameters:
        return (
            hasattr(network, "base_model")
            and network.base_model is not network
            and (hasattr(network, "peft_config") and _reuses_keys(network.get_base_model()))
        )
    layers = DynamicCache(config=network.config).layers
    return all(type(layer) in (DynamicLayer, DynamicSlidingWindowLayer) for layer in layers)


@dataclass(frozen=True, slots=True)
class _Row:
    """A sequence, how many of its tokens were run before, and where these are."""

    ids: Ids
    known: int
    parent: int = 0

    @property
    def length(self) -> int:
        return len(self.ids) - self.known


class _Runner:
    """Runs groups of sequences and collects the answers about their contexts."""

    def __init__(
        self,
        network: Any,
        asked: Asked,
        batch_size: BatchSize,
        word_start: NDArray[np.bool_],
    ) -> None:
        self._network = network
        self._asked = asked
        self._batch_size = batch_size
        self._word_start = word_start
        self.answers: Answers = {}

    def run(self, groups: Sequence[PrefixGroup]) -> Iterator[int]:
        """Run everything; yield how many sequences each step has finished."""
        alone = [_Row(one, 0) for group in groups if not group.shared for one in group.sequences]
        yield from self._continue(alone, None)
        lengths = sorted({group.shared for group in groups if group.shared}, reverse=True)
        for shared in lengths:
            alike = [group for group in groups if group.shared == shared]
            done = 0
            while done < len(alike):
                some = alike[done : done + self._batch_size.rows([shared] * (len(alike) - done))]
                rows = [_Row(group.prefix, 0) for group in some]
                past = unless_out_of_memory(lambda rows=rows: self._pass(rows, None, True))  # type: ignore[misc]
                if past is None:
                    self._batch_size.halve(len(rows), shared)
                    continue
                done += len(some)
                after = [
                    _Row(one, shared, parent)
                    for parent, group in enumerate(some)
                    for one in group.sequences
                ]
                yield from self._continue(after, past)

    def _continue(self, rows: Sequence[_Row], past: Any) -> Iterator[int]:
        """Run rows that follow on the same prefixes, longest first."""
        waiting = sorted(rows, key=lambda row: -row.length)
        while waiting:
            count = self._batch_size.rows([row.length for row in waiting])
            batch = waiting[:count]
            ran = unless_out_of_memory(
                lambda batch=batch: self._pass(batch, past, False) or True  # type: ignore[misc]
            )
            if ran is None:
                self._batch_size.halve(count, batch[0].length)
                continue
            waiting = waiting[count:]
            yield count

    def _pass(self, rows: Sequence[_Row], past: Any, keep: bool) -> Any:
        """Run one batch, note the answers, and return the keys and values if they are kept."""
        import torch
        from transformers import DynamicCache

        network = self._network
        tokens = padded([row.ids[row.known :] for row in rows], 0)
        # Padding on the right is read, but no token before it sees it.
        attention = torch.ones((len(rows), rows[0].known + tokens.shape[1]), dtype=torch.long)
        inputs: dict[str, Any] = {
            "input_ids": torch.from_numpy(tokens).to(network.device),
            "attention_mask": attention.to(network.device),
        }
        if past is not None:
            # The prefix may be followed by further batches, so they work on copies.
            past = copy.deepcopy(past)
            parents = torch.tensor([row.parent for row in rows], device=network.device)
            past.batch_select_indices(parents)
            inputs |= {"past_key_values": past, "use_cache": True}
        elif keep:
            inputs |= {"past_key_values": DynamicCache(config=network.config), "use_cache": True}
        places = {
            (number, place - row.known): row.ids[: place + 1]
            for number, row in enumerate(rows)
            for place in range(row.known, len(row.ids))
            if row.ids[: place + 1] in self._asked
        }
        # The head must be called with at least one place; the last token of a prefix will do.
        output, logits = logits_at(network, list(places) or [(0, 0)], **inputs)
        if places:
            self._note(list(places.values()), logits)
        return output.past_key_values if keep else None

    def _note(self, contexts: Sequence[Ids], logits: Any) -> None:
        """Keep the answers about the contexts, one row of logits for each."""
        import torch

        whole = logits.logsumexp(dim=-1)
        wanted = [
            (row, one) for row, context in enumerate(contexts) for one in self._asked[context]
        ]
        rows = torch.tensor([row for row, _ in wanted], device=logits.device)
        tokens = torch.tensor([max(token, 0) for _, token in wanted], device=logits.device)
        values = (logits[rows, tokens] - whole[rows]).double().cpu().tolist()
        starts = [number for number, (_, token) in enumerate(wanted) if token == WORD_START]
        if starts:
            # A table of logits may be longer than the vocabulary: those tokens are never read.
            begins = np.flatnonzero(self._word_start[: logits.shape[1]])
            columns = torch.from_numpy(begins).to(logits.device)
            part = logits[rows[starts]][:, columns].logsumexp(dim=-1) - whole[rows[starts]]
            for number, value in zip(starts, part.double().cpu().tolist(), strict=True):
                values[number] = value
        for (row, token), value in zip(wanted, values, strict=True):
            self.answers[contexts[row], token] = value
