"""Where parts of a corpus are counted: one file per engine."""
