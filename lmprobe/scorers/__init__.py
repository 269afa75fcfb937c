"""Turns token log-probabilities into the probability of a word: one file per scorer."""
