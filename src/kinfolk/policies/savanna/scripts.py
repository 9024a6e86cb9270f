"""What compiled scripts have in common: tables, scratch, and one call for all rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.errors import require
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Memory, MemoryLayout, Rows
from kinfolk.policies.savanna.wander import WALK
from kinfolk.policies.savanna.window import Sight, as_words, sight_of
from kinfolk.policies.simple import Reactive

_MOST = 1_000_000


class Desk(NamedTuple):
    """What a script's kernel works on, apart from the rows."""

    sight: Sight
    scene: Ints  # [4, side, side] the window of the row at hand
    field: Ints  # [side, side] how far its cells are from a goal


def desk_of(spec: WorldSpec) -> Desk:
    """Tables and scratch for a world.

    Raises:
        SettingsError: It is not a savanna.
    """
    sight = sight_of(spec)
    widest = int(sight.side.max())
    scene = np.zeros((4, widest, widest), dtype=np.int64)
    return Desk(sight, scene, np.zeros_like(scene[0]))


def refuse_nonsense(script: str, **settings: object) -> None:
    """Settings of scripts are numbers, and not negative.

    Raises:
        SettingsError: One is not.
    """
    for name, value in settings.items():
        is_number = isinstance(value, int | float) and 0 <= value < _MOST
        require(is_number, f"{script}.{name} must be a number from 0 to {_MOST}, not {value!r}.")


class Script(Reactive):
    """Base of scripts: a kernel that decides row by row, and the mood it decides in.

    It is compiled, or loaded from the cache, when it is made and not while somebody waits for an
    answer.
    """

    def __init__(self, spec: WorldSpec, mood: Any) -> None:
        self._desk, self._mood = desk_of(spec), mood
        (self._kernel,) = self.kernels()
        nobody = np.zeros(0, dtype=np.int64)
        nothing = np.zeros((0, spec.row_bytes), dtype=np.uint8)
        self._decide(nothing, nobody, nobody, nobody, np.zeros((0, *WALK.shape), dtype=np.int64))

    @classmethod
    @abstractmethod
    def kernels(cls) -> tuple[Callable[..., None]]:
        """The one that decides. It takes seconds to compile, of which people are told."""

    @property
    def memory(self) -> MemoryLayout:
        """The walk it is on when it explores."""
        return {"walk": WALK}

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Decide for all rows; the walk is changed at their places."""
        self._actions = self._decide(observations, rows.place, rows.group, keys, memory["walk"])

    def _decide(
        self, observations: Bytes, place: Ints, group: Ints, keys: Ints, walk: AnyArray
    ) -> Ints:
        words, floats = as_words(observations)
        actions = np.empty((len(keys), 1), dtype=np.int64)
        self._kernel(words, floats, place, group, keys, walk, *self._desk, self._mood, actions)
        return actions
