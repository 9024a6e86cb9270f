"""Bumps: an agent uses what stands in its way. A bump that fails changes nothing."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard.areas import Land, clear, hand_over
from kinfolk.worlds.cogsguard.bodies import Folk, carried, fit, show
from kinfolk.worlds.cogsguard.codes import (
    ALIGNED,
    ALIGNER,
    BROKEN,
    BY,
    CARGO,
    CARGO_LIMIT,
    CHEST,
    DEPOSITED,
    EXTRACTOR,
    GEAR,
    GEAR_CHANGES,
    HEARTS,
    HEARTS_LIMIT,
    HEARTS_MADE,
    HEARTS_SPENT,
    HEARTS_TAKEN,
    HUB,
    INFLUENCE,
    JUNCTION,
    KIND_MASK,
    MINED,
    MINER,
    SCRAMBLED,
    SCRAMBLER,
    SHIP,
    STATION,
    STORE_HEARTS,
    WHOSE,
)
from kinfolk.worlds.cogsguard.log import (
    ALIGN,
    DEPOSIT,
    EXTRACTOR_EMPTIED,
    GEAR_CHANGE,
    HEART_MADE,
    HEART_TAKEN,
    MINE,
    SCRAMBLE,
    note,
)
from kinfolk.worlds.cogsguard.network import in_align_reach
from kinfolk.worlds.cogsguard.rules import HEART, Rules


@inline
def mine(
    land: Land, folk: Folk, r: Rules, log: Ints, w: int, row: int, cell: int, what: int
) -> bool:
    """Take elements out of an extractor, as many as gear, stock and free cargo allow."""
    body, stock = folk.body, int(land.detail[w, cell])
    gear = body[w, row, GEAR]
    free = r.limits[CARGO_LIMIT, gear] - carried(body, w, row)
    amount = r.mine_amount_miner if gear == MINER else r.mine_amount
    amount = min(amount, stock, free)
    if amount <= 0:
        return False
    body[w, row, CARGO + what] += amount
    folk.stats[w, row, MINED + what] += amount
    land.detail[w, cell] = stock - amount
    note(log, w, MINE, row, what, amount)
    if stock == amount:
        clear(land, w, cell)
        note(log, w, EXTRACTOR_EMPTIED, row, what, cell)
    return True


@inline
def deposit(folk: Folk, r: Rules, log: Ints, w: int, row: int, team: int) -> bool:
    """Put elements into the team's store, some of each, up to its cap."""
    total = 0
    for element in range(4):
        room = r.store_cap - folk.store[w, team, element]
        amount = min(folk.body[w, row, CARGO + element], r.deposit_most, room)
        if amount > 0:
            folk.body[w, row, CARGO + element] -= amount
            folk.store[w, team, element] += amount
            total += amount
            note(log, w, DEPOSIT, row, element, amount)
    folk.stats[w, row, DEPOSITED] += total
    return total > 0


@inline
def pay(store: Ints, prices: Ints, w: int, team: int, what: int) -> bool:
    """Take the price of a heart or gear out of a store, if it has enough of every element."""
    for element in range(4):
        if store[w, team, element] < prices[what, element]:
            return False
    for element in range(4):
        store[w, team, element] -= prices[what, element]
    return True


@inline
def get_heart(folk: Folk, r: Rules, log: Ints, w: int, row: int, team: int) -> bool:
    """Take a heart from the store; if it has none, have one made for elements."""
    body = folk.body
    if body[w, row, HEARTS] >= r.limits[HEARTS_LIMIT, body[w, row, GEAR]]:
        return False
    if folk.store[w, team, STORE_HEARTS] > 0:
        folk.store[w, team, STORE_HEARTS] -= 1
        folk.stats[w, row, HEARTS_TAKEN] += 1
        note(log, w, HEART_TAKEN, row, team, 1)
    else:
        if not pay(folk.store, r.prices, w, team, HEART):
            return False
        folk.stats[w, row, HEARTS_MADE] += 1
        note(log, w, HEART_MADE, row, team, 1)
    body[w, row, HEARTS] += 1
    return True


@inline
def equip(
    land: Land, folk: Folk, r: Rules, log: Ints, w: int, row: int, team: int, gear: int
) -> bool:
    """Change gear, paid from the store; what the new gear cannot hold is dropped."""
    old = folk.body[w, row, GEAR]
    if old == gear or not pay(folk.store, r.prices, w, team, gear):
        return False
    folk.body[w, row, GEAR] = gear
    fit(folk.body, r.limits, w, row)
    show(land.shown, folk.body, w, row, team)
    folk.stats[w, row, GEAR_CHANGES] += 1
    note(log, w, GEAR_CHANGE, row, old, gear)
    return True


@inline
def use_junction(
    land: Land, folk: Folk, r: Rules, log: Ints, w: int, row: int, team: int, j: int
) -> bool:
    """Deposit at one's own junction; align nobody's; scramble an enemy's.

    Edition A lets aligners take an enemy's junction too, and both deeds may cut others off.
    """
    body, owner = folk.body, land.junction[w, j, WHOSE]
    if owner == team:
        return deposit(folk, r, log, w, row, team)
    gear, hearts = body[w, row, GEAR], body[w, row, HEARTS]
    aligns = gear == ALIGNER and hearts >= r.align_hearts
    if r.territory:
        aligns = aligns and in_align_reach(land.junction, land.home, r, w, team, j)
    else:
        aligns = aligns and owner < 0
    aligns = aligns and body[w, row, INFLUENCE] >= r.align_influence
    if not aligns and (owner < 0 or gear != SCRAMBLER or hearts < r.scramble_hearts):
        return False
    price = r.align_hearts if aligns else r.scramble_hearts
    body[w, row, HEARTS] -= price
    folk.stats[w, row, HEARTS_SPENT] += price
    folk.stats[w, row, ALIGNED if aligns else SCRAMBLED] += 1
    note(log, w, ALIGN if aligns else SCRAMBLE, row, j, owner)
    hand_over(land, r, w, j, team if aligns else -1)
    land.junction[w, j, BY] = row if aligns else -1
    if r.territory and owner >= 0:
        land.teams[w, owner, BROKEN] = 1  # `network.prune` looks when all have acted
    return True


@inline
def bump(
    land: Land, folk: Folk, r: Rules, log: Ints, w: int, row: int, team: int, cell: int
) -> bool:
    """Use what is on `cell`; False if that does nothing."""
    kind, number = int(land.shown[w, team, cell]) & KIND_MASK, int(land.detail[w, cell])
    if kind < EXTRACTOR or kind == SHIP:
        return False
    if kind < HUB:
        return mine(land, folk, r, log, w, row, cell, kind - EXTRACTOR)
    if kind == JUNCTION:
        return use_junction(land, folk, r, log, w, row, team, number)
    if number != team:  # hubs, chests and stations serve their own team
        return False
    if kind >= STATION:
        return equip(land, folk, r, log, w, row, team, kind - STATION + 1)
    laden = carried(folk.body, w, row) > 0
    if kind == CHEST or (r.territory and not laden):
        return get_heart(folk, r, log, w, row, team)
    return deposit(folk, r, log, w, row, team)
