"""Bumps: an agent uses the object in its way; a bump that fails changes nothing."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.inventory import apply_limits, count_cargo, write_agent_cell
from kinfolk.worlds.cogsguard.rules import HEART_PRICE_ROW, CogsguardRules
from kinfolk.worlds.cogsguard.state import GameArrays, record_event
from kinfolk.worlds.cogsguard.territory import (
    change_junction_owner,
    clear_cell,
    is_near_junction,
    squared_distance,
)


@inline
def mine_extractor(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, cell: int, element: int
) -> bool:
    """Take elements out of an extractor, as many as gear, stock and free cargo allow.

    Args:
        game: Writes `body`, `stats` and the stock in `cell_detail`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        cell: Cell of the extractor.
        element: Index into `ELEMENTS`.

    Returns:
        Whether anything was taken.
    """
    body, stock = game.body, int(game.cell_detail[w, cell])
    gear = body[w, row, codes.GEAR]
    free = rules.limits[codes.CARGO_LIMIT, gear] - count_cargo(body, w, row)
    amount = rules.mine_amount_miner if gear == codes.MINER else rules.mine_amount
    amount = min(amount, stock, free)
    if amount <= 0:
        return False
    body[w, row, codes.FIRST_CARGO + element] += amount
    game.stats[w, row, codes.FIRST_MINED + element] += amount
    game.cell_detail[w, cell] = stock - amount
    record_event(events, w, codes.MINE_EVENT, row, element, amount)
    if stock == amount:
        clear_cell(game, w, cell)
        record_event(events, w, codes.EMPTIED_EVENT, row, element, cell)
    return True


@inline
def deposit_cargo(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int
) -> bool:
    """Put an agent's elements into its team's store, up to the limits per bump and of the store.

    Args:
        game: Writes `body`, `store` and `stats`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.

    Returns:
        Whether anything was deposited.
    """
    body, store, total = game.body, game.store, 0
    for element in range(4):
        room = rules.store_cap - store[w, team, element]
        amount = min(body[w, row, codes.FIRST_CARGO + element], rules.deposit_most, room)
        if amount > 0:
            body[w, row, codes.FIRST_CARGO + element] -= amount
            store[w, team, element] += amount
            total += amount
            record_event(events, w, codes.DEPOSIT_EVENT, row, element, amount)
    game.stats[w, row, codes.DEPOSITED] += total
    return total > 0


@inline
def pay_from_store(store: Ints, prices: Ints, w: int, team: int, item: int) -> bool:
    """Take the price of a heart or gear out of a store, if it has enough of every element.

    Args:
        store: `[W, teams, elements and hearts]`, written.
        prices: `[hearts and 4 gears, 4 elements]`.
        w: World.
        team: Team of the store.
        item: Row of `prices`.

    Returns:
        Whether the store had enough and the price was paid.
    """
    for element in range(4):
        if store[w, team, element] < prices[item, element]:
            return False
    for element in range(4):
        store[w, team, element] -= prices[item, element]
    return True


@inline
def take_heart(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int
) -> bool:
    """Take a heart from the store; if it has none, make one from elements.

    Args:
        game: Writes `body`, `store` and `stats`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.

    Returns:
        Whether the agent got a heart.
    """
    body, store = game.body, game.store
    if body[w, row, codes.HEARTS] >= rules.limits[codes.HEARTS_LIMIT, body[w, row, codes.GEAR]]:
        return False
    if store[w, team, codes.STORE_HEARTS] > 0:
        store[w, team, codes.STORE_HEARTS] -= 1
        game.stats[w, row, codes.HEARTS_TAKEN] += 1
        record_event(events, w, codes.HEART_TAKEN_EVENT, row, team, 1)
    else:
        if not pay_from_store(store, rules.prices, w, team, HEART_PRICE_ROW):
            return False
        game.stats[w, row, codes.HEARTS_MADE] += 1
        record_event(events, w, codes.HEART_MADE_EVENT, row, team, 1)
    body[w, row, codes.HEARTS] += 1
    return True


@inline
def change_gear(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int, gear: int
) -> bool:
    """Change an agent's gear, paid from the store; what the new gear cannot hold is dropped.

    Args:
        game: Writes `body`, `store`, `stats` and `team_view`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        gear: Index into `GEARS`.

    Returns:
        Whether the gear was changed.
    """
    body = game.body
    old_gear = body[w, row, codes.GEAR]
    if old_gear == gear or not pay_from_store(game.store, rules.prices, w, team, gear):
        return False
    body[w, row, codes.GEAR] = gear
    apply_limits(body, rules.limits, w, row)
    write_agent_cell(game.team_view, body, w, row, team)
    game.stats[w, row, codes.GEAR_CHANGES] += 1
    record_event(events, w, codes.GEAR_EVENT, row, old_gear, gear)
    return True


@inline
def is_in_align_reach(
    game: GameArrays, rules: CogsguardRules, w: int, team: int, cell: int
) -> bool:
    """Return whether a team may align a junction in edition A: near its hub or one of its junctions.

    Args:
        game: Reads `junction` and `home_cell`.
        rules: Rules of the batch.
        w: World.
        team: Team that aligns.
        cell: Cell of the junction.
    """
    if squared_distance(rules.stride, cell, game.home_cell[w, team]) <= rules.align_hub_reach:
        return True
    return is_near_junction(game.junction, rules.stride, rules.align_reach, w, team, cell)


@inline
def use_junction(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int, index: int
) -> bool:
    """Deposit at a junction of the agent's team, align a neutral junction, or scramble an enemy's.

    In edition A aligners also take an enemy's junction, and losing it may unlink other junctions.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        index: Index of the junction.

    Returns:
        Whether the bump had an effect.
    """
    body, stats, owner = game.body, game.stats, game.junction[w, index, codes.JUNCTION_OWNER]
    if owner == team:
        return deposit_cargo(game, rules, events, w, row, team)
    gear, hearts = body[w, row, codes.GEAR], body[w, row, codes.HEARTS]
    aligns = gear == codes.ALIGNER and hearts >= rules.align_hearts
    if rules.territory:
        cell = game.junction[w, index, codes.JUNCTION_CELL]
        aligns = aligns and is_in_align_reach(game, rules, w, team, cell)
    else:
        aligns = aligns and owner < 0
    aligns = aligns and body[w, row, codes.INFLUENCE] >= rules.align_influence
    if not aligns and (owner < 0 or gear != codes.SCRAMBLER or hearts < rules.scramble_hearts):
        return False
    price = rules.align_hearts if aligns else rules.scramble_hearts
    body[w, row, codes.HEARTS] -= price
    stats[w, row, codes.HEARTS_SPENT] += price
    stats[w, row, codes.ALIGNED if aligns else codes.SCRAMBLED] += 1
    kind = codes.ALIGN_EVENT if aligns else codes.SCRAMBLE_EVENT
    record_event(events, w, kind, row, index, owner)
    change_junction_owner(game, rules, w, index, team if aligns else -1)
    game.junction[w, index, codes.JUNCTION_ALIGNED_BY] = row if aligns else -1
    if rules.territory and owner >= 0:  # `release_unlinked_junctions` runs after all acted
        game.teams[w, owner, codes.NETWORK_BROKEN] = 1
    return True


@inline
def bump_object(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int, cell: int
) -> bool:
    """Let an agent use the object on `cell`, by its kind.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        cell: Cell of the object.

    Returns:
        Whether the bump had an effect.
    """
    kind = int(game.team_view[w, team, cell]) & codes.KIND_MASK
    detail = int(game.cell_detail[w, cell])
    if kind < codes.EXTRACTOR or kind == codes.SHIP:
        return False
    if kind < codes.HUB:
        return mine_extractor(game, rules, events, w, row, cell, kind - codes.EXTRACTOR)
    if kind == codes.JUNCTION:
        return use_junction(game, rules, events, w, row, team, detail)
    if detail != team:  # hubs, chests and stations serve their own team
        return False
    if kind >= codes.STATION:
        return change_gear(game, rules, events, w, row, team, kind - codes.STATION + 1)
    has_cargo = count_cargo(game.body, w, row) > 0
    if kind == codes.CHEST or (rules.territory and not has_cargo):
        return take_heart(game, rules, events, w, row, team)
    return deposit_cargo(game, rules, events, w, row, team)
