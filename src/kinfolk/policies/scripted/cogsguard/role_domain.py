"""CogsGuard for role evolution: rows of a team, scores, and weights of contributions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.policies.role_domain import RoleDomain
from kinfolk.policies.scripted.cogsguard.adaptive_baseline import SMART
from kinfolk.policies.scripted.cogsguard.catalog import load_catalog
from kinfolk.worlds.cogsguard.world import CogsguardWorld


def team_rows(world: CogsguardWorld) -> Ints:
    """Return the row numbers of every team, `[teams, rows per team]`."""
    rules = world.settings
    return np.arange(rules.teams * rules.rows_per_team).reshape(rules.teams, -1)


def initial_team_size(world: CogsguardWorld) -> int:
    """Return the number of agents of a team when a game begins."""
    return world.settings.agents


def junction_ticks(world: CogsguardWorld) -> AnyArray:
    """Return the junction-ticks `[worlds, sides]` of every team and, last, of the clips."""
    counters = world.counters()
    sides = [f"team_{team}" for team in range(world.settings.teams)] + ["clips"]
    return np.stack([counters[f"junction_ticks_{side}"] for side in sides], axis=1)


def agent_counters(world: CogsguardWorld) -> Mapping[str, AnyArray]:
    """Return the counters of each agent by name, `[worlds, rows]` each."""
    return world.statistics()


COGSGUARD_ROLES = RoleDomain(
    make_catalog=load_catalog,
    policy_class="kinfolk.policies.scripted.cogsguard.role_policy:RolePolicy",
    hybrid_policy_class="kinfolk.policies.scripted.cogsguard.evolved_roles:HybridRolePolicy",
    team_policy_class="kinfolk.policies.scripted.cogsguard.teams:TeamPolicy",
    # Of eight agents: three miners, two aligners, two scramblers, one scout.
    seeded_roles=(
        "BaseMiner",
        "BaseAligner",
        "BaseScrambler",
        "BaseScout",
        "BaseMiner",
        "BaseAligner",
        "BaseScrambler",
        "BaseMiner",
    ),
    baseline_uri="kin://smart",
    baseline_member=SMART,
    score_name="junction-ticks",
    # In hearts: forty elements pay for one; an aligned junction is held for some 250 ticks; scrambling
    # a junction of the clips is worth several, since whatever they hold grows.
    contribution_weights={
        "held_ticks": 1 / 250,
        "scrambled": 3.0,
        "deposited": 1 / 40,
        "hearts_made": 1 / 4,
    },
    team_rows=team_rows,
    initial_team_size=initial_team_size,
    side_scores=junction_ticks,
    agent_counters=agent_counters,
)
