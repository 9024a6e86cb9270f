"""Every behaviour on a hand-drawn map: when it starts, what it does, when it ends."""

import pytest
from cogs import Cogs
from cogs_scenes import act, counter, gear, give, has, owners, place, set_store, store

from kinfolk.policies.scripted.cogsguard.memory import FRUITLESS_TICKS

HOME = {"area_radius": 2}  # friendly cells near hubs and own junctions


# explore


def test_explore_starts_always_goes_to_the_nearest_frontier_and_ends_on_a_find():
    cogs = Cogs("#" * 20 + "\n#H.@" + "." * 14 + "J#\n" + "#" * 20, window_radius=3).look()
    assert cogs.start("explore") == "yes"
    assert cogs.move("explore") == "east"  # the west is closed by the hub
    assert cogs.ended_rows("explore")  # the hub was found in this look
    cogs.evaluate()
    assert not cogs.ended_rows("explore")
    cogs.play(11)
    assert place(cogs.world) == (1, 14)
    assert not cogs.ended_rows("explore")
    cogs.play(1)
    cogs.evaluate()
    assert cogs.ended_rows("explore")  # the junction came into view


def test_explore_patrols_when_all_is_known_and_sees_old_junctions_again():
    text = "#" * 22 + "\n#J" + "." * 9 + "@H" + "." * 8 + "#\n#" + "." * 20 + "#\n" + "#" * 22
    cogs = Cogs(text, window_radius=3)
    cogs.play(120)
    seen = []
    for _ in range(60):
        cogs.play(1)
        seen.append(place(cogs.world)[1])
    assert min(seen) <= 4  # it came back to the junction in the west
    assert has(cogs.world, "last_action_succeeded") in (0, 1)
    assert counter(cogs.world, "bumps_failed") < 10


def test_explore_gets_out_of_the_way_of_another():
    """Two rooms and one door: each wants to see the other's room, and both do."""
    text = "#########\n#@.....J#\n####.####\n#J.....@#\n####H####"
    cogs = Cogs(text, window_radius=2)
    been = set()
    for _ in range(120):
        cogs.play(1)
        been |= {(row, place(cogs.world, row)[0]) for row in (0, 1)}
    assert {(0, 3), (1, 1)} <= been


# recharge


def test_recharge_starts_when_hp_would_not_last_for_the_way_home_plus_the_margin():
    cogs = Cogs("H.............@", **HOME, window_radius=15)
    cogs.evaluate()  # home is 14 - 2 steps away, so hp must be 12 + 5
    give(cogs.world, hp=17)
    assert cogs.evaluate().start("recharge") == "it needs no recharging"
    give(cogs.world, hp=16)
    assert cogs.evaluate().start("recharge") == "yes"
    assert cogs.move("recharge") == "west"
    assert not cogs.ended_rows("recharge")


def test_recharge_starts_for_want_of_energy_by_night_waits_at_home_and_ends_when_full():
    night = {"free_moves": False, "solar_day": 1, "window_radius": 15}
    cogs = Cogs("H......@", **HOME, **night)  # five steps of four energy
    give(cogs.world, hp=90, energy=9)
    assert cogs.evaluate().start("recharge") == "yes"
    give(cogs.world, energy=10)
    assert cogs.evaluate().start("recharge") == "it needs no recharging"
    give(cogs.world, energy=20)
    assert cogs.evaluate().move("recharge") == "west"
    cogs.run_only("recharge")
    give(cogs.world, energy=8)
    cogs.play(2)
    assert cogs.evaluate().move("recharge") == "noop!"  # no energy; within three steps of home
    give(cogs.world, energy=20)
    cogs.play(3)
    assert place(cogs.world) == (0, 2)
    assert has(cogs.world, "hp", "energy") == [100, 20]
    assert cogs.evaluate().ended_rows("recharge")


# mine_resource


