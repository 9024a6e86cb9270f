"""The players of a tournament: a policy on each side that it can play, checked before any game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kinfolk.core.errors import KinfolkError, SettingsError, require
from kinfolk.core.spaces import WorldSpec
from kinfolk.evaluation.rollout import Isolation
from kinfolk.isolation.worker_pool import may_build_here
from kinfolk.jobs.tournament.meetings import MeetingPlan, ReplayPlan
from kinfolk.jobs.tournament.settings import MeetingSettings
from kinfolk.play.sides import WorldSides, match_side
from kinfolk.policies.build import ResolvedPolicy, build_policy
from kinfolk.policies.policy_code import PACKAGE_FILE
from kinfolk.policies.resolve import resolve


class Player(NamedTuple):
    """A policy on the side that it plays."""

    name: str
    uri: str
    side: str  # "" if it can play every side


def list_players(policies: Mapping[str, Any], sides: WorldSides) -> list[Player]:
    """Return the players in the order of the sides and of their names in the settings.

    Args:
        policies: URIs by name; those of one side in a table below its name.
        sides: Sides of the world.

    Raises:
        SettingsError: A table names no side, a side has no policy, two of a side have one name, or
            sides can be exchanged and a policy is for one of them only.
    """
    everywhere = {name: uri for name, uri in policies.items() if isinstance(uri, str)}
    by_side = {name: table for name, table in policies.items() if not isinstance(table, str)}
    if sides.are_interchangeable:
        require(
            not by_side,
            f"'{next(iter(by_side), '')}' holds policies of a side, but every policy of this world plays "
            f"every side. Put them beside the others.",
        )
        return [Player(name, uri, "") for name, uri in everywhere.items()]
    for name, uri in everywhere.items():
        _check_not_side(name, uri, sides)
    tables: dict[str, dict[str, str]] = {side: dict(everywhere) for side in sides.names}
    for name, table in by_side.items():
        side = match_side(name, sides)
        for each, uri in table.items():
            require(
                each not in tables[side],
                f"Two policies of side {side} are called '{each}'. Rename one of them.",
            )
            tables[side][each] = uri
    for side, table in tables.items():
        require(
            bool(table),
            f"Side {side} has no policy. Give one, as {side}/NAME=URI or in a folder or table named "
            f"{side}; the other sides are {', '.join(name for name in sides.names if name != side)}.",
        )
    return [Player(name, uri, side) for side in sides.names for name, uri in tables[side].items()]


def _check_not_side(name: str, uri: str, sides: WorldSides) -> None:
    """Check that a package is not what was meant to be the folder of a side.

    A file `__init__.py` among the policies of a side would make them the modules of one policy.

    Raises:
        SettingsError: It has the name of a side.
    """
    if f"/{name}/{PACKAGE_FILE}:" not in uri:
        return
    try:
        side = match_side(name, sides)
    except SettingsError:
        return
    raise SettingsError(
        f"'{name}' is a package, since its folder holds {PACKAGE_FILE}, and has the name of side {side}. "
        f"Remove the file if the folder holds the policies of that side; rename the package if not."
    )


def pool_players(players: Sequence[Player], sides: WorldSides) -> list[list[int]]:
    """Return the numbers of the players of each side."""
    return [
        [number for number, player in enumerate(players) if player.side in ("", side)]
        for side in sides.names
    ]


def label_players(players: Sequence[Player]) -> list[str]:
    """Return a name for each player, with its side where two sides have a policy of that name."""
    names = [player.name for player in players]
    return [p.name if names.count(p.name) == 1 else f"{p.name} ({p.side})" for p in players]


def resolve_players(
    players: Sequence[Player], isolation: Isolation, spec: WorldSpec
) -> list[ResolvedPolicy]:
    """Resolve the policy of each player, and build those that may run here, to check them.

    A stranger's policy is not loaded into this process; whether it fits the world shows in its games.

    Args:
        players: The players.
        isolation: Isolation of the policies.
        spec: Spec of the world.

    Raises:
        SettingsError: A policy does not exist, or cannot play this world; the message names it.
    """
    is_trusted = isolation.isolate == "none"
    policies: dict[str, ResolvedPolicy] = {}
    for player in players:
        if player.uri in policies:
            continue
        try:
            resolved = resolve(player.uri, trusted=is_trusted)
            if is_trusted or may_build_here(resolved, isolation.settings):
                build_policy(resolved, spec).close()
        except KinfolkError as error:
            raise SettingsError(
                f"Policy '{player.name}' cannot play {spec.world}: {error}"
            ) from error
        policies[player.uri] = resolved
    return [policies[player.uri] for player in players]


def make_plan(settings: MeetingSettings) -> tuple[list[Player], MeetingPlan]:
    """Return the players of a tournament or of cross-play, and the plan of their games.

    Raises:
        SettingsError: A policy or a side is wrong.
    """
    sides = settings.find_sides()
    players = list_players(settings.policies, sides)
    isolation = Isolation(settings.isolate, settings.isolation_settings)
    policies = resolve_players(players, isolation, settings.world_ref.spec)
    return players, MeetingPlan(
        settings.world_ref, sides, settings.seed, settings.games, settings.chunk_size,
        settings.metric, isolation, label_players(players), policies,
        recording=ReplayPlan(settings.replays, settings.record_every),
    )  # fmt: skip
