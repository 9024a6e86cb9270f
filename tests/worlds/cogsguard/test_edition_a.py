"""Edition A: territory, hearts from the hub, networks and ships."""

import pytest
from cogs_scenes import (
    EAST,
    NORTH,
    WEST,
    act,
    areas,
    counter,
    give,
    has,
    kinds,
    owners,
    scene,
    set_store,
    store,
)

from kinfolk.core.settings import validate_settings
from kinfolk.worlds.cogsguard.settings import Cogsguard

SIZES = {"edition": "A", "junction_strength": 10, "hub_strength": 20}
CLIPS = 1


def played(text, **more):
    return scene(text, **(SIZES | more))


def row(length, **things):
    """A line of floor with things at columns: `c5="J"`; the agent stands at its end."""
    cells = ["."] * length
    for where, symbol in things.items():
        cells[int(where[1:])] = symbol
    return "".join(cells)


def test_defaults_of_edition_a_differ_from_those_of_edition_f():
    a = validate_settings(Cogsguard, {"edition": "A", "agents": 6})
    assert (a.extractor_stock, a.heart_price, a.store_elements, a.store_hearts) == (200, 7, 18, 5)
    assert (a.influence_aligner, a.align_influence) == (0, 0)
    f = validate_settings(Cogsguard, {})
    assert (f.extractor_stock, f.heart_price, f.store_elements, f.store_hearts) == (100, 10, 24, 5)
    assert validate_settings(Cogsguard, {"edition": "A", "heart_price": 9}).heart_price == 9


def test_a_hub_owns_what_is_nearer_than_20_and_a_junction_what_is_nearer_than_10():
    world = played(row(60, c0="H", c40="!", c59="@"))
    assert areas(world, 0, 19) == (True, False)
    assert areas(world, 0, 20) == (False, False)
    assert areas(world, 0, 31) == (False, True)
    assert areas(world, 0, 30) == (False, False)


def test_the_strongest_owns_a_cell_and_a_tie_nobody():
    # The hub gives 20 - d and the junction 10 - |24 - d|: 3 and 3 at 17, 2 and 4 at 18.
    world = played(row(60, c0="H", c24="!", c59="@"))
    assert areas(world, 0, 16) == (True, False)
    assert areas(world, 0, 17) == (False, False)
    assert areas(world, 0, 18) == (False, True)


def test_strengths_of_one_owner_add_up():
    # At 17 two junctions of the clips give 3 + 2, the hub 3.
    world = played(row(60, c0="H", c24="!", c25="!", c59="@"))
    assert areas(world, 0, 17) == (False, True)


def test_distances_are_euclidean():
    text = "\n".join(["H.....!", "......!", ".......", "@......"])
    world = played(text, hub_strength=8)
    # At (0, 3): hub 5; junctions (10 - 3) + (10 - sqrt(10)) = 13.8.
    assert areas(world, 0, 3) == (False, True)
    # At (2, 0): hub 6; junctions (10 - sqrt(40)) + (10 - sqrt(37)) = 7.6.
    assert areas(world, 2, 0) == (False, True)
    # At (1, 0): hub 7; junctions (10 - sqrt(37)) + (10 - 6) = 7.9.
    assert areas(world, 1, 0) == (False, True)
    assert areas(world, 0, 0) == (True, False)  # hub 8; junctions (10 - 6) + (10 - sqrt(37)) = 7.9


def test_owned_territory_heals_and_an_enemys_harms():
    world = played("H" + "." * 8 + "@")
    assert has(act(give(world, energy=0)), "hp", "energy", "influence") == [100, 20, 0]
    world = played(row(60, c0="H", c50="!", c52="@"))
    assert has(act(give(world, energy=0)), "hp", "energy") == [48, 3]


def test_its_hub_takes_elements_then_gives_hearts_then_makes_them():
    world = set_store(played("H@"), 7, 7, 7, 7, 1)
    act(give(world, carbon=2), WEST)
    assert store(world) == [9, 7, 7, 7, 1]
    act(world, WEST)
    assert (store(world), has(world, "hearts")) == ([9, 7, 7, 7, 0], 1)
    act(world, WEST)
    assert (store(world), has(world, "hearts")) == ([2, 0, 0, 0, 0], 2)
    act(world, WEST)
    assert has(world, "hearts", "last_action_succeeded") == [2, 0]


@pytest.mark.parametrize(
    ("text", "aligned"),
    [
        (row(60, c0="H", c24="@", c25="J"), True),
        (row(60, c0="H", c25="@", c26="J"), False),
        (row(60, c0="H", c20="0", c34="@", c35="J"), True),
        (row(60, c0="H", c20="0", c35="@", c36="J"), False),
        (row(60, c0="H", c24="@", c25="!"), True),
    ],
)
def test_aligning_reaches_25_from_the_hub_and_15_from_the_network_and_takes_enemies_too(
    text, aligned
):
    world = act(give(played(text), gear="aligner", hearts=1), EAST)
    assert owners(world)[-1] == (0 if aligned else owners(played(text))[-1])
    assert has(world, "hearts") == (0 if aligned else 1)


