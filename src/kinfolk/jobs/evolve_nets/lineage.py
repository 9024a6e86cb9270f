"""The phylogeny of an evolution of nets, read from its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kinfolk.lineage.family import Family, FamilyMember


def family_from_events(events: Iterable[Mapping[str, Any]]) -> Family:
    """Return every member that was evaluated, and the centres that strategies drew from.

    A generation is a unit of time; a member dies when it is not in the next one.
    """
    born: dict[int, tuple[int, str, int]] = {}  # uid -> parent, population, generation
    last: dict[int, int] = {}
    centres: dict[str, int] = {}
    end: dict[str, int] = {}
    for event in events:
        if event["kind"] != "generation_scored":
            continue
        name, step = event["population"], event["step"]
        end[name] = step
        centre = event["center_uid"]
        if centre is not None:
            born[centre] = (centres.get(name, -1), name, step)
            last[centre], centres[name] = step, centre
        for uid, parent in zip(event["uid"], event["parents"], strict=True):
            born.setdefault(uid, (parent, name, step))
            last[uid] = step
    return Family.from_members(
        FamilyMember(
            uid,
            () if parent < 0 else (parent,),
            name,
            step,
            None if last[uid] == end[name] else last[uid] + 1,
        )
        for uid, (parent, name, step) in born.items()
    )
