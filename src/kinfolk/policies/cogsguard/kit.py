"""CogsGuard for the role job: who sits where, what counts, what a deed is worth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.policies.cogsguard.catalog import catalog_of
from kinfolk.policies.cogsguard.smart import SMART
from kinfolk.policies.role_kits import RoleKit
from kinfolk.worlds.cogsguard.world import CogsguardWorld


def rows(world: CogsguardWorld) -> Ints:
    """The rows of every team."""
    rules = world.settings
    return np.arange(rules.teams * rules.rows_per_team).reshape(rules.teams, -1)


def founders(world: CogsguardWorld) -> int:
    """Agents of a team when a game begins."""
    return world.settings.agents


def held(world: CogsguardWorld) -> AnyArray:
    """Junction-ticks of every team and, in the last column, of the clips."""
    counters = world.counters()
    sides = [f"team_{team}" for team in range(world.settings.teams)] + ["clips"]
    return np.stack([counters[f"junction_ticks_{side}"] for side in sides], axis=1)


def deeds(world: CogsguardWorld) -> Mapping[str, AnyArray]:
    """What was counted for each agent."""
    return world.statistics()


KIT = RoleKit(
    catalog=catalog_of,
    policy="kinfolk.policies.cogsguard.roles:RolePolicy",
    temple_policy="kinfolk.policies.cogsguard.temple:TempleRoles",
    lineup_policy="kinfolk.policies.cogsguard.lineups:FixedLineUp",
    # Of eight agents: three miners, two aligners, two scramblers, one scout.
    seeded=(
        "BaseMiner",
        "BaseAligner",
        "BaseScrambler",
        "BaseScout",
        "BaseMiner",
        "BaseAligner",
        "BaseScrambler",
        "BaseMiner",
    ),
    baseline="kin://smart",
    baseline_member=SMART,
    measure="junction-ticks",
    # In hearts: forty elements make one; an aligned junction is held for some 250 ticks; breaking
    # the clips' hold is worth several, since whatever they hold grows.
    worth={"held_ticks": 1 / 250, "scrambled": 3.0, "deposited": 1 / 40, "hearts_made": 1 / 4},
    rows=rows,
    founders=founders,
    held=held,
    deeds=deeds,
)
