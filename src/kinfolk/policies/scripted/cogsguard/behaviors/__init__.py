"""The thirteen behaviors of CogsGuard, their reason codes, and behaviors in plain Python.

A behavior is three functions of `(memory, agent)`: `can_...` returns YES or a reason code below zero,
the function named after the behavior returns a move (plus HOLD if it must not be interrupted) or a
reason code, and the third returns 1 once the behavior has ended, else 0.
"""
