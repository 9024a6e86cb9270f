"""Roles that learn while they play: one game after another, with a coordinator that lives.

This is the lifecycle as its users know it: assign, play, score, record, end the game, and breed a
generation every ten. `evolve_roles` finds more in the same time; this one can be watched, and
driven from a notebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from kinfolk.core.errors import SettingsError
from kinfolk.core.events import Event
from kinfolk.jobs.evolve_roles.games import SLOT, RoleEnvironment
from kinfolk.jobs.evolve_roles.scores import score_game
from kinfolk.play.task import EpisodeRunner, RolloutTask, WorldRef
from kinfolk.policies.resolve import resolve


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
    ground = RoleEnvironment(WorldRef(world, preset, world_settings or {}))
    kit, batch = ground.domain, ground.world.build()
    teams = kit.team_rows(batch)
    if len(teams) > 1:
        raise SettingsError(f"A live coordinator plays for one team; this world has {len(teams)}.")
    task = RolloutTask(
        ground.world, {SLOT: resolve(uri)}, seed, range(n_games), worlds=1, observer=ground
    )
    runner = EpisodeRunner(task, batch)
    policy: Any = runner.observer.slots[0].policy
    if not hasattr(policy, "finish_game"):
        raise SettingsError(f"'{uri}' does not learn. Write kin://roles?evolution=1&learn=1.")
    for episode in range(n_games):
        [result] = runner.run(replace(task, episodes=(episode,))).observed
        found = score_game(kit, result, policy.evolution.team_weight)
        agents = [a for a in range(len(teams[0])) if a in policy.coordinator.assignments]
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
