"""When the behaviors of scramblers start, what they do and when they end, on hand-drawn maps."""

from cogs_harness import Cogs
from cogs_scenes import give, owners


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
