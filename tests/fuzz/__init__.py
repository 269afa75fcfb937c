"""A structured fuzzer for everything that lmprobe reads; `make fuzz N=100000` runs it for long."""
