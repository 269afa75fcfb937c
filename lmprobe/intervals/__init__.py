"""Puts an interval round a statistic: one file per method, found by name."""
