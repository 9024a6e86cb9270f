"""What goes on from one generation to the next beside the nets: worlds and memories, by match."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Ints
from kinfolk.play.episode import Play

_BY_PLACE = ("observations", "actions", "seats/", "memory/")
_LEFT_OUT = ("next", "seats/member")  # which lane of a batch a match was in is not its own


def env_of(play: Play) -> dict[str, AnyArray]:
    """The loop's state, a row per match: `[matches, ...]`, or `[matches, rows, ...]`.

    Memory is left out: whether that is inherited is a question of its own.
    """
    found = {}
    for name, array in play.snapshot().items():
        if name not in _LEFT_OUT and not name.startswith("memory/"):
            by_place = name.startswith(_BY_PLACE)
            found[name] = (
                array.reshape(play.world.worlds, -1, *array.shape[1:]) if by_place else array
            )
    return found


def put_env(play: Play, env: Arrays) -> None:
    """Go on with such a state; worlds that rest begin the episodes that the loop was given."""
    state = {
        name: array.reshape(-1, *array.shape[2:]) if name.startswith(_BY_PLACE) else array
        for name, array in env.items()
    }
    own = play.snapshot()
    state |= {name: array for name, array in own.items() if name.startswith("memory/")}
    lanes = np.repeat(np.arange(play.world.worlds), play.world.spec.rows)
    play.restore(state | {"next": own["next"], "seats/member": lanes})


def lend_memory(play: Play, lent: Mapping[str, Arrays]) -> None:
    """Give lives that go on the memory that their member inherited."""
    going = play.seats.uid >= 0
    for slot, memory in zip(play.slots, play.memory, strict=True):
        for name, array in lent.get(slot.id, {}).items():
            memory[name][going] = array.reshape(len(going), *array.shape[2:])[going]


def memory_of(play: Play, slot: str) -> dict[str, AnyArray]:
    """What the policy of a slot remembers: `[matches, rows, ...]`."""
    index = [one.id for one in play.slots].index(slot)
    worlds = play.world.worlds
    return {n: a.reshape(worlds, -1, *a.shape[1:]).copy() for n, a in play.memory[index].items()}


def joined(parts: list[Arrays]) -> dict[str, AnyArray]:
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


def taken(arrays: Arrays, rows: Ints) -> dict[str, AnyArray]:
    """The rows `rows` of every array."""
    return {name: array[rows] for name, array in arrays.items()}
