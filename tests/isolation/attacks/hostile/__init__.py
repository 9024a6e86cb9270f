"""Hostile policies: each class is one attack, and its docstring says what it tries."""
