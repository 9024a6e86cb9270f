"""The catalogue: every behaviour that can be played, and every role that ever was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from kinfolk.core.errors import SettingsError, UnknownNameError, suggestion
from kinfolk.roles.model import BehaviorDef, BehaviorSource, RoleDef, TierSelection

Named = TypeVar("Named", BehaviorDef, RoleDef)


@dataclass
class RoleCatalog:
    """Behaviours and roles by id, which is their place in the list. Ids are never used again.

    The entries are values; whoever changes one puts another in its place.
    """

    behaviors: list[BehaviorDef] = field(default_factory=list)
    roles: list[RoleDef] = field(default_factory=list)
    next_name_id: int = 1

    @property
    def next_role_id(self) -> int:
        """The id of the role that is added next."""
        return len(self.roles)

    def add_behavior(
        self,
        *,
        name: str,
        source: str,
        can_start: Callable[..., Any],
        act: Callable[..., Any],
        should_terminate: Callable[..., Any],
        interruptible: bool = True,
    ) -> int:
        """Register a behaviour; from then on it turns up in sampled roles and mutations.

        Returns:
            Its id.

        Raises:
            SettingsError: Another behaviour has this name.
        """
        if any(one.name == name for one in self.behaviors):
            raise SettingsError(f"There is a behaviour '{name}' already. Choose another name.")
        made = BehaviorDef(
            len(self.behaviors),
            name,
            BehaviorSource(source),
            can_start,
            act,
            should_terminate,
            interruptible,
        )
        self.behaviors.append(made)
        return made.id

    def add_role(self, role: RoleDef, generation: int | None = None) -> RoleDef:
        """Take a role in: it gets its id, the generation if one is given, and a name if it has none.

        Raises:
            SettingsError: It names a behaviour that is not here.
        """
        for i in role.behavior_ids:
            if not 0 <= i < len(self.behaviors):
                raise SettingsError(
                    f"A role names behaviour {i}; the catalogue has {len(self.behaviors)}."
                )
        name = role.name
        if not name:
            first = self.behaviors[role.tiers[0].behavior_ids[0]].name
            name = f"{first.capitalize()}-{self.next_name_id}"
            self.next_name_id += 1
        born = role.generation if generation is None else generation
        made = replace(role, id=self.next_role_id, name=name, generation=born)
        self.roles.append(made)
        return made

    def behavior_id(self, name: str) -> int:
        """The id of a behaviour.

        Raises:
            UnknownNameError: There is none of this name.
        """
        return _find(self.behaviors, "behaviour", name).id

    def behavior_ids(self, names: Iterable[str]) -> tuple[int, ...]:
        """The ids of several behaviours, in the order asked."""
        return tuple(self.behavior_id(name) for name in names)

    def role(self, name: str) -> RoleDef:
        """The newest role of this name.

        Raises:
            UnknownNameError: There is none.
        """
        return _find(self.roles[::-1], "role", name)

    def written(self, role: RoleDef) -> str:
        """A role as people write it: tiers between slashes; a tier in any order between bars."""
        parts = []
        for tier in role.tiers:
            mark = " + " if tier.selection == TierSelection.FIXED else " | "
            parts.append(mark.join(self.behaviors[i].name for i in tier.behavior_ids))
        return " / ".join(parts)

    def copy(self) -> RoleCatalog:
        """Another catalogue of the same entries."""
        return RoleCatalog(list(self.behaviors), list(self.roles), self.next_name_id)


def _find(known: Sequence[Named], kind: str, name: str) -> Named:
    for one in known:
        if one.name == name:
            return one
    raise UnknownNameError(
        f"No {kind} is named '{name}'.{suggestion(name, [one.name for one in known])}"
    )
