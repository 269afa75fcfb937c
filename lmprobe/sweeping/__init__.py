"""Runs many probes: models, checkpoints and template sets, on one machine or a cluster."""
