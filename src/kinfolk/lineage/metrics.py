"""Metrics of a family tree: depth, live descendants, surviving founders, relatedness."""

from __future__ import annotations

from collections.abc import Iterable

from kinfolk.lineage.family import Family


def depths(family: Family) -> dict[int, int]:
    """Return the generation of each uid: 0 for founders, else one more than the deeper parent."""
    depth: dict[int, int] = {}
    for member in family:
        depth[member.uid] = 1 + max((depth[p] for p in member.parents), default=-1)
    return depth


def live_descendants(family: Family) -> dict[int, int]:
    """Count the live descendants of each uid; one related by two paths counts once."""
    ancestors: dict[int, frozenset[int]] = {}
    counts = dict.fromkeys(family.members, 0)
    for member in family:
        parents = member.parents
        ancestors[member.uid] = frozenset(parents).union(*(ancestors[p] for p in parents))
        if member.destruction_time is None:
            for ancestor in ancestors[member.uid]:
                counts[ancestor] += 1
    return counts


def surviving_founders(family: Family) -> list[int]:
    """Return the uids of founders that are alive or have a live descendant."""
    live = live_descendants(family)
    return [f.uid for f in family.founders() if f.destruction_time is None or live[f.uid] > 0]


def lineage_survival(family: Family) -> float:
    """Return the fraction of founders whose line survives; 0 without founders."""
    founders = family.founders()
    return len(surviving_founders(family)) / len(founders) if founders else 0.0


def mean_depth(family: Family) -> float:
    """Return the mean depth of the members that are alive; 0 if none is."""
    depth = depths(family)
    living = [depth[member.uid] for member in family if member.destruction_time is None]
    return sum(living) / len(living) if living else 0.0


def max_depth(family: Family) -> int:
    """Return the largest depth of any member, dead or alive; 0 for an empty family."""
    return max(depths(family).values(), default=0)


def relatedness(family: Family, first_uid: int, second_uid: int) -> float:
    """Return Wright's coefficient of relationship, without inbreeding: 1/2 for parent and child.

    A child of a single parent inherits everything from it, so that their relatedness is 1.

    Args:
        family: The family.
        first_uid: Uid of one member.
        second_uid: Uid of another.
    """
    first, second = (_ancestor_fractions(family, uid) for uid in (first_uid, second_uid))
    common = first.keys() & second.keys()
    # Only nearest common ancestors: more distant ones are part of their fractions already.
    covered = {a for c in common for a in _ancestor_fractions(family, c) if a != c}
    return sum(first[a] * second[a] for a in common - covered)


def _ancestor_fractions(family: Family, uid: int) -> dict[int, float]:
    """Return the fraction of a member's genome that comes from each ancestor, itself included."""
    fractions = {uid: 1.0}
    for ancestor in _list_ancestors(family, uid):
        parents = family.members[ancestor].parents
        for parent in parents:
            fractions[parent] = fractions.get(parent, 0.0) + fractions[ancestor] / len(parents)
    return fractions


def _list_ancestors(family: Family, uid: int) -> Iterable[int]:
    """Return a member's uid and those of all its ancestors, children before parents."""
    ancestors, stack = set(), [uid]
    while stack:
        current = stack.pop()
        if current not in ancestors:
            ancestors.add(current)
            stack.extend(family.members[current].parents)
    return sorted(ancestors, reverse=True)
