"""One interval method per file."""
