"""What agents have, what limits it, what every tick and every move costs."""

import numpy as np
import pytest
from cogs_scenes import (
    EAST,
    NOOP,
    NORTH,
    SOUTH,
    WEST,
    act,
    areas,
    counter,
    gear,
    give,
    has,
    kinds,
    position,
    put_at,
    scene,
)

from kinfolk.core.settings import validate_settings
from kinfolk.worlds.cogsguard.rules import combine_limits, make_rules
from kinfolk.worlds.cogsguard.settings import Cogsguard

OPEN = """
#######
#H....#
#...@.#
#.....#
#######
"""


def test_an_agent_starts_with_50_hp_and_100_energy_that_the_first_tick_cuts_to_20():
    world = scene(OPEN, start_energy=Cogsguard().start_energy)
    assert has(world, "hp", "energy", "hearts", "influence") == [50, 100, 0, 0]
    assert gear(world) == "none"
    act(world, WEST)
    assert has(world, "hp", "energy") == [49, 20]
    act(world, WEST)
    assert has(world, "energy") == 19


@pytest.mark.parametrize(
    ("worn", "limits"),
    [
        ("none", [100, 20, 4, 10, 0]),
        ("aligner", [100, 20, 4, 10, 20]),
        ("scrambler", [200, 20, 4, 10, 0]),
        ("miner", [100, 20, 40, 10, 0]),
        ("scout", [400, 100, 4, 10, 0]),
    ],
)
def test_gear_sets_the_limits_of_hp_energy_cargo_hearts_and_influence(worn, limits):
    column = ("none", "aligner", "scrambler", "miner", "scout").index(worn)
    assert make_rules(validate_settings(Cogsguard, {})).limits[:, column].tolist() == limits


def test_gear_replaces_the_base_of_a_limit_and_does_not_add_to_it():
    assert combine_limits(4, 40) == 40
    assert combine_limits(4, 3) == 4
    assert combine_limits(4) == 4
    assert combine_limits(4, 70_000) == 65_535


@pytest.mark.parametrize(("tick", "solar"), [(1, 3), (99, 3), (100, 1), (199, 1), (200, 3)])
def test_night_begins_at_tick_100_and_day_at_200(tick, solar):
    world = give(scene(OPEN), energy=5)
    world._arrays.tick[0] = tick - 1
    assert has(act(world), "energy") == 5 + solar


def test_every_tick_takes_a_hp_and_an_influence():
    world = act(give(scene(OPEN), gear="aligner", influence=8))
    assert has(world, "hp", "influence") == [49, 7]


def test_a_move_costs_4_energy():
    world = give(scene(OPEN), energy=10)
    act(world, WEST)
    assert position(world) == (2, 3)
    assert has(world, "energy") == 10 - 4 + 3
    assert counter(world, "moves") == 1


def test_with_too_little_energy_a_move_fails_and_changes_nothing():
    world = act(give(scene(OPEN), energy=3), WEST)
    assert position(world) == (2, 4)
    assert has(world, "energy", "last_action_succeeded") == [6, 0]
    assert counter(world, "actions_without_energy") == 1
    assert counter(world, "ticks_without_motion") == 1


def test_free_moves_cost_nothing():
    world = act(give(scene(OPEN, free_moves=True), energy=0), WEST)
    assert position(world) == (2, 3)
    assert has(world, "energy") == 3


def test_a_bump_into_a_wall_fails_and_costs_nothing():
    world = put_at(give(scene(OPEN), energy=10), 3, 5)
    act(world, EAST)
    assert position(world) == (3, 5)
    assert has(world, "energy", "last_action_succeeded") == [13, 0]
    assert counter(world, "bumps_failed") == 1


def test_doing_nothing_succeeds():
    assert has(act(scene(OPEN), NOOP), "last_action_succeeded") == 1


def test_north_south_west_and_east_are_where_they_should_be():
    world = scene(OPEN, free_moves=True)
    trail = [position(act(world, way)) for way in (NORTH, WEST, SOUTH, EAST)]
    assert trail == [(1, 4), (1, 3), (2, 3), (2, 4)]


