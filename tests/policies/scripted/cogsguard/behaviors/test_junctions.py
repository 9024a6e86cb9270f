"""When behaviors of aligners and scramblers start, what they do and when they end, on drawn maps."""

from cogs_harness import Cogs
from cogs_scenes import act, give, has, owners, set_store

from kinfolk.worlds.cogsguard.state import get_game_arrays
from kinfolk.worlds.cogsguard.territory import change_junction_owner

HOME = {"area_radius": 2}  # friendly cells near hubs and own junctions


def test_get_hearts_starts_with_fewer_than_wanted_and_ends_with_enough():
    cogs = Cogs("..@.....H")
    assert cogs.observe().start("get_hearts") == "yes"
    assert cogs.move("get_hearts") == "east"
    cogs.run_only("get_hearts").play(2)
    assert cogs.observe().move("get_hearts") == "east"
    cogs.play(1)
    assert cogs.observe().move("get_hearts") == "east!"  # three steps away
    cogs.play(3)
    assert has(cogs.world, "hearts") == 1
    assert not cogs.observe().ended("get_hearts")
    cogs.play(1)
    assert has(cogs.world, "hearts") == 2
    assert cogs.observe().ended("get_hearts")
    assert cogs.start("get_hearts") == "it has enough hearts"


def test_get_hearts_needs_a_known_hub_and_a_store_that_can_pay():
    cogs = Cogs("H.@..", store_hearts=0, store_elements=18)
    assert (
        cogs.observe().start("get_hearts") == "the store cannot pay for a heart"
    )  # and gear to use it, with 9 in reserve
    give(cogs.world, gear="aligner")
    assert cogs.observe().start("get_hearts") == "yes"
    set_store(cogs.world, 10, 9, 10, 10)
    assert cogs.observe().start("get_hearts") == "the store cannot pay for a heart"
    assert cogs.ended("get_hearts")
    far = Cogs("H" + "." * 12 + "@", window_radius=3)
    assert far.observe().start("get_hearts") == "no hub is known"


def test_the_last_heart_of_a_hub_is_taken_without_a_price_only_if_the_store_cannot_pay():
    cogs = Cogs("H.@..", store_hearts=1, store_elements=9)
    assert cogs.observe().start("get_hearts") == "yes"
    set_store(cogs.world, 12, 12, 12, 12)  # another would be made, and nothing left for gear
    assert cogs.observe().start("get_hearts") == "the store cannot pay for a heart"
    in_a = Cogs("H.@..", edition="A", store_hearts=1, store_elements=12)
    assert in_a.observe().start("get_hearts") == "yes"


def test_get_hearts_goes_to_the_hub_in_edition_a_and_unloads_first():
    cogs = Cogs("H@.", ["get_hearts"], edition="A")
    give(cogs.world, carbon=2)
    assert cogs.observe().start("get_hearts") == "yes"
    cogs.play(3)
    assert has(cogs.world, "carbon", "hearts") == [0, 2]


def test_get_influence_fills_up_in_a_friendly_area_and_does_not_restart_on_the_path_to_the_junction():
    cogs = Cogs("H.@.......J", **HOME, window_radius=9)
    give(cogs.world, gear="aligner", influence=0, hearts=1)
    assert cogs.observe().start("get_influence") == "yes"
    assert cogs.move("get_influence") == "noop!"
    cogs.run_only("get_influence").play(1)
    assert not cogs.observe().ended("get_influence")
    cogs.play(2)
    assert has(cogs.world, "influence") == 20
    assert cogs.observe().ended("get_influence")
    assert cogs.start("get_influence") == "it has enough influence"
    cogs.run_only("get_influence", "align_junction").play(4)
    assert cogs.active_behavior == "align_junction"  # four ticks out, and influence falls
    assert cogs.observe().start("get_influence") == "it has enough influence"
    cogs.play(5)
    assert owners(cogs.world) == [0]


def test_get_influence_starts_when_influence_falls_below_the_ticks_to_the_junction_plus_one():
    cogs = Cogs("H.....@....J", **HOME)  # four steps, then the bump: five ticks
    give(cogs.world, gear="aligner", influence=5, hearts=1)
    assert cogs.observe().start("get_influence") == "it has enough influence"
    assert cogs.start("align_junction") == "yes"
    give(cogs.world, influence=4)
    assert cogs.observe().start("align_junction") == "it has too little influence for the path"
    assert cogs.start("get_influence") == "yes"
    assert cogs.move("get_influence") == "west"


def test_get_influence_fetches_the_gear_and_needs_a_station_that_can_be_paid():
    cogs = Cogs("A..@..H")
    assert cogs.observe().start("get_influence") == "yes"
    assert cogs.move("get_influence") == "west"
    set_store(cogs.world, 2, 9, 9, 9)
    assert cogs.observe().start("get_influence") == "the gear cannot be obtained"
    assert (
        Cogs("A.@H", edition="A").observe().start("get_influence")
        == "this edition has no influence"
    )


