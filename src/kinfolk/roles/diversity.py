"""How much the roles of a pool differ, in what they hold and in what comes before what."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from kinfolk.roles.model import RoleDef


def traits(role: RoleDef) -> frozenset[tuple[int, int]]:
    """What a role holds, as (a, a), and which of its behaviours stands in an earlier tier."""
    found = {(i, i) for i in role.behavior_ids}
    for upper, lower in combinations(role.tiers, 2):
        found |= {(a, b) for a in upper.behavior_ids for b in lower.behavior_ids}
    return frozenset(found)


def distance(one: RoleDef, other: RoleDef) -> float:
    """0 for roles alike, 1 for roles with nothing in common (Jaccard's distance of traits)."""
    a, b = traits(one), traits(other)
    return 1.0 - len(a & b) / len(a | b)


def diversity(roles: Sequence[RoleDef]) -> float:
    """The mean distance of two roles of a pool; 0 for fewer than two."""
    pairs = [distance(a, b) for a, b in combinations(roles, 2)]
    return sum(pairs) / len(pairs) if pairs else 0.0
