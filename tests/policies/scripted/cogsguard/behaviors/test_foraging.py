"""When behaviors of all roles, miners and scouts start, what they do and when they end, on drawn maps."""

import pytest
from cogs_harness import Cogs
from cogs_scenes import counter, gear, give, has, position, put_at, set_store, store

from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard import pathfinding
from kinfolk.policies.scripted.cogsguard.behaviors import reasons

HOME = {"area_radius": 2}  # friendly cells near hubs and own junctions


def test_explore_always_starts_goes_to_the_nearest_frontier_and_ends_when_an_object_is_found():
    cogs = Cogs("#" * 20 + "\n#H.@" + "." * 14 + "J#\n" + "#" * 20, window_radius=3).observe()
    assert cogs.start("explore") == "yes"
    assert cogs.move("explore") == "east"  # the west is closed by the hub
    assert cogs.ended("explore")  # the hub was found in this look
    cogs.observe()
    assert not cogs.ended("explore")
    cogs.play(11)
    assert position(cogs.world) == (1, 14)
    assert not cogs.ended("explore")
    cogs.play(1)
    cogs.observe()
    assert cogs.ended("explore")  # the junction came into view


def test_explore_patrols_known_junctions_when_no_frontier_is_left():
    text = "#" * 22 + "\n#J" + "." * 9 + "@H" + "." * 8 + "#\n#" + "." * 20 + "#\n" + "#" * 22
    cogs = Cogs(text, window_radius=3)
    cogs.play(120)
    seen = []
    for _ in range(60):
        cogs.play(1)
        seen.append(position(cogs.world)[1])
    assert min(seen) <= 4  # it came back to the junction in the west
    assert has(cogs.world, "last_action_succeeded") in (0, 1)
    assert counter(cogs.world, "bumps_failed") < 10


def test_two_exploring_agents_pass_each_other_in_a_door():
    """Two rooms and one door: each wants to see the other's room, and both do."""
    text = "#########\n#@.....J#\n####.####\n#J.....@#\n####H####"
    cogs = Cogs(text, window_radius=2)
    been = set()
    for _ in range(120):
        cogs.play(1)
        been |= {(row, position(cogs.world, row)[0]) for row in (0, 1)}
    assert {(0, 3), (1, 1)} <= been


def test_recharge_starts_when_hp_is_below_the_path_home_plus_the_margin():
    cogs = Cogs("H.............@", **HOME, window_radius=15)
    cogs.observe()  # home is 14 - 2 steps away, so hp must be 12 + 5
    give(cogs.world, hp=17)
    assert cogs.observe().start("recharge") == "it needs no recharging"
    give(cogs.world, hp=16)
    assert cogs.observe().start("recharge") == "yes"
    assert cogs.move("recharge") == "west"
    assert not cogs.ended("recharge")


def test_recharge_starts_at_low_energy_by_night_waits_at_home_and_ends_when_full():
    night = {"free_moves": False, "solar_day": 1, "window_radius": 15}
    cogs = Cogs("H......@", **HOME, **night)  # five steps of four energy
    give(cogs.world, hp=90, energy=9)
    assert cogs.observe().start("recharge") == "yes"
    give(cogs.world, energy=10)
    assert cogs.observe().start("recharge") == "it needs no recharging"
    give(cogs.world, energy=20)
    assert cogs.observe().move("recharge") == "west"
    cogs.run_only("recharge")
    give(cogs.world, energy=8)
    cogs.play(2)
    assert cogs.observe().move("recharge") == "noop!"  # no energy; within three steps of home
    give(cogs.world, energy=20)
    cogs.play(3)
    assert position(cogs.world) == (0, 2)
    assert has(cogs.world, "hp", "energy") == [100, 20]
    assert cogs.observe().ended("recharge")


@pytest.mark.parametrize("name", ["get_hearts", "deposit_resource", "mine_resource"])
def test_a_target_without_a_path_gives_the_reason(name):
    cogs = Cogs("H#C#@\n#c#.#\nMART.")
    give(cogs.world, carbon=4 if name == "deposit_resource" else 0)
    if name == "mine_resource":
        set_store(cogs.world, 0, 0, 0, 0)
    assert cogs.observe().start(name) == "yes"
    assert cogs.move(name) == "no path is known"


