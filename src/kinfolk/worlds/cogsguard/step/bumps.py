"""Bumps: an agent uses the object in its way; a bump that fails changes nothing."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard.codes import (
    ALIGNED,
    ALIGNER,
    CARGO_LIMIT,
    CHEST,
    DEPOSITED,
    EXTRACTOR,
    FIRST_CARGO,
    FIRST_MINED,
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
    JUNCTION_ALIGNED_BY,
    JUNCTION_OWNER,
    KIND_MASK,
    MINER,
    NETWORK_BROKEN,
    SCRAMBLED,
    SCRAMBLER,
    SHIP,
    STATION,
    STORE_HEARTS,
)
from kinfolk.worlds.cogsguard.events import (
    ALIGN,
    DEPOSIT,
    EXTRACTOR_EMPTIED,
    GEAR_CHANGE,
    HEART_MADE,
    HEART_TAKEN,
    MINE,
    SCRAMBLE,
    record_event,
)
from kinfolk.worlds.cogsguard.inventory import (
    AgentArrays,
    apply_limits,
    count_cargo,
    write_agent_cell,
)
from kinfolk.worlds.cogsguard.rules import HEART_PRICE_ROW, CogsguardRules
from kinfolk.worlds.cogsguard.step.network import is_in_align_reach
from kinfolk.worlds.cogsguard.territory import MapArrays, change_junction_owner, clear_cell


@inline
def mine_extractor(
    map_arrays: MapArrays,
    agents: AgentArrays,
    rules: CogsguardRules,
    events: Ints,
    w: int,
    row: int,
    cell: int,
    element: int,
) -> bool:
    """Take elements out of an extractor, as many as gear, stock and free cargo allow.

    Args:
        map_arrays: Writes the stock in `cell_detail`.
        agents: Writes `body` and `stats`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        cell: Cell of the extractor.
        element: Index into `ELEMENTS`.

    Returns:
        Whether anything was taken.
    """
    body, stock = agents.body, int(map_arrays.cell_detail[w, cell])
    gear = body[w, row, GEAR]
    free = rules.limits[CARGO_LIMIT, gear] - count_cargo(body, w, row)
    amount = rules.mine_amount_miner if gear == MINER else rules.mine_amount
    amount = min(amount, stock, free)
    if amount <= 0:
        return False
    body[w, row, FIRST_CARGO + element] += amount
    agents.stats[w, row, FIRST_MINED + element] += amount
    map_arrays.cell_detail[w, cell] = stock - amount
    record_event(events, w, MINE, row, element, amount)
    if stock == amount:
        clear_cell(map_arrays, w, cell)
        record_event(events, w, EXTRACTOR_EMPTIED, row, element, cell)
    return True


@inline
def deposit_cargo(
    agents: AgentArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int
) -> bool:
    """Put an agent's elements into its team's store, up to the limits per bump and of the store.

    Args:
        agents: Writes `body`, `store` and `stats`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Its team.

    Returns:
        Whether anything was deposited.
    """
    total = 0
    for element in range(4):
        room = rules.store_cap - agents.store[w, team, element]
        amount = min(agents.body[w, row, FIRST_CARGO + element], rules.deposit_most, room)
        if amount > 0:
            agents.body[w, row, FIRST_CARGO + element] -= amount
            agents.store[w, team, element] += amount
            total += amount
            record_event(events, w, DEPOSIT, row, element, amount)
    agents.stats[w, row, DEPOSITED] += total
    return total > 0


@inline
def pay_from_store(store: Ints, prices: Ints, w: int, team: int, item: int) -> bool:
    """Take the price of a heart or gear out of a store, if it has enough of every element.

    Args:
        store: `[W, teams, elements and hearts]`, written.
        prices: `[hearts and 4 gears, 4 elements]`.
        w: World.
        team: Whose store.
        item: Row of `prices`.

    Returns:
        Whether it was paid.
    """
    for element in range(4):
        if store[w, team, element] < prices[item, element]:
            return False
    for element in range(4):
        store[w, team, element] -= prices[item, element]
    return True


@inline
def take_heart(
    agents: AgentArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int
) -> bool:
    """Take a heart from the store; if it has none, make one from elements.

    Args:
        agents: Writes `body`, `store` and `stats`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Its team.

    Returns:
        Whether the agent got a heart.
    """
    body = agents.body
    if body[w, row, HEARTS] >= rules.limits[HEARTS_LIMIT, body[w, row, GEAR]]:
        return False
    if agents.store[w, team, STORE_HEARTS] > 0:
        agents.store[w, team, STORE_HEARTS] -= 1
        agents.stats[w, row, HEARTS_TAKEN] += 1
        record_event(events, w, HEART_TAKEN, row, team, 1)
    else:
        if not pay_from_store(agents.store, rules.prices, w, team, HEART_PRICE_ROW):
            return False
        agents.stats[w, row, HEARTS_MADE] += 1
        record_event(events, w, HEART_MADE, row, team, 1)
    body[w, row, HEARTS] += 1
    return True


@inline
def change_gear(
    map_arrays: MapArrays,
    agents: AgentArrays,
    rules: CogsguardRules,
    events: Ints,
    w: int,
    row: int,
    team: int,
    gear: int,
) -> bool:
    """Change an agent's gear, paid from the store; what the new gear cannot hold is dropped.

    Args:
        map_arrays: Writes `team_view`.
        agents: Writes `body`, `store` and `stats`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Its team.
        gear: Index into `GEARS`.

    Returns:
        Whether the gear was changed.
    """
    old = agents.body[w, row, GEAR]
    if old == gear or not pay_from_store(agents.store, rules.prices, w, team, gear):
        return False
    agents.body[w, row, GEAR] = gear
    apply_limits(agents.body, rules.limits, w, row)
    write_agent_cell(map_arrays.team_view, agents.body, w, row, team)
    agents.stats[w, row, GEAR_CHANGES] += 1
    record_event(events, w, GEAR_CHANGE, row, old, gear)
    return True


@inline
def use_junction(
    map_arrays: MapArrays,
    agents: AgentArrays,
    rules: CogsguardRules,
    events: Ints,
    w: int,
    row: int,
    team: int,
    junction_index: int,
) -> bool:
    """Deposit at a junction of one's own team, align a neutral one, scramble an enemy's.

    In edition A aligners also take an enemy's junction, and both may cut others off.

    Args:
        map_arrays: Written.
        agents: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Its team.
        junction_index: Which junction.

    Returns:
        Whether it had an effect.
    """
    body, owner = agents.body, map_arrays.junction[w, junction_index, JUNCTION_OWNER]
    if owner == team:
        return deposit_cargo(agents, rules, events, w, row, team)
    gear, hearts = body[w, row, GEAR], body[w, row, HEARTS]
    aligns = gear == ALIGNER and hearts >= rules.align_hearts
    if rules.territory:
        aligns = aligns and is_in_align_reach(
            map_arrays.junction, map_arrays.home_cell, rules, w, team, junction_index
        )
    else:
        aligns = aligns and owner < 0
    aligns = aligns and body[w, row, INFLUENCE] >= rules.align_influence
    if not aligns and (owner < 0 or gear != SCRAMBLER or hearts < rules.scramble_hearts):
        return False
    price = rules.align_hearts if aligns else rules.scramble_hearts
    body[w, row, HEARTS] -= price
    agents.stats[w, row, HEARTS_SPENT] += price
    agents.stats[w, row, ALIGNED if aligns else SCRAMBLED] += 1
    record_event(events, w, ALIGN if aligns else SCRAMBLE, row, junction_index, owner)
    change_junction_owner(map_arrays, rules, w, junction_index, team if aligns else -1)
    map_arrays.junction[w, junction_index, JUNCTION_ALIGNED_BY] = row if aligns else -1
    if rules.territory and owner >= 0:
        map_arrays.teams[w, owner, NETWORK_BROKEN] = (
            1  # `release_unlinked_junctions` runs after all acted
        )
    return True


@inline
def bump_object(
    map_arrays: MapArrays,
    agents: AgentArrays,
    rules: CogsguardRules,
    events: Ints,
    w: int,
    row: int,
    team: int,
    cell: int,
) -> bool:
    """Use the object on `cell`.

    Args:
        map_arrays: Written.
        agents: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Its team.
        cell: Cell of the object.

    Returns:
        Whether it had an effect.
    """
    kind, detail = (
        int(map_arrays.team_view[w, team, cell]) & KIND_MASK,
        int(map_arrays.cell_detail[w, cell]),
    )
    if kind < EXTRACTOR or kind == SHIP:
        return False
    if kind < HUB:
        return mine_extractor(map_arrays, agents, rules, events, w, row, cell, kind - EXTRACTOR)
    if kind == JUNCTION:
        return use_junction(map_arrays, agents, rules, events, w, row, team, detail)
    if detail != team:  # hubs, chests and stations serve their own team
        return False
    if kind >= STATION:
        return change_gear(map_arrays, agents, rules, events, w, row, team, kind - STATION + 1)
    has_cargo = count_cargo(agents.body, w, row) > 0
    if kind == CHEST or (rules.territory and not has_cargo):
        return take_heart(agents, rules, events, w, row, team)
    return deposit_cargo(agents, rules, events, w, row, team)
