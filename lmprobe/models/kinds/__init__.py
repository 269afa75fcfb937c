"""The kinds of language models: one small file each."""