def test_junctions_cut_off_from_their_hub_fall_to_nobody():
    text = row(90, c0="H", c20="0", c40="0", c60="0", c89="@")
    text += "\n" + row(90, c89="H", c19="%")
    world = give(scene(text, **SIZES), row=1, gear="scrambler", hearts=1)
    world.record_events(True)
    act(world, 0, EAST)  # beneath the junction at 20; without it 40 and 60 have no way home
    act(world, 0, NORTH)
    assert kinds(world) == ["scramble", "cut_off", "cut_off"]
    assert owners(world) == [-1, -1, -1]


def test_a_network_that_still_has_a_way_home_stands():
    text = row(90, c0="H", c20="0", c24="0", c45="0", c89="@")
    text += "\n" + row(90, c89="H", c20="%")
    world = give(scene(text, **SIZES), row=1, gear="scrambler", hearts=1)
    act(world, 0, NORTH)
    assert owners(world) == [-1, 0, 0]


def clips_after(text, ticks, **more):
    world = played(text, **(more | {"clips": "normal"}))
    world.record_events(True)
    found = {}
    for _ in range(ticks):
        act(world)
        if kinds(world):
            found[int(world.tick[0])] = kinds(world)
    return world, found


def test_a_ship_aligns_the_nearest_neutral_junction_every_200_from_100():
    text = row(90, c0="X", c15="J", c12="J", c30="J", c80="H", c89="@")
    world, found = clips_after(text, 310)
    assert found == {100: ["clips_align"], 300: ["clips_align"]}
    assert owners(world) == [CLIPS, CLIPS, -1]
    world, found = clips_after(text, 501)
    assert owners(world) == [CLIPS, CLIPS, CLIPS]  # 15 from its chain


SOON = {"clips_align_from": 1, "clips_align_every": 1, "clips_scramble_from": 1}


def test_a_ship_scrambles_and_then_aligns_so_one_junction_can_fall_and_be_taken_in_a_tick():
    text = row(90, c0="X", c10="0", c12="J", c70="H", c89="@") + "\n" + row(90, c30="0", c50="0")
    world, found = clips_after(text, 1, **SOON)
    assert found == {1: ["clips_scramble", "clips_align"]}
    assert owners(world) == [CLIPS, -1, 0, 0]


def test_a_ship_takes_the_junction_nearest_to_itself_not_to_its_chain():
    text = "\n".join([row(60, c0="X", c10="J", c14="J", c58="H", c59="@"), *["." * 60] * 11])
    text += "\n" + row(60, c0="J")  # 12 from the ship; that at 14 is 4 from the chain
    world, _ = clips_after(text, 2, **SOON)
    assert owners(world) == [CLIPS, -1, CLIPS]


def test_edges_of_a_chain_are_15():
    for second, taken in ((25, True), (26, False)):
        text = row(90, c0="X", c10="J", c89="@", c88="H", **{f"c{second}": "J"})
        world, _ = clips_after(text, 2, **SOON)
        assert owners(world) == [CLIPS, CLIPS if taken else -1]


def test_every_ship_has_a_chain_of_its_own():
    # The junction at 24 is 12 from the one that the second ship took, and 24 from the first ship.
    text = row(90, c0="X", c24="J", c36="J", c49="X", c88="H", c89="@")
    world, _ = clips_after(text, 1, **SOON)
    assert owners(world) == [-1, CLIPS]
    world, found = clips_after(text, 2, **SOON)
    assert found[2] == ["clips_align"]
    assert world._arrays.junction[0, 0, 4] == 4  # taken by the second ship


def test_ships_reach_15_cells():
    text = row(60, c0="X", c16="J", c50="H", c59="@")
    assert clips_after(text, 101)[1] == {}
    near = text.replace("J", ".").replace("X..", "X.J")
    assert clips_after(near, 101, ships_reach=1)[1] == {}


@pytest.mark.parametrize(("stale", "held"), [(False, 0), (True, -1)])
def test_a_freed_junction_leaves_the_chain_but_with_the_quirk_it_stays(stale, held):
    text = row(60, c0="X", c9="@", c10="J", c22="0", c40="H")
    world = played(
        text,
        clips="normal",
        clips_align_from=1,
        clips_scramble_from=3,
        quirks={"stale_chains": stale},
    )
    act(give(world, gear="scrambler", hp=200, hearts=1))
    assert owners(world) == [CLIPS, 0]
    act(world, EAST)
    act(world)
    assert owners(world) == [-1, held]


