"""One file per published experiment: what it runs, what the paper printed, side by side."""
