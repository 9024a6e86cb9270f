"""Describe a world to role evolution: its catalog, policies, scores and counters.

Another package adds a description of its own world by an entry point in the group
`kinfolk.role_domains`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kinfolk.core.arrays import AnyArray, Bools, Floats, Ints
from kinfolk.core.imports import Registry, RegistryEntry
from kinfolk.policies.base import Memory
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.fitness import (
    blend_scores,
    find_winners,
    relative_contributions,
    team_shares,
)
from kinfolk.roles.program import RoleTables, tables_from_arrays

ROLE_PREFIX = "own_"  # of the memory arrays that hold an agent's role itself
_COGSGUARD = RegistryEntry(
    "kinfolk.policies.scripted.cogsguard.catalog:COGSGUARD_ROLES",
    "thirteen behaviors, four roles",
)
ROLE_DOMAINS = Registry("world with roles", "role_domains", {"cogsguard": _COGSGUARD})
Descriptor = tuple[tuple[str, ...], tuple[str, ...]]  # counters above and below the line


@dataclass(frozen=True)
class RoleDomain:
    """How the roles of a world are made, assigned to agents and scored.

    Attributes:
        make_catalog: Returns the world's behaviors in a fixed order and its seeded roles; with an
            import path, what the function at that path returns.
        policy_class: Class path; `load` takes role tables, and `batch.member` names a row of them.
        hybrid_policy_class: Class path of a policy that also gives hybrids to newborns and keeps
            every agent's role in memory (see `role_tables_in_memory`).
        team_policy_class: Class path of a policy whose `roles` lists the table rows a team plays.
        seeded_roles: Roles that the agents of a seeded team play, in the order of their rows.
        baseline_uri: URI of the policy to compare with.
        baseline_member: Member number that stands for the baseline.
        score_name: Name of what `side_scores` counts.
        contribution_weights: Weight of each agent counter in an agent's contribution.
        team_rows: From a world, `[teams, most agents]` row numbers, initial agents first.
        initial_team_size: From a world, the number of agents of a team at the start.
        side_scores: From a world, `[worlds, sides]` scores, teams first, then other sides.
        agent_counters: From a world, `[worlds, rows]` counters by name.
        descriptors: Behaviour descriptors by name: counters to add up, and counters by whose sum to
            divide; if there are none, by the ticks of the agents.
    """

    make_catalog: Callable[[str | None], RoleCatalog]
    policy_class: str
    hybrid_policy_class: str
    team_policy_class: str
    seeded_roles: tuple[str, ...]
    baseline_uri: str
    baseline_member: int
    score_name: str
    contribution_weights: Mapping[str, float]
    team_rows: Callable[[Any], Ints]
    initial_team_size: Callable[[Any], int]
    side_scores: Callable[[Any], AnyArray]
    agent_counters: Callable[[Any], Mapping[str, AnyArray]]
    descriptors: Mapping[str, Descriptor] = field(default_factory=dict)

    @property
    def counters(self) -> list[str]:
        """Names of all agent counters that scores and descriptors need."""
        described = [name for parts in self.descriptors.values() for part in parts for name in part]
        return list(dict.fromkeys([*self.contribution_weights, *described]))


def score_agents(
    domain: RoleDomain,
    side_scores: AnyArray,
    counters: Mapping[str, AnyArray],
    team_weight: float,
    team: int = 0,
) -> tuple[Floats, Bools]:
    """Score the agents of a team: its share of all scores, blended with each agent's own deeds.

    Args:
        domain: The role domain, with the weights of counters.
        side_scores: `[games, sides]`, such as junction-ticks.
        counters: `[games, agents]` each, by name: counters of the team's agents.
        team_weight: Weight of the team's share, 0 to 1.
        team: Which side the team is.

    Returns:
        Scores `[games, agents]` from 0 to 1, and `[games]` whether the team won.
    """
    shares = team_shares(side_scores)[:, team]
    contributions = relative_contributions(counters, domain.contribution_weights)
    won: Bools = find_winners(side_scores)[:, team]
    return blend_scores(shares, contributions, team_weight), won


def role_tables_in_memory(memory: Memory) -> RoleTables:
    """Return the roles that a hybrid policy keeps in memory: views, one row per agent slot."""
    return tables_from_arrays({name: memory[f"{ROLE_PREFIX}{name}"] for name in RoleTables._fields})