def test_mine_starts_with_room_and_an_extractor_and_fetches_gear_first():
    cogs = Cogs("M.@....c\nH.......")
    assert cogs.evaluate().start("mine_resource") == "yes"
    assert cogs.move("mine_resource") == "west"
    set_store(cogs.world, 0, 0, 0, 0)
    assert cogs.evaluate().start("mine_resource") == "yes"  # gear is no condition
    assert cogs.move("mine_resource") == "east"  # bare hands, for the store cannot pay
    set_store(cogs.world, 10, 10, 10, 10)
    cogs.run_only("mine_resource").play(2)
    assert gear(cogs.world) == "miner"
    cogs.play(9)
    assert has(cogs.world, "carbon") == 40
    assert cogs.evaluate().ended_rows("mine_resource")
    assert cogs.start("mine_resource") == "the cargo is full"


def test_mine_ends_when_the_extractor_is_used_up():
    cogs = Cogs("H@c", program=["mine_resource"], extractor_stock=2)
    assert cogs.evaluate().start("mine_resource") == "yes"
    cogs.play(1)
    assert not cogs.evaluate().ended_rows("mine_resource")
    cogs.play(1)
    assert cogs.evaluate().ended_rows("mine_resource")
    assert cogs.start("mine_resource") == "no usable extractor is known"


def test_mine_prefers_the_scarce_element_and_shuns_enemy_areas():
    cogs = Cogs("...H...\n.......\nc..@..s\n.......", store_elements=20)
    set_store(cogs.world, 50, 50, 50, 20)
    assert cogs.evaluate().move("mine_resource") == "east"
    cogs = Cogs("...H...\n.......\nc..@..s\n.......\n......!", area_radius=2)
    set_store(cogs.world, 50, 50, 50, 20)
    assert cogs.evaluate().move("mine_resource") == "west"


# deposit_resource


def test_deposit_starts_at_full_cargo_walks_to_the_nearest_depot_and_ends_when_empty():
    cogs = Cogs("H......@0..c")
    assert cogs.evaluate().start("deposit_resource") == "it carries nothing"
    give(cogs.world, carbon=3)
    assert (
        cogs.evaluate().start("deposit_resource")
        == "the cargo is not full and there is more to mine"
    )
    give(cogs.world, carbon=4)
    assert cogs.evaluate().start("deposit_resource") == "yes"
    assert cogs.move("deposit_resource") == "east!"
    cogs.run_only("deposit_resource").play(1)
    assert store(cogs.world)[0] == 14
    assert cogs.evaluate().ended_rows("deposit_resource")


def test_deposit_starts_when_nothing_is_left_to_mine():
    cogs = Cogs("H......@")
    give(cogs.world, oxygen=1)
    assert cogs.evaluate().start("deposit_resource") == "no depot is known"
    cogs.world = Cogs("H...@").world
    cogs = Cogs("H.....@")
    give(cogs.world, oxygen=1)
    assert cogs.evaluate().start("deposit_resource") == "yes"
    assert cogs.move("deposit_resource") == "west"  # far away, it can be interrupted
    cogs.run_only("deposit_resource").play(3)
    assert cogs.evaluate().move("deposit_resource") == "west!"


# find_extractor


def test_find_extractor_starts_while_none_is_known_and_ends_when_one_is():
    cogs = Cogs("H.@.........g", window_radius=4)
    assert cogs.evaluate().start("find_extractor") == "yes"
    assert cogs.move("find_extractor") == "east"
    cogs.run_only("find_extractor").play(6)
    assert cogs.evaluate().ended_rows("find_extractor")
    assert cogs.start("find_extractor") == "a usable extractor is known"


def test_find_extractor_keeps_away_from_where_others_search():
    """Two ways out of the middle; the other agent stands in one of them."""
    text = "#########\n....@....\n####H####"
    free = Cogs(text, window_radius=2)
    alone = free.evaluate().move("find_extractor")
    for pad in ("@...@....", "....@...@"):
        cogs = Cogs(text.replace("....@....", pad), window_radius=4)
        first = 1 if pad.startswith("@") else 0
        moves = cogs.evaluate().move("find_extractor", first)
        assert moves in ("west", "east")
    assert alone in ("west", "east")


