"""What came of a game, agent by agent, entered in the catalogue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum

from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.fitness import checked_score, record_behavior_score, record_role_score


@dataclass(frozen=True)
class AgentRecord:
    """One agent's game: which role it played, how well, and whether its team won."""

    role_id: int
    score: float
    won: bool

    def __post_init__(self) -> None:
        checked_score(self.score)


def enter_game(
    catalog: RoleCatalog, records: Iterable[AgentRecord], config: EvolutionConfig
) -> None:
    """Enter one game: a role played by three agents, or a behaviour held by them, counts once.

    Its score is the mean over its agents.
    """
    by_role: dict[int, list[AgentRecord]] = {}
    by_behavior: dict[int, list[float]] = {}
    for record in records:
        by_role.setdefault(record.role_id, []).append(record)
        for behavior_id in catalog.roles[record.role_id].behavior_ids:
            by_behavior.setdefault(behavior_id, []).append(record.score)
    for role_id in sorted(by_role):
        played = by_role[role_id]
        won = any(record.won for record in played)
        record_role_score(catalog, role_id, _mean([r.score for r in played]), won, config)
    for behavior_id in sorted(by_behavior):
        record_behavior_score(catalog, behavior_id, _mean(by_behavior[behavior_id]), config)


def _mean(scores: list[float]) -> float:
    return fsum(scores) / len(scores)  # rounded once, so that the order of agents has no effect
