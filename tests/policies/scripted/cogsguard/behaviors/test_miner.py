"""When the behaviors of miners start, what they do and when they end, on hand-drawn maps."""

from cogs_harness import Cogs
from cogs_scenes import gear, give, has, set_store, store


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
