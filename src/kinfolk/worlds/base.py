"""The contract of a world: `W` independent worlds side by side, `N` rows each.

A *row* is an index into the arrays of one world and is reused after a death. A *uid* identifies
one agent from birth to death and is never reused within an episode. A *batch row* is a row of the
whole batch: `world * N + row`.

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
    """Per-agent columns after a reset or a step: read-only views, `[W * N]`.

    An agent that dies in a step keeps its row, uid and reward until the next step begins; only then
    is the row reused. So each batch row belongs to one agent per tick, a dying agent's reward and
    last observation can be read, and a newborn's parents are still in their rows.
    """

    uid: Ints  # uid of the agent in this row, -1 if the row is empty
    alive: Bools  # whether the agent survived this step
    reward: Floats  # reward of this step
    terminated: Bools  # the agent died in this step
    truncated: Bools  # the episode ended in this step while the agent was alive
    group: Ints  # index into spec.groups
    parents: Ints  # [W * N, 2] uids of its parents, -1 where it has none
    parent_rows: Ints  # [W * N, 2] rows of its parents when it was born, -1 where it has none


class WorldEvent(NamedTuple):
    """An event of the last step, returned by `World.events` while events are recorded."""

    world: int  # index of the world in the batch
    tick: int  # steps since the reset, this one included
    kind: str  # one of the world's event kinds
    uid: int  # agent the event happened to, -1 if none
    other: int  # second agent or object involved; its meaning depends on `kind`
    value: float  # amount, reward or code; its meaning depends on `kind`
    note: str = ""  # such as the cause of a death


class World(Protocol):
    """A batch of worlds that are stepped together.

    The same key, settings and actions give the same episode, alone or in a batch of a thousand. A
    world that is done does not change until it is reset.
    """

    @property
    def spec(self) -> WorldSpec:
        """Return the groups of agents, their observation fields and their action heads."""
        ...

    @property
    def n_worlds(self) -> int:
        """Return the number of worlds in the batch."""
        ...

    @property
    def columns(self) -> AgentColumns:
        """Return read-only views of all batch rows; they stay valid and change with every step."""
        ...

    @property
    def done(self) -> Bools:
        """Return `[W]`, read-only: True where the episode has ended."""
        ...

    @property
    def tick(self) -> Ints:
        """Return `[W]`, read-only: steps since the reset."""
        ...

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Start new episodes in `worlds` (all if None), with one random key per world."""
        ...

    def step(self, actions: Ints) -> None:
        """Advance all worlds that are not done by one step.

        Args:
            actions: `[W * N, heads]`, int64; those of empty rows are ignored.

        Raises:
            ContractError: The shape is wrong or a living agent's action is out of range. Nothing
                has changed then.
        """
        ...

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write the observations of living agents and of those that died in this step.

        Args:
            out: `[W * N, row_bytes]`, uint8; empty rows are set to zero.
            worlds: Indices of the worlds to write; all if None.
        """
        ...

    def counters(self) -> dict[str, Ints | Floats]:
        """Return `[W]` copies of the counters since the reset, by name."""
        ...

    def record_events(self, on: bool) -> None:
        """Start or stop recording events; a world that does not record pays nothing for it."""
        ...

    def events(self) -> list[WorldEvent]:
        """Return the events of the last step in order; empty unless events are recorded."""
        ...

    def render_text(self, world: int) -> str:
        """Return one world drawn as text, for a terminal."""
        ...

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of the whole state, as arrays with the world as first axis."""
        ...

    def restore(
        self, snapshot: Arrays, source: Ints | None = None, keys: Ints | None = None
    ) -> None:
        """Restore a snapshot: world `i` becomes a copy of the snapshot's world `source[i]`.

        Args:
            snapshot: What `snapshot` returned, of a world with the same settings.
            source: `[W]` indices into the snapshot's worlds; None restores world `i` to world `i`.
            keys: `[W]` new random keys from here on; None repeats the snapshot's randomness.
        """
        ...


StateT = TypeVar("StateT", bound=tuple[Any, ...])


def take_snapshot(state: StateT) -> dict[str, Any]:
    """Return a copy of every array of a state, by field name."""
    return {name: array.copy() for name, array in state._asdict().items()}  # type: ignore[attr-defined]


def load_snapshot(state: StateT, snapshot: Arrays, source: Ints | None) -> None:
    """Copy the worlds `source` of a snapshot into the arrays of `state`, in place.

    Args:
        state: NamedTuple of arrays to overwrite.
        snapshot: Arrays by field name.
        source: Indices of the snapshot's worlds; None for all in order.

    Raises:
        ContractError: The snapshot is of another kind or size of world.
    """
    for name, array in state._asdict().items():  # type: ignore[attr-defined]
        if name not in snapshot:
            raise ContractError(f"The snapshot has no '{name}': it is of another type of world.")
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
    """Find the first action of a living agent that is out of range.

    Args:
        actions: `[W * N, heads]`, what each agent chose.
        uid: `[W * N]`, -1 for empty rows.
        alive: `[W * N]`, whose actions are checked.
        group: `[W * N]`, index of each agent's group.
        done: `[W]`, worlds that are skipped.
        choices: `[groups, heads]`, number of choices of each head.
        rows: Rows per world.

    Returns:
        `batch_row * heads + head`, or -1 if all actions are valid.
    """
    for batch_row in range(uid.shape[0]):
        if alive[batch_row] and uid[batch_row] >= 0 and not done[batch_row // rows]:
            for head in range(actions.shape[1]):
                action = actions[batch_row, head]
                if action < 0 or action >= choices[group[batch_row], head]:
                    return int(batch_row * actions.shape[1] + head)
    return -1


def check_actions(world: World, actions: Ints) -> None:
    """Check the shape, type and range of `[W * N, heads]` actions.

    Raises:
        ContractError: They are invalid; the message names the first agent with a wrong action.
    """
    spec = world.spec
    shape = (world.n_worlds * spec.rows, spec.n_heads)
    if actions.shape != shape or actions.dtype != np.int64 or not actions.flags.c_contiguous:
        raise ContractError(
            f"Actions must be int64 of shape {shape}, contiguous; "
            f"they were {actions.dtype} of shape {actions.shape}."
        )
    uid, alive, _, _, _, group, _, _ = world.columns
    invalid = _find_invalid_action(
        actions, uid, alive, group, world.done, spec.n_choices, spec.rows
    )
    if invalid >= 0:
        batch_row, head = divmod(invalid, spec.n_heads)
        agent_group = spec.groups[int(group[batch_row])]
        raise ContractError(
            f"Agent {int(uid[batch_row])} of world {batch_row // spec.rows} chose {int(actions[batch_row, head])} "
            f"for {agent_group.heads[head].name}; a {agent_group.name} has 0 to {len(agent_group.heads[head].choices) - 1}."
        )
