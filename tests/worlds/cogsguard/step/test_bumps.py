"""Extractors, deposits and gear stations."""

import pytest
from cogs_scenes import (
    EAST,
    SOUTH,
    WEST,
    act,
    cell_of,
    chest_hearts,
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

from kinfolk.core.settings import validate_settings
from kinfolk.worlds.cogsguard.settings import Cogsguard

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
    assert has(world, "germanium") == 3
    plain = act(give(scene(DESK), carbon=2, oxygen=2), EAST)
    assert has(plain, "germanium") == 0


def test_an_extractor_is_removed_when_it_is_empty():
    world = give(scene(DESK, extractor_stock=13, cargo_limit=50, free_moves=True), gear="miner")
    world.record_events(True)
    act(world, EAST)
    act(world, EAST)
    assert has(world, "germanium") == 13
    assert kinds(world) == ["mine", "extractor_emptied"]
    act(world, EAST)
    assert position(world) == (2, 3)


@pytest.mark.parametrize("edition", ["F", "A"])
def test_a_team_starts_with_3_of_each_element_per_agent_and_5_hearts(edition):
    for agents in (1, 8):
        settings = validate_settings(Cogsguard, {"edition": edition, "agents": agents})
        assert (settings.store_elements, settings.store_hearts) == (3 * agents, 5)


IDLE = {  # a bump without effect: the direction, and what is held
    "same gear": (SOUTH, {"gear": "miner"}),
    "full cargo": (EAST, {"carbon": 4}),
    "full cargo of a miner": (EAST, {"gear": "miner", "oxygen": 40}),
    "full hearts": (WEST, {"hearts": 10}),
}


@pytest.mark.parametrize("case", IDLE)
@pytest.mark.parametrize(("edition", "energy"), [("F", 19), ("A", 20)])
def test_a_bump_without_effect_succeeds_and_in_edition_f_costs_energy(case, edition, energy):
    direction, held = IDLE[case]
    world = give(scene(DESK, edition=edition, free_moves=edition == "A"), **held)
    before = (store(world), stock(world))
    act(world, direction)
    assert (store(world), stock(world)) == before
    assert has(world, "last_action_succeeded", "energy") == [1, energy]
    assert {name: has(world, name) for name in held if name != "gear"} == {
        name: amount for name, amount in held.items() if name != "gear"
    }
    assert counter(world, "bumps_failed") == 0


def test_a_hub_bump_deposits_up_to_100_of_each_element():
    world = give(scene(DESK), carbon=130, oxygen=4)
    world.record_events(True)
    act(world, WEST)
    assert store(world) == [110, 14, 10, 10, 5]
    assert has(world, "carbon", "oxygen", "energy") == [30, 0, 19]
    assert [(h.kind, h.note, h.value) for h in world.events()] == [
        ("deposit", "oxygen", 4.0),
        ("deposit", "carbon", 100.0),
    ]
    assert counter(world, "deposited") == 104


def test_the_elements_of_a_store_share_a_cap_and_oxygen_goes_first():
    world = set_store(give(scene(DESK), carbon=3, oxygen=1, silicon=2), 9_900, 60, 20, 17)
    act(world, WEST)
    assert store(world) == [9_902, 61, 20, 17, 5]  # 9,997 before, 10,000 after
    assert has(world, *ELEMENTS, "last_action_succeeded") == [1, 0, 0, 2, 1]
    act(world, WEST)  # nothing fits any more; the bump succeeds all the same
    assert store(world) == [9_902, 61, 20, 17, 5]
    assert has(world, *ELEMENTS, "last_action_succeeded") == [1, 0, 0, 2, 1]


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


def test_the_same_gear_again_needs_no_price():
    world = act(set_store(give(scene(DESK), gear="miner"), 0, 0, 0, 0), SOUTH)
    assert store(world) == [0, 0, 0, 0, 5]
    assert (gear(world), has(world, "last_action_succeeded")) == ("miner", 1)


def test_a_change_of_gear_passes_through_no_gear():
    world = act(give(scene(DESK), gear="scout", hp=390, energy=80), SOUTH)
    assert gear(world) == "miner"
    assert has(world, "hp", "energy") == [99, 19]  # 100 - 1; 20 - 4 + 3
    scrambler = DESK.replace("M", "R")
    world = act(give(scene(scrambler), gear="scout", hp=390, energy=80), SOUTH)
    assert has(world, "hp", "energy") == [99, 19]  # a scrambler could hold 200
    scout = DESK.replace("M", "T")
    world = act(give(scene(scout), gear="scrambler", hp=190, energy=20), SOUTH)
    assert has(world, "hp", "energy") == [99, 19]


def test_of_lost_cargo_oxygen_is_kept_first_then_carbon_germanium_and_silicon():
    scout = DESK.replace("M", "T")
    for held, kept in (
        ({"carbon": 9, "oxygen": 7, "silicon": 3}, [0, 4, 0, 0]),
        ({"carbon": 9, "oxygen": 1, "silicon": 3}, [3, 1, 0, 0]),
        ({"carbon": 2, "germanium": 30, "silicon": 5}, [2, 0, 2, 0]),
        ({"germanium": 1, "silicon": 30}, [0, 0, 1, 3]),
    ):
        world = act(give(scene(scout), gear="miner", **held), SOUTH)
        assert has(world, *ELEMENTS) == kept


def test_at_hp_0_gear_is_paid_and_not_held():
    world = act(give(scene(DESK), hp=0), SOUTH)
    assert gear(world) == "none"
    assert store(world) == [9, 9, 7, 9, 5]


def test_hub_chest_and_stations_serve_only_their_own_team():
    text = "H@......\n........\n.....C%H\n......M."
    world = scene(text, chest_hearts=5)
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
    assert (chest_hearts(world, team=1), chest_hearts(world, team=0)) == (4, 5)
