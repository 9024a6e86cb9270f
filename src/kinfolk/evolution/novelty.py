"""Novelty search (Lehman and Stanley 2011): members are selected for behaviour not seen before."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats
from kinfolk.core.errors import ContractError, require


class NoveltyArchive:
    """Behaviours of earlier members, and the novelty of new ones.

    Args:
        axes: Number of measures that describe a behaviour.
        neighbors: Nearest behaviours whose mean distance is the novelty.
        added: How many of the most novel members of a generation enter the archive.
    """

    def __init__(self, axes: int, neighbors: int = 15, added: int = 4) -> None:
        require(neighbors >= 1, f"Novelty needs at least 1 neighbor, not {neighbors}.")
        self.neighbors, self.added = neighbors, added
        self.behaviors: Floats = np.zeros((0, axes))

    def score(self, behaviors: Floats) -> Floats:
        """Return the mean distance of each behaviour to its nearest ones, `[members]`.

        Neighbours are in the archive and among the other members. Measures count in units of their
        standard deviation over both, so that none of them drowns another.

        Raises:
            ContractError: A behaviour is not a row of finite numbers.
        """
        axes = self.behaviors.shape[1]
        if behaviors.ndim != 2 or behaviors.shape[1] != axes or not np.isfinite(behaviors).all():
            raise ContractError(
                f"Behaviors must be finite numbers of shape [members, {axes}], not {behaviors}."
            )
        everyone = np.concatenate([behaviors, self.behaviors])
        scale = everyone.std(axis=0)
        units = everyone / np.where(scale > 0, scale, 1.0)
        difference = units[: len(behaviors), None] - units[None]
        distance = np.sqrt((difference**2).sum(axis=2))
        distance[np.arange(len(behaviors)), np.arange(len(behaviors))] = np.inf
        count = min(self.neighbors, len(everyone) - 1)
        nearest: Floats = np.sort(distance, axis=1)[:, :count].mean(axis=1)
        return nearest

    def add(self, behaviors: Floats, novelty: Floats) -> None:
        """Add the most novel behaviours of a generation."""
        best = np.argsort(-novelty, kind="stable")[: self.added]
        self.behaviors = np.concatenate([self.behaviors, behaviors[best]])

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return the behaviours in the archive."""
        return {"behaviors": self.behaviors}

    def load_arrays(self, arrays: Arrays) -> None:
        """Replace the archive by what `to_arrays` returned."""
        self.behaviors = arrays["behaviors"].copy()
