"""The base of compiled scripts: decoder tables, scratch arrays, and one kernel call per batch."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import AnyArray, Bools, Bytes, Ints
from kinfolk.core.errors import require
from kinfolk.core.jit import inline
from kinfolk.core.spaces import AgentGroup, WorldSpec
from kinfolk.policies.base import (
    AgentBatch,
    Memory,
    MemoryField,
    MemoryLayout,
    StatelessPolicy,
    empty_batch,
)
from kinfolk.worlds.savanna.spec import (
    CODES_PER_ENERGY,
    GRASS_SHIFT,
    MAX_CODE,
    PREDATOR_SHIFT,
    PREY_SHIFT,
)

WALL, PREDATOR, PREY, GRASS = range(4)  # planes of a decoded window
_GRASS_STEPS = 512.0  # units of grass energy from float32 planes
_WINDOWS = {"window": 1, "window_by_type": 2}  # name of the field -> planes of prey
_MOVE_PATTERN = re.compile(r"([+-]\d+)([+-]\d+)")

Words = npt.NDArray[np.uint32]  # observations, viewed as words
Planes = npt.NDArray[np.float32]  # observations, viewed as floats


class WindowDecoder(NamedTuple):
    """Layout of the window and meaning of the actions, one entry per group."""

    is_compact: Bools  # packed words instead of float32 planes
    start: Ints  # column of the window's first word in an observation
    side: Ints  # cells across; the agent stands in the middle
    n_prey_planes: Ints  # 2 if each type of prey has a plane of its own
    species: Ints  # PREDATOR or PREY
    n_actions: Ints
    moves: Ints  # [groups, actions, 2] steps in x and y


def make_window_decoder(spec: WorldSpec) -> WindowDecoder:
    """Return the decoder for the groups of a savanna.

    Raises:
        SettingsError: The spec is not that of a savanna.
    """
    for group in spec.groups:
        has_window = len(group.fields) == 1 and group.fields[0].name in _WINDOWS
        is_savanna = has_window and [h.name for h in group.heads] in (
            ["move"],
            ["move", "join_hunt"],
        )
        message = f"This policy plays savanna; {spec.world} has other observations or actions."
        require(is_savanna, message)
    moves = np.zeros((len(spec.groups), int(spec.n_choices.max()), 2), dtype=np.int64)
    for group_id, group in enumerate(spec.groups):
        moves[group_id, : len(group.heads[0].choices)] = _parse_moves(group)
    fields = [group.fields[0] for group in spec.groups]
    species = [PREDATOR if "predator" in group.name else PREY for group in spec.groups]
    return WindowDecoder(
        is_compact=np.array([field.dtype == "uint32" for field in fields]),
        start=np.array([g.offsets[g.fields[0].name] // 4 for g in spec.groups], dtype=np.int64),
        side=np.array([field.shape[-1] for field in fields], dtype=np.int64),
        n_prey_planes=np.array([_WINDOWS[field.name] for field in fields], dtype=np.int64),
        species=np.array(species, dtype=np.int64),
        n_actions=np.ascontiguousarray(spec.n_choices[:, 0]),
        moves=moves,
    )


def _parse_moves(group: AgentGroup) -> list[tuple[int, int]]:
    """Return the steps in x and y of every choice, from its name: `+1-1`, or `stay`."""
    matches = [_MOVE_PATTERN.fullmatch(choice) for choice in group.heads[0].choices]
    return [(int(match[1]), int(match[2])) if match else (0, 0) for match in matches]


@inline
def _quantize(value: float, steps: float, limit: int) -> int:
    """Return a number in integer units, rounded up and clipped to 0..`limit`.

    Args:
        value: Number to convert.
        steps: Units per 1.0.
        limit: Largest result.
    """
    return max(0, min(ceil(np.float64(value) * steps), limit))


@inline
def decode_window(
    decoder: WindowDecoder, group: int, words: Words, floats: Planes, row: int, window: Ints
) -> None:
    """Decode the window of one observation into planes of integers.

    Args:
        decoder: Layout of the windows.
        group: Group of the agent.
        words: `[rows, columns]`, all observations as words.
        floats: The same as floats.
        row: Row of the observation.
        window: `[4, side, side]`, filled: wall, predator, prey and grass.
    """
    side, start = decoder.side[group], decoder.start[group]
    area = side * side
    for cell in range(area):
        x, y = cell // side, cell % side
        if decoder.is_compact[group]:
            word = np.int64(words[row, start + cell])
            window[WALL, x, y] = (word >> 1) & 1
            window[PREDATOR, x, y] = (word >> PREDATOR_SHIFT) & MAX_CODE
            window[PREY, x, y] = (word >> PREY_SHIFT) & MAX_CODE
            window[GRASS, x, y] = (word >> GRASS_SHIFT) & MAX_CODE
        else:
            col = start + cell
            window[WALL, x, y] = 1 if floats[row, col] > 0.0 else 0
            window[PREDATOR, x, y] = _quantize(floats[row, col + area], CODES_PER_ENERGY, MAX_CODE)
            prey, n_planes = floats[row, col + 2 * area], decoder.n_prey_planes[group]
            if n_planes == 2 and floats[row, col + 3 * area] > prey:
                prey = floats[row, col + 3 * area]
            grass = floats[row, col + (2 + n_planes) * area]
            window[PREY, x, y] = _quantize(prey, CODES_PER_ENERGY, MAX_CODE)
            window[GRASS, x, y] = _quantize(grass, _GRASS_STEPS, 1 << 40)


WALK = MemoryField((3,), "int64")  # state of exploration; `navigation` names its columns
_MAX_PARAM = 1_000_000  # keeps energies in codes far below the range of int64


class ScriptBatch(NamedTuple):
    """What the kernel of a script reads and writes for `n` agents."""

    words: Words  # [n, columns] observations as words
    floats: Planes  # the same as floats
    memory_index: Ints  # [n] rows of `walk`
    group: Ints  # [n] group of each agent
    keys: Ints  # [n] random keys of this tick
    walk: Ints  # [capacity, 3] state of exploration, changed in place
    decoder: WindowDecoder
    window: Ints  # [4, side, side] scratch, decoded window of the current agent
    distances: Ints  # [side, side] scratch, steps from each of its cells to the nearest goal
    out: Ints  # [n, heads] filled with the actions


def check_params(policy_name: str, params: Mapping[str, object]) -> None:
    """Check that the parameters of a script are non-negative numbers.

    Raises:
        SettingsError: A parameter is negative or no number.
    """
    for name, value in params.items():
        is_number = isinstance(value, int | float) and 0 <= value < _MAX_PARAM
        limits = f"a number from 0 to {_MAX_PARAM}"
        require(is_number, f"{policy_name}.{name} must be {limits}, not {value!r}.")


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
        self._decoder, self._params = make_window_decoder(spec), params
        self._n_heads = spec.n_heads
        side = int(self._decoder.side.max())
        self._window = np.zeros((4, side, side), dtype=np.int64)
        self._distances = np.zeros_like(self._window[0])
        (self._kernel,) = self.kernels()
        observations = np.zeros((0, spec.row_bytes), dtype=np.uint8)
        batch, memory = empty_batch(), {"walk": np.zeros((0, *WALK.shape), dtype=np.int64)}
        self.act_async(observations, batch, memory, batch.uid)

    @classmethod
    @abstractmethod
    def kernels(cls) -> tuple[Callable[..., None]]:
        """Return the kernel that decides, for progress reports of its compilation."""

    @property
    def memory_layout(self) -> MemoryLayout:
        """The state of exploration: heading, ticks left, hash of the last view."""
        return {"walk": WALK}

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Decide for the whole batch; `memory["walk"]` is updated in place."""
        inputs = self.kernel_inputs(observations, batch, memory["walk"], keys)
        self._kernel(inputs, self._params)
        self._actions = inputs.out

    def kernel_inputs(
        self, observations: Bytes, batch: AgentBatch, walk: AnyArray, keys: Ints
    ) -> ScriptBatch:
        """Return the arguments of the kernel for a batch of agents.

        Args:
            observations: `[n, row_bytes]`, copied if not contiguous.
            batch: The agents.
            walk: `[capacity, 3]`, state of exploration.
            keys: `[n]`, random keys.
        """
        contiguous = np.require(observations, requirements=["C", "W"])
        words, floats = contiguous.view(np.uint32), contiguous.view(np.float32)
        agents = (batch.memory_index, batch.group, keys, walk)
        tables = (self._decoder, self._window, self._distances)
        actions = np.zeros((len(keys), self._n_heads), dtype=np.int64)
        return ScriptBatch(words, floats, *agents, *tables, actions)
