"""Attackers that guess the attribute from labels or predictions, and what removes the leak."""
