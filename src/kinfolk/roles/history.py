"""Text of `role_history.json`: writing, reading and checking it, and parts of it.

Behaviors are identified by name, so that a history stays valid when the catalog changes. Each line
of the file holds one behavior or one role, so that `diff` shows which roles differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from pydantic import ValidationError

from kinfolk.core import errors
from kinfolk.core.settings import validate_settings
from kinfolk.lineage.family import Family, FamilyMember
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.history_schema import (
    FORMAT,
    BehaviorEntry,
    CoordinatorEntry,
    RoleEntry,
    RoleHistory,
)
from kinfolk.roles.model import BehaviorDef, RoleDef, RoleTier, TierGuard, TierSelection
from kinfolk.roles.teams import TeamComposition
from kinfolk.store.files import find_line, parse_json_object
from kinfolk.store.integrity import BLANK_CHECKSUM, CHECKSUM_FIELD, advising, seal, verify


def restore_history(history: RoleHistory, catalog: RoleCatalog, source: str) -> list[int]:
    """Load a history into a catalog, whose roles it replaces.

    Args:
        history: History to load.
        catalog: A catalog with all behaviors of the history; it is not changed on errors.
        source: Name of the file, for error messages.

    Returns:
        The pool: ids of the roles that are not retired.

    Raises:
        UnknownNameError: The history names behaviors that the catalog does not have.
    """
    ids = {behavior.name: behavior.id for behavior in catalog.behaviors}
    used = {name for role in history.roles for tier in role.tiers for name in tier.behaviors}
    unknown = sorted((used | {b.name for b in history.behaviors}) - ids.keys())
    if unknown:
        names = ", ".join(f"'{name}'" for name in unknown)
        problem = f"{source} names behaviors that are not registered: {names}."
        raise errors.UnknownNameError(problem + errors.format_suggestion(unknown[0], ids))
    roles = [role_from_entry(entry, ids) for entry in history.roles]
    for role in roles:
        catalog.check_genes(role)
    for entry in history.behaviors:
        i = ids[entry.name]
        record = entry.model_dump(exclude={"name"})
        catalog.behaviors[i] = replace(catalog.behaviors[i], **record)
    catalog.roles[:] = roles
    catalog.next_name_id = history.nextNameId
    return [role.id for role in catalog.roles if role.retired is None]


def role_from_entry(entry: RoleEntry, ids: Mapping[str, int]) -> RoleDef:
    """Convert an entry of a history to a role.

    Args:
        entry: Role of the history.
        ids: Ids of behaviors by name.

    Raises:
        SettingsError: The entry is not a valid role.
    """
    tiers = []
    for tier in entry.tiers:
        behavior_ids = tuple(ids[name] for name in tier.behaviors)
        guard = None if tier.guard is None else TierGuard(**tier.guard.model_dump())
        selection = TierSelection[tier.selection.upper()]
        tiers.append(RoleTier(behavior_ids, tier.weights, selection, guard))
    fields = entry.model_dump(exclude={"tiers", "locked", "parameters"})
    parameters = tuple(entry.parameters.items())
    return RoleDef(tuple(tiers), locked_name=entry.locked, parameters=parameters, **fields)


def role_ids_by_name(history: RoleHistory, names: Sequence[str]) -> list[int]:
    """Return the id of the newest role with each name.

    Raises:
        UnknownNameError: No role has one of the names.
    """
    newest = {role.name: role.id for role in history.roles}
    for name in names:
        if name not in newest:
            raise errors.make_unknown_name_error("No role is named", name, newest)
    return [newest[name] for name in names]


def extract_roles(history: RoleHistory, role_ids: Sequence[int]) -> RoleHistory:
    """Return a history with only some of the roles, and the teams that consist of them.

    The roles get new ids, in the given order, and no parents.

    Args:
        history: History to select from; it is not changed.
        role_ids: Ids of the roles to keep, in the order of their new ids.
    """
    new_ids = {role_id: number for number, role_id in enumerate(dict.fromkeys(role_ids))}
    roles = [history.roles[role_id] for role_id in new_ids]
    used = {name for role in roles for tier in role.tiers for name in tier.behaviors}
    founder: dict[str, Any] = {"parents": (), "generation": 0, "retired": None}
    teams = []
    for team in history.teams:
        if set(team.roles) <= new_ids.keys():
            team_roles = tuple(sorted(new_ids[i] for i in team.roles))
            teams.append(team.model_copy(update={"roles": team_roles}))
    update = {
        "generation": 0,
        "games": 0,
        "behaviors": tuple(b for b in history.behaviors if b.name in used),
        "roles": tuple(r.model_copy(update={**founder, "id": i}) for i, r in enumerate(roles)),
        "teams": tuple(teams),
    }
    return history.model_copy(update=update)


def role_family(history: RoleHistory) -> Family:
    """Return the family tree of all roles; times are generations, the group is the role's name."""
    members = []
    for role in history.roles:
        cause = None if role.retired is None else "retired"
        lifetime = (role.generation, role.retired, cause)
        members.append(FamilyMember(role.id, role.parents, role.name, *lifetime))
    return Family.from_members(members)


