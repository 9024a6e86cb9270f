"""Extractors, hub, chest and gear stations."""

import pytest
from cogs_scenes import (
    EAST,
    NORTH,
    SOUTH,
    WEST,
    act,
    cell_of,
    counter,
    gear,
    give,
    has,
    kinds,
    position,
    put_at,
    scene,
    set_store,
    store,
)

# Station, chest and hub around one agent, an extractor at its east.
DESK = """
#####
#.C.#
#H@g#
#.M.#
#####
"""
ELEMENTS = ("carbon", "oxygen", "germanium", "silicon")


def stock(world, y=2, x=3):
    return int(world._arrays.cell_detail[0, cell_of(world, y, x)])


def test_an_extractor_holds_100_and_a_bump_gives_1():
    world = scene(DESK)
    assert stock(world) == 100
    act(world, EAST)
    assert has(world, "germanium", "energy") == [1, 19]  # 20 - 4 + 3
    assert stock(world) == 99
    assert position(world) == (2, 2)
    assert counter(world, "germanium_mined") == 1
    assert counter(world, "ticks_without_motion") == 1


def test_with_miner_gear_a_bump_gives_10():
    assert has(act(give(scene(DESK), gear="miner"), EAST), "germanium") == 10


def test_a_bump_never_gives_more_than_free_cargo_which_all_elements_share():
    world = act(give(scene(DESK), gear="miner", carbon=30, silicon=7), EAST)
    assert has(world, "germanium") == 3
    act(world, EAST)
    assert has(world, "germanium", "last_action_succeeded") == [3, 0]
    plain = act(give(scene(DESK), carbon=2, oxygen=2), EAST)
    assert has(plain, "germanium", "last_action_succeeded") == [0, 0]


def test_an_extractor_is_removed_when_it_is_empty():
    world = give(scene(DESK, extractor_stock=13, cargo_limit=50, free_moves=True), gear="miner")
    world.record_events(True)
    act(world, EAST)
    act(world, EAST)
    assert has(world, "germanium") == 13
    assert kinds(world) == ["mine", "extractor_emptied"]
    act(world, EAST)
    assert position(world) == (2, 3)


def test_a_team_starts_with_10_of_each_element_and_5_hearts():
    assert store(scene(DESK)) == [10, 10, 10, 10, 5]


def test_a_hub_bump_deposits_up_to_100_of_each_element():
    world = give(scene(DESK), carbon=130, oxygen=4)
    world.record_events(True)
    act(world, WEST)
    assert store(world) == [110, 14, 10, 10, 5]
    assert has(world, "carbon", "oxygen", "energy") == [30, 0, 19]
    assert [(h.kind, h.note, h.value) for h in world.events()] == [
        ("deposit", "carbon", 100.0),
        ("deposit", "oxygen", 4.0),
    ]
    assert counter(world, "deposited") == 104


def test_a_store_holds_10000_of_each_element_and_the_rest_stays_with_the_agent():
    world = set_store(give(scene(DESK), carbon=3, oxygen=1), 9_998)
    act(world, WEST)
    assert store(world) == [10_000, 11, 10, 10, 5]
    assert has(world, "carbon") == 1


def test_a_hub_bump_with_empty_hands_fails():
    world = act(scene(DESK), WEST)
    assert has(world, "last_action_succeeded", "hearts", "energy") == [0, 0, 20]


def test_a_chest_bump_takes_a_heart_from_the_store():
    world = scene(DESK)
    world.record_events(True)
    act(world, NORTH)
    assert has(world, "hearts", "energy") == [1, 19]
    assert store(world) == [10, 10, 10, 10, 4]
    assert kinds(world) == ["heart_taken"]


def test_if_the_store_has_no_heart_one_costs_10_of_each_element():
    world = set_store(scene(DESK), 10, 12, 10, 15, 0)
    world.record_events(True)
    act(world, NORTH)
    assert has(world, "hearts") == 1
    assert store(world) == [0, 2, 0, 5, 0]
    assert kinds(world) == ["heart_made"]
    assert counter(world, "hearts_made") == 1
    act(world, NORTH)
    assert has(world, "hearts", "last_action_succeeded") == [1, 0]


def test_an_agent_holds_10_hearts():
    world = act(give(scene(DESK), hearts=10), NORTH)
    assert has(world, "hearts", "last_action_succeeded") == [10, 0]
    assert store(world)[4] == 5


@pytest.mark.parametrize(
    ("symbol", "worn", "left"),
    [
        ("A", "aligner", [7, 9, 9, 9, 5]),
        ("R", "scrambler", [9, 7, 9, 9, 5]),
        ("M", "miner", [9, 9, 7, 9, 5]),
        ("T", "scout", [9, 9, 9, 7, 5]),
    ],
)
def test_a_station_takes_3_of_its_element_and_1_of_the_others(symbol, worn, left):
    world = scene(DESK.replace("M", symbol))
    world.record_events(True)
    act(world, SOUTH)
    assert gear(world) == worn
    assert store(world) == left
    assert has(world, "energy") == 19
    assert [(h.kind, h.note) for h in world.events()] == [("gear", worn)]
    assert counter(world, "gear_changes") == 1


def test_a_station_that_cannot_be_paid_does_nothing():
    world = act(set_store(scene(DESK), 9, 9, 2, 9), SOUTH)
    assert gear(world) == "none"
    assert store(world) == [9, 9, 2, 9, 5]
    assert has(world, "last_action_succeeded", "energy") == [0, 20]


def test_the_same_gear_again_costs_nothing_and_does_nothing():
    world = act(give(scene(DESK), gear="miner"), SOUTH)
    assert store(world) == [10, 10, 10, 10, 5]
    assert has(world, "last_action_succeeded") == 0


def test_new_gear_replaces_the_old_and_what_it_cannot_hold_is_dropped():
    world = give(scene(DESK), gear="scout", hp=390, energy=80, influence=0)
    act(world, SOUTH)
    assert gear(world) == "miner"
    assert has(world, "hp", "energy") == [99, 19]  # 100 - 1; 20 - 4 + 3
    world = give(scene(DESK.replace("M", "T")), gear="miner", carbon=2, germanium=30, silicon=5)
    act(world, SOUTH)
    assert has(world, *ELEMENTS) == [2, 0, 2, 0]


def test_hub_chest_and_stations_serve_only_their_own_team():
    text = "H@......\n........\n.....C%H\n......M."
    world = scene(text)
    put_at(world, 2, 4)
    act(world, EAST)
    assert has(world, "hearts", "last_action_succeeded") == [0, 0]
    put_at(world, 3, 5)
    act(world, EAST)
    assert gear(world) == "none"
    put_at(give(world, carbon=2), 1, 7)
    act(world, SOUTH)
    assert has(world, "carbon", "last_action_succeeded") == [2, 0]
    act(world, 0, WEST)
    assert has(world, "hearts", row=1) == 1
    assert store(world, team=1)[4] == 4
    assert store(world, team=0)[4] == 5
