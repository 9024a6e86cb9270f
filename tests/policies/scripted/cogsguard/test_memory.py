"""Memory and pathfinding of agents, which know only what they have observed."""

from collections import deque

import numpy as np
from cogs_harness import Cogs
from cogs_scenes import give, position, set_store
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.core.jit import call_address
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard.behaviors.python_behaviors import AgentView
from kinfolk.worlds.cogsguard.codes import CLIPS, NOBODY
from kinfolk.worlds.cogsguard.state import get_game_arrays
from kinfolk.worlds.cogsguard.territory import change_junction_owner


def cell_at(cogs, south, east):
    """Return the cell at an offset from the first agent."""
    return cogs.state(col.CELL) + south * int(cogs.policy.rules[col.STRIDE]) + east


def test_only_observed_cells_are_known():
    cogs = Cogs("H......@........J", window_radius=2).observe()
    known = cogs.memory["cells"][0]
    assert known[cell_at(cogs, 0, 2)] != 0
    assert known[cell_at(cogs, 0, 3)] == 0
    assert cogs.state(col.HUB_CELL) == 0
    assert np.count_nonzero(known) == 25
    while cogs.state(col.JUNCTION_COUNTS + NOBODY) == 0:
        cogs.play(1)
        assert cogs.state(col.CLOCK) < 40
    [junction] = AgentView(cogs.agent_memory, 0).junctions("nobody")
    assert junction.cell == cell_at(cogs, 0, 2)  # as it came into view
    assert (junction.owner, junction.last_seen) == ("nobody", cogs.state(col.CLOCK))


def test_a_junction_is_remembered_as_it_was_last_seen():
    cogs = Cogs("H..@..!.............\n....................", window_radius=4).observe()
    assert cogs.state(col.JUNCTION_COUNTS + CLIPS) == 1
    seen = cogs.state(col.CLOCK)
    while position(cogs.world)[1] < 11:
        cogs.play(1)  # away to the east
        assert cogs.state(col.CLOCK) < 40
    change_junction_owner(get_game_arrays(cogs.world._arrays), cogs.world._rules, 0, 0, -1)
    cogs.observe()
    assert cogs.state(col.JUNCTION_COUNTS + CLIPS) == 1
    assert seen <= int(cogs.memory["objects"][0, 0, col.LAST_SEEN]) < cogs.state(col.CLOCK)
    for _ in range(40):
        cogs.play(1)
    entry = cogs.memory["objects"][0, 0]
    assert cogs.state(col.JUNCTION_COUNTS + CLIPS) == 0
    assert cogs.state(col.JUNCTION_COUNTS + NOBODY) == 1
    assert (entry[col.OWNER], entry[col.PREVIOUS_OWNER]) == (NOBODY, CLIPS)
    assert seen < entry[col.LAST_CHANGED] <= cogs.state(col.CLOCK)


def test_an_extractor_that_is_used_up_is_forgotten_and_its_cell_becomes_free():
    cogs = Cogs("H@c.", program=["mine_resource"], extractor_stock=1).observe()
    assert cogs.state(col.EXTRACTOR_COUNTS) == 1
    version = cogs.state(col.MAP_VERSION)
    cogs.play(1)
    cogs.observe()
    assert cogs.state(col.EXTRACTOR_COUNTS) == 0
    assert cogs.state(col.MAP_VERSION) > version
    assert AgentView(cogs.agent_memory, 0).extractors() == []


def test_agents_in_view_are_not_part_of_the_map():
    cogs = Cogs("H.@@").observe()
    assert int(cogs.memory["nearby"][0, 0]) == 1
    assert int(cogs.memory["nearby"][0, 1]) >> col.NEARBY_CELL == cell_at(cogs, 0, 1)
    assert (
        call_address(
            int(cogs.policy.rules[col.FIND_PATH_KERNEL]),
            cogs.agent_memory,
            0,
            cell_at(cogs, 0, 1),
            0,
        )
        == 1
    )


