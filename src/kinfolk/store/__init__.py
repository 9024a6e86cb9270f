"""Run folders and files: the only package that reads and writes the disk."""
