"""Sweeps: a job over settings and seeds, in a grid, a list, or a search."""
