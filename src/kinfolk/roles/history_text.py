"""The text of `role_history.json`: written so that it can be compared, read so that damage is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from kinfolk.core.errors import DamagedRunError, SettingsError
from kinfolk.core.settings import read
from kinfolk.roles.history import FORMAT, RoleEntry, RoleHistory, role_of
from kinfolk.store.documents import line_of, parse_document


def to_text(history: RoleHistory) -> str:
    """The file: an entry per line, so that `diff` tells which roles differ."""
    plain = history.model_dump(mode="json")
    parts = []
    for name, value in plain.items():
        if isinstance(value, list) and value:
            rows = ",\n".join(f"  {json.dumps(row)}" for row in value)
            parts.append(f'"{name}": [\n{rows}\n]')
        else:
            parts.append(f'"{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


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
