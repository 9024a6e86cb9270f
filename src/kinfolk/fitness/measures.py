"""Measures of matches beside returns, for the axes of a MAP-Elites archive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Floats, Ints
from kinfolk.core.errors import UnknownNameError, format_suggestion
from kinfolk.play.loop import EpisodeLoop

MEAN_PREFIX = "mean:"  # mean:3 is the mean of the fourth number of agents' observations


class MeasureTracker:
    """Tracks measures of every match while it is played.

    Args:
        play: The loop of the matches, one world each.
        names: Names of measures: `ticks`, a counter of the world, or `mean:N`.

    Raises:
        UnknownNameError: The world has no such measure.
    """

    def __init__(self, play: EpisodeLoop, names: Sequence[str]) -> None:
        self._play, self._names = play, tuple(names)
        self.ticks: Ints = np.zeros(play.world.n_worlds, dtype=np.int64)
        self._sums: dict[str, Floats] = {}
        self._n_observations: Ints = np.zeros(play.world.n_worlds, dtype=np.int64)
        field = play.world.spec.groups[0].fields[0]
        numbers = int(np.prod(field.shape)) if field.dtype == "float32" else 0
        known = ["ticks", *play.world.counters(), *(f"{MEAN_PREFIX}{i}" for i in range(numbers))]
        for name in names:
            if name not in known:
                shown = [n for n in known if not n.startswith(MEAN_PREFIX)]
                shown += [f"{MEAN_PREFIX}0 to {MEAN_PREFIX}{numbers - 1}"] if numbers else []
                world = play.world.spec.world
                raise UnknownNameError(
                    f"World {world} has no measure '{name}'.{format_suggestion(name, shown)}"
                )
            if name.startswith(MEAN_PREFIX):
                self._sums[name] = np.zeros(play.world.n_worlds)

    def update(self, playing: Bools) -> None:
        """Add a tick of the worlds that are `playing`, `[worlds]`."""
        self.ticks += playing
        if not self._sums:
            return
        worlds = self._play.world.n_worlds
        present = (self._play.world.columns.uid >= 0).reshape(worlds, -1) & playing[:, None]
        observations = self._play.observations.view(np.float32).reshape(
            worlds, present.shape[1], -1
        )
        self._n_observations += present.sum(axis=1)
        for name, total in self._sums.items():
            total += np.where(present, observations[:, :, int(name[len(MEAN_PREFIX) :])], 0.0).sum(
                axis=1
            )

    def measures(self) -> dict[str, AnyArray]:
        """Return the measures by name, `[matches]` each."""
        counters = self._play.world.counters()
        measures: dict[str, AnyArray] = {}
        for name in self._names:
            if name in self._sums:
                measures[name] = self._sums[name] / np.maximum(self._n_observations, 1)
            else:
                values = self.ticks if name == "ticks" else counters[name]
                measures[name] = np.asarray(values, dtype=np.float64)
        return measures
