"""Results of episodes: one class for an episode's fields, and many episodes as columns of arrays.

Every other form of a result (events, tables, snapshots of a job) goes over the fields of
`EpisodeResult`, so that a field is written down here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, get_type_hints, overload

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.play.agent_log import AGENT_COLUMNS


@dataclass(frozen=True)
class Failure:
    """A policy failed. From this tick on its agents did nothing, unless it was restarted."""

    slot: str
    policy: str  # its class path
    agent: int  # uid, or -1 if the slot's agents were played together
    tick: int
    cause: str  # raised, hung or died
    sentence: str
    traceback: str = ""
    restarted: bool = False  # its state was lost then
    where: str = ""  # file, line and function of the author's code; "" if it is not known


@dataclass(frozen=True)
class EpisodeResult:
    """What came of one episode. It follows from the task's seed and the episode's number alone."""

    episode: int
    ticks: int
    full_length: bool  # it reached the world's time limit
    returns: dict[str, float]  # by slot, summed over its agents
    lives: dict[str, int]  # by slot
    ticks_lived: dict[str, int]  # by slot, summed over its agents
    group_lives: dict[str, int]  # by group, ever alive
    mean_alive: dict[str, float]  # by group, over the episode's ticks
    counters: dict[str, float]  # of the world
    seed: int = 0  # the random key from which all of the episode follows
    # The remaining fields are empty unless the task logs agents or handles failures.
    group_returns: dict[str, float] = field(default_factory=dict)
    agents: dict[str, list[Any]] = field(default_factory=dict)  # columns of `AgentRecord`
    failures: tuple[Failure, ...] = ()
    never_acted: tuple[str, ...] = ()  # slots whose policies took no action of their own
    invalid_actions: dict[str, dict[str, int]] = field(
        default_factory=dict
    )  # slot, what, how often


_HINTS = get_type_hints(EpisodeResult)
SCALARS = tuple(name for name, hint in _HINTS.items() if hint in (int, bool))
# Tables have a value for each slot, group or counter.
TABLES = tuple(name for name, hint in _HINTS.items() if hint in (dict[str, int], dict[str, float]))
_AGENTS = "agents"
NOTES = tuple(name for name in _HINTS if name not in (*SCALARS, *TABLES, _AGENTS))


class EpisodeColumns(Sequence[EpisodeResult]):
    """Results of episodes as columns, for little memory; read by index they are `EpisodeResult`s.

    Args:
        arrays: Each scalar field as `[episodes]`, each table as `[episodes, names]`, `agents` as the
            number of agents in each episode, and `agents/FIELD` with an entry per agent.
        notes: The names of each table's columns, and by episode the failures, faults and slots
            that never acted, where there are any.
    """

    def __init__(self, arrays: Arrays, notes: Mapping[str, Any]) -> None:
        self.arrays, self.notes = dict(arrays), dict(notes)
        self._ends = np.cumsum(self.arrays[_AGENTS]).tolist() if self.arrays else []

    @staticmethod
    def of(results: Sequence[EpisodeResult]) -> EpisodeColumns:
        """Lay results out as columns; the names of tables are those of the first result."""
        if not results:
            return EpisodeColumns({}, {})
        arrays = {name: np.array([getattr(r, name) for r in results]) for name in SCALARS}
        notes: dict[str, Any] = {}
        for table in TABLES:
            names = notes[table] = list(getattr(results[0], table))
            arrays[table] = np.array([[getattr(r, table)[n] for n in names] for r in results])
        for name, kind in AGENT_COLUMNS.items():
            values = [value for r in results for value in r.agents.get(name, ())]
            arrays[f"{_AGENTS}/{name}"] = np.array(values, dtype=kind)
        counts = [len(r.agents.get("uid", ())) for r in results]
        arrays[_AGENTS] = np.array(counts, dtype=np.int64)
        for name in NOTES:
            kept = {str(i): getattr(r, name) for i, r in enumerate(results) if getattr(r, name)}
            notes[name] = {i: _plain(value) for i, value in kept.items()}
        return EpisodeColumns(arrays, notes)

    def joined(self, after: EpisodeColumns) -> EpisodeColumns:
        """Return these episodes and then those of `after`, which have the same slots and groups."""
        if not len(self) or not len(after):
            return after if not len(self) else self
        arrays = {n: np.concatenate([self.arrays[n], part]) for n, part in after.arrays.items()}
        notes = dict(after.notes)
        for name in NOTES:
            moved = {str(int(i) + len(self)): value for i, value in after.notes[name].items()}
            notes[name] = {**self.notes[name], **moved}
        return EpisodeColumns(arrays, notes)

    def column(self, table: str, name: str) -> AnyArray:
        """Return one value of every episode as `[episodes]` floats, such as a slot's return."""
        index = self.notes[table].index(name)
        values: AnyArray = self.arrays[table][:, index].astype(np.float64)
        return values

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> EpisodeResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[EpisodeResult]: ...
    def __getitem__(self, index: int | slice) -> EpisodeResult | list[EpisodeResult]:
        """Return episodes as they were laid out, to the last bit."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"There is no episode {index} among {len(self)}.")
        i = index % len(self)
        fields: dict[str, Any] = {name: self.arrays[name][i].item() for name in SCALARS}
        for table in TABLES:
            fields[table] = dict(
                zip(self.notes[table], self.arrays[table][i].tolist(), strict=True)
            )
        agents = slice(self._ends[i - 1] if i else 0, self._ends[i])
        if agents.start < agents.stop:
            fields[_AGENTS] = {
                name: self.arrays[f"{_AGENTS}/{name}"][agents].tolist() for name in AGENT_COLUMNS
            }
        fields |= {n: self.notes[n][str(i)] for n in NOTES if str(i) in self.notes[n]}
        fields["failures"] = tuple(Failure(**facts) for facts in fields.get("failures", ()))
        fields["never_acted"] = tuple(fields.get("never_acted", ()))
        return EpisodeResult(**fields)

    def __iter__(self) -> Iterator[EpisodeResult]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EpisodeColumns) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # arrays may be changed


def joined_columns(parts: Iterable[EpisodeColumns]) -> EpisodeColumns:
    """Return the episodes of all parts, one part after another."""
    whole = EpisodeColumns.of(())
    for part in parts:
        whole = whole.joined(part)
    return whole


def _plain(value: Any) -> Any:
    """Return a note as values that JSON can hold."""
    if isinstance(value, tuple):
        return [asdict(item) if isinstance(item, Failure) else item for item in value]
    return value