def test_align_starts_with_heart_influence_and_junction_and_ends_when_it_is_done():
    cogs = Cogs("H..@..J")
    assert cogs.observe().start("align_junction") == "it has no heart"
    give(cogs.world, hearts=1)
    assert cogs.observe().start("align_junction") == "the gear cannot be obtained"
    give(cogs.world, gear="aligner", influence=20)
    assert cogs.observe().start("align_junction") == "yes"
    assert cogs.move("align_junction") == "east"
    cogs.run_only("align_junction").play(3)
    assert owners(cogs.world) == [0]
    assert cogs.observe().ended("align_junction")
    assert cogs.start("align_junction") == "it has no heart"


def test_align_does_not_start_for_junctions_that_cannot_be_aligned():
    cogs = Cogs("H..@..!")
    give(cogs.world, gear="aligner", influence=20, hearts=1)
    assert cogs.observe().start("align_junction") == "no junction that can be aligned is known"
    harmed = Cogs("H..@..J..!", area_radius=4)  # the enemy's area takes all influence
    give(harmed.world, gear="aligner", influence=20, hearts=1)
    assert harmed.observe().start("align_junction") == "no junction that can be aligned is known"


def test_align_prefers_recently_scrambled_junctions_and_leaves_those_that_a_team_mate_is_closer_to():
    text = "J...@...!\n....H...."
    cogs = Cogs(text)
    give(cogs.world, gear="aligner", influence=20, hearts=1)
    assert cogs.observe().move("align_junction") == "west"
    cogs = Cogs(text)
    give(cogs.world, gear="aligner", influence=20, hearts=1)
    cogs.observe()
    change_junction_owner(get_game_arrays(cogs.world._arrays), cogs.world._rules, 0, 1, -1)
    assert cogs.observe().move("align_junction") == "east"
    mate = Cogs("J.@.@.....J\n....H......")
    for row in (0, 1):
        give(mate.world, row, gear="aligner", influence=20, hearts=1)
    act(mate.world, vibes=[4, 4])  # a change of vibe shows the gear that was given, too
    assert mate.observe().move("align_junction", 0) == "west"
    assert mate.move("align_junction", 1) == "east"


def test_align_in_edition_a_stays_within_the_reach_of_the_network():
    rules = {"edition": "A", "align_reach": 3, "align_hub_reach": 5, "window_radius": 10}
    cogs = Cogs("H..@.J.J", **rules)
    give(cogs.world, gear="aligner", hearts=2)
    assert cogs.observe().start("align_junction") == "yes"
    cogs.run_only("align_junction").play(2)
    assert owners(cogs.world) == [0, -1]
    cogs = Cogs("H..@...J", **rules)
    give(cogs.world, gear="aligner", hearts=2)
    assert cogs.observe().start("align_junction") == "no junction that can be aligned is known"
    taken = Cogs("H..@!", **rules)  # edition A lets aligners take an enemy's
    give(taken.world, gear="aligner", hearts=2)
    assert taken.observe().start("align_junction") == "yes"


def test_scramble_starts_with_heart_and_enemy_junction_and_ends_when_it_is_done():
    cogs = Cogs("H.R.@..!")
    assert cogs.observe().start("scramble_junction") == "it has no heart"
    give(cogs.world, hearts=1)
    assert cogs.observe().start("scramble_junction") == "yes"
    assert cogs.move("scramble_junction") == "west"  # the gear first
    give(cogs.world, gear="scrambler")
    assert cogs.observe().move("scramble_junction") == "east"
    cogs.run_only("scramble_junction").play(3)
    assert owners(cogs.world) == [-1]
    assert cogs.observe().ended("scramble_junction")
    give(cogs.world, hearts=1)
    assert cogs.observe().start("scramble_junction") == "no enemy junction is known"


def test_find_enemy_junction_searches_where_enemy_area_was_seen_until_one_is_known():
    text = "####H####################\n............@...........!\n#########################"
    cogs = Cogs(text, area_radius=8, window_radius=5)
    assert cogs.observe().start("find_enemy_junction") == "yes"
    assert cogs.move("find_enemy_junction") == "east"
    cogs.run_only("find_enemy_junction").play(6)
    assert not cogs.observe().ended("find_enemy_junction")
    cogs.play(1)
    assert cogs.observe().ended("find_enemy_junction")
    assert cogs.start("find_enemy_junction") == "an enemy junction is known"


def test_a_junction_for_which_the_influence_does_not_last_is_given_up_on_the_way():
    cogs = Cogs("H......J..@", **HOME, window_radius=10)
    give(cogs.world, gear="aligner", influence=6, hearts=1)
    assert cogs.observe().start("align_junction") == "yes"
    give(cogs.world, influence=2)  # it needs 3: two steps and one
    assert cogs.observe().start("get_influence") == "yes"
    assert cogs.start("align_junction") == "no junction that can be aligned is known"
