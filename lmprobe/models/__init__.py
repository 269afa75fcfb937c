"""Gives log-probabilities at the mask: the Hugging Face runner, the bundled reference models."""

from lmprobe.models.blank import Blank
from lmprobe.models.load import load_model
from lmprobe.models.masked import MaskedModel

__all__ = ["Blank", "MaskedModel", "load_model"]
