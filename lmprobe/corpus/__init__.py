"""Counts attribute-task co-occurrence in text, on one machine or on a cluster."""
