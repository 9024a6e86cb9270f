"""Entries in other libraries' tables of environments, made when asked for."""

from __future__ import annotations


def register() -> tuple[str, ...]:
    """Nothing yet."""
    return ()
