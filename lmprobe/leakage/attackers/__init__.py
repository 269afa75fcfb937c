"""The attackers, one file each, found by name."""
