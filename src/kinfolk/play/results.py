"""Results of episodes: records of agents, the fields of one episode, many episodes as columns.

Events, tables and snapshots of jobs iterate over the fields of `EpisodeResult`, so a new field is
declared here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, get_type_hints, overload

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Ints
from kinfolk.play.assignment import RowState
from kinfolk.worlds.base import World, WorldEvent


class AgentRecord(NamedTuple):
    """One agent of one episode."""

    uid: int
    group: int  # index
    slot: int  # index
    birth_tick: int  # ticks played when it was born; 0 for founders
    ticks: int  # that it lived; 0 if it was born in the last tick of the episode
    total_reward: float


# The fields of a record and the types of their columns.
_RECORD_HINTS = get_type_hints(AgentRecord).items()
AGENT_COLUMNS = {name: "float64" if hint is float else "int64" for name, hint in _RECORD_HINTS}


class AgentLog:
    """Collects a record of each agent of a batch when it dies or its episode ends.

    With several slots it also counts what the agents of each slot did, if the world says who did what
    (`step_statistics`, see `World`). With one slot the counters of the world say it.

    Args:
        slots: Ids of the slots.
    """

    def __init__(self, slots: Sequence[str] = ()) -> None:
        self._records: dict[int, list[AgentRecord]] = {}
        self._slots = list(slots)
        self._names: tuple[str, ...] = ()  # of what is counted
        self._counts: Ints = np.zeros((0, 0, 0), np.int64)  # [worlds, slots, names]
        # By world and uid, the ticks that agents lived of which there is still a body.
        self._ticks_lived: dict[tuple[int, int], int] = {}

    def update(
        self,
        world: World,
        row_state: RowState,
        playing: Bools,
        find_slot: Callable[[int], int],
    ) -> None:
        """Record the agents that died, or whose episode ended, in the last step.

        Args:
            world: The batch of worlds, after the step.
            row_state: The loop's state of every row of the batch.
            playing: `[worlds]`, True for worlds that took part in the step.
            find_slot: Returns the slot of the agent in a batch row.
        """
        columns, rows = world.columns, world.spec.rows
        is_playing = np.repeat(playing, rows) & (columns.uid >= 0)
        if world.living is not columns.alive:
            for index in np.flatnonzero(is_playing & columns.alive & ~world.living).tolist():
                body = index // rows, int(columns.uid[index])
                self._ticks_lived.setdefault(body, int(row_state.n_steps[index]))
        is_over = np.repeat(world.done, rows) & columns.alive
        for index in np.flatnonzero(is_playing & (columns.terminated | is_over)).tolist():
            world_index, uid = index // rows, int(columns.uid[index])
            n_steps, total_reward = 0, 0.0
            if row_state.uid[index] == uid:  # else it was born in this step
                n_steps = int(row_state.n_steps[index])
                total_reward = float(row_state.total_reward[index])
            record = AgentRecord(
                uid,
                int(columns.group[index]),
                find_slot(index),
                int(world.tick[world_index]) - n_steps,
                self._ticks_lived.pop((world_index, uid), n_steps),
                total_reward,
            )
            self._records.setdefault(world_index, []).append(record)
        if len(self._slots) > 1 and hasattr(world, "step_statistics"):
            self._count(world, row_state, playing)

    def _count(self, world: Any, row_state: RowState, playing: Bools) -> None:
        """Add what agents did in the last step, and the births of their children, to their slots."""
        columns, rows = world.columns, world.spec.rows
        is_playing = np.repeat(playing, rows)
        acted = is_playing & (row_state.uid == columns.uid) & (columns.uid >= 0)
        first_parent = columns.parent_rows[:, 0]
        born = np.flatnonzero(is_playing & ~acted & columns.alive & (first_parent >= 0))
        births = np.bincount(born - born % rows + first_parent[born], minlength=len(acted))
        done = world.step_statistics()
        values = np.column_stack([births, done.values])
        if not self._names:
            self._names = ("births", *done.names)
            shape = (world.n_worlds, len(self._slots), len(self._names))
            self._counts = np.zeros(shape, np.int64)
        for slot in range(len(self._slots)):
            is_of_slot = acted & (row_state.slot == slot)
            by_world = (values * is_of_slot[:, None]).reshape(world.n_worlds, rows, -1)
            self._counts[:, slot] += by_world.sum(axis=1)

    def take_counts(self, world: int) -> dict[str, float]:
        """Remove and return what each slot did in a world's ended episode, by `SLOT/NAME`."""
        if not self._names:
            return {}
        taken = {
            f"{slot}/{name}": float(count)
            for slot, counts in zip(self._slots, self._counts[world].tolist(), strict=True)
            for name, count in zip(self._names, counts, strict=True)
        }
        self._counts[world] = 0
        return taken

    def take(self, world: int) -> list[AgentRecord]:
        """Remove and return the records of a world's ended episode, sorted by uid."""
        return sorted(self._records.pop(world, []))


