"""Runs on disk. The only layer that touches it."""
