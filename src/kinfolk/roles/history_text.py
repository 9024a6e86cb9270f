"""Format and parse `role_history.json`, one entry per line, with line numbers in errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError

from kinfolk.core.errors import DamagedRunError, SettingsError
from kinfolk.core.settings import validate_settings
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.history import (
    FORMAT,
    BehaviorEntry,
    RoleEntry,
    RoleHistory,
    role_from_entry,
)
from kinfolk.roles.model import BehaviorDef, RoleDef
from kinfolk.roles.teams import TeamComposition
from kinfolk.store.json_files import find_line, parse_json_object


class HistoryWriter:
    """Formats the history of a growing catalog, again after every generation.

    Thousands of roles are retired and no longer change, so the lines of roles are cached.
    """

    def __init__(self) -> None:
        self._lines: list[tuple[RoleDef, str]] = []

    def format(
        self,
        catalog: RoleCatalog,
        *,
        generation: int,
        seed: int,
        games: int,
        teams: Sequence[TeamComposition] = (),
    ) -> str:
        """Return the text of the file, one entry per line.

        Args:
            catalog: Its behaviors and roles.
            generation: Number of the last generation.
            seed: Seed of the evolution.
            games: Number of games played.
            teams: Team compositions of the last generation.
        """
        names = [behavior.name for behavior in catalog.behaviors]
        self._lines += [
            (role, _role_line(role, names)) for role in catalog.roles[len(self._lines) :]
        ]
        for i, role in enumerate(catalog.roles):
            if self._lines[i][0] is not role:
                self._lines[i] = (role, _role_line(role, names))
        return _format_object(
            format=str(FORMAT),
            generation=str(generation),
            seed=str(seed),
            games=str(games),
            nextNameId=str(catalog.next_name_id),
            behaviors=_format_list([_behavior_line(behavior) for behavior in catalog.behaviors]),
            roles=_format_list([line for _, line in self._lines]),
            teams=_format_list([json.dumps(asdict(team)) for team in teams]),
        )


def format_history(history: RoleHistory) -> str:
    """Return the text of a history, the same that `HistoryWriter` writes."""
    return _format_object(
        **{
            name: _format_list([json.dumps(row) for row in value])
            if isinstance(value, list)
            else json.dumps(value)
            for name, value in history.model_dump(mode="json").items()
        }
    )


def _role_line(role: RoleDef, names: Sequence[str]) -> str:
    tiers = [
        {
            "behaviors": [names[i] for i in tier.behavior_ids],
            "selection": tier.selection.name.lower(),
            "weights": tier.weights,
        }
        for tier in role.tiers
    ]
    return json.dumps(
        {
            "id": role.id,
            "name": role.name,
            "origin": role.origin,
            "locked": role.locked_name,
            "fitness": role.fitness,
            "games": role.games,
            "wins": role.wins,
            "parents": role.parents,
            "generation": role.generation,
            "retired": role.retired,
            "tiers": tiers,
        }
    )


def _behavior_line(behavior: BehaviorDef) -> str:
    return json.dumps({name: getattr(behavior, name) for name in BehaviorEntry.model_fields})


def _format_list(lines: Sequence[str]) -> str:
    return "[\n  " + ",\n  ".join(lines) + "\n]" if lines else "[]"


def _format_object(**entries: str) -> str:
    return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in entries.items()) + "\n}\n"


def parse_history(text: str, source: str) -> RoleHistory:
    """Parse and validate the text of a history.

    Args:
        text: The text.
        source: Name of the file, for error messages.

    Raises:
        DamagedRunError: It is cut short, damaged, or of another format version; the message has
            the line and the reason.
    """
    data = parse_json_object(text, source)
    if data.get("format") != FORMAT:
        raise DamagedRunError(
            f"{source} has format {data.get('format')}; this kinfolk reads {FORMAT}."
        )
    try:
        history = RoleHistory.model_validate(data)
    except ValidationError as error:
        path = error.errors()[0]["loc"]
        raise _damage_error(source, text, path, _validation_message(data)) from None
    for i, role in enumerate(history.roles):
        reason = _find_inconsistency(history, i, role)
        if reason:
            raise _damage_error(source, text, ("roles", i), reason)
    for i, team in enumerate(history.teams):
        if max(team.roles) >= len(history.roles):
            reason = f"a team names role {max(team.roles)}, and there are {len(history.roles)}."
            raise _damage_error(source, text, ("teams", i), reason)
    return history


def _validation_message(data: Mapping[str, Any]) -> str:
    try:
        validate_settings(RoleHistory, data)
    except SettingsError as error:
        return str(error)
    raise AssertionError("data that failed to validate passed")


def _find_inconsistency(history: RoleHistory, index: int, role: RoleEntry) -> str:
    """Return what is wrong with a role beyond single fields, or an empty text.

    Args:
        history: The history.
        index: Index of the role in it.
        role: The role.
    """
    names = [name for tier in role.tiers for name in tier.behaviors]
    duplicates = [name for name in names if names.count(name) > 1]
    if role.id != index:
        return f"role '{role.name}' has the id {role.id}; at this position it must be {index}."
    if any(not 0 <= parent < index for parent in role.parents):
        return f"role '{role.name}' has parents {list(role.parents)}; they must come before it."
    if duplicates:
        return f"role '{role.name}' contains '{duplicates[0]}' twice."
    if role.wins > role.games:
        return f"role '{role.name}' has {role.wins} wins in {role.games} games."
    if role.retired is not None and role.retired > history.generation:
        return f"role '{role.name}' retired in generation {role.retired}, after the last one."
    try:
        role_from_entry(role, {name: i for i, name in enumerate(names)})
    except SettingsError as error:
        return str(error)
    return ""


def _damage_error(
    source: str, text: str, path: tuple[int | str, ...], reason: str
) -> DamagedRunError:
    """Return an error for the value at a path of the JSON text."""
    return DamagedRunError(f"{source} is damaged at line {find_line(text, path)}: {reason}")
