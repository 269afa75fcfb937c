"""Interval methods, found by name; a new file here adds one."""
