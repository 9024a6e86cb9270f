"""Results of evaluated episodes: reports, columns of arrays, and failures counted per slot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.isolation.failures import Failure, format_failure
from kinfolk.play.loop import EpisodeResult

_SCALAR_FIELDS = ("episode", "seed", "ticks", "full_length")

_TABLE_FIELDS = (
    "returns", "lives", "ticks_lived", "group_lives", "mean_alive", "counters", "group_returns",
)  # fmt: skip

_NOTE_FIELDS = (
    "failures",
    "invalid_actions",
    "never_acted",
)  # by episode, where there is something to note

AGENT_COLUMNS = {
    "uid": "int64", "group": "int64", "slot": "int64", "birth_tick": "int64", "ticks": "int64",
    "total_reward": "float64",
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
    invalid_actions: dict[str, dict[str, int]] = field(
        default_factory=dict
    )  # slot -> what -> how often

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for an event."""
        return asdict(self)


def to_arrays(results: Sequence[EpisodeReport]) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Arrays with an episode per row (agents: a life per row), and what else there is, as notes."""
    arrays = {name: np.array([getattr(r, name) for r in results]) for name in _SCALAR_FIELDS}
    notes: dict[str, Any] = {}
    for table in _TABLE_FIELDS:
        notes[table] = list(getattr(results[0], table))
        arrays[table] = np.array([[getattr(r, table)[n] for n in notes[table]] for r in results])
    for name, kind in AGENT_COLUMNS.items():
        values = [value for r in results for value in r.agents[name]]
        arrays[f"agents/{name}"] = np.array(values, dtype=kind)
    arrays["agents"] = np.array([len(r.agents["uid"]) for r in results], dtype=np.int64)
    notes["failures"] = {
        str(i): [asdict(f) for f in r.failures] for i, r in enumerate(results) if r.failures
    }
    notes["invalid_actions"] = {
        str(i): r.invalid_actions for i, r in enumerate(results) if r.invalid_actions
    }
    notes["never_acted"] = {
        str(i): list(r.never_acted) for i, r in enumerate(results) if r.never_acted
    }
    return arrays, notes


def concatenate_results(
    earlier: tuple[Arrays, Mapping[str, Any]] | None, later: tuple[Arrays, Mapping[str, Any]]
) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Two parts laid down by `to_arrays` as one; names are those of both."""
    if earlier is None:
        return dict(later[0]), dict(later[1])
    offset = len(earlier[0]["episode"])
    arrays = {name: np.concatenate([earlier[0][name], part]) for name, part in later[0].items()}
    notes = dict(later[1])
    for name in _NOTE_FIELDS:
        moved = {str(int(i) + offset): told for i, told in later[1][name].items()}
        notes[name] = {**earlier[1].get(name, {}), **moved}
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
            invalid_actions=notes["invalid_actions"].get(str(i), {}),
            **{
                table: dict(zip(notes[table], arrays[table][i].tolist(), strict=True))
                for table in _TABLE_FIELDS
            },
        )
        for i, (a, b) in enumerate(zip(starts, ends, strict=True))
    ]


def extract_column(results: Sequence[EpisodeResult], table: str, name: str) -> AnyArray:
    """One value of every episode, such as a slot's return."""
    return np.array([getattr(r, table)[name] for r in results], dtype=np.float64)


# Of one slot over some episodes, as plain values that an event can hold: `failures`, `episodes` in
# which it failed or gave nothing but answers that are no actions, `never_acted` (episodes in which
# it took no action of its own), and `first` (a `Failure` with its `episode`, or None).
SlotFailures: TypeAlias = dict[str, Any]

FailedSlots: TypeAlias = dict[str, SlotFailures]

_NO_FAILURES: SlotFailures = {"failures": 0, "episodes": 0, "never_acted": 0, "first": None}


def count_failures(earlier: Mapping[str, Any], reports: Iterable[EpisodeReport]) -> FailedSlots:
    """Count the failures of every slot that has any.

    Args:
        earlier: Counts of earlier episodes, to go on from.
        reports: The episodes to be added.
    """
    counts: FailedSlots = {slot: {**known} for slot, known in earlier.items()}
    for report in reports:
        failed = [failure.slot for failure in report.failures]
        for slot in dict.fromkeys([*failed, *report.never_acted]):
            one = counts.setdefault(slot, {**_NO_FAILURES})
            one["failures"] += failed.count(slot)
            one["episodes"] += 1
            one["never_acted"] += slot in report.never_acted
            if one["first"] is None and slot in failed:
                first = report.failures[failed.index(slot)]
                one["first"] = {"episode": report.episode, **asdict(first)}
    return counts


def merge_failure_counts(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> FailedSlots:
    """The counts of two sets of episodes as one."""
    counts: FailedSlots = {slot: {**known} for slot, known in earlier.items()}
    for slot, more in later.items():
        one = counts.setdefault(slot, {**_NO_FAILURES})
        for name in ("failures", "episodes", "never_acted"):
            one[name] += more[name]
        one["first"] = one["first"] or more["first"]
    return counts


def has_never_acted(counts: Mapping[str, Any], n_episodes: int) -> bool:
    """Whether a slot took no action of its own in any of the episodes."""
    return bool(counts["never_acted"] == n_episodes)


def describe_failures(counts_by_slot: Mapping[str, Any], n_episodes: int) -> Iterator[str]:
    """Say who failed, how often, and the first failure with the author's file and line.

    Args:
        counts_by_slot: What `tally_failures` counted.
        n_episodes: How many were played.
    """
    for slot, one in counts_by_slot.items():
        several = f"{n_episodes} episodes" if n_episodes != 1 else "1 episode"
        if has_never_acted(one, n_episodes):
            line = f"Slot '{slot}' never acted: its policy failed in all of {several}."
        else:
            line = f"Slot '{slot}' failed in {one['episodes']} of {several}."
        first = one["first"]
        if first is None:
            yield (
                f"{line} None of its answers was an action: whole numbers [agents, spec.n_heads], each "
                f"below the number of choices of its head."
            )
        else:
            sentence = format_failure(first["message"], first.get("location", ""))
            yield f"{line} The first failure, in episode {first['episode']}: {sentence}"
