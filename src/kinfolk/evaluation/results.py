"""Count and describe failures of policies by slot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from kinfolk.isolation.failures import format_failure
from kinfolk.play.results import EpisodeResult

# Failures of one slot as JSON values: number of `failures`, of `episodes` with a failure or without
# any valid action, of episodes in which it `never_acted`, and the `first` failure (the fields of
# `Failure` and `episode`), None if it only returned invalid actions.
SlotFailures: TypeAlias = dict[str, Any]
FailedSlots: TypeAlias = dict[str, SlotFailures]
_NO_FAILURES: SlotFailures = {"failures": 0, "episodes": 0, "never_acted": 0, "first": None}


def count_failures(earlier: Mapping[str, Any], reports: Iterable[EpisodeResult]) -> FailedSlots:
    """Count the failures of every slot that has any.

    Args:
        earlier: Counts of earlier episodes by slot, which are added.
        reports: Results of further episodes.
    """
    counts: FailedSlots = {slot: {**known} for slot, known in earlier.items()}
    for report in reports:
        failed = [failure.slot for failure in report.failures]
        for slot in dict.fromkeys([*failed, *report.never_acted]):
            slot_counts = counts.setdefault(slot, {**_NO_FAILURES})
            slot_counts["failures"] += failed.count(slot)
            slot_counts["episodes"] += 1
            slot_counts["never_acted"] += slot in report.never_acted
            if slot_counts["first"] is None and slot in failed:
                first = report.failures[failed.index(slot)]
                slot_counts["first"] = {"episode": report.episode, **asdict(first)}
    return counts


def merge_failure_counts(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> FailedSlots:
    """Return the sum of the counts of two sets of episodes."""
    counts: FailedSlots = {slot: {**known} for slot, known in earlier.items()}
    for slot, more in later.items():
        slot_counts = counts.setdefault(slot, {**_NO_FAILURES})
        for name in ("failures", "episodes", "never_acted"):
            slot_counts[name] += more[name]
        slot_counts["first"] = slot_counts["first"] or more["first"]
    return counts


def has_never_acted(counts: Mapping[str, Any], n_episodes: int) -> bool:
    """Whether the policy of a slot gave no valid action in any of the episodes."""
    return bool(counts["never_acted"] == n_episodes)


def describe_failures(counts_by_slot: Mapping[str, Any], n_episodes: int) -> Iterator[str]:
    """Yield a message for each slot that failed: how often, and its first failure.

    Args:
        counts_by_slot: Counts of `count_failures`.
        n_episodes: Number of episodes that were played.
    """
    for slot, slot_counts in counts_by_slot.items():
        episodes = f"{n_episodes} episodes" if n_episodes != 1 else "1 episode"
        if has_never_acted(slot_counts, n_episodes):
            line = f"Slot '{slot}' never acted: its policy failed in all of {episodes}."
        else:
            line = f"Slot '{slot}' failed in {slot_counts['episodes']} of {episodes}."
        first = slot_counts["first"]
        if first is None:
            yield (
                f"{line} None of its actions was valid: whole numbers [agents, spec.n_heads], each "
                f"below the number of choices of its head."
            )
        else:
            message = format_failure(first["message"], first.get("location", ""))
            yield f"{line} The first failure, in episode {first['episode']}: {message}"