_DEATH_EVENTS = ("death", "carcass")  # kinds of events whose note is a cause of death


class Birth(NamedTuple):
    """The first tick in which an agent exists; the parents of an initial agent are -1."""

    uid: int
    tick: int
    group: int
    parents: tuple[int, int]


class Death(NamedTuple):
    """The tick in which an agent died, and the cause in the world's terms."""

    uid: int
    tick: int
    cause: str


class BirthDeathLog:
    """Collects the births and deaths of a single world in order of time.

    Agents that die before they act are included. Causes of death are known only while the world
    records its events (`World.record_events`); they are the notes of events.
    """

    def __init__(self) -> None:
        self.births: list[Birth] = []
        self.deaths: list[Death] = []
        self._known: Bools = np.zeros(1024, dtype=np.bool_)  # by uid
        self._bodies: set[int] = set()  # uids of the dead that are still in the world

    def add_births(self, world: World) -> None:
        """Add the agents that exist now and are not in the log yet."""
        columns, tick = world.columns, int(world.tick[0])
        highest = int(columns.uid.max(initial=0))
        if highest >= len(self._known):
            self._known = np.concatenate([self._known, np.zeros(2 * highest, dtype=np.bool_)])
        indices: Ints = np.flatnonzero((columns.uid >= 0) & ~self._known[columns.uid])
        for index in indices.tolist():
            uid = int(columns.uid[index])
            self._known[uid] = True
            first, second = columns.parents[index].tolist()
            self.births.append(Birth(uid, tick, int(columns.group[index]), (first, second)))

    def add_deaths(self, world: World, events: Iterable[WorldEvent]) -> None:
        """Add the agents that died in the last step, with the causes that `events` of the world give."""
        tick, columns = int(world.tick[0]), world.columns
        causes = {event.uid: event.note for event in events if event.kind in _DEATH_EVENTS}
        bodies = set(columns.uid[columns.alive & ~world.living].tolist())
        died = sorted(bodies - self._bodies)
        died += [u for u in columns.uid[columns.terminated].tolist() if u not in self._bodies]
        for uid in died:
            self.deaths.append(Death(uid, tick, causes.get(uid) or "ended"))
        self._bodies = bodies

    def clear(self) -> None:
        """Drop the collected births and deaths, but remember which agents were born."""
        self.births, self.deaths = [], []


@dataclass(frozen=True)
class Failure:
    """A failure of a policy; from this tick on its agents act as noop, unless it is restarted."""

    slot: str
    policy: str  # class path
    agent: int  # uid, or -1 if one policy plays all agents of the slot
    tick: int
    cause: str  # raised, timeout or exited
    message: str
    traceback: str = ""
    restarted: bool = False  # the policy was built again, without its memory
    location: str = ""  # file, line and function in the policy author's code; "" if unknown


@dataclass(frozen=True)
class EpisodeResult:
    """The result of one episode, determined by the task's seed and the episode's number alone."""

    episode: int  # its number
    ticks: int
    max_ticks: int  # the world's time limit
    full_length: bool  # whether it reached that limit
    returns: dict[str, float]  # by slot, summed over its agents
    lives: dict[str, int]  # by slot, number of agents that acted
    ticks_lived: dict[str, int]  # by slot, summed over its agents; a carcass is not alive
    group_lives: dict[str, int]  # by group, number of agents that acted
    mean_alive: dict[str, float]  # by group, averaged over the episode's ticks
    counters: dict[str, float]  # the world's counters at the end
    seed: int = 0  # the episode's random key, from which everything in it is drawn
    # The remaining fields are empty unless the task logs agents or handles failures.
    group_returns: dict[str, float] = field(default_factory=dict)
    agents: dict[str, list[Any]] = field(default_factory=dict)  # columns of `AgentRecord`
    failures: tuple[Failure, ...] = ()
    never_acted: tuple[str, ...] = ()  # slots whose policies never gave a valid action
    # By slot and reason: how many answers of its policy were replaced by noop.
    invalid_actions: dict[str, dict[str, int]] = field(default_factory=dict)
    # By `SLOT/NAME`, what its agents did, of worlds that say who did what; if there are several slots.
    slot_counters: dict[str, float] = field(default_factory=dict)


_HINTS = get_type_hints(EpisodeResult)
SCALAR_FIELDS = tuple(name for name, hint in _HINTS.items() if hint in (int, bool))
# Fields with a value for each slot, group or counter.
TABLE_FIELDS = tuple(
    name for name, hint in _HINTS.items() if hint in (dict[str, int], dict[str, float])
)
_AGENTS = "agents"
# Fields that are empty in most episodes; kept as plain values instead of arrays.
NOTE_FIELDS = tuple(name for name in _HINTS if name not in (*SCALAR_FIELDS, *TABLE_FIELDS, _AGENTS))


