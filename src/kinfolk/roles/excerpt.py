"""Roles taken out of a history: a history of their own, to start from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from kinfolk.core.errors import UnknownNameError, suggestion
from kinfolk.roles.history import LineupEntry, RoleHistory


def ids_of(history: RoleHistory, names: Sequence[str]) -> list[int]:
    """The newest role of each name.

    Raises:
        UnknownNameError: There is none of a name.
    """
    newest = {role.name: role.id for role in history.roles}
    for name in names:
        if name not in newest:
            raise UnknownNameError(f"No role is named '{name}'.{suggestion(name, newest)}")
    return [newest[name] for name in names]


def excerpt(history: RoleHistory, role_ids: Sequence[int]) -> RoleHistory:
    """Only these roles, without their past, and the line-ups that are made of them alone."""
    places = {role_id: at for at, role_id in enumerate(dict.fromkeys(role_ids))}
    chosen = [history.roles[role_id] for role_id in places]
    held = {name for role in chosen for tier in role.tiers for name in tier.behaviors}
    lineups = [one for one in history.lineups if set(one.roles) <= places.keys()]
    return history.model_copy(
        update={
            "generation": 0,
            "games": 0,
            "behaviors": tuple(b for b in history.behaviors if b.name in held),
            "roles": tuple(
                role.model_copy(update={"id": at, "parents": (), "generation": 0, "retired": None})
                for at, role in enumerate(chosen)
            ),
            "lineups": tuple(_renumbered(one, places) for one in lineups),
        }
    )


def _renumbered(lineup: LineupEntry, places: dict[int, int]) -> LineupEntry:
    return lineup.model_copy(update={"roles": tuple(sorted(places[i] for i in lineup.roles))})
