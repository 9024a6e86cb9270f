"""What compiled scripts have in common: tables, scratch, and one call for all rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.errors import require
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout
from kinfolk.policies.scripted.savanna.navigation import WALK
from kinfolk.policies.scripted.savanna.window_decoder import (
    WindowDecoder,
    as_words,
    make_window_decoder,
)
from kinfolk.policies.stateless import StatelessPolicy

_MAX_PARAM = 1_000_000


class KernelScratch(NamedTuple):
    """What a script's kernel works on, apart from the rows."""

    decoder: WindowDecoder
    window: Ints  # [4, side, side] the window of the row at hand
    distances: Ints  # [side, side] how far its cells are from a goal


def make_scratch(spec: WorldSpec) -> KernelScratch:
    """Tables and scratch for a world.

    Raises:
        SettingsError: It is not a savanna.
    """
    sight = make_window_decoder(spec)
    widest = int(sight.side.max())
    scene = np.zeros((4, widest, widest), dtype=np.int64)
    return KernelScratch(sight, scene, np.zeros_like(scene[0]))


def check_params(policy_name: str, **params: object) -> None:
    """Settings of scripts are numbers, and not negative.

    Raises:
        SettingsError: One is not.
    """
    for name, value in params.items():
        is_number = isinstance(value, int | float) and 0 <= value < _MAX_PARAM
        require(
            is_number,
            f"{policy_name}.{name} must be a number from 0 to {_MAX_PARAM}, not {value!r}.",
        )


class ScriptedPolicy(StatelessPolicy):
    """Base of scripts: a kernel that decides row by row, and the mood it decides in.

    It is compiled, or loaded from the cache, when it is made and not while somebody waits for an
    answer.
    """

    def __init__(self, spec: WorldSpec, params: Any) -> None:
        self._scratch, self._params = make_scratch(spec), params
        (self._kernel,) = self.kernels()
        nobody = np.zeros(0, dtype=np.int64)
        nothing = np.zeros((0, spec.row_bytes), dtype=np.uint8)
        self._decide(nothing, nobody, nobody, nobody, np.zeros((0, *WALK.shape), dtype=np.int64))

    @classmethod
    @abstractmethod
    def kernels(cls) -> tuple[Callable[..., None]]:
        """The one that decides. It takes seconds to compile, of which people are told."""

    @property
    def memory_layout(self) -> MemoryLayout:
        """The walk it is on when it explores."""
        return {"walk": WALK}

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Decide for all rows; the walk is changed at their places."""
        self._actions = self._decide(
            observations, batch.memory_index, batch.group, keys, memory["walk"]
        )

    def _decide(
        self, observations: Bytes, memory_index: Ints, group: Ints, keys: Ints, walk: AnyArray
    ) -> Ints:
        words, floats = as_words(observations)
        actions = np.empty((len(keys), 1), dtype=np.int64)
        self._kernel(
            words, floats, memory_index, group, keys, walk, *self._scratch, self._params, actions
        )
        return actions
