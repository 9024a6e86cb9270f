"""Measures of a family: depth, live descendants, which founders' lines survive."""

from __future__ import annotations

from collections.abc import Iterable

from kinfolk.lineage.family import Family


def depths(family: Family) -> dict[int, int]:
    """Generations since the founders, by uid: founders have 0; of two parents the deeper counts."""
    found: dict[int, int] = {}
    for member in family:
        found[member.uid] = 1 + max((found[p] for p in member.parents), default=-1)
    return found


def live_descendants(family: Family) -> dict[int, int]:
    """How many descendants of each life are alive. Somebody related twice counts once."""
    ancestors: dict[int, frozenset[int]] = {}
    found = dict.fromkeys(family.members, 0)
    for member in family:
        mine = frozenset(member.parents).union(*(ancestors[p] for p in member.parents))
        ancestors[member.uid] = mine
        if member.destruction_time is None:
            for ancestor in mine:
                found[ancestor] += 1
    return found


def surviving_founders(family: Family) -> list[int]:
    """Founders that are alive or have a live descendant."""
    live = live_descendants(family)
    return [f.uid for f in family.founders() if f.destruction_time is None or live[f.uid] > 0]


def lineage_survival(family: Family) -> float:
    """The share of founders whose line goes on; 0 if there are none."""
    founders = family.founders()
    return len(surviving_founders(family)) / len(founders) if founders else 0.0


def mean_depth(family: Family) -> float:
    """The mean depth of the living; 0 if nobody is."""
    depth = depths(family)
    living = [depth[member.uid] for member in family if member.destruction_time is None]
    return sum(living) / len(living) if living else 0.0


def max_depth(family: Family) -> int:
    """The deepest generation ever reached; 0 for an empty family."""
    return max(depths(family).values(), default=0)


def relatedness(family: Family, first_uid: int, second_uid: int) -> float:
    """Wright's coefficient of relationship, not counting inbreeding: 1/2 for parent and child.

    With a single parent a child carries all of it, and so has a relatedness of 1 to it.
    """
    shares = [_ancestor_fractions(family, uid) for uid in (first_uid, second_uid)]
    common = shares[0].keys() & shares[1].keys()
    # Only the nearest common ancestors: what they have from theirs is in their share already.
    covered = {a for c in common for a in _ancestor_fractions(family, c) if a != c}
    return sum(shares[0][a] * shares[1][a] for a in common - covered)


def _ancestor_fractions(family: Family, uid: int) -> dict[int, float]:
    """How much of `uid` each ancestor gave, itself included."""
    found = {uid: 1.0}
    for ancestor in _list_ancestors(family, uid):
        parents = family.members[ancestor].parents
        for parent in parents:
            found[parent] = found.get(parent, 0.0) + found[ancestor] / len(parents)
    return found


def _list_ancestors(family: Family, uid: int) -> Iterable[int]:
    """`uid` and its ancestors, children before parents."""
    found, queue = set(), [uid]
    while queue:
        one = queue.pop()
        if one not in found:
            found.add(one)
            queue.extend(family.members[one].parents)
    return sorted(found, reverse=True)
