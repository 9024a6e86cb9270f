"""What every tick does to agents: upkeep, areas, exhaustion, pay."""

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
    """Add to what an agent has of each, then cut it to the limits."""
    gear = body[w, row, GEAR]
    body[w, row, HP] = clamp(body[w, row, HP] + hp, limits[HP_LIMIT, gear])
    body[w, row, ENERGY] = clamp(body[w, row, ENERGY] + energy, limits[ENERGY_LIMIT, gear])
    body[w, row, INFLUENCE] = clamp(
        body[w, row, INFLUENCE] + influence, limits[INFLUENCE_LIMIT, gear]
    )


@inline
def apply_upkeep(teams: Ints, body: Ints, rules: CogsguardRules, w: int, tick: int) -> None:
    """Everybody loses hp and influence and gains energy from the sun, more of it by day."""
    day = (tick - 1) % rules.day_period < rules.day_length
    solar = rules.solar_day if day else rules.solar_night
    limits, hp, influence = rules.limits, -rules.hp_upkeep, -rules.influence_upkeep
    for team in range(rules.teams):
        for i in range(teams[w, team, N_AGENTS]):
            row = team * rules.rows_per_team + i
            add_resources(body, limits, w, row, hp, solar, influence)


@inline
def apply_area_effects(
    map_arrays: MapArrays, agents: AgentArrays, rules: CogsguardRules, events: Ints, w: int
) -> None:
    """Areas heal or harm, net of each other before limits cut; then the exhausted lose their gear.

    Whoever has hp 0 when all effects of a tick are in keeps only the cargo it can carry without
    gear.
    """
    body, limits = agents.body, rules.limits
    for team in range(rules.teams):
        for i in range(map_arrays.teams[w, team, N_AGENTS]):
            row = team * rules.rows_per_team + i
            word = int(map_arrays.team_view[w, team, body[w, row, CELL]])
            friend = 1 if word & FRIENDLY_AREA != 0 else 0
            enemy = 1 if word & ENEMY_AREA != 0 else 0
            if friend + enemy > 0:
                hp = friend * rules.hp_friendly_area - enemy * rules.hp_enemy_area
                energy = friend * rules.energy_friendly_area
                influence = (
                    friend * rules.influence_friendly_area - enemy * rules.influence_enemy_area
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
    """Who aligned a junction that its team still holds is credited with the tick."""
    for j in range(junction.shape[1]):
        if junction[w, j, JUNCTION_CELL] > 0 and junction[w, j, JUNCTION_ALIGNED_BY] >= 0:
            stats[w, junction[w, j, JUNCTION_ALIGNED_BY], HELD_TICKS] += 1


@inline
def assign_rewards(
    teams: Ints, rules: CogsguardRules, reward: Floats, truncated: Bools, w: int, tick: int
) -> bool:
    """Every agent earns its team's junctions / max_steps; returns whether time is up."""
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
