"""Junctions: deposits, aligning, scrambling, and the areas that follow."""

import pytest
from cogs_scenes import EAST, act, areas, counter, gear, give, has, kinds, owners, scene, store

LINE = "H..@J"


def at(symbol, **more):
    return scene(LINE.replace("J", symbol), **more)


def test_an_own_junction_takes_deposits():
    world = act(give(at("0"), silicon=3), EAST)
    assert store(world) == [10, 10, 10, 13, 5]
    assert has(world, "silicon", "energy") == [0, 19]
    assert has(act(world, EAST), "last_action_succeeded") == 1  # with nothing to deposit
    idle = act(at("0", edition="A"), EAST)
    assert has(idle, "last_action_succeeded") == 0


@pytest.mark.parametrize("symbol", ["J", "!"])
def test_a_junction_of_another_owner_takes_no_deposits(symbol):
    world = act(give(at(symbol), silicon=3), EAST)
    assert has(world, "silicon", "last_action_succeeded") == [3, 0]


@pytest.mark.parametrize(
    ("worn", "influence", "hearts", "aligned"),
    [
        ("aligner", 1, 1, True),
        ("aligner", 0, 1, False),
        ("aligner", 5, 0, False),
        ("scrambler", 5, 1, False),
        ("none", 5, 1, False),
    ],
)
def test_aligning_takes_gear_influence_and_a_heart(worn, influence, hearts, aligned):
    world = give(at("J"), gear=worn, influence=influence, hearts=hearts)
    world.record_events(True)
    act(world, EAST)
    assert owners(world) == [0 if aligned else -1]
    assert has(world, "hearts") == hearts - aligned
    assert kinds(world) == (["align"] if aligned else [])
    assert has(world, "last_action_succeeded") == aligned
    assert has(world, "energy") == (19 if aligned else 20)
    assert counter(world, "aligned") == aligned
    assert counter(world, "hearts_spent") == aligned
    assert counter(world, "junction_ticks_team_0") == aligned


@pytest.mark.parametrize(
    ("worn", "hearts", "scrambled"),
    [("scrambler", 2, True), ("scrambler", 0, False), ("aligner", 2, False), ("none", 2, False)],
)
@pytest.mark.parametrize("symbol", ["!", "1"])
def test_scrambling_takes_gear_and_a_heart(symbol, worn, hearts, scrambled):
    text = LINE.replace("J", symbol) + "\nH..%."
    world = give(scene(text), gear=worn, hearts=hearts, influence=0)
    world.record_events(True)
    act(world, EAST)
    assert owners(world) == [-1 if scrambled else (1 if symbol == "1" else 2)]
    assert has(world, "hearts") == hearts - scrambled
    assert kinds(world) == (["scramble"] if scrambled else [])
    assert counter(world, "scrambled") == scrambled


def test_a_scrambler_does_nothing_to_junctions_of_nobody_or_its_own():
    for symbol in "J0":
        world = act(give(at(symbol), gear="scrambler", hearts=1), EAST)
        assert has(world, "hearts") == 1
        assert owners(world) == [-1 if symbol == "J" else 0]


def test_areas_follow_the_owner_of_a_junction():
    text = "H" + "." * 20 + "@J" + "." * 12
    world = scene(text, area_radius=10)
    assert areas(world, 0, 30) == (False, False)
    act(give(world, gear="aligner", influence=5, hearts=1), EAST)
    assert areas(world, 0, 32) == (True, False)
    assert areas(world, 0, 33) == (False, False)
    assert areas(world, 0, 12) == (True, False)
    assert has(world, "hp", "influence") == [100, 14]  # in the same tick: 5 - 1 + 10


def test_who_aligned_a_junction_is_credited_as_long_as_its_team_holds_it():
    world = act(
        give(at("J", clips="normal", clips_seed_at=5), gear="aligner", influence=5, hearts=1), EAST
    )
    for _ in range(6):
        act(world)
    assert owners(world) == [1]  # the clips were seeded at tick 5, on the only junction
    assert counter(world, "held_ticks") == 4
    assert counter(world, "junction_ticks_team_0") == 4
    assert counter(world, "junctions_lost_team_0") == 1


def test_scrambling_lifts_the_enemy_area():
    text = "H" + "." * 20 + "@!" + "." * 12
    world = scene(text, area_radius=10)
    assert areas(world, 0, 15) == (False, True)
    act(give(world, gear="scrambler", hearts=1), EAST)
    assert areas(world, 0, 15) == (False, False)
    assert has(world, "hp") == 49
    assert gear(world) == "scrambler"


def test_overlapping_areas_last_until_the_last_source_is_gone():
    text = "H" + "." * 20 + "@!!" + "." * 12
    world = scene(text, area_radius=10)
    act(give(world, gear="scrambler", hearts=1), EAST)
    assert owners(world) == [-1, 1]
    assert areas(world, 0, 20) == (False, True)
    assert areas(world, 0, 12) == (False, False)
