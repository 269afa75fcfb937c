"""Renders a result as text, JSON, HTML, figures, model-card block; computes nothing."""