def test_mine_starts_with_room_and_an_extractor_and_fetches_gear_first():
    cogs = Cogs("M.@....c\nH.......")
    assert cogs.observe().start("mine_resource") == "yes"
    assert cogs.move("mine_resource") == "west"
    set_store(cogs.world, 0, 0, 0, 0)
    assert cogs.observe().start("mine_resource") == "yes"  # gear is no condition
    assert cogs.move("mine_resource") == "east"  # bare hands, for the store cannot pay
    set_store(cogs.world, 10, 10, 10, 10)
    cogs.run_only("mine_resource").play(2)
    assert gear(cogs.world) == "miner"
    cogs.play(9)
    assert has(cogs.world, "carbon") == 40
    assert cogs.observe().ended("mine_resource")
    assert cogs.start("mine_resource") == "the cargo is full"


def test_mine_ends_when_the_extractor_is_used_up():
    cogs = Cogs("H@c", program=["mine_resource"], extractor_stock=2)
    assert cogs.observe().start("mine_resource") == "yes"
    cogs.play(1)
    assert not cogs.observe().ended("mine_resource")
    cogs.play(1)
    assert cogs.observe().ended("mine_resource")
    assert cogs.start("mine_resource") == "no usable extractor is known"


def test_mine_prefers_the_scarcest_element_and_avoids_enemy_areas():
    cogs = Cogs("...H...\n.......\nc..@..s\n.......", store_elements=20)
    set_store(cogs.world, 50, 50, 50, 20)
    assert cogs.observe().move("mine_resource") == "east"
    cogs = Cogs("...H...\n.......\nc..@..s\n.......\n......!", area_radius=2)
    set_store(cogs.world, 50, 50, 50, 20)
    assert cogs.observe().move("mine_resource") == "west"


def test_deposit_starts_at_full_cargo_walks_to_the_nearest_depot_and_ends_when_empty():
    cogs = Cogs("H......@0..c")
    assert cogs.observe().start("deposit_resource") == "it carries nothing"
    give(cogs.world, carbon=3)
    assert (
        cogs.observe().start("deposit_resource")
        == "the cargo is not full and there is more to mine"
    )
    give(cogs.world, carbon=4)
    assert cogs.observe().start("deposit_resource") == "yes"
    assert cogs.move("deposit_resource") == "east!"
    cogs.run_only("deposit_resource").play(1)
    assert store(cogs.world)[0] == 14
    assert cogs.observe().ended("deposit_resource")


def test_deposit_starts_when_nothing_is_left_to_mine():
    cogs = Cogs("H......@")
    give(cogs.world, oxygen=1)
    assert cogs.observe().start("deposit_resource") == "no depot is known"
    cogs.world = Cogs("H...@").world
    cogs = Cogs("H.....@")
    give(cogs.world, oxygen=1)
    assert cogs.observe().start("deposit_resource") == "yes"
    assert cogs.move("deposit_resource") == "west"  # far away, it can be interrupted
    cogs.run_only("deposit_resource").play(3)
    assert cogs.observe().move("deposit_resource") == "west!"


def test_find_extractor_starts_while_no_extractor_is_known_and_ends_when_one_is():
    cogs = Cogs("H.@.........g", window_radius=4)
    assert cogs.observe().start("find_extractor") == "yes"
    assert cogs.move("find_extractor") == "east"
    cogs.run_only("find_extractor").play(6)
    assert cogs.observe().ended("find_extractor")
    assert cogs.start("find_extractor") == "a usable extractor is known"


def test_find_extractor_explores_away_from_team_mates():
    """Two ways out of the middle; the other agent stands in one of them."""
    text = "#########\n....@....\n####H####"
    free = Cogs(text, window_radius=2)
    alone = free.observe().move("find_extractor")
    for pad in ("@...@....", "....@...@"):
        cogs = Cogs(text.replace("....@....", pad), window_radius=4)
        first = 1 if pad.startswith("@") else 0
        moves = cogs.observe().move("find_extractor", first)
        assert moves in ("west", "east")
    assert alone in ("west", "east")


