"""Effects of every tick on agents: upkeep, areas, exhaustion and rewards."""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard.codes import (
    CELL,
    ENEMY_AREA,
    ENERGY,
    ENERGY_LIMIT,
    EXHAUSTED_TICKS,
    FRIENDLY_AREA,
    GEAR,
    HEARTS,
    HELD_TICKS,
    HP,
    HP_LIMIT,
    INFLUENCE,
    INFLUENCE_LIMIT,
    JUNCTION_ALIGNED_BY,
    JUNCTION_CELL,
    JUNCTION_TICKS,
    JUNCTIONS_HELD,
    N_AGENTS,
    NO_GEAR,
)
from kinfolk.worlds.cogsguard.events import EXHAUSTED, record_event
from kinfolk.worlds.cogsguard.inventory import AgentArrays, apply_limits, clamp, write_agent_cell
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.territory import MapArrays


@inline
def add_resources(
    body: Ints, limits: Ints, w: int, row: int, hp: int, energy: int, influence: int
) -> None:
    """Add to an agent's hp, energy and influence, then apply the limits of its gear.

    Args:
        body: `[W, N, BODY_COLUMNS]`, written.
        limits: `[5 limits, 5 gears]`.
        w: World.
        row: Row of the agent.
        hp: Change of hp.
        energy: Change of energy.
        influence: Change of influence.
    """
    gear = body[w, row, GEAR]
    body[w, row, HP] = clamp(body[w, row, HP] + hp, limits[HP_LIMIT, gear])
    body[w, row, ENERGY] = clamp(body[w, row, ENERGY] + energy, limits[ENERGY_LIMIT, gear])
    body[w, row, INFLUENCE] = clamp(
        body[w, row, INFLUENCE] + influence, limits[INFLUENCE_LIMIT, gear]
    )


@inline
def apply_upkeep(teams: Ints, body: Ints, rules: CogsguardRules, w: int, tick: int) -> None:
    """Subtract hp and influence from all agents and add solar energy, more of it by day.

    Args:
        teams: `[W, T + 1, TEAM_COLUMNS]`.
        body: `[W, N, BODY_COLUMNS]`, written.
        rules: Rules of the batch.
        w: World.
        tick: Current tick.
    """
    is_day = (tick - 1) % rules.day_period < rules.day_length
    solar = rules.solar_day if is_day else rules.solar_night
    limits, hp, influence = rules.limits, -rules.hp_upkeep, -rules.influence_upkeep
    for team in range(rules.teams):
        for i in range(teams[w, team, N_AGENTS]):
            row = team * rules.rows_per_team + i
            add_resources(body, limits, w, row, hp, solar, influence)


@inline
def apply_area_effects(
    map_arrays: MapArrays, agents: AgentArrays, rules: CogsguardRules, events: Ints, w: int
) -> None:
    """Apply the effects of areas to all agents; those with hp 0 then lose gear and hearts.

    Friendly and enemy effects are summed before limits apply. An exhausted agent keeps only the cargo
    that it can carry without gear.

    Args:
        map_arrays: Reads areas; writes agents' cells in `team_view`.
        agents: Writes `body` and `stats`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
    """
    body, limits = agents.body, rules.limits
    for team in range(rules.teams):
        for i in range(map_arrays.teams[w, team, N_AGENTS]):
            row = team * rules.rows_per_team + i
            word = int(map_arrays.team_view[w, team, body[w, row, CELL]])
            friendly = 1 if word & FRIENDLY_AREA != 0 else 0
            enemy = 1 if word & ENEMY_AREA != 0 else 0
            if friendly + enemy > 0:
                hp = friendly * rules.hp_friendly_area - enemy * rules.hp_enemy_area
                energy = friendly * rules.energy_friendly_area
                influence = (
                    friendly * rules.influence_friendly_area - enemy * rules.influence_enemy_area
                )
                add_resources(body, limits, w, row, hp, energy, influence)
            if body[w, row, HP] == 0:
                agents.stats[w, row, EXHAUSTED_TICKS] += 1
                gear, hearts = body[w, row, GEAR], body[w, row, HEARTS]
                if gear != NO_GEAR or hearts > 0:
                    body[w, row, GEAR] = NO_GEAR
                    body[w, row, HEARTS] = 0
                    apply_limits(body, limits, w, row)
                    write_agent_cell(map_arrays.team_view, body, w, row, team)
                    record_event(events, w, EXHAUSTED, row, gear, hearts)


@inline
def credit_junction_holders(junction: Ints, stats: Ints, w: int) -> None:
    """Count a tick for the agents that aligned junctions which their teams still hold.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`.
        stats: `[W, N, STATISTICS]`, written.
        w: World.
    """
    for j in range(junction.shape[1]):
        if junction[w, j, JUNCTION_CELL] > 0 and junction[w, j, JUNCTION_ALIGNED_BY] >= 0:
            stats[w, junction[w, j, JUNCTION_ALIGNED_BY], HELD_TICKS] += 1


@inline
def assign_rewards(
    teams: Ints, rules: CogsguardRules, reward: Floats, truncated: Bools, w: int, tick: int
) -> bool:
    """Reward every agent with its team's junctions / max_steps.

    Args:
        teams: `[W, T + 1, TEAM_COLUMNS]`, counts junction ticks.
        rules: Rules of the batch.
        reward: `[W, N]`, written.
        truncated: `[W, N]`, written.
        w: World.
        tick: Current tick.

    Returns:
        Whether time is up.
    """
    over = tick >= rules.max_steps
    for owner in range(rules.teams + 1):
        teams[w, owner, JUNCTION_TICKS] += teams[w, owner, JUNCTIONS_HELD]
    for team in range(rules.teams):
        earned = teams[w, team, JUNCTIONS_HELD] / rules.max_steps
        for i in range(teams[w, team, N_AGENTS]):
            row = team * rules.rows_per_team + i
            reward[w, row] = earned
            truncated[w, row] = over
    return bool(over)
