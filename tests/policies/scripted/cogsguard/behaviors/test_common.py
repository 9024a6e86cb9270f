"""When explore and recharge start, what they do and when they end, on hand-drawn maps."""

import pytest
from cogs_harness import Cogs
from cogs_scenes import counter, give, has, position, set_store

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
