"""Holds a result against a limit, or against another result: a gate for releases."""
