"""Figures of runs: which a job has, and how several runs are drawn together."""