CORRIDOR = """
#######
#.@.@.#
###H###
#######
"""


def test_agents_block_each_other():
    world = scene(CORRIDOR)
    put_at(world, 1, 3, row=0 if position(world, 0) == (1, 2) else 1)
    left = 0 if position(world, 0) == (1, 3) else 1
    moves = [NOOP, NOOP]
    moves[left] = EAST
    act(world, *moves)
    assert position(world, left) == (1, 3)
    assert has(world, "last_action_succeeded", row=left) == 0


def test_the_order_of_actions_is_drawn_from_the_key():
    firsts = []
    for key in range(24):
        world = scene(CORRIDOR, key=key)
        left, right = (0, 1) if position(world, 0) == (1, 2) else (1, 0)
        moves = [NOOP, NOOP]
        moves[left], moves[right] = EAST, WEST
        act(world, *moves)
        assert (position(world, left) == (1, 3)) != (position(world, right) == (1, 3))
        firsts.append(position(world, left) == (1, 3))
    assert 4 <= sum(firsts) <= 20
    again = scene(CORRIDOR, key=3)
    left = 0 if position(again, 0) == (1, 2) else 1
    moves = [WEST, WEST]
    moves[left] = EAST
    assert (position(act(again, *moves), left) == (1, 3)) == firsts[3]


def test_at_hp_0_gear_and_hearts_are_lost_and_cargo_stays_as_far_as_it_can_be_carried():
    world = give(scene(OPEN), gear="miner", hp=1, hearts=3, carbon=3, oxygen=20, silicon=9)
    world.record_events(True)
    act(world)
    assert has(world, "hp", "hearts") == [0, 0]
    assert gear(world) == "none"
    assert has(world, "carbon", "oxygen", "germanium", "silicon") == [0, 4, 0, 0]
    assert kinds(world) == ["exhausted"]
    assert world.columns.alive.all()
    act(world)
    assert counter(world, "ticks_at_hp_0") == 2
    assert kinds(world) == []


def test_losing_scout_gear_cuts_energy_to_what_can_be_held():
    world = act(give(scene(OPEN), gear="scout", hp=1, energy=90))
    assert has(world, "hp", "energy") == [0, 20]


@pytest.mark.parametrize("edition", ["F", "A"])
def test_gear_and_hearts_are_lost_before_an_area_heals(edition):
    sizes = {"area_radius": 10, "hub_strength": 10}
    world = act(give(scene(OPEN, edition=edition, **sizes), gear="miner", hp=1, hearts=2))
    assert gear(world) == "none"
    assert has(world, "hp", "hearts") == [100, 0]
    world = act(give(scene(OPEN, edition=edition, **sizes), gear="miner", hp=2, hearts=2))
    assert gear(world) == "miner"


FIELD = "\n".join(
    ["." * 30] * 5 + ["." * 2 + "H" + "." * 27] + ["." * 26 + "!" + "." * 3] + ["@" + "." * 29] * 1
)


def test_the_hub_has_an_area_of_10_cells_around_it_by_euclid():
    world = scene(FIELD, area_radius=10)
    assert areas(world, 5, 12) == (True, False)
    assert areas(world, 5, 13) == (False, False)
    assert areas(world, 6, 12) == (False, False)  # 10 * 10 + 1 * 1
    assert areas(world, 0, 10) == (True, False)  # 5 * 5 + 8 * 8


def test_a_junction_of_the_clips_has_an_enemy_area_of_10():
    world = scene(FIELD, area_radius=10)
    assert areas(world, 6, 16) == (False, True)
    assert areas(world, 6, 15) == (False, False)


def test_a_friendly_area_gives_10_influence_100_energy_and_100_hp_per_tick():
    world = act(give(scene(FIELD, area_radius=10), gear="aligner", hp=10, energy=0, influence=1))
    assert has(world, "hp", "energy", "influence") == [100, 20, 10]


