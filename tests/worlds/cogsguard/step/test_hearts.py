"""Hearts: from the hub, by edition, and from the chest, which stands on drawn maps only."""

import pytest
from cogs_scenes import (
    EAST,
    WEST,
    act,
    chest_hearts,
    counter,
    give,
    has,
    kinds,
    scene,
    set_store,
    store,
)

HALL = "H@C"


def hub(edition="F", elements=25, hearts=5, held=0, **quirks):
    """An agent beside its hub."""
    world = scene(HALL, edition=edition, heart_price=10, quirks=quirks, free_moves=True)
    return give(set_store(world, *[elements] * 4, hearts), hearts=held)


def bump(world, direction=WEST):
    """Elements and hearts in the store, hearts held and success after a bump."""
    act(world, direction)
    return store(world)[0], store(world)[4], *has(world, "hearts", "last_action_succeeded")


def test_a_hub_gives_a_heart_while_it_has_two_or_more():
    world = hub(hearts=3)
    assert [bump(world), bump(world)] == [(25, 2, 1, 1), (25, 1, 2, 1)]


def test_the_last_heart_is_replaced_while_the_store_can_pay_and_then_taken():
    world = hub(hearts=1)
    assert [bump(world) for _ in range(4)] == [
        (15, 1, 1, 1),
        (5, 1, 2, 1),
        (5, 0, 3, 1),
        (5, 0, 3, 0),
    ]
    assert counter(world, "hearts_made") == 2
    assert counter(world, "hearts_taken") == 3


def test_without_a_heart_the_first_payment_makes_one_for_the_hub():
    world = hub(hearts=0)
    world.record_events(True)
    assert bump(world) == (15, 1, 0, 1)
    assert kinds(world) == ["heart_made"]
    assert bump(world) == (5, 1, 1, 1)
    assert kinds(world) == ["heart_made", "heart_taken"]


def test_cargo_is_deposited_before_a_heart_is_taken():
    world = give(hub(hearts=3), carbon=2)
    assert bump(world) == (27, 3, 0, 1)
    assert bump(world) == (27, 2, 1, 1)


@pytest.mark.parametrize(
    ("hearts", "left"), [(4, (25, 4)), (1, (25, 1)), (0, (15, 1))], ids=["many", "one", "none"]
)
def test_with_ten_hearts_held_nothing_is_paid_for_the_agent(hearts, left):
    assert bump(hub(hearts=hearts, held=10)) == (*left, 10, 1)


def test_quirk_with_ten_hearts_held_another_is_paid_and_lost():
    world = hub(hearts=1, held=10, wasted_hearts=True)
    assert [bump(world), bump(world)] == [(15, 1, 10, 1), (5, 1, 10, 1)]
    assert bump(world) == (5, 1, 10, 1)
    world = hub("A", hearts=0, held=10, wasted_hearts=True)
    assert bump(world) == (15, 0, 10, 1)


def test_edition_a_gives_hearts_and_then_makes_them():
    world = hub("A", hearts=1)
    assert [bump(world) for _ in range(4)] == [
        (25, 0, 1, 1),
        (15, 0, 2, 1),
        (5, 0, 3, 1),
        (5, 0, 3, 0),
    ]
    assert bump(hub("A", hearts=0, held=10)) == (25, 0, 10, 1)


def test_a_chest_has_hearts_of_its_own_and_makes_them_when_they_are_out():
    world = set_store(scene(HALL, chest_hearts=1), 10, 12, 10, 15, 0)
    world.record_events(True)
    act(world, EAST)
    assert (has(world, "hearts"), chest_hearts(world)) == (1, 0)
    assert kinds(world) == ["heart_taken"]
    act(world, EAST)
    assert (has(world, "hearts"), store(world)) == (2, [0, 2, 0, 5, 0])
    assert kinds(world) == ["heart_made", "heart_taken"]
    act(world, EAST)
    assert has(world, "hearts", "last_action_succeeded") == [2, 0]


def test_in_edition_f_nobody_gets_a_heart_at_hp_0():
    assert bump(give(hub(hearts=3), hp=0)) == (25, 3, 0, 1)
