"""The contract of a world: `W` independent worlds side by side, `N` rows each.

Words. A *row* is a place in the arrays, reused after a death. A *uid* is one life, never reused
within an episode. A *place* is a row of the whole batch: `world * N + row`.

State is a NamedTuple of arrays whose first axis is the world; kernels change it in place.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from kinfolk.core.arrays import Arrays, Bools, Bytes, Floats, Ints
from kinfolk.core.errors import ContractError
from kinfolk.core.jit import kernel
from kinfolk.core.spaces import WorldSpec


class AgentColumns(NamedTuple):
    """What is known of every place after a reset or a step: read-only views, `[W * N]`.

    A life that ends in a step keeps its row, uid and reward until the next step begins; its row
    is given away only then. So each place belongs to one life per tick, a dying agent's reward
    and last observation can be read, and a newborn's parents are still where they were.
    """

    uid: Ints  # the life in this place, -1 if none
    alive: Bools  # whether it goes on after this step
    reward: Floats  # earned in this step
    terminated: Bools  # its life ended in this step
    truncated: Bools  # the episode was cut in this step while it lived
    group: Ints  # index into spec.groups
    parents: Ints  # [W * N, 2] uids of its parents, -1 where it has none
    parent_rows: Ints  # [W * N, 2] rows of its parents when it was born, -1 where it has none


class WorldEvent(NamedTuple):
    """Something that took place in the last step, for those who watch."""

    world: int
    tick: int
    kind: str
    uid: int
    other: int
    value: float
    note: str = ""  # such as the cause of a death


class World(Protocol):
    """A batch of worlds.

    The same key, settings and actions give the same episode, alone or among a thousand. A world
    that is done stands still until it is reset.
    """

    @property
    def spec(self) -> WorldSpec:
        """What it shows and takes."""
        ...

    @property
    def n_worlds(self) -> int:
        """How many run side by side."""
        ...

    @property
    def columns(self) -> AgentColumns:
        """Read-only views of the places; they stay valid and change with every step."""
        ...

    @property
    def done(self) -> Bools:
        """`[W]`, read-only: whose episode has ended."""
        ...

    @property
    def tick(self) -> Ints:
        """`[W]`, read-only: steps since the reset."""
        ...

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Begin new episodes in `worlds` (all if None), one key each."""
        ...

    def step(self, actions: Ints) -> None:
        """Take one action per place, `[W * N, heads]`; those of empty places are not read.

        Raises:
            ContractError: The shape is wrong or a living row's action is out of range. Nothing
                has changed then.
        """
        ...

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write `[W * N, row_bytes]`: living rows and those that ended in this step.

        Rows that are empty are zero.
        """
        ...

    def counters(self) -> dict[str, Ints | Floats]:
        """`[W]` copies of what was counted since the reset, by name."""
        ...

    def record_events(self, on: bool) -> None:
        """Keep happenings from now on, or stop; free when off."""
        ...

    def events(self) -> list[WorldEvent]:
        """What took place in the last step, in order; empty unless watched."""
        ...

    def render_text(self, world: int) -> str:
        """One world drawn as text, for a terminal."""
        ...

    def snapshot(self) -> dict[str, Any]:
        """A copy of the whole state, as arrays with the world as first axis."""
        ...

    def restore(
        self, snapshot: Arrays, source: Ints | None = None, keys: Ints | None = None
    ) -> None:
        """Go back: world `i` becomes a copy of the snapshot's world `source[i]`.

        With `keys` the copies get chance of their own from here on; without, they repeat it.
        """
        ...


StateT = TypeVar("StateT", bound=tuple[Any, ...])


def take_snapshot(state: StateT) -> dict[str, Any]:
    """Copy every array of a state."""
    return {name: array.copy() for name, array in state._asdict().items()}  # type: ignore[attr-defined]


def load_snapshot(state: StateT, snapshot: Arrays, source: Ints | None) -> None:
    """Write the worlds `source` of a snapshot into the arrays of `state`, in place.

    Raises:
        ContractError: The snapshot is of another kind or size of world.
    """
    for name, array in state._asdict().items():  # type: ignore[attr-defined]
        if name not in snapshot:
            raise ContractError(f"The snapshot has no '{name}': it is of another kind of world.")
        saved = snapshot[name] if source is None else snapshot[name][source]
        if saved.shape != array.shape:
            raise ContractError(
                f"The snapshot's '{name}' has shape {saved.shape}; this world needs {array.shape}."
            )
        array[...] = saved


@kernel
def _find_invalid_action(
    actions: Ints, uid: Ints, alive: Bools, group: Ints, done: Bools, choices: Ints, rows: int
) -> int:
    for place in range(uid.shape[0]):
        if alive[place] and uid[place] >= 0 and not done[place // rows]:
            for head in range(actions.shape[1]):
                action = actions[place, head]
                if action < 0 or action >= choices[group[place], head]:
                    return int(place * actions.shape[1] + head)
    return -1


def check_actions(world: World, actions: Ints) -> None:
    """Refuse actions of a wrong shape or type, or out of range, naming the first such agent."""
    spec = world.spec
    shape = (world.n_worlds * spec.rows, spec.n_heads)
    if actions.shape != shape or actions.dtype != np.int64 or not actions.flags.c_contiguous:
        raise ContractError(
            f"Actions must be int64 of shape {shape}, contiguous; "
            f"they were {actions.dtype} of shape {actions.shape}."
        )
    uid, alive, _, _, _, group, _, _ = world.columns
    bad = _find_invalid_action(actions, uid, alive, group, world.done, spec.n_choices, spec.rows)
    if bad >= 0:
        place, head = divmod(bad, spec.n_heads)
        owner = spec.groups[int(group[place])]
        raise ContractError(
            f"Agent {int(uid[place])} of world {place // spec.rows} chose {int(actions[place, head])} "
            f"for {owner.heads[head].name}; a {owner.name} has 0 to {len(owner.heads[head].choices) - 1}."
        )
