"""Bumps: an agent uses the object in its way.

A bump that finds its conditions met succeeds, and costs energy, even if nothing came of it: the same
gear, full cargo, full hearts or a full store. A bump that fails changes nothing.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.inventory import (
    book,
    book_store,
    count_cargo,
    take_off_gear,
    write_agent_cell,
)
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import GameArrays, record_event
from kinfolk.worlds.cogsguard.step.hearts import buy_from_store, take_hub_heart, take_or_make_heart
from kinfolk.worlds.cogsguard.step.networks import (
    is_near_network,
    scramble_owner,
    update_network,
)
from kinfolk.worlds.cogsguard.territory import (
    change_junction_owner,
    clear_cell,
    squared_distance,
)


@inline
def mine_extractor(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, cell: int, element: int
) -> None:
    """Take elements out of an extractor, as many as gear, stock and free cargo allow.

    Args:
        game: Writes `body`, `stats` and the stock in `cell_detail`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        cell: Cell of the extractor.
        element: Index into `ELEMENTS`.
    """
    body, stock = game.body, int(game.cell_detail[w, cell])
    gear = body[w, row, codes.GEAR]
    free = rules.limits[codes.CARGO_LIMIT, gear] - count_cargo(body, w, row)
    amount = rules.mine_amount_miner if gear == codes.MINER else rules.mine_amount
    amount = min(amount, stock, free)
    if amount <= 0:
        return
    body[w, row, codes.FIRST_CARGO + element] += amount
    book(game.ledger, w, row, codes.CARGO_MINED + element, amount)
    game.stats[w, row, codes.FIRST_MINED + element] += amount
    game.cell_detail[w, cell] = stock - amount
    record_event(events, w, codes.MINE_EVENT, row, element, amount)
    if stock == amount:
        clear_cell(game, w, cell)
        record_event(events, w, codes.EMPTIED_EVENT, row, element, cell)


@inline
def deposit_cargo(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int
) -> None:
    """Put an agent's elements into its team's store, up to the limits per bump and of the store.

    All elements share the limit of the store; `ELEMENT_ORDER` says which goes first.

    Args:
        game: Writes `body`, `store`, `stats` and the books.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
    """
    body, store, room, total = game.body, game.store, rules.store_cap, 0
    for element in range(4):
        room -= store[w, team, element]
    for element in codes.ELEMENT_ORDER:
        carried = body[w, row, codes.FIRST_CARGO + element]
        amount = min(carried, rules.deposit_most, max(room - total, 0))
        if amount > 0:
            body[w, row, codes.FIRST_CARGO + element] -= amount
            book(game.ledger, w, row, codes.CARGO_DEPOSITED + element, -amount)
            store[w, team, element] += amount
            book_store(game.team_ledger, w, team, codes.STORE_DEPOSITS + element, amount)
            total += amount
            record_event(events, w, codes.DEPOSIT_EVENT, row, element, amount)
    game.stats[w, row, codes.DEPOSITED] += total


@inline
def change_gear(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int, gear: int
) -> bool:
    """Change an agent's gear, paid from the store; it takes off the old gear first.

    So what cannot be held without gear is dropped. In edition F nobody holds gear at hp 0.

    Args:
        game: Writes `body`, `store`, `stats`, `team_view` and the books.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        gear: Index into `GEARS`.

    Returns:
        Whether the agent had the gear already, or the store could pay.
    """
    body = game.body
    old_gear = body[w, row, codes.GEAR]
    if old_gear == gear:
        return True
    if not buy_from_store(game, rules.prices, w, team, gear):
        return False
    take_off_gear(game, rules.limits, w, row)
    if rules.territory or body[w, row, codes.HP] > 0:
        body[w, row, codes.GEAR] = gear
    write_agent_cell(game.team_view, body, w, row, team)
    game.stats[w, row, codes.GEAR_CHANGES] += 1
    record_event(events, w, codes.GEAR_EVENT, row, old_gear, body[w, row, codes.GEAR])
    return True


@inline
def is_in_align_reach(
    game: GameArrays, rules: CogsguardRules, w: int, team: int, cell: int
) -> bool:
    """Return whether a team may align a junction in edition A: near its hub or its network.

    Args:
        game: Reads `junction` and `home_cell`.
        rules: Rules of the batch.
        w: World.
        team: Team that aligns.
        cell: Cell of the junction.
    """
    if squared_distance(rules.stride, cell, game.home_cell[w, team]) <= rules.align_hub_reach:
        return True
    return is_near_network(game, rules, w, team, cell)


@inline
def is_own_junction(junction: Ints, w: int, index: int, team: int) -> bool:
    """Return whether a junction is a team's, alone or (a quirk of edition A) with the clips.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`.
        w: World.
        index: Index of the junction.
        team: Team in question.
    """
    owner = junction[w, index, codes.JUNCTION_OWNER]
    return bool(owner == team or junction[w, index, codes.JUNCTION_SECOND_OWNER] == team)


@inline
def can_align(
    game: GameArrays, rules: CogsguardRules, w: int, row: int, team: int, index: int
) -> bool:
    """Return whether an agent has what it needs to align a junction that is not its team's.

    Args:
        game: Reads `body`, `junction` and `home_cell`.
        rules: Rules of the batch.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        index: Index of the junction.
    """
    body, junction = game.body, game.junction
    if body[w, row, codes.GEAR] != codes.ALIGNER or (
        body[w, row, codes.HEARTS] < rules.align_hearts
        or body[w, row, codes.INFLUENCE] < rules.align_influence
    ):
        return False
    if rules.territory:
        cell = junction[w, index, codes.JUNCTION_CELL]
        return is_in_align_reach(game, rules, w, team, cell)
    return bool(junction[w, index, codes.JUNCTION_OWNER] < 0)


@inline
def align_junction(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int, index: int
) -> None:
    """Give a junction to the team of an agent; with the quirk `both_marks` the clips keep theirs.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        index: Index of the junction.
    """
    junction, owner = game.junction, int(game.junction[w, index, codes.JUNCTION_OWNER])
    if rules.both_marks and owner == rules.teams:
        junction[w, index, codes.JUNCTION_SECOND_OWNER] = team
        game.teams[w, team, codes.JUNCTIONS_WON] += 1
    else:
        change_junction_owner(game, rules, w, index, team)
    junction[w, index, codes.JUNCTION_ALIGNED_BY] = row
    if rules.territory:
        update_network(game, rules, events, w, team)
        update_network(game, rules, events, w, owner)


@inline
def use_junction(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int, index: int
) -> bool:
    """Deposit at a junction of the agent's team, align a neutral junction, or scramble an enemy's.

    In edition A aligners also take an enemy's junction, and losing it may cut off other junctions.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        index: Index of the junction.

    Returns:
        Whether the bump succeeded; in edition A a deposit needs something to deposit.
    """
    body, stats, owner = game.body, game.stats, game.junction[w, index, codes.JUNCTION_OWNER]
    is_own = is_own_junction(game.junction, w, index, team)
    gear, hearts = body[w, row, codes.GEAR], body[w, row, codes.HEARTS]
    scrambles = gear == codes.SCRAMBLER and hearts >= rules.scramble_hearts
    scrambles = scrambles and owner >= 0 and owner != team
    if is_own and not scrambles:
        has_cargo = count_cargo(body, w, row) > 0
        deposit_cargo(game, rules, events, w, row, team)
        return bool(has_cargo or not rules.territory)
    aligns = not is_own and can_align(game, rules, w, row, team, index)
    if not aligns and not scrambles:
        return False
    price = rules.align_hearts if aligns else rules.scramble_hearts
    body[w, row, codes.HEARTS] -= price
    column = codes.HEARTS_ALIGNING if aligns else codes.HEARTS_SCRAMBLING
    book(game.ledger, w, row, column, -price)
    stats[w, row, codes.HEARTS_SPENT] += price
    stats[w, row, codes.ALIGNED if aligns else codes.SCRAMBLED] += 1
    kind = codes.ALIGN_EVENT if aligns else codes.SCRAMBLE_EVENT
    record_event(events, w, kind, row, index, owner)
    if aligns:
        align_junction(game, rules, events, w, row, team, index)
    else:  # of a junction with two marks, that of the clips is scrambled
        scramble_owner(game, rules, events, w, index)
    return True


@inline
def bump_object(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int, cell: int
) -> bool:
    """Let an agent use the object on `cell`, which is no wall, agent or ship.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        cell: Cell of the object.

    Returns:
        Whether the bump succeeded.
    """
    kind = int(game.team_view[w, team, cell]) & codes.KIND_MASK
    detail = int(game.cell_detail[w, cell])
    if kind < codes.HUB:
        mine_extractor(game, rules, events, w, row, cell, kind - codes.EXTRACTOR)
        return True
    if kind == codes.JUNCTION:
        return use_junction(game, rules, events, w, row, team, detail)
    if detail != team:  # hubs, chests and stations serve their own team
        return False
    if kind >= codes.STATION:
        return change_gear(game, rules, events, w, row, team, kind - codes.STATION + 1)
    if kind == codes.CHEST:
        return take_or_make_heart(game, rules, events, w, row, team, codes.CHEST_HEARTS)
    if count_cargo(game.body, w, row) > 0:
        deposit_cargo(game, rules, events, w, row, team)
        return True
    if rules.territory:
        return take_or_make_heart(game, rules, events, w, row, team, codes.STORE_HEARTS)
    return take_hub_heart(game, rules, events, w, row, team)
