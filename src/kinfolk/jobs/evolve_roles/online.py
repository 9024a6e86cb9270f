"""Roles that learn while they play: one game after another, with a coordinator that lives.

This is the lifecycle as its users know it: assign, play, score, record, end the game, and breed a
generation every ten. `evolve_roles` finds more in the same time; this one can be watched, and
driven from a notebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kinfolk.core.errors import SettingsError
from kinfolk.core.events import Event
from kinfolk.jobs.evolve_roles.games import RoleEnvironment, read_results
from kinfolk.jobs.evolve_roles.scores import score_game
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.policies.resolve import build_policy, resolve


@dataclass(frozen=True, kw_only=True)
class OnlineGamePlayed(Event):
    """A game was played and entered."""

    kind: ClassVar[str] = "online_game_played"
    team_score: int
    won: bool
    generation: int
    roles: dict[str, str]  # by agent
    scores: dict[str, float]


def evolve_online(
    n_games: int,
    seed: int = 0,
    uri: str = "kin://roles?evolution=1&learn=1",
    world: str = "cogsguard",
    preset: str | None = None,
    world_settings: Mapping[str, Any] | None = None,
) -> Iterator[OnlineGamePlayed]:
    """Play so many games in this process; after each, what was learnt is in the next."""
    ground = RoleEnvironment(world, preset, world_settings or {})
    kit, batch = ground.domain, ground.build(1)
    rows = kit.team_rows(batch)
    if len(rows) > 1:
        raise SettingsError(f"A live coordinator plays for one team; this world has {len(rows)}.")
    policy: Any = build_policy(resolve(uri), batch.spec)
    if not hasattr(policy, "finish_game"):
        raise SettingsError(f"'{uri}' does not learn. Write kin://roles?evolution=1&learn=1.")
    table = build_slot_assignment(batch.spec, ["roles"])
    for episode in range(n_games):
        play = EpisodeLoop(batch, [LoadedSlot("roles", policy)], table, seed, [episode])
        while not play.is_done:
            play.tick()
        [result] = read_results(kit, batch, rows[0])
        found = score_game(kit, result, policy.evolution.team_weight)
        agents = [a for a in range(len(rows[0])) if a in policy.coordinator.assignments]
        scores = {agent: float(found.scores[-1, agent]) for agent in agents}
        names = {str(agent): policy.coordinator.assign_role(agent).name for agent in agents}
        policy.finish_game(scores, found.won[-1])
        yield OnlineGamePlayed(
            step=episode,
            team_score=int(result.side_scores[-1, 0]),
            won=found.won[-1],
            generation=policy.coordinator.generation,
            roles=names,
            scores={str(agent): score for agent, score in scores.items()},
        )
