"""Populations of networks: `(x, memory) -> (out, memory)`, for all members at once.

Memory lies outside the nets. Nothing here chooses an action: heads (`kinfolk.nets.heads`) do.
"""
