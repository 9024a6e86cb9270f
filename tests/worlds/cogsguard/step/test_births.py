"""Births at the hub, if the temple is open."""

import numpy as np
from cogs_scenes import act, counter, has, kinds, position, scene, set_store, store

# Two agents beside the hub and beside each other, on the north.
PAIR = """
.......
.......
..@@...
...H...
.......
.......
"""


def alive(world):
    return int(world.columns.alive.sum())


def test_without_the_temple_nothing_is_born():
    world = scene(PAIR)
    assert world.spec.rows == 2
    act(world)
    assert alive(world) == 2


def test_rows_are_reserved_up_to_the_cap():
    assert scene(PAIR, temple=True).spec.rows == 24
    assert scene(PAIR, temple=True, temple_cap=5).spec.rows == 5


def test_a_pair_beside_the_hub_has_a_child_for_a_heart():
    world = scene(PAIR, temple=True)
    world.record_events(True)
    act(world)
    assert alive(world) == 3
    assert store(world) == [10, 10, 10, 10, 4]
    assert world.columns.uid[:3].tolist() == [0, 1, 2]
    assert world.columns.parents[2].tolist() == [0, 1]
    assert world.columns.parent_rows[2].tolist() == [0, 1]
    assert world.columns.parents[:2].tolist() == [[-1, -1], [-1, -1]]
    assert [(h.kind, h.uid, h.other, h.value) for h in world.events()] == [("birth", 2, 0, 1.0)]
    y, x = position(world, 2)
    assert (y - 3) ** 2 + (x - 3) ** 2 <= 4
    assert has(world, "hp", "energy", "hearts", row=2) == [50, 20, 0]
    assert counter(world, "births_team_0") == 1


def test_the_next_birth_comes_25_ticks_later():
    world = scene(PAIR, temple=True)
    grown = []
    for _ in range(60):
        before = alive(world)
        act(world)
        if alive(world) > before:
            grown.append(int(world.tick[0]))
    assert grown == [1, 26, 51]


def test_without_a_heart_there_is_no_birth():
    assert alive(act(set_store(scene(PAIR, temple=True), 9, 9, 9, 9, 0))) == 2


def test_a_team_has_at_most_temple_cap_agents():
    world = scene(PAIR, temple=True, temple_cap=3, temple_cooldown=0)
    for _ in range(4):
        act(world)
    assert alive(world) == 3
    assert store(world)[4] == 4


def test_agents_that_are_not_adjacent_have_no_child():
    apart = PAIR.replace("@@", "@.").replace("...H...", "...H@..")
    assert alive(act(scene(apart, temple=True))) == 2
    away = PAIR.replace("..@@...", ".@@....")
    assert alive(act(scene(away, temple=True))) == 2


def test_without_a_free_cell_there_is_no_child_and_the_heart_stays():
    closed = "####\n#@@#\n##H#\n####"
    world = act(scene(closed, temple=True))
    assert alive(world) == 2
    assert store(world)[4] == 5


def test_a_newborn_acts_and_is_seen_and_empty_rows_are_zero():
    world = scene(PAIR, temple=True)
    shown = np.zeros((world.spec.rows, world.spec.row_bytes), dtype=np.uint8)
    act(world)
    world.observe(shown)
    assert shown[2].any()
    assert not shown[3:].any()
    world.record_events(True)
    act(world, 0, 0, 1)
    assert "birth" not in kinds(world)