# discover_stations, discover_extractors, discover_junctions


def test_discover_stations_goes_on_until_hub_chest_and_stations_are_known():
    cogs = Cogs("H@.........CARMT", window_radius=3)
    assert cogs.evaluate().start("discover_stations") == "yes"
    assert cogs.move("discover_stations") == "east"
    cogs.run_only("discover_stations").play(9)
    assert not cogs.evaluate().ended_rows("discover_stations")
    cogs.play(1)  # the way ends before the chest; from there all is in view, but T
    assert cogs.evaluate().start("discover_stations") == "yes"
    seen = Cogs("HCARMT@", window_radius=6).look()
    assert seen.start("discover_stations") == "all buildings are known"
    assert seen.ended_rows("discover_stations")
    assert Cogs("HARMT.@", edition="A").look().ended("discover_stations")  # which has no chest


def test_discover_extractors_goes_on_until_enough_of_each_are_known():
    two = {"extractors_wanted": 2}
    cogs = Cogs("H@ccooggs....\n.............\n........s....", tuning=two).look()
    assert cogs.start("discover_extractors") == "yes"
    assert not cogs.ended_rows("discover_extractors")
    cogs = Cogs("H@ccooggss...", tuning=two, window_radius=12).look()
    assert cogs.start("discover_extractors") == "enough extractors are known"
    assert cogs.ended_rows("discover_extractors")


def test_discover_extractors_prefers_frontiers_far_from_known_ones():
    cogs = Cogs("H############\n......@.ccc..\n#############", window_radius=5)
    assert cogs.evaluate().move("discover_extractors") == "west"


def test_discover_junctions_ends_when_none_new_was_found_for_a_while():
    cogs = Cogs(
        "." * 40 + "\n.H@" + "." * 37, ["discover_junctions"], {"retry_delay": 5}, window_radius=2
    )
    assert cogs.evaluate().start("discover_junctions") == "yes"
    cogs.play(5)
    assert cogs.note(FRUITLESS_TICKS) == 5
    assert cogs.evaluate().ended_rows("discover_junctions")
    assert cogs.start("discover_junctions") == "no more junctions are expected"


def test_discover_junctions_goes_on_after_a_find():
    text = "." * 40 + "\n.H@.....J" + "." * 31
    cogs = Cogs(text, ["discover_junctions"], {"retry_delay": 5}, window_radius=3)
    cogs.play(4)
    assert cogs.evaluate().start("discover_junctions") == "yes"
    assert cogs.note(FRUITLESS_TICKS) < 4


def test_scouts_put_on_gear_only_if_the_store_can_spare_it():
    cogs = Cogs("H.T.@........", store_elements=5)  # a price of 3 and 1, and 3 to spare
    assert cogs.evaluate().move("discover_extractors") == "east"
    set_store(cogs.world, 4, 4, 4, 6)
    assert cogs.evaluate().move("discover_extractors") == "west"


# get_hearts


def test_get_hearts_starts_with_fewer_than_wanted_and_ends_with_enough():
    cogs = Cogs("H.@.....C")
    assert cogs.evaluate().start("get_hearts") == "yes"
    assert cogs.move("get_hearts") == "east"
    cogs.run_only("get_hearts").play(2)
    assert cogs.evaluate().move("get_hearts") == "east"
    cogs.play(1)
    assert cogs.evaluate().move("get_hearts") == "east!"  # three steps away
    cogs.play(3)
    assert has(cogs.world, "hearts") == 1
    assert not cogs.evaluate().ended_rows("get_hearts")
    cogs.play(1)
    assert has(cogs.world, "hearts") == 2
    assert cogs.evaluate().ended_rows("get_hearts")
    assert cogs.start("get_hearts") == "it has enough hearts"


