"""Throughput of every part, as a ratio to a reference measured in the same run."""
