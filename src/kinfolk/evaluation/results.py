"""What is known of an evaluated episode, and of many: as values, and as columns of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.evaluation.failures import Failure
from kinfolk.play.episode import EpisodeResult

_SINGLE = ("episode", "seed", "ticks", "full_length")
_NAMED = (
    "returns", "lives", "ticks_lived", "group_lives", "mean_alive", "counters", "group_returns",
)  # fmt: skip
_NOTES = ("failures", "faults", "never_acted")  # by episode, where there is something to note
AGENT_COLUMNS = {
    "uid": "int64", "group": "int64", "slot": "int64", "born": "int64", "ticks": "int64",
    "earned": "float64",
}  # fmt: skip


@dataclass(frozen=True)
class EpisodeReport(EpisodeResult):
    """An episode's result with all that is told of its agents. No clock is in it."""

    seed: int = 0  # the key from which all of the episode follows
    group_returns: dict[str, float] = field(default_factory=dict)
    # Columns, an entry per life: uid, group, slot (both numbers), born, ticks, earned.
    agents: dict[str, list[Any]] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    never_acted: tuple[str, ...] = ()  # slots whose policies took no action of their own
    faults: dict[str, dict[str, int]] = field(default_factory=dict)  # slot -> what -> how often

    def facts(self) -> dict[str, Any]:
        """Plain values, for an event."""
        return asdict(self)


def to_arrays(results: Sequence[EpisodeReport]) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Arrays with an episode per row (agents: a life per row), and what else there is, as notes."""
    arrays = {name: np.array([getattr(r, name) for r in results]) for name in _SINGLE}
    notes: dict[str, Any] = {}
    for table in _NAMED:
        notes[table] = list(getattr(results[0], table))
        arrays[table] = np.array([[getattr(r, table)[n] for n in notes[table]] for r in results])
    for name, kind in AGENT_COLUMNS.items():
        values = [value for r in results for value in r.agents[name]]
        arrays[f"agents/{name}"] = np.array(values, dtype=kind)
    arrays["agents"] = np.array([len(r.agents["uid"]) for r in results], dtype=np.int64)
    notes["failures"] = {
        str(i): [asdict(f) for f in r.failures] for i, r in enumerate(results) if r.failures
    }
    notes["faults"] = {str(i): r.faults for i, r in enumerate(results) if r.faults}
    notes["never_acted"] = {
        str(i): list(r.never_acted) for i, r in enumerate(results) if r.never_acted
    }
    return arrays, notes


def joined(
    before: tuple[Arrays, Mapping[str, Any]] | None, after: tuple[Arrays, Mapping[str, Any]]
) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Two parts laid down by `to_arrays` as one; names are those of both."""
    if before is None:
        return dict(after[0]), dict(after[1])
    offset = len(before[0]["episode"])
    arrays = {name: np.concatenate([before[0][name], part]) for name, part in after[0].items()}
    notes = dict(after[1])
    for name in _NOTES:
        moved = {str(int(i) + offset): told for i, told in after[1][name].items()}
        notes[name] = {**before[1].get(name, {}), **moved}
    return arrays, notes


def from_arrays(arrays: Arrays, notes: Mapping[str, Any]) -> list[EpisodeReport]:
    """The results that `to_arrays` laid down, to the last bit."""
    ends = np.cumsum(arrays["agents"]).tolist()
    starts = [0, *ends[:-1]]
    return [
        EpisodeReport(
            episode=int(arrays["episode"][i]),
            seed=int(arrays["seed"][i]),
            ticks=int(arrays["ticks"][i]),
            full_length=bool(arrays["full_length"][i]),
            agents={name: arrays[f"agents/{name}"][a:b].tolist() for name in AGENT_COLUMNS},
            failures=tuple(Failure(**fact) for fact in notes["failures"].get(str(i), [])),
            never_acted=tuple(notes.get("never_acted", {}).get(str(i), ())),
            faults=notes["faults"].get(str(i), {}),
            **{
                table: dict(zip(notes[table], arrays[table][i].tolist(), strict=True))
                for table in _NAMED
            },
        )
        for i, (a, b) in enumerate(zip(starts, ends, strict=True))
    ]


def column(results: Sequence[EpisodeResult], table: str, name: str) -> AnyArray:
    """One value of every episode, such as a slot's return."""
    return np.array([getattr(r, table)[name] for r in results], dtype=np.float64)