def distances(lines, start):
    """Return the steps from a cell to every free cell and its neighbours, by breadth-first search."""
    steps, queue = {start: 0}, deque([start])
    while queue:
        y, x = queue.popleft()
        for v, u in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            inside = 0 <= v < len(lines) and 0 <= u < len(lines[0])
            if inside and (v, u) not in steps:
                steps[v, u] = steps[y, x] + 1
                if lines[v][u] in ".@":
                    queue.append((v, u))
    return steps


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(alphabet="....#c", min_size=11, max_size=11), min_size=9, max_size=9))
def test_paths_are_shortest_paths(lines):
    lines = [*lines[:4], lines[4][:5] + "@" + lines[4][6:], *lines[5:8], "H" + lines[8][1:]]
    cogs = Cogs("\n".join(lines), window_radius=11).observe()
    expected = distances(lines, (4, 5))
    for y in range(9):
        for x in range(11):
            if (y, x) == (4, 5) or lines[y][x] in "#H":
                continue
            cell = cell_at(cogs, y - 4, x - 5)
            length = call_address(
                int(cogs.policy.rules[col.FIND_PATH_KERNEL]), cogs.agent_memory, 0, cell, 0
            )
            assert length == expected.get((y, x), -1), (y, x)


def test_long_paths_are_walked_in_parts():
    rows = []
    for i in range(14):  # a maze of long lanes
        rows.append("." * 15)
        rows.append("." + "#" * 14 if i % 2 else "#" * 14 + ".")
    rows[0] = "H@" + "." * 13
    cogs = Cogs("\n".join([*rows, "." * 14 + "J"]), window_radius=15)
    cogs.play(400)  # explores all of it
    assert cogs.state(col.JUNCTION_COUNTS + NOBODY) == 1
    goal = AgentView(cogs.agent_memory, 0).building("hub")
    assert cogs.state(col.PATH_LENGTH) <= col.MAX_PATH_STEPS
    give(cogs.world, carbon=4)
    cogs.run_only("deposit_resource").play(300)
    cogs.observe()
    assert goal is not None
    assert cogs.start("deposit_resource") == "it carries nothing"


def test_a_failed_search_is_not_repeated_at_once():
    cogs = Cogs("C#@\n##.\nH..").observe()
    goal = cell_at(cogs, 0, -2)
    walk = int(cogs.policy.rules[col.STEP_KERNEL])
    assert call_address(walk, cogs.agent_memory, 0, goal, 0) == -1
    assert cogs.state(col.FAILED_GOAL) == goal
    assert cogs.state(col.FAILED_UNTIL) > cogs.state(col.CLOCK)
    searches = int(cogs.policy._scratch[0, -1])
    for _ in range(5):
        cogs.observe()
        assert call_address(walk, cogs.agent_memory, 0, goal, 0) == -1
    assert int(cogs.policy._scratch[0, -1]) == searches


def test_an_agent_view_returns_what_the_agent_knows():
    cogs = Cogs("H.@.c\nM...!")
    give(cogs.world, carbon=2, hearts=1, gear="miner")
    view = AgentView(cogs.observe().agent_memory, 0)
    assert (view["hp"], view["hearts"], view.cargo, view.gear) == (50, 1, 2, "miner")
    assert view.tick == 0
    assert view.distance(view.building("hub")) == 2
    assert view.building("chest") is None
    assert [extractor.kind for extractor in view.extractors("carbon")] == ["carbon_extractor"]
    assert [junction.owner for junction in view.junctions()] == ["clips"]
    assert view.walk_to(view.building("hub")) == 3  # west
    assert view.fetch("miner") is None
    set_store(cogs.world, 0, 0, 0, 0)
    assert AgentView(cogs.observe().agent_memory, 0).fetch("scout") is None
    assert view.explore() is None or view.explore() >= 0
