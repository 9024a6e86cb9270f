"""Hearts and gear from a team's store: what they cost, and who gets them."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.inventory import book, book_store
from kinfolk.worlds.cogsguard.rules import HEART_PRICE_ROW, CogsguardRules
from kinfolk.worlds.cogsguard.state import GameArrays, record_event


@inline
def can_pay(store: Ints, prices: Ints, w: int, team: int, item: int) -> bool:
    """Return whether a store has the price of a heart or gear.

    Args:
        store: `[W, teams, STORE_COLUMNS]`.
        prices: `[hearts and 4 gears, 4 elements]`.
        w: World.
        team: Team of the store.
        item: Row of `prices`.
    """
    n_enough = 0
    for element in range(4):
        n_enough += store[w, team, element] >= prices[item, element]
    return bool(n_enough == 4)


@inline
def buy_from_store(game: GameArrays, prices: Ints, w: int, team: int, item: int) -> bool:
    """Take the price of a heart or gear out of a store, if it has enough of every element.

    Args:
        game: Writes `store` and `team_ledger`.
        prices: `[hearts and 4 gears, 4 elements]`.
        w: World.
        team: Team of the store.
        item: Row of `prices`.

    Returns:
        Whether the store had enough and the price was paid.
    """
    if not can_pay(game.store, prices, w, team, item):
        return False
    first = codes.STORE_PAID_HEARTS if item == HEART_PRICE_ROW else codes.STORE_GEAR
    for element in range(4):
        game.store[w, team, element] -= prices[item, element]
        book_store(game.team_ledger, w, team, first + element, -prices[item, element])
    return True


@inline
def book_hearts(
    team_ledger: Ints, w: int, team: int, column: int, source: int, amount: int
) -> None:
    """Book a change of the hearts in a hub or for a chest, if books are kept.

    Args:
        team_ledger: `[W, T, TEAM_LEDGER]`, written.
        w: World.
        team: Team of the store.
        column: STORE_HEARTS or CHEST_HEARTS.
        source: HEARTS_START to HEARTS_WASTED.
        amount: Change of the hearts.
    """
    first = codes.HEARTS_BOOK + codes.N_HEART_BOOKS * (column - codes.STORE_HEARTS)
    book_store(team_ledger, w, team, first + source, amount)


@inline
def make_heart(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int, column: int
) -> None:
    """Pay for a heart and put it into the store.

    Args:
        game: Writes `store`, `stats` and `team_ledger`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent that asked for it.
        team: Team of the store, which can pay.
        column: STORE_HEARTS or CHEST_HEARTS.
    """
    buy_from_store(game, rules.prices, w, team, HEART_PRICE_ROW)
    game.store[w, team, column] += 1
    book_hearts(game.team_ledger, w, team, column, codes.HEARTS_MADE_BOOK, 1)
    game.stats[w, row, codes.HEARTS_MADE] += 1
    record_event(events, w, codes.HEART_MADE_EVENT, row, team, 1)


@inline
def give_heart(game: GameArrays, events: Ints, w: int, row: int, team: int, column: int) -> None:
    """Give an agent a heart out of the store.

    Args:
        game: Writes `body`, `store`, `stats` and the books.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        column: STORE_HEARTS or CHEST_HEARTS.
    """
    game.store[w, team, column] -= 1
    book_hearts(game.team_ledger, w, team, column, codes.HEARTS_GIVEN, -1)
    game.body[w, row, codes.HEARTS] += 1
    book(game.ledger, w, row, codes.HEARTS_RECEIVED, 1)
    game.stats[w, row, codes.HEARTS_TAKEN] += 1
    record_event(events, w, codes.HEART_TAKEN_EVENT, row, team, 1)


@inline
def waste_heart(game: GameArrays, w: int, team: int, column: int) -> None:
    """Lose a heart that was just made, because nobody can carry it: a quirk.

    Args:
        game: Writes `store` and `team_ledger`.
        w: World.
        team: Team of the store.
        column: STORE_HEARTS or CHEST_HEARTS.
    """
    game.store[w, team, column] -= 1
    book_hearts(game.team_ledger, w, team, column, codes.HEARTS_WASTED, -1)


@inline
def has_heart_room(body: Ints, rules: CogsguardRules, w: int, row: int) -> bool:
    """Return whether an agent can carry another heart; in edition F nobody does at hp 0.

    Args:
        body: `[W, N, BODY_COLUMNS]`.
        rules: Rules of the batch.
        w: World.
        row: Row of the agent.
    """
    if body[w, row, codes.HP] == 0 and not rules.territory:
        return False
    limit = rules.limits[codes.HEARTS_LIMIT, body[w, row, codes.GEAR]]
    return bool(body[w, row, codes.HEARTS] < limit)


@inline
def take_hub_heart(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int
) -> bool:
    """Take a heart from the hub of edition F, which keeps its last one while it can pay for more.

    Of two or more hearts one is taken. The last is replaced by a new one if the store can pay, else
    taken. Without any, one is made for the hub. An agent that cannot carry another gets none; with
    the quirk `wasted_hearts` it pays all the same.

    Args:
        game: Writes `body`, `store`, `stats` and the books.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.

    Returns:
        Whether the hub had a heart or could make one.
    """
    column, n_hearts = codes.STORE_HEARTS, game.store[w, team, codes.STORE_HEARTS]
    has_room = has_heart_room(game.body, rules, w, row)
    affordable = can_pay(game.store, rules.prices, w, team, HEART_PRICE_ROW)
    if n_hearts == 0 and not affordable:
        return False
    if affordable and (n_hearts == 0 or (n_hearts == 1 and (has_room or rules.wasted_hearts))):
        make_heart(game, rules, events, w, row, team, column)
        if n_hearts == 1 and not has_room:
            waste_heart(game, w, team, column)
    if n_hearts > 0 and has_room:
        give_heart(game, events, w, row, team, column)
    return True


@inline
def take_or_make_heart(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int, column: int
) -> bool:
    """Take a heart; if there is none, make one: the hub of edition A, and the chest.

    An agent that cannot carry another gets none; with the quirk `wasted_hearts` it pays all the same.

    Args:
        game: Writes `body`, `store`, `stats` and the books.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        column: STORE_HEARTS or CHEST_HEARTS.

    Returns:
        Whether there was a heart or the store could pay for one.
    """
    has_room = has_heart_room(game.body, rules, w, row)
    if game.store[w, team, column] == 0:
        if not can_pay(game.store, rules.prices, w, team, HEART_PRICE_ROW):
            return False
        if has_room or rules.wasted_hearts:
            make_heart(game, rules, events, w, row, team, column)
        if not has_room:
            if rules.wasted_hearts:
                waste_heart(game, w, team, column)
            return True
    if has_room:
        give_heart(game, events, w, row, team, column)
    return True
