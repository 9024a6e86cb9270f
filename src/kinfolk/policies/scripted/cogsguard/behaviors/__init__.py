"""The thirteen behaviors of CogsGuard, their reason codes, and behaviors in plain Python.

A behavior is three functions of `(memory, agent)`. The start condition, `can_...`, returns YES or a
reason code below zero. The action, named after the behavior, returns a move (plus HOLD if it must
not be interrupted) or a reason code. The stop condition, `should_stop_...`, returns YES or 0.
"""
