"""Arrays in, arrays out: what is measured, without a word about where the numbers came from."""
