"""The catalog of behaviors and roles, the default catalog, and the vibe that a role shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from kinfolk.core.errors import SettingsError, UnknownNameError, format_suggestion
from kinfolk.core.registry import Registry, RegistryEntry
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
        return _find_by_name(self.behaviors, "behaviour", name).id

    def behavior_ids(self, names: Iterable[str]) -> tuple[int, ...]:
        """The ids of several behaviours, in the order asked."""
        return tuple(self.behavior_id(name) for name in names)

    def role(self, name: str) -> RoleDef:
        """The newest role of this name.

        Raises:
            UnknownNameError: There is none.
        """
        return _find_by_name(self.roles[::-1], "role", name)

    def format_role(self, role: RoleDef) -> str:
        """A role as people write it: tiers between slashes; a tier in any order between bars."""
        parts = []
        for tier in role.tiers:
            mark = " + " if tier.selection == TierSelection.FIXED else " | "
            parts.append(mark.join(self.behaviors[i].name for i in tier.behavior_ids))
        return " / ".join(parts)

    def copy(self) -> RoleCatalog:
        """Another catalogue of the same entries."""
        return RoleCatalog(list(self.behaviors), list(self.roles), self.next_name_id)


def _find_by_name(known: Sequence[Named], kind: str, name: str) -> Named:
    for one in known:
        if one.name == name:
            return one
    raise UnknownNameError(
        f"No {kind} is named '{name}'.{format_suggestion(name, [one.name for one in known])}"
    )


ROLE_CATALOGS = Registry(
    "catalogue of roles",
    "role_catalogs",
    {
        "cogsguard": RegistryEntry(
            "kinfolk.policies.scripted.cogsguard.catalog:cogs_catalog",
            "thirteen behaviours, four roles",
        )
    },
)


def default_catalog() -> RoleCatalog:
    """Return a new catalogue with CogsGuard's thirteen behaviours and four seeded roles."""
    made: RoleCatalog = ROLE_CATALOGS.load("cogsguard")()
    return made


DEFAULT_VIBE = "default"


def map_role_to_vibe(catalog: RoleCatalog, role: RoleDef) -> str:
    """The craft most of its behaviours come from; of equals the one that comes first in the role.

    A role of common behaviours alone shows `default`: every role has a vibe.
    """
    sources = [catalog.behaviors[i].source for i in role.behavior_ids]
    crafts = [source for source in sources if source != BehaviorSource.COMMON]
    # A Counter keeps the order of first sight, and `most_common` that of equals.
    return str(Counter(crafts).most_common(1)[0][0]) if crafts else DEFAULT_VIBE


def have_same_vibe(catalog: RoleCatalog, role_id: int, other_id: int) -> bool:
    """Whether two roles, by their ids, show the same vibe."""
    roles = catalog.roles
    return map_role_to_vibe(catalog, roles[role_id]) == map_role_to_vibe(catalog, roles[other_id])
