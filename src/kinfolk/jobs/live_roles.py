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
from kinfolk.jobs.role_games import Ground, look
from kinfolk.jobs.role_scores import score_game
from kinfolk.play.episode import Play
from kinfolk.play.slots import Slot, slot_table
from kinfolk.policies.resolve import build, resolve


@dataclass(frozen=True, kw_only=True)
class GameLearned(Event):
    """A game was played and entered."""

    kind: ClassVar[str] = "game_learned"
    held: int
    won: bool
    generation: int
    roles: dict[str, str]  # by agent
    scores: dict[str, float]


def learn_while_playing(
    games: int,
    seed: int = 0,
    uri: str = "kin://roles?evolution=1&learn=1",
    world: str = "cogsguard",
    preset: str | None = None,
    world_settings: Mapping[str, Any] | None = None,
) -> Iterator[GameLearned]:
    """Play so many games in this process; after each, what was learnt is in the next."""
    ground = Ground(world, preset, world_settings or {})
    kit, batch = ground.kit, ground.build(1)
    rows = kit.rows(batch)
    if len(rows) > 1:
        raise SettingsError(f"A live coordinator plays for one team; this world has {len(rows)}.")
    policy: Any = build(resolve(uri), batch.spec)
    if not hasattr(policy, "finish_game"):
        raise SettingsError(f"'{uri}' does not learn. Write kin://roles?evolution=1&learn=1.")
    table = slot_table(batch.spec, ["roles"])
    for episode in range(games):
        play = Play(batch, [Slot("roles", policy)], table, seed, [episode])
        while not play.over:
            play.tick()
        [result] = look(kit, batch, rows[0])
        found = score_game(kit, result, policy.evolution.team_weight)
        agents = [a for a in range(len(rows[0])) if a in policy.coordinator.assignments]
        scores = {agent: float(found.scores[-1, agent]) for agent in agents}
        names = {str(agent): policy.coordinator.assign_role(agent).name for agent in agents}
        policy.finish_game(scores, found.won[-1])
        yield GameLearned(
            step=episode,
            held=int(result.held[-1, 0]),
            won=found.won[-1],
            generation=policy.coordinator.generation,
            roles=names,
            scores={str(agent): score for agent, score in scores.items()},
        )
