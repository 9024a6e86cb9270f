"""What agents remember and how they find their way: only what was seen counts."""

from collections import deque

import numpy as np
from cogs import Cogs
from cogs_scenes import give, place, set_store
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.core.function_table import call_address
from kinfolk.policies.scripted.cogsguard.behaviors.python_behaviors import AgentView
from kinfolk.policies.scripted.cogsguard.memory import (
    CELL,
    CLOCK,
    EXTRACTOR_COUNTS,
    FAILED_GOAL,
    FAILED_UNTIL,
    HUB_CELL,
    JUNCTION_COUNTS,
    LAST_CHANGED,
    LAST_SEEN,
    MAP_VERSION,
    MAX_PATH_STEPS,
    NEARBY_CELL,
    OWNER,
    PATH_LENGTH,
    PREVIOUS_OWNER,
)
from kinfolk.policies.scripted.cogsguard.parameters import FIND_PATH_KERNEL, STEP_KERNEL, STRIDE
from kinfolk.worlds.cogsguard.codes import CLIPS, NOBODY
from kinfolk.worlds.cogsguard.territory import change_junction_owner, get_map_arrays


def cell_at(cogs, south, east):
    """The cell so far from where the first agent stands."""
    return cogs.note(CELL) + south * int(cogs.policy.rules[STRIDE]) + east


def test_the_map_is_kept_where_the_agent_has_been_and_nowhere_else():
    cogs = Cogs("H......@........J", window_radius=2).look()
    known = cogs.memory["cells"][0]
    assert known[cell_at(cogs, 0, 2)] != 0
    assert known[cell_at(cogs, 0, 3)] == 0
    assert cogs.note(HUB_CELL) == 0
    assert np.count_nonzero(known) == 25
    while cogs.note(JUNCTION_COUNTS + NOBODY) == 0:
        cogs.play(1)
        assert cogs.note(CLOCK) < 40
    [junction] = AgentView(cogs.memory, 0).junctions("nobody")
    assert junction.cell == cell_at(cogs, 0, 2)  # as it came into view
    assert (junction.owner, junction.last_seen) == ("nobody", cogs.note(CLOCK))


def test_a_junction_is_remembered_as_it_was_seen_last_until_it_is_seen_again():
    cogs = Cogs("H..@..!.............\n....................", window_radius=4).look()
    assert cogs.note(JUNCTION_COUNTS + CLIPS) == 1
    seen = cogs.note(CLOCK)
    while place(cogs.world)[1] < 11:
        cogs.play(1)  # away to the east
        assert cogs.note(CLOCK) < 40
    change_junction_owner(get_map_arrays(cogs.world._arrays), cogs.world._rules, 0, 0, -1)
    cogs.evaluate()
    assert cogs.note(JUNCTION_COUNTS + CLIPS) == 1
    assert seen <= int(cogs.memory["objects"][0, 0, LAST_SEEN]) < cogs.note(CLOCK)
    for _ in range(40):
        cogs.play(1)
    entry = cogs.memory["objects"][0, 0]
    assert cogs.note(JUNCTION_COUNTS + CLIPS) == 0
    assert cogs.note(JUNCTION_COUNTS + NOBODY) == 1
    assert (entry[OWNER], entry[PREVIOUS_OWNER]) == (NOBODY, CLIPS)
    assert seen < entry[LAST_CHANGED] <= cogs.note(CLOCK)


def test_an_extractor_that_is_used_up_is_forgotten_and_opens_the_way():
    cogs = Cogs("H@c.", program=["mine_resource"], extractor_stock=1).look()
    assert cogs.note(EXTRACTOR_COUNTS) == 1
    version = cogs.note(MAP_VERSION)
    cogs.play(1)
    cogs.evaluate()
    assert cogs.note(EXTRACTOR_COUNTS) == 0
    assert cogs.note(MAP_VERSION) > version
    assert AgentView(cogs.memory, 0).extractors() == []


