"""Measures tables: counts labels and predictions, and what they amplify."""
