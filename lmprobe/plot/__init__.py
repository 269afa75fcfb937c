"""Figures as SVG; computes nothing."""