def origins_of(history: RoleHistory) -> dict[int, str]:
    """Return the operator that created each role, by id."""
    return {role.id: role.origin for role in history.roles}


class HistoryWriter:
    """Formats the history of a growing catalog, again after every generation.

    Thousands of roles are retired and no longer change, so the lines of roles are cached.
    """

    def __init__(self) -> None:
        self._lines: dict[int, tuple[RoleDef, str]] = {}  # by the id of the role

    def format(
        self,
        catalog: RoleCatalog,
        *,
        generation: int,
        seed: int,
        games: int,
        teams: Sequence[TeamComposition] = (),
        coordinator: CoordinatorEntry | None = None,
    ) -> str:
        """Return the text of the file, one entry per line.

        Args:
            catalog: Its behaviors and roles.
            generation: Number of the last generation.
            seed: Seed of the evolution.
            games: Number of games played.
            teams: The best teams of the last generation, best first.
            coordinator: State with which a coordinator goes on; None leaves it out.
        """
        names = [behavior.name for behavior in catalog.behaviors]
        for role in catalog.roles:
            if role.id not in self._lines or self._lines[role.id][0] is not role:
                self._lines[role.id] = (role, _format_role_line(role, names))
        return _format_document(
            generation=generation,
            seed=seed,
            games=games,
            nextNameId=catalog.next_name_id,
            behaviors=[_format_behavior_line(behavior) for behavior in catalog.behaviors],
            roles=[line for _, line in self._lines.values()],
            teams=[json.dumps(asdict(team)) for team in teams],
            coordinator=coordinator,
        )


def format_history(history: RoleHistory) -> str:
    """Return the text of a history, the same that `HistoryWriter` writes."""
    entries = history.model_dump(mode="json", exclude={"format", "sha256", "coordinator"})
    for name in ("behaviors", "roles", "teams"):
        entries[name] = [json.dumps(entry) for entry in entries[name]]
    return _format_document(**entries, coordinator=history.coordinator)


def _format_role_line(role: RoleDef, names: Sequence[str]) -> str:
    """Return the JSON of a role, with its behaviors by name."""
    tiers = [
        {
            "behaviors": [names[i] for i in tier.behavior_ids],
            "selection": tier.selection.name.lower(),
            "weights": tier.weights,
            "guard": None if tier.guard is None else asdict(tier.guard),
        }
        for tier in role.tiers
    ]
    renamed = {
        "locked": role.locked_name,
        "tiers": tiers,
        "parameters": dict(role.parameters),
    }
    fields = RoleEntry.model_fields
    return json.dumps({n: renamed[n] if n in renamed else getattr(role, n) for n in fields})


