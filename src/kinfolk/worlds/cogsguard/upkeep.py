"""What every tick does to agents: upkeep, areas, exhaustion, pay."""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard.areas import Land
from kinfolk.worlds.cogsguard.bodies import Folk, between, fit, show
from kinfolk.worlds.cogsguard.codes import (
    AGENTS,
    BY,
    CELL,
    ENEMY_AREA,
    ENERGY,
    ENERGY_LIMIT,
    EXHAUSTED_TICKS,
    FRIENDLY_AREA,
    GEAR,
    HEARTS,
    HELD,
    HELD_TICKS,
    HP,
    HP_LIMIT,
    INFLUENCE,
    INFLUENCE_LIMIT,
    JUNCTION_TICKS,
    NO_GEAR,
    WHERE,
)
from kinfolk.worlds.cogsguard.log import EXHAUSTED, note
from kinfolk.worlds.cogsguard.rules import Rules


@inline
def change(
    body: Ints, limits: Ints, w: int, row: int, hp: int, energy: int, influence: int
) -> None:
    """Add to what an agent has of each, then cut it to the limits."""
    gear = body[w, row, GEAR]
    body[w, row, HP] = between(body[w, row, HP] + hp, limits[HP_LIMIT, gear])
    body[w, row, ENERGY] = between(body[w, row, ENERGY] + energy, limits[ENERGY_LIMIT, gear])
    body[w, row, INFLUENCE] = between(
        body[w, row, INFLUENCE] + influence, limits[INFLUENCE_LIMIT, gear]
    )


@inline
def maintain(teams: Ints, body: Ints, r: Rules, w: int, tick: int) -> None:
    """Everybody loses hp and influence and gains energy from the sun, more of it by day."""
    day = (tick - 1) % r.day_period < r.day_length
    solar = r.solar_day if day else r.solar_night
    limits, hp, influence = r.limits, -r.hp_upkeep, -r.influence_upkeep
    for team in range(r.teams):
        for i in range(teams[w, team, AGENTS]):
            row = team * r.rows_per_team + i
            change(body, limits, w, row, hp, solar, influence)


@inline
def affect(land: Land, folk: Folk, r: Rules, log: Ints, w: int) -> None:
    """Areas heal or harm, net of each other before limits cut; then the exhausted lose their gear.

    Whoever has hp 0 when all effects of a tick are in keeps only the cargo it can carry without
    gear.
    """
    body, limits = folk.body, r.limits
    for team in range(r.teams):
        for i in range(land.teams[w, team, AGENTS]):
            row = team * r.rows_per_team + i
            word = int(land.shown[w, team, body[w, row, CELL]])
            friend = 1 if word & FRIENDLY_AREA != 0 else 0
            enemy = 1 if word & ENEMY_AREA != 0 else 0
            if friend + enemy > 0:
                hp = friend * r.hp_friendly_area - enemy * r.hp_enemy_area
                energy = friend * r.energy_friendly_area
                influence = friend * r.influence_friendly_area - enemy * r.influence_enemy_area
                change(body, limits, w, row, hp, energy, influence)
            if body[w, row, HP] == 0:
                folk.stats[w, row, EXHAUSTED_TICKS] += 1
                gear, hearts = body[w, row, GEAR], body[w, row, HEARTS]
                if gear != NO_GEAR or hearts > 0:
                    body[w, row, GEAR] = NO_GEAR
                    body[w, row, HEARTS] = 0
                    fit(body, limits, w, row)
                    show(land.shown, body, w, row, team)
                    note(log, w, EXHAUSTED, row, gear, hearts)


@inline
def credit(junction: Ints, stats: Ints, w: int) -> None:
    """Who aligned a junction that its team still holds is credited with the tick."""
    for j in range(junction.shape[1]):
        if junction[w, j, WHERE] > 0 and junction[w, j, BY] >= 0:
            stats[w, junction[w, j, BY], HELD_TICKS] += 1


@inline
def reward_all(teams: Ints, r: Rules, reward: Floats, truncated: Bools, w: int, tick: int) -> bool:
    """Every agent earns its team's junctions / max_steps; returns whether time is up."""
    over = tick >= r.max_steps
    for owner in range(r.teams + 1):
        teams[w, owner, JUNCTION_TICKS] += teams[w, owner, HELD]
    for team in range(r.teams):
        earned = teams[w, team, HELD] / r.max_steps
        for i in range(teams[w, team, AGENTS]):
            row = team * r.rows_per_team + i
            reward[w, row] = earned
            truncated[w, row] = over
    return bool(over)