def test_agents_are_seen_but_are_no_part_of_the_map():
    cogs = Cogs("H.@@").look()
    assert int(cogs.memory["nearby"][0, 0]) == 1
    assert int(cogs.memory["nearby"][0, 1]) >> NEARBY_CELL == cell_at(cogs, 0, 1)
    assert (
        call_address(
            int(cogs.policy.rules[FIND_PATH_KERNEL]), cogs.memory, 0, cell_at(cogs, 0, 1), 0
        )
        == 1
    )


def distances(lines, start):
    """Steps from a cell to every cell that is free or beside a free one, by a plain search."""
    found, queue = {start: 0}, deque([start])
    while queue:
        y, x = queue.popleft()
        for v, u in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            inside = 0 <= v < len(lines) and 0 <= u < len(lines[0])
            if inside and (v, u) not in found:
                found[v, u] = found[y, x] + 1
                if lines[v][u] in ".@":
                    queue.append((v, u))
    return found


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(alphabet="....#c", min_size=11, max_size=11), min_size=9, max_size=9))
def test_ways_are_the_shortest_there_are(lines):
    lines = [*lines[:4], lines[4][:5] + "@" + lines[4][6:], *lines[5:8], "H" + lines[8][1:]]
    cogs = Cogs("\n".join(lines), window_radius=11).look()
    expected = distances(lines, (4, 5))
    for y in range(9):
        for x in range(11):
            if (y, x) == (4, 5) or lines[y][x] in "#H":
                continue
            cell = cell_at(cogs, y - 4, x - 5)
            length = call_address(int(cogs.policy.rules[FIND_PATH_KERNEL]), cogs.memory, 0, cell, 0)
            assert length == expected.get((y, x), -1), (y, x)


def test_a_way_leads_where_it_should_and_long_ones_are_taken_in_parts():
    rows = []
    for i in range(14):  # a maze of long lanes
        rows.append("." * 15)
        rows.append("." + "#" * 14 if i % 2 else "#" * 14 + ".")
    rows[0] = "H@" + "." * 13
    cogs = Cogs("\n".join([*rows, "." * 14 + "J"]), window_radius=15)
    cogs.play(400)  # explores all of it
    assert cogs.note(JUNCTION_COUNTS + NOBODY) == 1
    goal = AgentView(cogs.memory, 0).building("hub")
    assert cogs.note(PATH_LENGTH) <= MAX_PATH_STEPS
    give(cogs.world, carbon=4)
    cogs.run_only("deposit_resource").play(300)
    cogs.evaluate()
    assert goal is not None
    assert cogs.start("deposit_resource") == "it carries nothing"


def test_a_search_that_failed_is_not_made_again_at_once():
    cogs = Cogs("C#@\n##.\nH..").look()
    goal = cell_at(cogs, 0, -2)
    walk = int(cogs.policy.rules[STEP_KERNEL])
    assert call_address(walk, cogs.memory, 0, goal, 0) == -1
    assert cogs.note(FAILED_GOAL) == goal
    assert cogs.note(FAILED_UNTIL) > cogs.note(CLOCK)
    searches = int(cogs.policy._scratch[0, -1])
    for _ in range(5):
        cogs.evaluate()
        assert call_address(walk, cogs.memory, 0, goal, 0) == -1
    assert int(cogs.policy._scratch[0, -1]) == searches


def test_a_view_for_plain_python_tells_what_the_agent_knows():
    cogs = Cogs("H.@.c\nM...!")
    give(cogs.world, carbon=2, hearts=1, gear="miner")
    view = AgentView(cogs.evaluate().memory, 0)
    assert (view["hp"], view["hearts"], view.cargo, view.gear) == (50, 1, 2, "miner")
    assert view.tick == 0
    assert view.distance(view.building("hub")) == 2
    assert view.building("chest") is None
    assert [one.kind for one in view.extractors("carbon")] == ["carbon_extractor"]
    assert [one.owner for one in view.junctions()] == ["clips"]
    assert view.walk_to(view.building("hub")) == 3  # west
    assert view.fetch("miner") is None
    set_store(cogs.world, 0, 0, 0, 0)
    assert AgentView(cogs.evaluate().memory, 0).fetch("scout") is None
    assert view.explore() is None or view.explore() >= 0
