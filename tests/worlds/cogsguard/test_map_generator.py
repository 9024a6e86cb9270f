"""Generated maps have all their objects, and all of them can be reached."""

from collections import Counter, deque

import numpy as np
import pytest

from kinfolk.core.settings import validate_settings
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.world import CogsguardWorld


def pictures(count, **settings):
    world = CogsguardWorld(validate_settings(Cogsguard, settings), count)
    world.reset(np.arange(count) * 7919 + 11)
    return [world.render_text(w).splitlines() for w in range(count)]


def unreached(lines):
    """Things that no way leads to from the first hub, agents being no obstacle; plain Python."""
    cells = {(y, x): c for y, line in enumerate(lines) for x, c in enumerate(line)}
    start = next(spot for spot, c in cells.items() if c == "H")
    queue, found = deque([start]), {start}
    while queue:
        y, x = queue.popleft()
        for beside in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            if cells.get(beside, "#") != "#" and beside not in found:
                found.add(beside)
                if cells[beside] in ".@%$~":
                    queue.append(beside)
    return [c for spot, c in cells.items() if c != "#" and spot not in found]


@pytest.mark.parametrize(
    ("settings", "count", "junctions", "extractors"),
    [
        ({"map": "arena"}, 130, (27, 33), (16, 28)),
        ({"map": "machina_1"}, 20, (65, 75), (45, 55)),
        ({"map": "tutorial"}, 20, (6, 8), (4, 6)),
        ({"map": "arena", "teams": 2}, 20, (27, 33), (16, 28)),
        ({"map": "arena", "teams": 4, "edition": "A"}, 10, (27, 33), (16, 28)),
    ],
    ids=["arena", "machina_1", "tutorial", "two teams", "four teams"],
)
def test_200_maps_have_their_counts_and_all_is_reachable(settings, count, junctions, extractors):
    for lines in pictures(count, **settings):
        assert unreached(lines) == []
        found = Counter("".join(lines))
        assert junctions[0] <= found["J"] <= junctions[1]
        for element in "cogs":
            assert extractors[0] <= found[element] <= extractors[1]
        teams = settings.get("teams", 1)
        assert [found[symbol] for symbol in "HARMT"] == [teams] * 5
        assert found["C"] == (0 if settings.get("edition") == "A" else teams)
        assert found["@"] == 8


def test_junctions_keep_their_distance():
    for lines in pictures(20):
        spots = [(y, x) for y, line in enumerate(lines) for x, c in enumerate(line) if c == "J"]
        for i, (y, x) in enumerate(spots):
            for v, u in spots[:i]:
                assert (y - v) ** 2 + (x - u) ** 2 >= 25


def test_a_compound_is_walled_with_four_gates_and_an_extractor_in_each_corner():
    for lines in pictures(5):
        inner = [line[18:33] for line in lines[18:33]]
        assert inner[0] == inner[14] == "######...######"
        assert sorted(inner[y][x] for y in (2, 12) for x in (2, 12)) == sorted("cogs")
        assert inner[7][7] == "H"
        assert inner[11] == "#..A.R.C.M.T..#"


def test_another_key_gives_another_map_and_the_same_key_the_same():
    world = CogsguardWorld(validate_settings(Cogsguard, {"map": "tutorial"}), 3)
    world.reset(np.array([1, 2, 1]))
    assert world.render_text(0) == world.render_text(2)
    assert world.render_text(0) != world.render_text(1)


def test_agents_stand_on_pads_near_their_hub():
    world = CogsguardWorld(validate_settings(Cogsguard, {"agents": 24, "teams": 2}), 2)
    world.reset(np.array([5, 6]))
    s, r = world._arrays, world._rules
    for w in range(2):
        for row in range(48):
            hub, cell = int(s.home_cell[w, row // 24]), int(s.body[w, row, 11])
            far = max(
                abs(hub // r.stride - cell // r.stride), abs(hub % r.stride - cell % r.stride)
            )
            assert far in (2, 3)


def test_rendered_text_parsed_as_a_map_gives_the_same_map():
    first = CogsguardWorld(validate_settings(Cogsguard, {"map": "tutorial", "agents": 3}), 1)
    first.reset(np.array([4]))
    drawn = validate_settings(Cogsguard, {"map_text": first.render_text(0), "agents": 3})
    again = CogsguardWorld(drawn, 1)
    again.reset(np.array([99]))
    assert again.render_text(0) == first.render_text(0)
