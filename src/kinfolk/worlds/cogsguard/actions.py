"""Primary actions: agents move or bump, one after the other in an order drawn from the key."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.keys import below
from kinfolk.worlds.cogsguard.areas import Land, clear
from kinfolk.worlds.cogsguard.bodies import Folk, look_around, show
from kinfolk.worlds.cogsguard.bumps import bump
from kinfolk.worlds.cogsguard.codes import (
    AGENTS,
    BUMPS_FAILED,
    CELL,
    EMPTY,
    ENERGY,
    KIND_MASK,
    MOTIONLESS,
    MOVED,
    SUCCEEDED,
    VIBE,
    WITHOUT_ENERGY,
)
from kinfolk.worlds.cogsguard.rules import Rules
from kinfolk.worlds.cogsguard.state import Bits


@inline
def ahead(stride: int, way: int) -> int:
    """How far in the numbering of cells the next cell to the north, south, west or east is."""
    if way <= 2:
        return -stride if way == 1 else stride
    return -1 if way == 3 else 1


@inline
def move(land: Land, folk: Folk, r: Rules, w: int, row: int, team: int, way: int) -> None:
    """Go one cell, which is free."""
    body, cell = folk.body, folk.body[w, row, CELL]
    clear(land, w, cell)
    cell += ahead(r.stride, way)
    body[w, row, CELL] = cell
    land.detail[w, cell] = row
    show(land.shown, body, w, row, team)
    folk.stats[w, row, MOVED] += 1


@inline
def act(land: Land, folk: Folk, r: Rules, log: Ints, w: int, row: int, team: int, way: int) -> bool:
    """Do one agent's primary action; returns whether it moved. Success costs energy."""
    body, stats = folk.body, folk.stats
    body[w, row, SUCCEEDED] = 1
    if way == 0:
        return False
    if body[w, row, ENERGY] < r.move_cost:
        stats[w, row, WITHOUT_ENERGY] += 1
        body[w, row, SUCCEEDED] = 0
        return False
    target = body[w, row, CELL] + ahead(r.stride, way)
    free = int(land.shown[w, team, target]) & KIND_MASK == EMPTY
    if free:
        move(land, folk, r, w, row, team, way)
    elif not bump(land, folk, r, log, w, row, team, target):
        stats[w, row, BUMPS_FAILED] += 1
        body[w, row, SUCCEEDED] = 0
        return False
    # Taken from what is left: a bump can change gear, and with it how much energy can be held.
    body[w, row, ENERGY] = max(0, body[w, row, ENERGY] - r.move_cost)
    return bool(free)


@inline
def take_turns(
    land: Land,
    folk: Folk,
    r: Rules,
    log: Ints,
    order: Ints,
    seen: Bits,
    w: int,
    key: int,
    actions: Ints,
) -> None:
    """Everybody acts once; each next agent is drawn from those that are left."""
    total, rows = 0, folk.body.shape[1]
    for team in range(r.teams):
        for i in range(land.teams[w, team, AGENTS]):
            order[total] = team * r.rows_per_team + i
            total += 1
    for i in range(total):
        j = i + below(key, i, total - i)
        row = order[j]
        order[j] = order[i]
        team, way = row // r.rows_per_team, actions[w * rows + row, 0]
        if act(land, folk, r, log, w, row, team, way):
            look_around(seen, folk.stats, r, w, row, folk.body[w, row, CELL], way)
        else:
            folk.stats[w, row, MOTIONLESS] += 1


@inline
def change_vibes(land: Land, folk: Folk, r: Rules, w: int, actions: Ints) -> None:
    """Vibes have no effect on the rules, but others see them."""
    rows = folk.body.shape[1]
    for team in range(r.teams):
        for i in range(land.teams[w, team, AGENTS]):
            row = team * r.rows_per_team + i
            vibe = actions[w * rows + row, 1]
            if vibe != folk.body[w, row, VIBE]:
                folk.body[w, row, VIBE] = vibe
                show(land.shown, folk.body, w, row, team)
