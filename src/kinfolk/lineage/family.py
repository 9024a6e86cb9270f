"""A family: everybody who ever lived in one world, and whose child each was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kinfolk.core.errors import ContractError


@dataclass(frozen=True)
class FamilyMember:
    """One life. `died` and `cause` are None while it goes on."""

    uid: int
    parents: tuple[int, ...]  # none for founders, one or two otherwise
    group: str
    origin_time: int
    destruction_time: int | None = None
    cause: str | None = None


@dataclass(frozen=True)
class Family:
    """All lives of a world by uid; parents come before their children."""

    members: Mapping[int, FamilyMember]

    @staticmethod
    def from_members(members: Iterable[FamilyMember]) -> Family:
        """A family of these members.

        Raises:
            ContractError: Two have one uid, or a parent is unknown or not older than its child.
        """
        found: dict[int, FamilyMember] = {}
        for member in sorted(members, key=lambda one: one.uid):
            if member.uid in found:
                raise ContractError(f"Two lives have the uid {member.uid}.")
            for parent in member.parents:
                if parent not in found:
                    raise ContractError(
                        f"Life {member.uid} has the parent {parent}, who is not among those before it."
                    )
            found[member.uid] = member
        return Family(found)

    def __iter__(self) -> Iterator[FamilyMember]:
        return iter(self.members.values())

    def __len__(self) -> int:
        return len(self.members)

    def founders(self) -> list[FamilyMember]:
        """Those without parents."""
        return [member for member in self if not member.parents]

    def children(self) -> dict[int, list[int]]:
        """The uids of everybody's children, in order of birth."""
        found: dict[int, list[int]] = {uid: [] for uid in self.members}
        for member in self:
            for parent in dict.fromkeys(member.parents):
                found[parent].append(member.uid)
        return found
