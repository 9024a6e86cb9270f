"""The text of `role_history.json`: written so that it can be compared, read so that damage is told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError

from kinfolk.core.errors import DamagedRunError, SettingsError
from kinfolk.core.settings import validate_settings
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.history import FORMAT, RoleEntry, RoleHistory, role_from_entry
from kinfolk.roles.model import BehaviorDef, RoleDef
from kinfolk.roles.teams import TeamComposition
from kinfolk.store.json_files import find_line, parse_json_object


class HistoryWriter:
    """Writes the text of a catalogue, again and again as it grows.

    Thousands of roles are retired and do not change any more: their lines are kept.
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
        """The file: an entry per line, so that `diff` tells which roles differ."""
        names = [behavior.name for behavior in catalog.behaviors]
        self._lines += [
            (role, _role_line(role, names)) for role in catalog.roles[len(self._lines) :]
        ]
        for at, role in enumerate(catalog.roles):
            if self._lines[at][0] is not role:
                self._lines[at] = (role, _role_line(role, names))
        return _format_object(
            format=str(FORMAT),
            generation=str(generation),
            seed=str(seed),
            games=str(games),
            nextNameId=str(catalog.next_name_id),
            behaviors=_format_list([_behavior_line(behavior) for behavior in catalog.behaviors]),
            populations_per_group=_format_list([line for _, line in self._lines]),
            teams=_format_list([json.dumps(asdict(lineup)) for lineup in teams]),
        )


def format_history(history: RoleHistory) -> str:
    """The same text of a history that is at hand as a value."""
    plain = history.model_dump(mode="json")
    return _format_object(
        **{
            name: _format_list([json.dumps(row) for row in value])
            if isinstance(value, list)
            else json.dumps(value)
            for name, value in plain.items()
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


def _behavior_line(one: BehaviorDef) -> str:
    return json.dumps(
        {"name": one.name, "fitness": one.fitness, "games": one.games, "uses": one.uses}
    )


def _format_list(lines: Sequence[str]) -> str:
    return "[\n  " + ",\n  ".join(lines) + "\n]" if lines else "[]"


def _format_object(**entries: str) -> str:
    return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in entries.items()) + "\n}\n"


def parse_history(text: str, source: str) -> RoleHistory:
    """Read a history. `source` names the file in errors.

    Raises:
        DamagedRunError: It is cut short, damaged, or of another version; with line and reason.
    """
    data = parse_json_object(text, source)
    found = data.get("format")
    if found != FORMAT:
        raise DamagedRunError(f"{source} has format {found}; this kinfolk reads {FORMAT}.")
    try:
        history = RoleHistory.model_validate(data)
    except ValidationError as error:
        place = error.errors()[0]["loc"]
        raise _damage_error(source, text, place, _validation_message(data)) from None
    for at, role in enumerate(history.roles):
        reason = _find_inconsistency(history, at, role)
        if reason:
            raise _damage_error(source, text, ("roles", at), reason)
    for at, lineup in enumerate(history.teams):
        if max(lineup.roles) >= len(history.roles):
            reason = f"a team names role {max(lineup.roles)}, and there are {len(history.roles)}"
            raise _damage_error(source, text, ("teams", at), reason + ".")
    return history


def _validation_message(data: Mapping[str, Any]) -> str:
    try:
        validate_settings(RoleHistory, data)
    except SettingsError as error:
        return str(error)
    raise AssertionError("what was refused once is refused again")


def _find_inconsistency(history: RoleHistory, index: int, role: RoleEntry) -> str:
    """What no single field can tell."""
    held = [name for tier in role.tiers for name in tier.behaviors]
    twice = [name for name in held if held.count(name) > 1]
    if role.id != index:
        return f"role '{role.name}' has the id {role.id}; in this place it must be {index}."
    if any(not 0 <= parent < index for parent in role.parents):
        return f"role '{role.name}' has parents {list(role.parents)}; they must come before it."
    if twice:
        return f"role '{role.name}' holds '{twice[0]}' twice."
    if role.wins > role.games:
        return f"role '{role.name}' has {role.wins} wins in {role.games} games."
    if role.retired is not None and role.retired > history.generation:
        return f"role '{role.name}' retired in generation {role.retired}, which is to come."
    try:
        role_from_entry(role, {name: i for i, name in enumerate(held)})
    except SettingsError as error:
        return str(error)
    return ""


def _damage_error(
    source: str, text: str, place: tuple[int | str, ...], reason: str
) -> DamagedRunError:
    return DamagedRunError(f"{source} is damaged at line {find_line(text, place)}: {reason}")