def test_an_enemy_area_takes_a_hp_and_100_influence_per_tick():
    world = put_at(scene(FIELD, area_radius=10), 6, 25)
    act(give(world, gear="aligner", hp=10, energy=0, influence=15))
    assert has(world, "hp", "energy", "influence") == [8, 3, 0]


BOTH = "." * 8 + "!" + "." * 2 + "\nH" + "." * 9 + "@"


def test_enemy_areas_come_first_and_can_cost_the_gear_before_friends_heal():
    world = scene(BOTH, area_radius=10)
    assert areas(world, 1, 10) == (True, True)
    act(give(world, gear="aligner", hp=3, energy=0, influence=9))
    assert has(world, "hp", "influence") == [100, 0]  # 2 - 1 + 100, cut; 8 + 10 - 100, cut
    assert gear(world) == "aligner"
    act(give(world, hp=2, hearts=1))
    assert has(world, "hp", "hearts") == [100, 0]  # 1 - 1, lost; then 100
    assert gear(world) == "none"


def test_in_edition_a_enemy_territory_costs_the_gear_in_the_next_upkeep_only():
    world = scene("H" + "." * 30 + "@!", edition="A", junction_strength=10)
    act(give(world, gear="miner", hp=2))
    assert (has(world, "hp"), gear(world)) == (0, "miner")
    act(world)
    assert (has(world, "hp"), gear(world)) == (0, "none")


@pytest.mark.parametrize(("enemies", "hp"), [(1, 48), (2, 47), (3, 46)])
def test_enemy_areas_add_up_per_source(enemies, hp):
    text = "H" + "." * 20 + "@" + "!" * enemies
    assert has(act(scene(text, area_radius=10)), "hp") == hp
    in_a = {"edition": "A", "junction_strength": 10}  # a cell has one owner
    assert has(act(scene(text, **in_a)), "hp") == 48


def test_friendly_areas_add_up_per_source_and_influence_changes_by_the_sum():
    more = {"area_radius": 10, "influence_aligner": 200, "influence_enemy_area": 15}
    for symbols, influence in (("0", 59), ("00", 69), ("00!", 54), ("0!!", 29)):
        world = scene("H" + "." * 20 + "@" + symbols, **more)
        act(give(world, gear="aligner", influence=50))
        assert has(world, "influence") == influence


def test_another_teams_hub_hurts_like_its_junctions():
    world = scene("H@.........\n%.........H\n1..........", area_radius=2)
    assert areas(world, 1, 9, team=0) == (False, True)
    assert areas(world, 1, 9, team=1) == (True, False)
    assert areas(world, 1, 1, team=0) == (True, True)
    put_at(world, 1, 9)
    act(world)
    assert has(world, "hp") == 48


def test_every_agent_earns_the_share_of_its_teams_junctions():
    world = scene("H@0\n%H1\n..1", max_steps=100)
    act(world)
    assert world.columns.reward.tolist() == [0.01, 0.02]
    act(world)
    assert counter(world, "junction_ticks_team_0") == 2
    assert counter(world, "junction_ticks_team_1") == 4


def test_the_episode_ends_at_max_steps():
    world = scene(OPEN, max_steps=3)
    for _ in range(3):
        assert not world.done[0]
        act(world)
    assert world.done[0]
    assert world.columns.truncated.all()
    assert not world.columns.terminated.any()


def test_a_vibe_says_nothing_about_the_move_but_with_the_quirk_it_is_a_success():
    for quirks, succeeded in (({}, 0), ({"vibe_success": True}, 1)):
        world = put_at(scene(OPEN, quirks=quirks), 3, 5)
        act(world, EAST, vibes=[3])
        assert has(world, "last_action_succeeded") == succeeded
        act(world, EAST, vibes=[3])  # the same vibe is no change
        assert has(world, "last_action_succeeded") == 0


def test_vibes_change_nothing_but_what_others_see():
    world = scene(OPEN)
    before = np.array(has(world, "hp", "energy"))
    act(world, vibes=[3])
    assert has(world, "vibe") == 3
    assert (np.array(has(world, "hp", "energy")) - before).tolist() == [-1, 0]
