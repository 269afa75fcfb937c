"""How attributes and tasks go together outside the model: one file per source."""
