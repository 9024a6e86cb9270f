"""Which slots' policies failed, how often, and whether they took any action at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from kinfolk.isolation.failures import format_failure
from kinfolk.play.results import EpisodeResult

# Of one slot over some episodes, as plain values that an event can hold: `failures`, `episodes` in
# which it failed or gave nothing but answers that are no actions, `never_acted` (episodes in which
# it took no action of its own), and `first` (a `Failure` with its `episode`, or None).
SlotFailures: TypeAlias = dict[str, Any]
FailedSlots: TypeAlias = dict[str, SlotFailures]
_NO_FAILURES: SlotFailures = {"failures": 0, "episodes": 0, "never_acted": 0, "first": None}


def count_failures(earlier: Mapping[str, Any], reports: Iterable[EpisodeResult]) -> FailedSlots:
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
