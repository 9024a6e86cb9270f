"""Which slots' policies failed, how often, and whether they took any action at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from kinfolk.evaluation.failures import told
from kinfolk.evaluation.results import EpisodeReport

# Of one slot over some episodes, as plain values that an event can hold: `failures`, `episodes` in
# which it failed or gave nothing but answers that are no actions, `never_acted` (episodes in which
# it took no action of its own), and `first` (a `Failure` with its `episode`, or None).
SlotFailures: TypeAlias = dict[str, Any]
FailedSlots: TypeAlias = dict[str, SlotFailures]
_NONE: SlotFailures = {"failures": 0, "episodes": 0, "never_acted": 0, "first": None}


def tally_failures(before: Mapping[str, Any], reports: Iterable[EpisodeReport]) -> FailedSlots:
    """Count the failures of every slot that has any.

    Args:
        before: Counts of earlier episodes, to go on from.
        reports: The episodes to be added.
    """
    counts: FailedSlots = {slot: {**known} for slot, known in before.items()}
    for report in reports:
        failed = [failure.slot for failure in report.failures]
        for slot in dict.fromkeys([*failed, *report.never_acted]):
            one = counts.setdefault(slot, {**_NONE})
            one["failures"] += failed.count(slot)
            one["episodes"] += 1
            one["never_acted"] += slot in report.never_acted
            if one["first"] is None and slot in failed:
                first = report.failures[failed.index(slot)]
                one["first"] = {"episode": report.episode, **asdict(first)}
    return counts


def joined_failures(before: Mapping[str, Any], after: Mapping[str, Any]) -> FailedSlots:
    """The counts of two sets of episodes as one."""
    counts: FailedSlots = {slot: {**known} for slot, known in before.items()}
    for slot, more in after.items():
        one = counts.setdefault(slot, {**_NONE})
        for name in ("failures", "episodes", "never_acted"):
            one[name] += more[name]
        one["first"] = one["first"] or more["first"]
    return counts


def has_never_acted(one: Mapping[str, Any], episodes: int) -> bool:
    """Whether a slot took no action of its own in any of the episodes."""
    return bool(one["never_acted"] == episodes)


def describe_failures(slots: Mapping[str, Any], episodes: int) -> Iterator[str]:
    """Say who failed, how often, and the first failure with the author's file and line.

    Args:
        slots: What `tally_failures` counted.
        episodes: How many were played.
    """
    for slot, one in slots.items():
        several = f"{episodes} episodes" if episodes != 1 else "1 episode"
        if has_never_acted(one, episodes):
            line = f"Slot '{slot}' never acted: its policy failed in all of {several}."
        else:
            line = f"Slot '{slot}' failed in {one['episodes']} of {several}."
        first = one["first"]
        if first is None:
            yield (
                f"{line} None of its answers was an action: whole numbers [agents, spec.heads], each "
                f"below the number of choices of its head."
            )
        else:
            sentence = told(first["sentence"], first.get("where", ""))
            yield f"{line} The first failure, in episode {first['episode']}: {sentence}"
