"""Probes a model."""