def _format_behavior_line(behavior: BehaviorDef) -> str:
    """Return the JSON of a behavior and its record, in one line."""
    return json.dumps({name: getattr(behavior, name) for name in BehaviorEntry.model_fields})


def _format_document(coordinator: CoordinatorEntry | None, **entries: int | Sequence[str]) -> str:
    """Return the text of a history with its format and checksum; lists have one entry per line."""
    texts = [f'"format": {FORMAT}', f'"{CHECKSUM_FIELD}": "{BLANK_CHECKSUM}"']
    for name, value in entries.items():
        if not isinstance(value, int):
            value = "[\n  " + ",\n  ".join(value) + "\n]" if value else "[]"
        texts.append(f'"{name}": {value}')
    if coordinator is not None:
        texts.append(f'"coordinator": {coordinator.model_dump_json()}')
    return seal(("{\n" + ",\n".join(texts) + "\n}\n").encode()).decode()


def parse_history(text: str, source: str) -> RoleHistory:
    """Parse and validate the text of a history.

    Args:
        text: Content of a `role_history.json`.
        source: Name of the file, for error messages.

    Raises:
        DamagedRunError: The text is cut short, damaged, or of another format version; the message
            has the line, if it is known, and the reason.
    """
    data = parse_json_object(text, source)
    if data.get("format") != FORMAT:
        version = data.get("format")
        raise errors.DamagedRunError(
            f"{source} has format {version}; this kinfolk reads {FORMAT}, in which roles also have "
            f"parameters, guards and games of their own. Evolve again to get such a file."
        )
    try:
        history = validate_settings(RoleHistory, data)
    except errors.SettingsError as error:
        invalid = error.__context__  # pydantic's error, which has the path of the value
        path = invalid.errors()[0]["loc"] if isinstance(invalid, ValidationError) else ()
        raise _make_damage_error(source, text, path, str(error)) from None
    for i, role in enumerate(history.roles):
        reason = _find_inconsistency(history, i, role)
        if reason:
            raise _make_damage_error(source, text, ("roles", i), reason)
    for i, team in enumerate(history.teams):
        if max(team.roles) >= len(history.roles):
            reason = f"a team names role {max(team.roles)}, and there are {len(history.roles)}."
            raise _make_damage_error(source, text, ("teams", i), reason)
    if history.sha256 is not None:  # last, as the errors above have a line
        with advising(lambda: f'If you edited it, set its "{CHECKSUM_FIELD}" to null.'):
            verify(text.encode(), source)
    return history


def _find_inconsistency(history: RoleHistory, index: int, role: RoleEntry) -> str:
    """Return what is wrong with a role beyond single fields, or an empty text.

    Args:
        history: History that contains the role.
        index: Index of the role in the history.
        role: Role to check.
    """
    names = [name for tier in role.tiers for name in tier.behaviors]
    duplicates = [name for name in names if names.count(name) > 1]
    if role.id != index:
        return f"role '{role.name}' has the id {role.id}; at this position it must be {index}."
    if any(not 0 <= parent < index for parent in role.parents):
        return f"role '{role.name}' has parents {list(role.parents)}; they must come before it."
    if duplicates:
        return f"role '{role.name}' contains '{duplicates[0]}' twice."
    if role.own_games > role.games:
        return f"role '{role.name}' has {role.own_games} own games of {role.games}."
    if role.wins > role.games:
        return f"role '{role.name}' has {role.wins} wins in {role.games} games."
    if role.retired is not None and role.retired > history.generation:
        return f"role '{role.name}' retired in generation {role.retired}, after the last one."
    try:
        role_from_entry(role, {name: i for i, name in enumerate(names)})
    except errors.SettingsError as error:
        return str(error)
    return ""


def _make_damage_error(
    source: str, text: str, path: tuple[int | str, ...], reason: str
) -> errors.DamagedRunError:
    """Return the error that the value at a path of the JSON text is damaged."""
    return errors.DamagedRunError(f"{source} is damaged at line {find_line(text, path)}: {reason}")
