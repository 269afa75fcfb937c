"""How often the intervals cover the true value, one file per study."""
