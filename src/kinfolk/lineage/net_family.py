"""The family tree of nets that were evaluated, with what each of them inherited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kinfolk.lineage.family import Family, FamilyMember

UID_STRIDE = 1_000_000_000  # members of each population are numbered from a multiple of this


def family_from_events(events: Iterable[Mapping[str, Any]]) -> Family:
    """Return the family tree of all members that were evaluated and of the strategies' centres.

    A generation is a unit of time; a member dies when it is not in the next one.
    """
    born: dict[int, tuple[tuple[int, ...], str, int]] = {}  # uid -> parents, population, generation
    last: dict[int, int] = {}  # uid -> last generation
    centres: dict[str, int] = {}  # population -> uid
    end: dict[str, int] = {}  # population -> last generation
    for event in (event for event in events if event["kind"] == "generation_scored"):
        name, step, centre = event["population"], event["step"], event["center_uid"]
        end[name] = step
        if centre is not None:
            born[centre] = (_known(centres.get(name, -1)), name, step)
            last[centre], centres[name] = step, centre
        mates = event.get("mates") or [-1] * len(event["uid"])  # not in runs of earlier versions
        for uid, parent, mate in zip(event["uid"], event["parents"], mates, strict=True):
            born.setdefault(uid, (_known(parent, mate), name, step))
            last[uid] = step
    members = []
    for uid, (parents, name, step) in born.items():
        is_alive, death = last[uid] == end[name], last[uid] + 1
        members.append(FamilyMember(uid, parents, name, step, None if is_alive else death))
    return Family.from_members(members)


def _known(*uids: int) -> tuple[int, ...]:
    """Return the uids that are not -1."""
    return tuple(uid for uid in uids if uid >= 0)


def inheritance_columns(
    events: Iterable[Mapping[str, Any]], inherit: Sequence[str]
) -> dict[str, dict[int, str]]:
    """Return what each member had and inherited, as columns for `to_csv`.

    Args:
        events: Events of the run.
        inherit: What offspring inherit beside their net: `env`, `mem`, `fit`.

    Returns:
        By uid: `fitness` in the member's last generation; `inherited`, what it took over from its
        first parent (empty for founders); and `inherited_fitness`, the sum of its ancestors'.
    """
    columns: dict[str, dict[int, str]] = {"fitness": {}, "inherited": {}, "inherited_fitness": {}}
    what = " ".join(["net", *inherit])
    for event in (event for event in events if event["kind"] == "generation_scored"):
        for index, uid in enumerate(event["uid"]):
            if event.get("fitness"):  # not in runs of earlier versions
                columns["fitness"][uid] = f"{event['fitness'][index]:g}"
            if event["parents"][index] >= 0:
                columns["inherited"][uid] = what
            if event.get("inherited"):
                columns["inherited_fitness"][uid] = f"{event['inherited'][index]:g}"
    return columns
