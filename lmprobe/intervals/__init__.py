"""Puts an interval around a statistic: one file per method, found by name."""
