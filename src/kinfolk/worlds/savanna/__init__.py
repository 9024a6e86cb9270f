"""Predators, prey and grass: the rules of PredPreyGrass (MIT licence, P. van Doesburg), batched.

One world switched by settings carries shared_prey (team capture), lineage_rewards (kin rewards,
caps, carcasses, juvenile diet), kick_back_rewards and limited_intake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinfolk.worlds.savanna.io.from_upstream import from_upstream

__all__ = ["from_upstream"]


def __getattr__(name: str) -> Any:
    """Import `from_upstream` on first use: the package itself imports nothing."""
    if name == "from_upstream":
        from kinfolk.worlds.savanna.io import from_upstream as module

        return module.from_upstream
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
