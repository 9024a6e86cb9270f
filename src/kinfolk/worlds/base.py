"""The contract of a world: `W` independent worlds side by side, `N` rows each.

A *row* is an index into the arrays of one world and is reused after a death. A *uid* identifies
one agent from birth to death and is never reused within an episode. A *batch row* is a row of the
whole batch: `world * N + row`.

State is a NamedTuple of arrays whose first axis is the world; kernels change it in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Bytes, Floats, Ints
from kinfolk.core.errors import ContractError, require
from kinfolk.core.jit import kernel
from kinfolk.core.spaces import WorldSpec, decode_numbers
from kinfolk.worlds.threads import ThreadTeam


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


class StepStatistics(NamedTuple):
    """How often agents did something in the last step."""

    names: tuple[str, ...]  # of the statistics
    values: Ints  # [W * N, statistics], of the agent in each row


class World(Protocol):
    """A batch of worlds that are stepped together.

    The same key, settings and actions give the same episode, alone or in a batch of a thousand. A
    world that is done does not change until it is reset.

    A world that knows who did what may also have `step_statistics() -> StepStatistics`. Evaluations
    then report it for each slot.
    """

    @property
    def spec(self) -> WorldSpec:
        """Groups of agents, their observation fields and their action heads."""
        ...

    @property
    def n_worlds(self) -> int:
        """Number of worlds in the batch."""
        ...

    @property
    def columns(self) -> AgentColumns:
        """Read-only views of all batch rows; they stay valid and change with every step."""
        ...

    @property
    def living(self) -> Bools:
        """`[W * N]`: `columns.alive`, without bodies that outlast the death of their agent.

        An agent's life ends when this turns False. Only a world with such bodies, the carcasses of the
        savanna, differs from `columns.alive`.
        """
        ...

    @property
    def done(self) -> Bools:
        """`[W]`, read-only: True where the episode has ended."""
        ...

    @property
    def tick(self) -> Ints:
        """`[W]`, read-only: steps since the reset."""
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
        choices: `[groups, heads]`, number of choices of each head; 0 if it is continuous.
        rows: Rows per world.

    Returns:
        `batch_row * heads + head`, or -1 if all actions are valid.
    """
    for batch_row in range(uid.shape[0]):
        if alive[batch_row] and uid[batch_row] >= 0 and not done[batch_row // rows]:
            for head in range(actions.shape[1]):
                action, n_choices = actions[batch_row, head], choices[group[batch_row], head]
                is_finite = (action >> 52) & 0x7FF != 0x7FF  # as the exponent of a number
                if not (is_finite if n_choices == 0 else 0 <= action < n_choices):
                    return int(batch_row * actions.shape[1] + head)
    return -1


def check_actions(world: World, actions: Ints) -> None:
    """Check the shape, type and range of `[W * N, heads]` actions.

    Raises:
        ContractError: An action is invalid; the message names the first agent with one.
    """
    spec = world.spec
    shape = (world.n_worlds * spec.rows, spec.n_heads)
    if actions.shape != shape or actions.dtype != np.int64 or not actions.flags.c_contiguous:
        raise ContractError(
            f"Actions must be int64 of shape {shape}, contiguous; "
            f"they were {actions.dtype} of shape {actions.shape}."
        )
    uid, alive, group = world.columns.uid, world.columns.alive, world.columns.group
    choices, rows = spec.n_choices, spec.rows
    invalid = _find_invalid_action(actions, uid, alive, group, world.done, choices, rows)
    if invalid >= 0:
        batch_row, head = divmod(invalid, spec.n_heads)
        agent_group = spec.groups[int(group[batch_row])]
        action_head, chosen = agent_group.heads[head], actions[batch_row, head : head + 1]
        agent = f"Agent {int(uid[batch_row])} of world {batch_row // rows} chose"
        name, allowed = action_head.name, f"0 to {len(action_head.choices) - 1}"
        if action_head.is_continuous:
            problem = f"{decode_numbers(chosen)[0]} for {name}, which must be a finite number."
        else:
            problem = f"{int(chosen[0])} for {name}; a {agent_group.name} has {allowed}."
        raise ContractError(f"{agent} {problem}")


class BatchedWorld:
    """Implement the parts of the `World` contract that are the same for every world.

    A subclass keeps its state as `_state`. It has `key`, `tick`, `done` and an array `[W, N, ...]` for
    each field of `AgentColumns`; these must not be reallocated, because views of them are handed out.

    Args:
        spec: Groups, observation fields and action heads.
        state: NamedTuple of arrays with the world as first axis.
        threads: Threads that share the worlds.
    """

    def __init__(self, spec: WorldSpec, state: Any, threads: int = 1) -> None:
        worlds, rows = state.uid.shape
        self._spec = spec
        self._team = ThreadTeam(threads)
        self._all_worlds = np.arange(worlds, dtype=np.int64)
        self._done, self._tick = _make_read_only(state.done), _make_read_only(state.tick)
        arrays = {name: getattr(state, name) for name in AgentColumns._fields}
        self._columns = AgentColumns(
            **{
                n: _make_read_only(a.reshape(worlds * rows, *a.shape[2:]))
                for n, a in arrays.items()
            }
        )

    @property
    def spec(self) -> WorldSpec:
        """Groups of agents, their observation fields and their action heads."""
        return self._spec

    @property
    def n_worlds(self) -> int:
        """Number of worlds in the batch."""
        return len(self._all_worlds)

    @property
    def columns(self) -> AgentColumns:
        """Read-only views of all batch rows."""
        return self._columns

    @property
    def living(self) -> Bools:
        """`[W * N]`: rows of agents that are alive."""
        return self._columns.alive

    @property
    def done(self) -> Bools:
        """`[W]`: True where the episode has ended."""
        return self._done

    @property
    def tick(self) -> Ints:
        """`[W]`: number of steps since the reset."""
        return self._tick

    def kernels(self) -> Sequence[Callable[..., Any]]:
        """Return the kernels that take long to compile with these settings.

        Commands announce compilation while one of them is missing from the cache.
        """
        return ()

    def compile(self, part: int) -> None:
        """Compile one half of the kernels, `part` 0 or 1, so that two processes share the work."""

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of the whole state, as arrays with the world as first axis."""
        return take_snapshot(self._state)  # type: ignore[attr-defined]

    def restore(
        self, snapshot: Arrays, source: Ints | None = None, keys: Ints | None = None
    ) -> None:
        """Restore a snapshot: world `i` becomes a copy of the snapshot's world `source[i]`.

        The random keys lie in the array `key` of the state; a world without chance has none.
        """
        state: Any = self._state  # type: ignore[attr-defined]
        load_snapshot(state, snapshot, source)
        if keys is not None and "key" in state._fields:
            state.key[:] = keys

    def _select_worlds(self, worlds: Ints | None, keys: Ints | None = None) -> Ints:
        """Return indices of worlds as kernels read them: contiguous int64, all worlds if None.

        Raises:
            ContractError: There are `keys`, but not one for each of the worlds.
        """
        indices = self._all_worlds if worlds is None else np.ascontiguousarray(worlds, np.int64)
        if keys is not None and len(keys) != len(indices):
            raise ContractError(f"{len(indices)} worlds need as many keys, not {len(keys)}.")
        return indices

    def _run_in_threads(self, n_items: int, task: Callable[[int, int, int], Any]) -> list[Any]:
        """Call `task(first, last, thread)` for equal parts of `n_items`; see `ThreadTeam.run`."""
        return self._team.run(n_items, task)


def check_batch_size(n_worlds: int, threads: int = 1) -> None:
    """Raise SettingsError unless there is at least one world and one thread."""
    require(n_worlds >= 1, f"A batch needs at least 1 world, not {n_worlds}.")
    require(threads >= 1, f"A batch needs at least 1 thread, not {threads}.")


def _make_read_only(array: AnyArray) -> AnyArray:
    """Return a view of `array` that cannot be written through."""
    view = array.view()
    view.flags.writeable = False
    return view
