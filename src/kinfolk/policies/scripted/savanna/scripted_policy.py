"""The base of compiled scripts: decoder tables, scratch arrays, and one kernel call per batch."""

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

_MAX_PARAM = 1_000_000  # keeps energies in codes far below the range of int64


class KernelScratch(NamedTuple):
    """Tables and scratch arrays of a script's kernel."""

    decoder: WindowDecoder
    window: Ints  # [4, side, side] decoded window of the current agent
    distances: Ints  # [side, side] steps from each of its cells to the nearest goal


def make_scratch(spec: WorldSpec) -> KernelScratch:
    """Return the tables and scratch arrays for a world.

    Raises:
        SettingsError: It is not a savanna.
    """
    decoder = make_window_decoder(spec)
    side = int(decoder.side.max())
    window = np.zeros((4, side, side), dtype=np.int64)
    return KernelScratch(decoder, window, np.zeros_like(window[0]))


def check_params(policy_name: str, **params: object) -> None:
    """Check that the parameters of a script are non-negative numbers.

    Raises:
        SettingsError: One of them is not.
    """
    for name, value in params.items():
        is_number = isinstance(value, int | float) and 0 <= value < _MAX_PARAM
        require(
            is_number,
            f"{policy_name}.{name} must be a number from 0 to {_MAX_PARAM}, not {value!r}.",
        )


class ScriptedPolicy(StatelessPolicy):
    """Base class of scripts: a kernel that decides row by row, and its parameters.

    The kernel is compiled, or loaded from the cache, by the constructor, so that `act_async` never
    waits for the compiler.

    Args:
        spec: Spec of a savanna, in either observation format.
        params: NamedTuple of parameters, passed to the kernel.

    Raises:
        SettingsError: The world is not a savanna.
    """

    def __init__(self, spec: WorldSpec, params: Any) -> None:
        self._scratch, self._params = make_scratch(spec), params
        (self._kernel,) = self.kernels()
        empty = np.zeros(0, dtype=np.int64)
        observations = np.zeros((0, spec.row_bytes), dtype=np.uint8)
        self._decide(observations, empty, empty, empty, np.zeros((0, *WALK.shape), dtype=np.int64))

    @classmethod
    @abstractmethod
    def kernels(cls) -> tuple[Callable[..., None]]:
        """Return the kernel that decides, for progress reports of its compilation."""

    @property
    def memory_layout(self) -> MemoryLayout:
        """Return the state of exploration: heading, ticks left, hash of the last view."""
        return {"walk": WALK}

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Decide for the whole batch; `memory["walk"]` is updated in place."""
        self._actions = self._decide(
            observations, batch.memory_index, batch.group, keys, memory["walk"]
        )

    def _decide(
        self, observations: Bytes, memory_index: Ints, group: Ints, keys: Ints, walk: AnyArray
    ) -> Ints:
        """Call the kernel for a batch of agents.

        Args:
            observations: `[n, row_bytes]`.
            memory_index: `[n]`, rows of `walk`.
            group: `[n]`, group of each agent.
            keys: `[n]`, random keys.
            walk: `[capacity, 3]`, state of exploration, changed in place.

        Returns:
            `[n, 1]`, the actions.
        """
        words, floats = as_words(observations)
        actions = np.empty((len(keys), 1), dtype=np.int64)
        self._kernel(
            words, floats, memory_index, group, keys, walk, *self._scratch, self._params, actions
        )
        return actions
