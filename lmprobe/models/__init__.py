"""Gives log-probabilities of tokens: masked and causal models, the bundled reference models."""

from lmprobe.models.kinds.causal import CausalModel
from lmprobe.models.kinds.masked import MaskedModel
from lmprobe.models.language_model import Cloze, EncodedCloze, LanguageModel, TokenQuery
from lmprobe.models.load import as_model, find_kind, load_model

__all__ = [
    "CausalModel",
    "Cloze",
    "EncodedCloze",
    "LanguageModel",
    "MaskedModel",
    "TokenQuery",
    "as_model",
    "find_kind",
    "load_model",
]
