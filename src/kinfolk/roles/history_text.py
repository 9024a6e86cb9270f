"""The text of `role_history.json`: written so that it can be compared, read so that damage is told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError

from kinfolk.core.errors import DamagedRunError, SettingsError
from kinfolk.core.settings import read
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.history import FORMAT, RoleEntry, RoleHistory, role_of
from kinfolk.roles.lineups import Lineup
from kinfolk.roles.model import BehaviorDef, RoleDef
from kinfolk.store.documents import line_of, parse_document


class HistoryWriter:
    """Writes the text of a catalogue, again and again as it grows.

    Thousands of roles are retired and do not change any more: their lines are kept.
    """

    def __init__(self) -> None:
        self._lines: list[tuple[RoleDef, str]] = []

    def text(
        self,
        catalog: RoleCatalog,
        *,
        generation: int,
        seed: int,
        games: int,
        lineups: Sequence[Lineup] = (),
    ) -> str:
        """The file: an entry per line, so that `diff` tells which roles differ."""
        names = [behavior.name for behavior in catalog.behaviors]
        self._lines += [
            (role, _role_line(role, names)) for role in catalog.roles[len(self._lines) :]
        ]
        for at, role in enumerate(catalog.roles):
            if self._lines[at][0] is not role:
                self._lines[at] = (role, _role_line(role, names))
        return _table(
            format=str(FORMAT),
            generation=str(generation),
            seed=str(seed),
            games=str(games),
            nextNameId=str(catalog.next_name_id),
            behaviors=_list([_behavior_line(behavior) for behavior in catalog.behaviors]),
            roles=_list([line for _, line in self._lines]),
            lineups=_list([json.dumps(asdict(lineup)) for lineup in lineups]),
        )


def text_of(history: RoleHistory) -> str:
    """The same text of a history that is at hand as a value."""
    plain = history.model_dump(mode="json")
    return _table(
        **{
            name: _list([json.dumps(row) for row in value])
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


def _list(lines: Sequence[str]) -> str:
    return "[\n  " + ",\n  ".join(lines) + "\n]" if lines else "[]"


def _table(**entries: str) -> str:
    return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in entries.items()) + "\n}\n"


def from_text(text: str, source: str) -> RoleHistory:
    """Read a history. `source` names the file in errors.

    Raises:
        DamagedRunError: It is cut short, damaged, or of another version; with line and reason.
    """
    data = parse_document(text, source)
    found = data.get("format")
    if found != FORMAT:
        raise DamagedRunError(f"{source} has format {found}; this kinfolk reads {FORMAT}.")
    try:
        history = RoleHistory.model_validate(data)
    except ValidationError as error:
        place = error.errors()[0]["loc"]
        raise _damaged(source, text, place, _reason(data)) from None
    for at, role in enumerate(history.roles):
        reason = _wrong_with(history, at, role)
        if reason:
            raise _damaged(source, text, ("roles", at), reason)
    for at, lineup in enumerate(history.lineups):
        if max(lineup.roles) >= len(history.roles):
            reason = f"a line-up names role {max(lineup.roles)}, and there are {len(history.roles)}"
            raise _damaged(source, text, ("lineups", at), reason + ".")
    return history


def _reason(data: Mapping[str, Any]) -> str:
    try:
        read(RoleHistory, data)
    except SettingsError as error:
        return str(error)
    raise AssertionError("what was refused once is refused again")


def _wrong_with(history: RoleHistory, at: int, role: RoleEntry) -> str:
    """What no single field can tell."""
    held = [name for tier in role.tiers for name in tier.behaviors]
    twice = [name for name in held if held.count(name) > 1]
    if role.id != at:
        return f"role '{role.name}' has the id {role.id}; in this place it must be {at}."
    if any(not 0 <= parent < at for parent in role.parents):
        return f"role '{role.name}' has parents {list(role.parents)}; they must come before it."
    if twice:
        return f"role '{role.name}' holds '{twice[0]}' twice."
    if role.wins > role.games:
        return f"role '{role.name}' has {role.wins} wins in {role.games} games."
    if role.retired is not None and role.retired > history.generation:
        return f"role '{role.name}' retired in generation {role.retired}, which is to come."
    try:
        role_of(role, {name: i for i, name in enumerate(held)})
    except SettingsError as error:
        return str(error)
    return ""


def _damaged(source: str, text: str, place: tuple[int | str, ...], reason: str) -> DamagedRunError:
    return DamagedRunError(f"{source} is damaged at line {line_of(text, place)}: {reason}")
