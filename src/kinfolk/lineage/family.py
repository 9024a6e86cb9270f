"""A family: all agents that ever lived in one world, with their parents, and what follows from it.

Functions compute depth, live descendants, surviving founders and relatedness, and export a family to
Newick and to CSV in the ALife data standard for phylogenies:
https://alife-data-standards.github.io/alife-data-standards/phylogeny
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kinfolk.core.csv_text import write_csv
from kinfolk.core.errors import ContractError


@dataclass(frozen=True)
class FamilyMember:
    """One agent (or one role) and its lifetime. Times are ticks of the world, or generations."""

    uid: int
    parents: tuple[int, ...]  # uids; empty for founders, one or two otherwise
    group: str
    origin_time: int
    destruction_time: int | None = None  # None while it is alive
    cause: str | None = None  # of death; None while it is alive
    name: str = ""  # its id in other tables and logs; "": GROUP_UID


@dataclass(frozen=True)
class Family:
    """All members by uid, parents before their children."""

    members: Mapping[int, FamilyMember]

    @staticmethod
    def from_members(members: Iterable[FamilyMember]) -> Family:
        """Build a family from its members, in any order.

        Raises:
            ContractError: Two members have the same uid, or a parent is missing or has a higher uid
                than its child.
        """
        by_uid: dict[int, FamilyMember] = {}
        for member in sorted(members, key=lambda member: member.uid):
            if member.uid in by_uid:
                raise ContractError(f"Two members have the uid {member.uid}.")
            for parent in member.parents:
                if parent not in by_uid:
                    raise ContractError(
                        f"Member {member.uid} has the parent {parent}, "
                        f"which is missing or has a higher uid."
                    )
            by_uid[member.uid] = member
        return Family(by_uid)

    def __iter__(self) -> Iterator[FamilyMember]:
        return iter(self.members.values())

    def __len__(self) -> int:
        return len(self.members)

    def founders(self) -> list[FamilyMember]:
        """Return the members that have no parents."""
        return [member for member in self if not member.parents]

    def children(self) -> dict[int, list[int]]:
        """Return the uids of each member's children, in order of birth."""
        children: dict[int, list[int]] = {uid: [] for uid in self.members}
        for member in self:
            for parent in dict.fromkeys(member.parents):
                children[parent].append(member.uid)
        return children


def depths(family: Family) -> dict[int, int]:
    """Return the generation of each uid: 0 for founders, else one more than the deeper parent."""
    depth: dict[int, int] = {}
    for member in family:
        depth[member.uid] = 1 + max((depth[p] for p in member.parents), default=-1)
    return depth


def live_descendants(family: Family) -> dict[int, int]:
    """Return the number of live descendants of each uid; a descendant by two paths counts once."""
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
    """Return the mean depth of the members that are alive; 0 if no member is alive."""
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
        family: Family of both members.
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


COLUMNS = ("id", "ancestor_list", "origin_time", "destruction_time", "taxon_label", "cause")


def to_csv(family: Family, extra_columns: Mapping[str, Mapping[int, str]] | None = None) -> str:
    """Format a family as a CSV table of the ALife data standard for phylogenies.

    Founders have the ancestor `[NONE]`, members that are alive the destruction time `inf`.

    If members have names, the column `agent_id` holds them.

    Args:
        family: The family, one row per member.
        extra_columns: Further columns by name, each with a text by uid; the standard allows any.
    """
    extra = dict(extra_columns or {})
    if any(member.name for member in family):
        extra["agent_id"] = {member.uid: member.name for member in family}
    rows: list[list[Any]] = [[*COLUMNS, *extra]]
    for member in family:
        ancestors = ",".join(str(parent) for parent in member.parents) or "NONE"
        end = "inf" if member.destruction_time is None else str(member.destruction_time)
        row = [member.uid, f"[{ancestors}]", member.origin_time, end, member.group]
        values = [column.get(member.uid, "") for column in extra.values()]
        rows.append([*row, member.cause or "", *values])
    return write_csv(rows)


def to_newick(family: Family, end_time: int) -> str:
    """Format a family as Newick trees, one line per founder.

    Every member is a node with its name, `GROUP_UID` if it has none. The branch of a member with
    children ends at its birth, and a leaf `NAME_end` below it marks its death; a member without children is a leaf
    at its death. So every lifetime can be read from the tree.

    Args:
        family: Family in which every member has at most one parent.
        end_time: Time of death given to members that are alive.

    Raises:
        ContractError: A member has two parents, which a tree cannot represent.
    """
    children = family.children()
    ends = [(member.uid, member.destruction_time) for member in family]
    deaths = {uid: end_time if end is None else end for uid, end in ends}
    subtrees: dict[int, str] = {}
    for member in reversed(list(family)):  # children before parents: deep trees need no recursion
        if len(member.parents) > 1:
            raise ContractError(f"Member {member.uid} has two parents; Newick allows only one.")
        name = member.name or f"{member.group}_{member.uid}"
        nodes = []
        for child in children[member.uid]:
            end = family.members[child].origin_time if children[child] else deaths[child]
            nodes.append(f"{subtrees.pop(child)}:{end - member.origin_time}")
        if nodes:
            nodes.append(f"{name}_end:{deaths[member.uid] - member.origin_time}")
            name = f"({','.join(nodes)}){name}"
        subtrees[member.uid] = name
    return "".join(f"{subtrees[founder.uid]};\n" for founder in family.founders())