def test_with_the_quirk_an_aligned_junction_of_the_clips_bears_both_marks():
    text = row(40, c0="X", c5="@", c6="!", c20="H")
    plain = act(give(played(text), gear="aligner", hearts=2), EAST)
    assert owners(plain) == [0]
    world = played(text, quirks={"both_marks": True}, max_steps=100)
    act(give(world, gear="aligner", hearts=2), EAST)
    assert (owners(world), has(world, "hearts")) == ([CLIPS], 1)
    assert world._arrays.junction[0, 0, 5] == 0  # the team's mark
    assert world.columns.reward.tolist() == [0.01]
    assert areas(world, 0, 5) == (False, True)  # as territory it is the clips'
    act(world, EAST)
    assert has(world, "hearts", "last_action_succeeded") == [1, 0]
    act(give(world, gear="scrambler"), EAST)  # scrambled, the mark of the clips goes
    assert (owners(world), world.columns.reward.tolist()) == ([0], [0.01])
    assert areas(world, 0, 5) == (True, False)


def take_first(text, **more):
    """Junctions that a ship takes first, over 24 keys."""
    taken = set()
    for key in range(24):
        world = played(text, key=key, **(SOON | {"clips": "normal"} | more))
        taken.add(tuple(owners(act(world))))
    return taken


def test_junctions_are_equally_near_to_a_ship_if_the_same_whole_number_of_cells_reaches_them():
    # At distances 6 and sqrt(26), which a disc of 6 cells reaches and one of 5 does not.
    lines = [row(60, c0="X", c6="J", c58="H", c59="@"), *["." * 60] * 4]
    assert take_first("\n".join([*lines, row(60, c1="J")])) == {(CLIPS, -1), (-1, CLIPS)}
    # At 5 and sqrt(26).
    lines[0] = row(60, c0="X", c5="J", c58="H", c59="@")
    assert take_first("\n".join([*lines, row(60, c1="J")])) == {(CLIPS, -1)}


def test_a_ship_takes_no_junction_beyond_its_search():
    text = row(60, c0="X", c10="J", c20="J", c58="H", c59="@")
    assert owners(clips_after(text, 3, ships_search=19, **SOON)[0]) == [CLIPS, -1]
    assert owners(clips_after(text, 3, ships_search=20, **SOON)[0]) == [CLIPS, CLIPS]


def test_a_junction_drawn_as_the_clips_is_in_the_chain_of_a_ship_in_reach():
    text = row(60, c0="X", c10="!", c22="J", c58="H", c59="@")
    assert owners(clips_after(text, 3, **SOON)[0]) == [CLIPS, CLIPS]
    out_of_reach = row(60, c0="X", c17="!", c30="J", c58="H", c59="@")
    assert owners(clips_after(out_of_reach, 3, **SOON)[0]) == [CLIPS, -1]


def test_a_junction_out_of_the_network_neither_pays_nor_lets_its_team_align_from_it():
    text = row(80, c0="H", c60="0", c61="@", c62="J")
    world = give(played(text, max_steps=100), gear="aligner", hearts=1)
    act(world, EAST)
    assert (owners(world), has(world, "hearts")) == ([0, -1], 1)
    assert world.columns.reward.tolist() == [0.0]
    assert counter(world, "junction_ticks_team_0") == 0
    assert areas(world, 0, 61) == (True, False)  # as territory it is the team's all the same


def test_a_junction_joins_the_network_when_another_links_it():
    text = row(80, c0="H", c24="@", c25="J", c50="0")
    world = give(played(text, max_steps=100), gear="aligner", hearts=1)
    act(world, EAST)
    assert (owners(world), world.columns.reward.tolist()) == ([0, 0], [0.02])


def test_with_the_quirk_a_junction_out_of_its_network_cannot_be_scrambled():
    text = row(80, c0="X", c60="!", c61="@", c79="H")
    plain = act(give(played(text), gear="scrambler", hearts=1), WEST)
    assert (owners(plain), has(plain, "hearts")) == ([-1], 0)
    world = played(text, quirks={"unlinked_stay": True})
    act(give(world, gear="scrambler", hearts=1), WEST)
    assert (owners(world), has(world, "hearts", "last_action_succeeded")) == ([CLIPS], [0, 1])


def test_junctions_are_cut_off_before_the_next_agent_acts():
    # One scrambles the junction at 20, which cuts off that at 40. If the other comes second, it finds
    # a neutral junction and keeps its heart.
    text = row(90, c0="X", c20="!", c21="@", c40="!", c41="@", c60="H", c89=".")
    results = set()
    for key in range(16):
        world = played(text, key=key)
        give(give(world, gear="scrambler", hearts=1), row=1, gear="scrambler", hearts=1)
        act(world, WEST, WEST)
        hearts = sorted(has(world, "hearts", row=r) for r in (0, 1))
        results.add((tuple(owners(world)), *hearts))
    assert results == {((-1, -1), 0, 0), ((-1, -1), 0, 1)}


def test_ships_do_not_scramble_a_junction_with_both_marks():
    text = row(40, c0="X", c5="@", c6="!", c20="H")
    world = played(text, quirks={"both_marks": True}, clips="normal", clips_scramble_from=2)
    act(give(world, gear="aligner", hearts=2), EAST)
    act(world)
    assert (owners(world), int(world._arrays.junction[0, 0, 5])) == ([CLIPS], 0)
