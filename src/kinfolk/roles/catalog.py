"""The catalog of behaviors and roles, the default catalog, and the vibe of a role."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from kinfolk.core.errors import make_unknown_name_error, require
from kinfolk.core.html_table import html_table
from kinfolk.core.imports import Registry, RegistryEntry
from kinfolk.roles.model import (
    MAX_PARAMETERS,
    BehaviorDef,
    BehaviorParameter,
    BehaviorSource,
    GuardFact,
    RoleDef,
    TierSelection,
)
from kinfolk.store.files import write_atomic

Named = TypeVar("Named", BehaviorDef, RoleDef)


@dataclass
class RoleCatalog:
    """All behaviors and roles, by id; an id is an index into its list and never reused.

    Entries are immutable: to change one, put a modified copy in its place.

    Attributes:
        behaviors: Behaviors by id.
        roles: Roles by id, including retired ones.
        next_name_id: Number in the next generated name.
        facts: Numbers that guards of tiers may compare; empty in a world without guards.
    """

    behaviors: list[BehaviorDef] = field(default_factory=list)
    roles: list[RoleDef] = field(default_factory=list)
    next_name_id: int = 1
    facts: tuple[GuardFact, ...] = ()

    @property
    def next_role_id(self) -> int:
        """Id of the role that will be added next."""
        return len(self.roles)

    def add_behavior(
        self,
        *,
        name: str,
        source: BehaviorSource | str,
        can_start: Callable[..., Any],
        act: Callable[..., Any],
        should_terminate: Callable[..., Any],
        interruptible: bool = True,
        parameters: Sequence[BehaviorParameter] = (),
    ) -> int:
        """Register a behavior, which sampling and mutation may use from then on.

        Args:
            name: Unique name.
            source: Role type that it comes from: a `BehaviorSource`, or a text of another world.
            can_start: `can_start(state)`: whether an agent can start it.
            act: `act(state)`: the action of an agent that runs it; None if it cannot act.
            should_terminate: `should_terminate(state)`: whether an agent that runs it must stop.
            interruptible: Whether a behavior of higher priority may interrupt it.
            parameters: Integers that it reads and that roles may set. Behaviors may share one.

        Returns:
            Its id.

        Raises:
            SettingsError: Another behavior has this name, or another parameter one of these names.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for parameter in parameters:
            same = known.setdefault(parameter.name, parameter) == parameter
            require(same, f"There is another parameter '{parameter.name}'. Choose another name.")
        require(len(known) <= MAX_PARAMETERS, f"A catalog has at most {MAX_PARAMETERS} parameters.")
        is_new = all(behavior.name != name for behavior in self.behaviors)
        require(is_new, f"There is a behavior '{name}' already. Choose another name.")
        behavior_id = len(self.behaviors)
        role_type: BehaviorSource | str = source
        if source in [known.value for known in BehaviorSource]:
            role_type = BehaviorSource(source)
        hooks = (can_start, act, should_terminate)
        behavior = BehaviorDef(behavior_id, name, role_type, *hooks, interruptible)
        self.behaviors.append(replace(behavior, parameters=tuple(parameters)))
        return behavior_id

    @property
    def parameters(self) -> tuple[BehaviorParameter, ...]:
        """Parameters of all behaviors, each once, in the order of their registration."""
        named = {p.name: p for behavior in self.behaviors for p in behavior.parameters}
        return tuple(named.values())

    def parameters_of(self, role: RoleDef) -> tuple[BehaviorParameter, ...]:
        """Return the parameters that the behaviors of a role read."""
        used = {p.name for i in role.behavior_ids for p in self.behaviors[i].parameters}
        return tuple(parameter for parameter in self.parameters if parameter.name in used)

    def add_role(self, role: RoleDef, generation: int | None = None) -> RoleDef:
        """Register a role under a new id.

        Args:
            role: The role; without a name, it gets one from its first behavior and a number.
            generation: Generation in which it was created; by default the role's own.

        Returns:
            The role with its id and name.

        Raises:
            SettingsError: The role contains a behavior id that is not in the catalog.
            UnknownNameError: The role sets a parameter or has a guard that the catalog lacks.
        """
        size = len(self.behaviors)
        for i in role.behavior_ids:
            require(0 <= i < size, f"A role contains behavior {i}; the catalog has {size}.")
        self.check_genes(role)
        name = role.name
        if not name:
            first = self.behaviors[role.tiers[0].behavior_ids[0]].name
            name = f"{first.capitalize()}-{self.next_name_id}"
            self.next_name_id += 1
        generation = role.generation if generation is None else generation
        registered = replace(role, id=self.next_role_id, name=name, generation=generation)
        self.roles.append(registered)
        return registered

    def check_genes(self, role: RoleDef) -> None:
        """Raise an UnknownNameError if a role has a parameter or a guard that the catalog lacks."""
        parameters = [parameter.name for parameter in self.parameters]
        facts = [fact.name for fact in self.facts]
        for name, _ in role.parameters:
            if name not in parameters:
                raise make_unknown_name_error("No parameter is named", name, parameters)
        for tier in role.tiers:
            if tier.guard is not None and tier.guard.fact not in facts:
                raise make_unknown_name_error("No fact of guards is named", tier.guard.fact, facts)

    def behavior_id(self, name: str) -> int:
        """Return the id of the behavior with this name.

        Raises:
            UnknownNameError: No behavior has this name.
        """
        return _find_by_name(self.behaviors, "behavior", name).id

    def behavior_ids(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the ids of several behaviors, in the order of their names."""
        return tuple(self.behavior_id(name) for name in names)

    def role(self, name: str) -> RoleDef:
        """Return the newest role with this name.

        Raises:
            UnknownNameError: No role has this name.
        """
        return _find_by_name(self.roles[::-1], "role", name)

    def format_role(self, role: RoleDef) -> str:
        """Return a role as text such as `a + b / [hearts < 2] c | d; hearts_wanted 3`.

        `/` comes between tiers, `+` joins the behaviors of a tier with fixed order, `|` those of any
        other tier. A guard stands before its tier in brackets; parameters that are not at their
        defaults come last. Of a WEIGHTED tier the weights are given.
        """
        tiers = []
        for tier in role.tiers:
            separator = " + " if tier.selection == TierSelection.FIXED else " | "
            names = [self.behaviors[i].name for i in tier.behavior_ids]
            if tier.selection == TierSelection.WEIGHTED and tier.weights is not None:
                names = [f"{n} ({w:g})" for n, w in zip(names, tier.weights, strict=True)]
            guard = f"[{tier.guard}] " if tier.guard else ""
            tiers.append(guard + separator.join(names))
        defaults = {parameter.name: parameter.default for parameter in self.parameters}
        changed = [f"{n} {v}" for n, v in role.parameters if v != defaults.get(n)]
        return "; ".join([" / ".join(tiers), *([", ".join(changed)] if changed else [])])

    def _repr_html_(self) -> str:
        """Return the roles that are not retired as a table for a notebook, the fittest first."""
        active = sorted((r for r in self.roles if r.retired is None), key=lambda r: -r.fitness)
        rows = [
            (r.name, self.format_role(r), r.origin, f"{r.fitness:.3g}", str(r.games), str(r.wins))
            for r in active
        ]
        headings = ("role", "behaviors", "origin", "fitness", "games", "wins")
        return html_table(headings, rows, f"{len(active)} roles, {len(self.behaviors)} behaviors")

    def save(self, path: str | Path) -> None:
        """Write roles and records as a `role_history.json`; hooks of behaviors are not in it.

        Raises:
            StoreError: The file could not be written.
        """
        from kinfolk.roles.history import HistoryWriter  # which imports this module

        last = max((max(r.generation, r.retired or 0) for r in self.roles), default=0)
        text = HistoryWriter().format(self, generation=last, seed=0, games=0)
        write_atomic(Path(path), text.encode())

    def load(self, path: str | Path) -> None:
        """Replace roles and records by those of a `role_history.json`; behaviors match by name.

        Raises:
            UsageError: There is no such file, or it names behaviors that are not registered.
            DamagedRunError: The file is damaged.
        """
        from kinfolk.roles.history import restore_history
        from kinfolk.roles.history_file import read_history

        restore_history(read_history(Path(path)), self, str(path))

    def copy(self) -> RoleCatalog:
        """Return a catalog with the same entries that can be changed independently."""
        return RoleCatalog(list(self.behaviors), list(self.roles), self.next_name_id, self.facts)


def _find_by_name(known: Sequence[Named], kind: str, name: str) -> Named:
    """Return the first entry with a name, or raise an `UnknownNameError` with a suggestion."""
    for entry in known:
        if entry.name == name:
            return entry
    raise make_unknown_name_error(f"No {kind} is named", name, [entry.name for entry in known])


_COGSGUARD = RegistryEntry(
    "kinfolk.policies.scripted.cogsguard.catalog:cogs_catalog", "thirteen behaviors, four roles"
)
ROLE_CATALOGS = Registry("role catalog", "role_catalogs", {"cogsguard": _COGSGUARD})


def default_catalog() -> RoleCatalog:
    """Return a new catalog with CogsGuard's thirteen behaviors and four seeded roles."""
    catalog: RoleCatalog = ROLE_CATALOGS.load("cogsguard")()
    return catalog


DEFAULT_VIBE = "default"


def map_role_to_vibe(catalog: RoleCatalog, role: RoleDef) -> str:
    """Return the source of most behaviors of a role; among equals, the one that comes first.

    Common behaviors do not count; a role that has no others has the vibe `default`.

    Args:
        catalog: Catalog with the role's behaviors.
        role: Role whose vibe is wanted.
    """
    sources = [catalog.behaviors[i].source for i in role.behavior_ids]
    counted = [source for source in sources if source != BehaviorSource.COMMON]
    # Counter keeps insertion order, and `most_common` keeps the order of equal counts.
    return str(Counter(counted).most_common(1)[0][0]) if counted else DEFAULT_VIBE


def have_same_vibe(catalog: RoleCatalog, role_id: int, other_id: int) -> bool:
    """Return whether two roles have the same vibe.

    Args:
        catalog: Catalog with both roles.
        role_id: Id of one role.
        other_id: Id of the other.
    """
    roles = catalog.roles
    return map_role_to_vibe(catalog, roles[role_id]) == map_role_to_vibe(catalog, roles[other_id])
