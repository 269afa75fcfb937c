"""What a fill-mask model has in mind at a blank, as features for adversarial removal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from lmprobe.errors import InputError
from lmprobe.models.language_model import Cloze

if TYPE_CHECKING:
    from lmprobe.models import MaskedModel


def mask_embeddings(
    model: MaskedModel, clozes: Sequence[Cloze], *, batch_size: int = 64
) -> NDArray[np.float32]:
    """Return the model's last hidden state at the blank of each sentence, (n, width).

    The blank is one mask however long its word is, so the word itself is not seen. These
    are features for `removal_tradeoff`: what the model's head would fill the mask from.
    """
    queries = [encoded.one_mask() for encoded in model.encode(clozes)]
    if not queries:
        raise InputError("there is no sentence to embed")
    # Padding is left out of attention, so any token will do where there is none.
    pad = model.tokenizer.pad_token_id
    pad = model.tokenizer.mask_token_id if pad is None else pad
    parts = []
    for start in range(0, len(queries), batch_size):
        batch = queries[start : start + batch_size]
        fields: dict[str, tuple[list[Sequence[int]], int]] = {
            "input_ids": ([query.ids for query in batch], pad),
            "attention_mask": ([[1] * len(query.ids) for query in batch], 0),
        }
        if batch[0].segments:
            fields["token_type_ids"] = ([query.segments for query in batch], 0)
        inputs = {
            name: pad_sequence([torch.tensor(row) for row in rows], True, filler).to(model.device)
            for name, (rows, filler) in fields.items()
        }
        with torch.inference_mode(), model.weights.running() as network:
            states = network(**inputs, output_hidden_states=True).hidden_states[-1]
        places = torch.tensor([query.position for query in batch], device=states.device)
        parts.append(states[torch.arange(len(batch)), places].float().cpu().numpy())
    return np.concatenate(parts)
