"""Role evolution in play: one game after another, with one coordinator that persists.

This is the lifecycle of cogames-agents: assign roles, play, score, record, end the game, and
evolve a generation every ten games. `evolve_roles` finds better roles in the same time; this one
can be watched and driven from a notebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from kinfolk.core.errors import require
from kinfolk.core.events import Event
from kinfolk.jobs.evolve_roles.games import SLOT, RoleEnvironment, score_game
from kinfolk.play.task import EpisodeRunner, RolloutTask, WorldRef
from kinfolk.policies.resolve import resolve


@dataclass(frozen=True, kw_only=True)
class OnlineGamePlayed(Event):
    """A game was played, and its scores were recorded."""

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
    """Play games in this process, one after another; scores change the roles of later games.

    Args:
        n_games: Number of games.
        seed: Random seed.
        uri: Policy that evolves its roles in play.
        world: World to play in; it needs a catalog of roles and one team.
        preset: Named set of rules of the world.
        world_settings: Rules of the world to change.

    Raises:
        SettingsError: The world has several teams, or the policy does not evolve its roles.
    """
    ref = WorldRef(world, preset, world_settings or {})
    environment, batch = RoleEnvironment(ref), ref.build()
    domain = environment.domain
    teams = domain.team_rows(batch)
    count = f"this one has {len(teams)}"
    require(len(teams) == 1, f"Online role evolution needs a world with one team; {count}.")
    policies, episodes = {SLOT: resolve(uri)}, range(n_games)
    task = RolloutTask(ref, policies, seed, episodes, worlds=1, observer=environment)
    runner = EpisodeRunner(task, batch)
    policy: Any = runner.observer.slots[0].policy
    remedy = "Write kin://roles?evolution=1&learn=1."
    require(hasattr(policy, "finish_game"), f"'{uri}' does not learn. {remedy}")
    for episode in range(n_games):
        [result] = runner.run(replace(task, episodes=(episode,))).observed
        game_scores = score_game(domain, result, policy.evolution.team_weight)
        agents = [a for a in range(len(teams[0])) if a in policy.coordinator.assignments]
        scores = {agent: float(game_scores.scores[-1, agent]) for agent in agents}
        names = {str(agent): policy.coordinator.assign_role(agent).name for agent in agents}
        policy.finish_game(scores, game_scores.won[-1])
        yield OnlineGamePlayed(
            step=episode,
            team_score=int(result.side_scores[-1, 0]),
            won=game_scores.won[-1],
            generation=policy.coordinator.generation,
            roles=names,
            scores={str(agent): score for agent, score in scores.items()},
        )
