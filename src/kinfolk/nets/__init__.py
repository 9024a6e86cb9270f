"""Populations of networks: `(x, memory) -> (out, memory)`, for all members at once.

Memory is an argument and a result. Output heads (`kinfolk.nets.heads`) turn outputs into actions.
"""
