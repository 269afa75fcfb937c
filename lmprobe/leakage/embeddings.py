"""What a fill-mask model has in mind at a blank, as features for adversarial removal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from lmprobe.errors import InputError
from lmprobe.models.cloze import Cloze, TokenQuery

if TYPE_CHECKING:
    from lmprobe.models import MaskedModel


def mask_embeddings(
    model: MaskedModel, clozes: Sequence[Cloze], *, batch_size: int = 64
) -> NDArray[np.float32]:
    """Return the model's last hidden state at the blank of each sentence, (n, width).

    The blank is one mask however long its word is, so the word itself is not seen. These
    are features for `removal_tradeoff`: what the model's head would fill the mask from.
    """
    queries = [one.one_mask() for one in model.encode(clozes)]
    if not queries:
        raise InputError("there is no sentence to embed")
    parts = []
    for start in range(0, len(queries), batch_size):
        batch = queries[start : start + batch_size]
        with torch.inference_mode(), model.weights.running() as network:
            inputs = _inputs(batch, model)
            states = network(**inputs, output_hidden_states=True).hidden_states[-1]
        places = torch.tensor([one.position for one in batch], device=states.device)
        parts.append(states[torch.arange(len(batch)), places].float().cpu().numpy())
    return np.concatenate(parts)


def _inputs(batch: Sequence[TokenQuery], model: MaskedModel) -> dict[str, torch.Tensor]:
    # Padding is left out of attention, so any token will do where there is none.
    pad = model.tokenizer.pad_token_id
    pad = model.tokenizer.mask_token_id if pad is None else pad
    width = max(len(one.ids) for one in batch)
    rows = {
        "input_ids": [[*one.ids, *[pad] * (width - len(one.ids))] for one in batch],
        "attention_mask": [[1] * len(one.ids) + [0] * (width - len(one.ids)) for one in batch],
    }
    if batch[0].segments:
        rows["token_type_ids"] = [
            [*one.segments, *[0] * (width - len(one.segments))] for one in batch
        ]
    return {name: torch.tensor(values, device=model.device) for name, values in rows.items()}
