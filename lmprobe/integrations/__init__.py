"""Hands results and metrics to other libraries in the form that each of them expects."""