def test_discover_stations_goes_on_until_hub_and_stations_are_known():
    cogs = Cogs("H@..........ARMT", window_radius=3)
    assert cogs.observe().start("discover_stations") == "yes"
    assert cogs.move("discover_stations") == "east"
    cogs.run_only("discover_stations").play(9)
    assert not cogs.observe().ended("discover_stations")
    cogs.play(1)  # the way ends before the stations; from there all is in view, but T
    assert cogs.observe().start("discover_stations") == "yes"
    seen = Cogs("HARMT@", window_radius=6).observe()  # a chest is not looked for
    assert seen.start("discover_stations") == "all buildings are known"
    assert seen.ended("discover_stations")


def test_nothing_is_brought_to_a_store_that_is_full():
    cogs = Cogs("H.@", store_cap=100, store_elements=25)
    give(cogs.world, carbon=4)
    assert cogs.observe().start("deposit_resource") == "the store is full"
    set_store(cogs.world, 24, 25, 25, 25)
    assert cogs.observe().start("deposit_resource") == "yes"


def test_recharge_counts_every_enemy_junction_around_the_agent():
    for enemies, starts in (
        (0, "it needs no recharging"),
        (1, "it needs no recharging"),
        (3, "yes"),
    ):
        text = "H" + "." * 19 + "@" + "!" * enemies + "." * (3 - enemies)
        cogs = Cogs(text, window_radius=15, area_radius=10)
        put_at(cogs.world, 0, 15)  # five steps from home, and from there ten more to the hub
        give(cogs.world, hp=18, energy=20)
        assert cogs.observe().start("recharge") == starts


def test_discover_extractors_goes_on_until_enough_of_each_are_known():
    two = {"extractors_wanted": 2}
    cogs = Cogs("H@ccooggs....\n.............\n........s....", params=two).observe()
    assert cogs.start("discover_extractors") == "yes"
    assert not cogs.ended("discover_extractors")
    cogs = Cogs("H@ccooggss...", params=two, window_radius=12).observe()
    assert cogs.start("discover_extractors") == "enough extractors are known"
    assert cogs.ended("discover_extractors")


def test_discover_extractors_prefers_frontiers_far_from_known_ones():
    cogs = Cogs("H############\n......@.ccc..\n#############", window_radius=5)
    assert cogs.observe().move("discover_extractors") == "west"


def test_discover_junctions_ends_when_no_new_junction_was_found_for_a_while():
    cogs = Cogs(
        "." * 40 + "\n.H@" + "." * 37, ["discover_junctions"], {"retry_delay": 5}, window_radius=2
    )
    assert cogs.observe().start("discover_junctions") == "yes"
    cogs.play(5)
    assert cogs.state(col.FRUITLESS_TICKS) == 5
    assert cogs.observe().ended("discover_junctions")
    assert cogs.start("discover_junctions") == "no more junctions are expected"


def test_discover_junctions_continues_after_a_junction_was_found():
    text = "." * 40 + "\n.H@.....J" + "." * 31
    cogs = Cogs(text, ["discover_junctions"], {"retry_delay": 5}, window_radius=3)
    cogs.play(4)
    assert cogs.observe().start("discover_junctions") == "yes"
    assert cogs.state(col.FRUITLESS_TICKS) < 4


def test_scouts_put_on_gear_only_if_the_store_can_spare_it():
    cogs = Cogs("H.T.@........", store_elements=5)  # a price of 3 and 1, and 3 to spare
    assert cogs.observe().move("discover_extractors") == "east"
    set_store(cogs.world, 4, 4, 4, 6)
    assert cogs.observe().move("discover_extractors") == "west"


def test_a_failed_move_is_the_reason_code_of_a_missing_path():
    assert pathfinding.NO_MOVE == reasons.NO_PATH  # behaviors return the one for the other
    assert reasons.reason_text(pathfinding.NO_MOVE) == "no path is known"
