"""Where the probes of a sweep run: processes of this machine, or a Ray cluster."""
