"""Labels, tallies and the association table; axes are always (..., attribute, task)."""
