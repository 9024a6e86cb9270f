"""What is measured of matches while they are played, beside returns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Floats, Ints
from kinfolk.core.errors import UnknownNameError, format_suggestion
from kinfolk.play.loop import EpisodeLoop

MEAN_PREFIX = (
    "mean:"  # mean:3 is the mean, over a match, of the fourth number that agents are shown
)


class MeasureTracker:
    """Counts ticks, and follows the measures asked for.

    Args:
        play: The loop.
        names: `ticks`, a counter of the world, or `mean:N`.

    Raises:
        UnknownNameError: There is no such measure in this world.
    """

    def __init__(self, play: EpisodeLoop, names: Sequence[str]) -> None:
        self._play, self._names = play, tuple(names)
        self.ticks: Ints = np.zeros(play.world.n_worlds, dtype=np.int64)
        self._sums: dict[str, Floats] = {}
        self._seen: Ints = np.zeros(play.world.n_worlds, dtype=np.int64)
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
        """Take a tick in, of the worlds that were playing it."""
        self.ticks += playing
        if not self._sums:
            return
        worlds = self._play.world.n_worlds
        present = (self._play.world.columns.uid >= 0).reshape(worlds, -1) & playing[:, None]
        shown = self._play.observations.view(np.float32).reshape(worlds, present.shape[1], -1)
        self._seen += present.sum(axis=1)
        for name, total in self._sums.items():
            total += np.where(present, shown[:, :, int(name[len(MEAN_PREFIX) :])], 0.0).sum(axis=1)

    def measures(self) -> dict[str, AnyArray]:
        """What was asked for, a number per match."""
        counters = self._play.world.counters()
        found: dict[str, AnyArray] = {}
        for name in self._names:
            if name in self._sums:
                found[name] = self._sums[name] / np.maximum(self._seen, 1)
            else:
                values = self.ticks if name == "ticks" else counters[name]
                found[name] = np.asarray(values, dtype=np.float64)
        return found
