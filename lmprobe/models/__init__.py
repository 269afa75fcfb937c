"""Gives log-probabilities at the mask: the Hugging Face runner, the bundled reference models."""
