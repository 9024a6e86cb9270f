"""World and memory states that offspring inherit, by match and by population member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Ints
from kinfolk.nets.dynamic.nets import DynamicNets
from kinfolk.nets.static import NormalizedMemory, RecurrentStaticNets
from kinfolk.play.loop import EpisodeLoop

_ROW_ARRAYS = ("observations", "actions", "row_state/", "memory/")  # prefixes; [worlds * rows, ...]
_EXCLUDED = ("next", "row_state/member")  # they depend on a match's position in its batch


def save_env(play: EpisodeLoop) -> dict[str, AnyArray]:
    """Return the state of the loop's worlds by match: `[matches, ...]` or `[matches, rows, ...]`.

    Memory is excluded, because another setting decides whether it is inherited.
    """
    env = {}
    for name, array in play.snapshot().items():
        if name.startswith(_ROW_ARRAYS):
            array = array.reshape(play.world.n_worlds, -1, *array.shape[1:])
        if name not in _EXCLUDED and not name.startswith("memory/"):
            env[name] = array
    return env


def restore_env(play: EpisodeLoop, env: Arrays) -> None:
    """Restore worlds from `save_env`; idle worlds begin the episodes that the loop was given."""
    state = {
        name: array.reshape(-1, *array.shape[2:]) if name.startswith(_ROW_ARRAYS) else array
        for name, array in env.items()
    }
    current = play.snapshot()
    state |= {name: array for name, array in current.items() if name.startswith("memory/")}
    members = np.repeat(np.arange(play.world.n_worlds), play.world.spec.rows)
    play.restore(state | {"next": current["next"], "row_state/member": members})


def write_inherited_memory(play: EpisodeLoop, inherited: Mapping[str, Arrays]) -> None:
    """Write the inherited memory of each slot to the agents that are alive in continued worlds."""
    alive = play.row_state.uid >= 0
    for slot, memory in zip(play.slots, play.memory, strict=True):
        for name, array in inherited.get(slot.id, {}).items():
            memory[name][alive] = array.reshape(len(alive), *array.shape[2:])[alive]


def read_memory(play: EpisodeLoop, slot: str) -> dict[str, AnyArray]:
    """Return a copy of the memory of a slot's policy: `[matches, rows, ...]`."""
    index = [loaded.id for loaded in play.slots].index(slot)
    worlds = play.world.n_worlds
    return {n: a.reshape(worlds, -1, *a.shape[1:]).copy() for n, a in play.memory[index].items()}


def concat_chunks(parts: list[Arrays]) -> dict[str, AnyArray]:
    """Concatenate the arrays of chunks along the first axis, zero-padded to the largest shape."""
    joined: dict[str, AnyArray] = {}
    for name in parts[0]:
        arrays = [part[name] for part in parts]
        shape = np.max([array.shape[1:] for array in arrays], axis=0) if arrays[0].ndim > 1 else ()
        joined[name] = np.concatenate([pad_axes(array, tuple(shape)) for array in arrays])
    return joined


def pad_axes(array: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """Pad all axes but the first with zeros to `shape`."""
    added = [int(size) - current for size, current in zip(shape, array.shape[1:], strict=True)]
    return np.pad(array, [(0, 0), *((0, n) for n in added)]) if any(added) else array


def take_rows(arrays: Arrays, rows: Ints) -> dict[str, AnyArray]:
    """Return the given rows of every array."""
    return {name: array[rows] for name, array in arrays.items()}


def memory_to_population(nets: Any, arrays: Arrays, order: Ints, matches: int) -> Any:
    """Convert the memory of a policy to the memory of a population.

    Args:
        nets: The population's nets.
        arrays: `[matches, rows, ...]` of all matches.
        order: `[matches]`, indices that sort the matches by member.
        matches: Matches per member.

    Returns:
        Memory with the batch `matches * rows`; None if the nets have no memory.
    """
    shaped = {
        name: array[order].reshape(len(order) // matches, -1, array.shape[-1])
        for name, array in arrays.items()
    }
    if isinstance(nets, DynamicNets):
        batch = shaped["x"].shape[1]
        return nets.initial_memory(batch)._replace(x=shaped["x"], z=shaped["z"])
    if isinstance(nets, RecurrentStaticNets):
        hidden = list(shaped.values())
        if nets.running_stats is None:
            return hidden
        return nets.initial_memory(hidden[0].shape[1])._replace(hidden=hidden)
    return None


def memory_to_policy(memory: Any, order: Ints, matches: int) -> dict[str, AnyArray]:
    """Convert the memory of a population to the initial memory of a policy.

    Args:
        memory: Memory of the nets; None if they have none.
        order: `[matches]`, indices that sort the matches by member.
        matches: Matches per member.

    Returns:
        `[matches, rows, ...]` by name; empty if `memory` is None.
    """
    if memory is None:
        return {}
    if isinstance(memory, NormalizedMemory):
        memory = memory.hidden
    if isinstance(memory, list):
        named = {f"hidden_{i}": np.asarray(part) for i, part in enumerate(memory)}
    else:
        named = {"x": memory.x, "z": memory.z}
    arrays = {}
    for name, array in named.items():
        by_match = np.empty((len(order), array.shape[1] // matches, array.shape[2]), array.dtype)
        by_match[order] = array.reshape(by_match.shape)
        arrays[name] = by_match
    return arrays