class EpisodeColumns(Sequence[EpisodeResult]):
    """A sequence of `EpisodeResult`s, stored as columns to save memory.

    Args:
        arrays: Each field of `SCALAR_FIELDS` as `[episodes]`, each of `TABLE_FIELDS` as
            `[episodes, names]`, `agents` as `[episodes]` numbers of agents, and `agents/FIELD` with
            an entry per agent of all episodes.
        notes: For each of `TABLE_FIELDS` the names of its columns; for each of `NOTE_FIELDS` its
            values by index of the episode (as text, for JSON), without those that are empty.
    """

    def __init__(self, arrays: Arrays, notes: Mapping[str, Any]) -> None:
        self.arrays, self.notes = dict(arrays), dict(notes)
        self._ends = np.cumsum(self.arrays[_AGENTS]).tolist() if self.arrays else []

    @staticmethod
    def from_results(results: Sequence[EpisodeResult]) -> EpisodeColumns:
        """Return results as columns; the first result names the columns of the tables."""
        if not results:
            return EpisodeColumns({}, {})
        arrays = {name: np.array([getattr(r, name) for r in results]) for name in SCALAR_FIELDS}
        notes: dict[str, Any] = {}
        for table in TABLE_FIELDS:
            names = notes[table] = list(getattr(results[0], table))
            arrays[table] = np.array([[getattr(r, table)[n] for n in names] for r in results])
        for name, kind in AGENT_COLUMNS.items():
            values = [value for r in results for value in r.agents.get(name, ())]
            arrays[f"{_AGENTS}/{name}"] = np.array(values, dtype=kind)
        counts = [len(r.agents.get("uid", ())) for r in results]
        arrays[_AGENTS] = np.array(counts, dtype=np.int64)
        for name in NOTE_FIELDS:
            values_by_index = {str(i): getattr(r, name) for i, r in enumerate(results)}
            notes[name] = {i: _to_plain(value) for i, value in values_by_index.items() if value}
        return EpisodeColumns(arrays, notes)

    def concatenate(self, other: EpisodeColumns) -> EpisodeColumns:
        """Return these episodes followed by those of `other`, which has the same slots and groups."""
        if not len(self) or not len(other):
            return other if not len(self) else self
        arrays = {n: np.concatenate([self.arrays[n], part]) for n, part in other.arrays.items()}
        notes = dict(other.notes)
        for name in NOTE_FIELDS:
            shifted = {str(int(i) + len(self)): value for i, value in other.notes[name].items()}
            notes[name] = {**self.notes[name], **shifted}
        return EpisodeColumns(arrays, notes)

    def column(self, table: str, name: str) -> AnyArray:
        """Return one column of a table field, such as a slot's returns, as `[episodes]` floats."""
        index = self.notes[table].index(name)
        return np.array(self.arrays[table][:, index], dtype=np.float64)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> EpisodeResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[EpisodeResult]: ...
    def __getitem__(self, index: int | slice) -> EpisodeResult | list[EpisodeResult]:
        """Return the results at an index or slice, equal to those the columns were built from."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"Index {index} is out of range for {len(self)} episodes.")
        i = index % len(self)
        fields: dict[str, Any] = {name: self.arrays[name][i].item() for name in SCALAR_FIELDS}
        for table in TABLE_FIELDS:
            values = self.arrays[table][i].tolist()
            fields[table] = dict(zip(self.notes[table], values, strict=True))
        agents = slice(self._ends[i - 1] if i else 0, self._ends[i])
        if agents.start < agents.stop:
            fields[_AGENTS] = {
                name: self.arrays[f"{_AGENTS}/{name}"][agents].tolist() for name in AGENT_COLUMNS
            }
        fields |= {n: self.notes[n][str(i)] for n in NOTE_FIELDS if str(i) in self.notes[n]}
        fields["failures"] = tuple(Failure(**values) for values in fields.get("failures", ()))
        fields["never_acted"] = tuple(fields.get("never_acted", ()))
        return EpisodeResult(**fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EpisodeColumns) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # arrays may be changed

    def __repr__(self) -> str:
        if not len(self):
            return "EpisodeColumns(0 episodes)"
        slots, failed = ", ".join(self.notes["returns"]), len(self.notes["failures"])
        return f"EpisodeColumns({len(self)} episodes, slots {slots}, {failed} with failures)"


def concatenate_columns(parts: Iterable[EpisodeColumns]) -> EpisodeColumns:
    """Return the episodes of all parts as one sequence, in the order of the parts."""
    columns = EpisodeColumns.from_results(())
    for part in parts:
        columns = columns.concatenate(part)
    return columns


def _to_plain(value: Any) -> Any:
    """Return the value of a note field as JSON can hold it."""
    if isinstance(value, tuple):
        return [asdict(item) if isinstance(item, Failure) else item for item in value]
    return value
