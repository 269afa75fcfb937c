"""Reading tables, atomic writes, shipped files, progress."""