def test_get_hearts_needs_a_store_that_can_pay_and_a_known_chest():
    cogs = Cogs("H.@.C", store_hearts=0, store_elements=10)
    assert cogs.evaluate().start("get_hearts") == "the store can pay no heart"  # and gear to use it
    give(cogs.world, gear="aligner")
    assert cogs.evaluate().start("get_hearts") == "yes"
    set_store(cogs.world, 10, 9, 10, 10)
    assert cogs.evaluate().start("get_hearts") == "the store can pay no heart"
    assert cogs.ended_rows("get_hearts")
    assert Cogs("H.@..").look().start("get_hearts") == "no chest is known"


def test_get_hearts_goes_to_the_hub_in_edition_a_and_unloads_first():
    cogs = Cogs("H@.", ["get_hearts"], edition="A")
    give(cogs.world, carbon=2)
    assert cogs.evaluate().start("get_hearts") == "yes"
    cogs.play(3)
    assert has(cogs.world, "carbon", "hearts") == [0, 2]


# get_influence


def test_get_influence_fills_up_in_a_friendly_area_and_does_not_start_again_on_the_way():
    cogs = Cogs("H.@.......J", **HOME, window_radius=9)
    give(cogs.world, gear="aligner", influence=0, hearts=1)
    assert cogs.evaluate().start("get_influence") == "yes"
    assert cogs.move("get_influence") == "noop!"
    cogs.run_only("get_influence").play(1)
    assert not cogs.evaluate().ended_rows("get_influence")
    cogs.play(2)
    assert has(cogs.world, "influence") == 20
    assert cogs.evaluate().ended_rows("get_influence")
    assert cogs.start("get_influence") == "it has enough influence"
    cogs.run_only("get_influence", "align_junction").play(4)
    assert cogs.doing == "align_junction"  # four ticks out, and influence falls
    assert cogs.evaluate().start("get_influence") == "it has enough influence"
    cogs.play(5)
    assert owners(cogs.world) == [0]


def test_get_influence_starts_when_influence_falls_below_the_ticks_to_the_junction_plus_one():
    cogs = Cogs("H.....@....J", **HOME)  # four steps, then the bump: five ticks
    give(cogs.world, gear="aligner", influence=5, hearts=1)
    assert cogs.evaluate().start("get_influence") == "it has enough influence"
    assert cogs.start("align_junction") == "yes"
    give(cogs.world, influence=4)
    assert cogs.evaluate().start("get_influence") == "yes"
    assert cogs.start("align_junction") == "it has too little influence for the way"
    assert cogs.move("get_influence") == "west"


def test_get_influence_fetches_the_gear_and_needs_a_station_that_can_be_paid():
    cogs = Cogs("A..@..H")
    assert cogs.evaluate().start("get_influence") == "yes"
    assert cogs.move("get_influence") == "west"
    set_store(cogs.world, 2, 9, 9, 9)
    assert cogs.evaluate().start("get_influence") == "the gear cannot be had"
    assert (
        Cogs("A.@H", edition="A").look().start("get_influence") == "this edition has no influence"
    )


# align_junction


def test_align_starts_with_heart_influence_and_junction_and_ends_when_it_is_done():
    cogs = Cogs("H..@..J")
    assert cogs.evaluate().start("align_junction") == "it has no heart"
    give(cogs.world, hearts=1)
    assert cogs.evaluate().start("align_junction") == "the gear cannot be had"
    give(cogs.world, gear="aligner", influence=20)
    assert cogs.evaluate().start("align_junction") == "yes"
    assert cogs.move("align_junction") == "east"
    cogs.run_only("align_junction").play(3)
    assert owners(cogs.world) == [0]
    assert cogs.evaluate().ended_rows("align_junction")
    assert cogs.start("align_junction") == "it has no heart"


def test_align_knows_only_junctions_that_can_be_aligned():
    cogs = Cogs("H..@..!")
    give(cogs.world, gear="aligner", influence=20, hearts=1)
    assert cogs.evaluate().start("align_junction") == "no junction that can be aligned is known"
    harmed = Cogs("H..@..J..!", area_radius=4)  # the enemy's area takes all influence
    give(harmed.world, gear="aligner", influence=20, hearts=1)
    assert harmed.evaluate().start("align_junction") == "no junction that can be aligned is known"


