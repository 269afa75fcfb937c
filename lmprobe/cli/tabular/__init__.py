"""What `lmprobe amplify` does between its options and its words."""
