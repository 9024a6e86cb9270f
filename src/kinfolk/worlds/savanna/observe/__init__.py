"""Kernels that write observations, in the two formats that `savanna.spec` describes."""