def test_align_takes_what_was_scrambled_recently_and_leaves_what_a_mate_is_nearer_to():
    text = "J...@...!\n....H...."
    cogs = Cogs(text)
    give(cogs.world, gear="aligner", influence=20, hearts=1)
    assert cogs.evaluate().move("align_junction") == "west"
    cogs = Cogs(text)
    give(cogs.world, gear="aligner", influence=20, hearts=1)
    cogs.evaluate()
    scrambled = cogs.world._arrays
    from kinfolk.worlds.cogsguard.territory import change_junction_owner, get_map_arrays

    change_junction_owner(get_map_arrays(scrambled), cogs.world._rules, 0, 1, -1)
    assert cogs.evaluate().move("align_junction") == "east"
    mate = Cogs("J.@.@.....J\n....H......")
    for row in (0, 1):
        give(mate.world, row, gear="aligner", influence=20, hearts=1)
    act(mate.world, vibes=[4, 4])  # a change of vibe shows the gear that was given, too
    assert mate.evaluate().move("align_junction", 0) == "west"
    assert mate.move("align_junction", 1) == "east"


def test_align_in_edition_a_keeps_to_the_reach_of_the_network():
    rules = {"edition": "A", "align_reach": 3, "align_hub_reach": 5, "window_radius": 10}
    cogs = Cogs("H..@.J.J", **rules)
    give(cogs.world, gear="aligner", hearts=2)
    assert cogs.evaluate().start("align_junction") == "yes"
    cogs.run_only("align_junction").play(2)
    assert owners(cogs.world) == [0, -1]
    cogs = Cogs("H..@...J", **rules)
    give(cogs.world, gear="aligner", hearts=2)
    assert cogs.evaluate().start("align_junction") == "no junction that can be aligned is known"
    taken = Cogs("H..@!", **rules)  # edition A lets aligners take an enemy's
    give(taken.world, gear="aligner", hearts=2)
    assert taken.evaluate().start("align_junction") == "yes"


# scramble_junction and find_enemy_junction


def test_scramble_starts_with_heart_and_enemy_junction_and_ends_when_it_is_done():
    cogs = Cogs("H.R.@..!")
    assert cogs.evaluate().start("scramble_junction") == "it has no heart"
    give(cogs.world, hearts=1)
    assert cogs.evaluate().start("scramble_junction") == "yes"
    assert cogs.move("scramble_junction") == "west"  # the gear first
    give(cogs.world, gear="scrambler")
    assert cogs.evaluate().move("scramble_junction") == "east"
    cogs.run_only("scramble_junction").play(3)
    assert owners(cogs.world) == [-1]
    assert cogs.evaluate().ended_rows("scramble_junction")
    give(cogs.world, hearts=1)
    assert cogs.evaluate().start("scramble_junction") == "no enemy junction is known"


def test_find_enemy_junction_searches_where_enemy_area_was_seen_until_one_is_known():
    text = "####H####################\n............@...........!\n#########################"
    cogs = Cogs(text, area_radius=8, window_radius=5)
    assert cogs.evaluate().start("find_enemy_junction") == "yes"
    assert cogs.move("find_enemy_junction") == "east"
    cogs.run_only("find_enemy_junction").play(6)
    assert not cogs.evaluate().ended_rows("find_enemy_junction")
    cogs.play(1)
    assert cogs.evaluate().ended_rows("find_enemy_junction")
    assert cogs.start("find_enemy_junction") == "an enemy junction is known"


@pytest.mark.parametrize("name", ["get_hearts", "deposit_resource", "mine_resource"])
def test_what_cannot_be_reached_cannot_be_acted_on(name):
    cogs = Cogs("H#C#@\n#c#.#\nMART.")
    give(cogs.world, carbon=4 if name == "deposit_resource" else 0)
    if name == "mine_resource":
        set_store(cogs.world, 0, 0, 0, 0)
    assert cogs.evaluate().start(name) == "yes"
    assert cogs.move(name) == "no way is known"
