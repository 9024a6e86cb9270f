"""What an agent sees: the window of coded cells and the facts."""

import numpy as np
from cogs_scenes import EAST, WEST, act, give, position, put_at, scene

from kinfolk.worlds.cogsguard import spec
from kinfolk.worlds.cogsguard.codes import GEARS, KINDS, OWNERS, VIBES

YARD = """
##########
#H..@...J#
#C.A.0.!.#
#cogs..RM#
#.......T#
##########
"""


def seen(world, row=0):
    """The window of an agent as codes, and its facts by name."""
    out = np.full((world.spec.rows, world.spec.row_bytes), 9, dtype=np.uint8)
    world.observe(out)
    group = world.spec.groups[int(world.columns.group[row])]
    codes = spec.decode_window(group.read_field(out, "window")[row])
    facts = dict(zip(spec.FACTS, group.read_field(out, "facts")[row].tolist(), strict=True))
    return codes, facts


def named(codes, y, x):
    """What is seen `y` south and `x` east of the agent."""
    middle = codes["kind"].shape[0] // 2
    at = (middle + y, middle + x)
    return KINDS[codes["kind"][at]], OWNERS[codes["owner"][at]]


def test_the_window_has_kind_and_owner_of_every_cell():
    codes, _ = seen(scene(YARD))
    assert codes["kind"].shape == (13, 13)
    assert named(codes, 0, 0) == ("agent", "own")
    assert named(codes, 0, 1) == ("empty", "nobody")
    assert named(codes, -1, 0) == ("wall", "nobody")
    assert named(codes, 0, -3) == ("hub", "own")
    assert named(codes, 1, -3) == ("chest", "own")
    assert named(codes, 1, -1) == ("aligner_station", "own")
    assert named(codes, 2, 3) == ("scrambler_station", "own")
    assert named(codes, 2, 4) == ("miner_station", "own")
    assert named(codes, 3, 4) == ("scout_station", "own")
    assert named(codes, 0, 4) == ("junction", "nobody")
    assert named(codes, 1, 1) == ("junction", "own")
    assert named(codes, 1, 3) == ("junction", "clips")
    assert [named(codes, 2, x)[0] for x in (-3, -2, -1, 0)] == [
        "carbon_extractor",
        "oxygen_extractor",
        "germanium_extractor",
        "silicon_extractor",
    ]


def test_cells_outside_the_map_are_walls():
    codes, _ = seen(scene(YARD))
    assert (codes["kind"][:5] == KINDS.index("wall")).all()
    assert (codes["kind"][:, :2] == KINDS.index("wall")).all()


def test_the_window_moves_with_the_agent_and_its_radius_is_a_setting():
    world = act(scene(YARD, window_radius=2), EAST)
    codes, facts = seen(world)
    assert codes["kind"].shape == (5, 5)
    assert named(codes, 0, 0) == ("agent", "own")
    assert named(codes, 0, -1) == ("empty", "nobody")
    assert named(codes, 1, 0) == ("junction", "own")
    assert (facts["south"], facts["east"]) == (0.0, 1.0)


def test_area_bits_are_those_of_the_agents_team():
    text = "H@..\n%H.1"
    world = scene(text, area_radius=1)
    first, _ = seen(world, 0)
    second, _ = seen(world, 1)
    # The cell above the junction of team 1, seen from (0, 1) and from (1, 0).
    assert (first["friendly_area"][6, 8], first["enemy_area"][6, 8]) == (0, 1)
    assert (second["friendly_area"][5, 9], second["enemy_area"][5, 9]) == (1, 0)
    assert named(first, 1, 2) == ("junction", "other")
    assert named(second, 0, 3) == ("junction", "own")
    assert named(first, 1, -1) == ("agent", "other")
    assert named(second, 0, 1) == ("hub", "own")
    assert named(first, 1, 0) == ("hub", "other")


def test_others_see_gear_and_vibe():
    world = scene("H..\n@M.\n..@")
    watcher = 0 if position(world, 0) == (2, 2) else 1
    moves, vibes = [0, 0], [0, 0]
    moves[1 - watcher], vibes[1 - watcher] = EAST, 5
    act(world, *moves, vibes=vibes)
    codes, _ = seen(world, watcher)
    assert GEARS[codes["gear"][5, 4]] == "miner"
    assert VIBES[codes["vibe"][5, 4]] == "miner"
    assert codes["gear"].sum() == GEARS.index("miner")


def test_facts_have_the_state_of_the_agent_and_its_team():
    world = give(scene("H@..", max_steps=200, area_radius=0), hp=31, hearts=2, carbon=1, silicon=3)
    act(world, EAST, vibes=[6])
    _, facts = seen(world)
    assert facts == {
        "hp": 30.0,
        "energy": 19.0,
        "carbon": 1.0,
        "oxygen": 0.0,
        "germanium": 0.0,
        "silicon": 3.0,
        "hearts": 2.0,
        "influence": 0.0,
        "gear": 0.0,
        "vibe": 6.0,
        "store_carbon": 10.0,
        "store_oxygen": 10.0,
        "store_germanium": 10.0,
        "store_silicon": 10.0,
        "store_hearts": 5.0,
        "south": 0.0,
        "east": 1.0,
        "last_action_succeeded": 1.0,
        "episode_fraction_elapsed": float(np.float32(1 / 200)),
    }


def test_facts_and_words_convert_to_network_inputs():
    world = scene(YARD)
    out = np.zeros((1, world.spec.row_bytes), dtype=np.uint8)
    world.observe(out)
    group = world.spec.groups[0]
    planes = spec.window_to_planes(group.read_field(out, "window"))
    assert planes.shape == (1, 14 + 3 + 4 + 6 + 2, 13, 13)
    assert planes[0, 1].sum() == 1  # one agent
    features = spec.facts_to_features(group.read_field(out, "facts"))
    assert features.shape == (1, 17 + 5 + 7)
    assert np.abs(features).max() <= 1.0
    assert len(spec.FACT_SCALES) == spec.N_FACTS


def test_explored_counts_cells_that_were_ever_in_the_window():
    text = "H" + "." * 19 + "\n" + "@" + "." * 19
    world = scene(text, window_radius=2, free_moves=True)
    assert world.statistics()["explored"].tolist() == [[6]]
    act(world, EAST)
    assert world.statistics()["explored"].tolist() == [[8]]
    act(world, WEST)
    assert world.statistics()["explored"].tolist() == [[8]]
    put_at(world, 1, 10)
    act(world, EAST)
    assert world.statistics()["explored"].tolist() == [[10]]  # only what came into view


def test_rendered_text_has_the_symbols_of_maps_as_text():
    assert scene(YARD).render_text(0) == YARD.strip()
    assert act(scene(YARD), EAST).render_text(0) == YARD.strip().replace("..@...J", "...@..J")
