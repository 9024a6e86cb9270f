"""World and memory states that offspring inherit, by match and by population member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Ints
from kinfolk.nets.dynamic.nets import DynamicNets
from kinfolk.nets.static import RecurrentStaticNets
from kinfolk.play.loop import EpisodeLoop

_BY_PLACE = ("observations", "actions", "row_state/", "memory/")

_LEFT_OUT = ("next", "row_state/member")  # which lane of a batch a match was in is not its own


def save_env(play: EpisodeLoop) -> dict[str, AnyArray]:
    """The loop's state, a row per match: `[matches, ...]`, or `[matches, rows, ...]`.

    Memory is left out: whether that is inherited is a question of its own.
    """
    found = {}
    for name, array in play.snapshot().items():
        if name not in _LEFT_OUT and not name.startswith("memory/"):
            by_place = name.startswith(_BY_PLACE)
            found[name] = (
                array.reshape(play.world.n_worlds, -1, *array.shape[1:]) if by_place else array
            )
    return found


def restore_env(play: EpisodeLoop, env: Arrays) -> None:
    """Go on with such a state; worlds that rest begin the episodes that the loop was given."""
    state = {
        name: array.reshape(-1, *array.shape[2:]) if name.startswith(_BY_PLACE) else array
        for name, array in env.items()
    }
    own = play.snapshot()
    state |= {name: array for name, array in own.items() if name.startswith("memory/")}
    lanes = np.repeat(np.arange(play.world.n_worlds), play.world.spec.rows)
    play.restore(state | {"next": own["next"], "row_state/member": lanes})


def write_inherited_memory(play: EpisodeLoop, inherited: Mapping[str, Arrays]) -> None:
    """Give lives that go on the memory that their member inherited."""
    going = play.row_state.uid >= 0
    for slot, memory in zip(play.slots, play.memory, strict=True):
        for name, array in inherited.get(slot.id, {}).items():
            memory[name][going] = array.reshape(len(going), *array.shape[2:])[going]


def read_memory(play: EpisodeLoop, slot: str) -> dict[str, AnyArray]:
    """What the policy of a slot remembers: `[matches, rows, ...]`."""
    index = [one.id for one in play.slots].index(slot)
    worlds = play.world.n_worlds
    return {n: a.reshape(worlds, -1, *a.shape[1:]).copy() for n, a in play.memory[index].items()}


def concat_chunks(parts: list[Arrays]) -> dict[str, AnyArray]:
    """Arrays of several chunks, one after another; those by life get the room of the longest."""
    found: dict[str, AnyArray] = {}
    for name in parts[0]:
        arrays = [part[name] for part in parts]
        shape = np.max([array.shape[1:] for array in arrays], axis=0) if arrays[0].ndim > 1 else ()
        found[name] = np.concatenate([_padded(array, tuple(shape)) for array in arrays])
    return found


def _padded(array: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    if array.shape[1:] == shape:
        return array
    pads = [
        (0, 0),
        *((0, int(want) - have) for want, have in zip(shape, array.shape[1:], strict=True)),
    ]
    return np.pad(array, pads)


def take_rows(arrays: Arrays, rows: Ints) -> dict[str, AnyArray]:
    """The rows `rows` of every array."""
    return {name: array[rows] for name, array in arrays.items()}


def memory_to_population(nets: Any, arrays: Arrays, order: Ints, matches: int) -> Any:
    """What the policy remembered, as the nets' memory; `order` sorts matches by member."""
    shaped = {
        name: array[order].reshape(len(order) // matches, -1, array.shape[-1])
        for name, array in arrays.items()
    }
    if isinstance(nets, DynamicNets):
        batch = shaped["x"].shape[1]
        return nets.initial_memory(batch)._replace(x=shaped["x"], z=shaped["z"])
    if isinstance(nets, RecurrentStaticNets):
        return list(shaped.values())
    return None


def memory_to_policy(memory: Any, order: Ints, matches: int) -> dict[str, AnyArray]:
    """A population's memory as arrays that a policy begins with; empty for none."""
    if memory is None:
        return {}
    if isinstance(memory, list):
        named = {f"hidden_{i}": np.asarray(part) for i, part in enumerate(memory)}
    else:
        named = {"x": memory.x, "z": memory.z}
    found = {}
    for name, array in named.items():
        by_match = np.empty((len(order), array.shape[1] // matches, array.shape[2]), array.dtype)
        by_match[order] = array.reshape(by_match.shape)
        found[name] = by_match
    return found
