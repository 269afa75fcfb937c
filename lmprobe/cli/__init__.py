"""One file per command: parses, calls, prints; no formula."""
