"""Seeds for nets that were given none."""

from __future__ import annotations

import secrets

_KEY_BITS = 63


def new_seed() -> int:
    """Draw a key from the operating system's random numbers."""
    return secrets.randbits(_KEY_BITS)
