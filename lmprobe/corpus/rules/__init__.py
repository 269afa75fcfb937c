"""When a sentence counts for an attribute and a task: one small file per rule."""
