"""Lineages: live descendants counted by kernels during an episode, family trees after it."""
