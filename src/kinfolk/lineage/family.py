"""A family: all agents that ever lived in one world, with their parents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

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
