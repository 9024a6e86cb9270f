"""Hand-drawn scenes: a map as text, agents on its pads, and what they hold."""

import numpy as np

from kinfolk.core.settings import validate_settings
from kinfolk.worlds.cogsguard.codes import BODY_COLUMNS, CELL, GEARS, JUNCTION_CELL, JUNCTION_OWNER
from kinfolk.worlds.cogsguard.maps import PAD_SYMBOLS
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.world import CogsguardWorld

NOOP, NORTH, SOUTH, WEST, EAST = range(5)
# No clips, areas of one cell, energy at its limit: only what a test is about happens.
QUIET = {"clips": "off", "area_radius": 0, "junction_strength": 0, "hub_strength": 0}
QUIET |= {"start_energy": 20, "store_elements": 10}


def scene(text, key=7, **more):
    """A world on a drawn map; every team has as many agents as pads."""
    teams = max(1, text.count("H"))
    chosen = {"map_text": text, "teams": teams, "agents": text.count(PAD_SYMBOLS[0])} | QUIET | more
    world = CogsguardWorld(validate_settings(Cogsguard, chosen), 1)
    world.reset(np.array([key]))
    return world


def act(world, *moves, vibes=()):
    """One tick: a move per row, those not named do nothing."""
    actions = np.zeros((world.spec.rows, 2), dtype=np.int64)
    actions[: len(moves), 0] = moves
    actions[: len(vibes), 1] = vibes
    world.step(actions)
    return world


def give(world, row=0, gear=None, **amounts):
    """Put things into an agent's hands, limits or not."""
    body = world._arrays.body[0, row]
    if gear is not None:
        body[BODY_COLUMNS.index("gear")] = GEARS.index(gear)
    for name, amount in amounts.items():
        body[BODY_COLUMNS.index(name)] = amount
    return world


def has(world, *names, row=0):
    """What an agent holds, by name; one value for one name."""
    found = [int(world._arrays.body[0, row, BODY_COLUMNS.index(name)]) for name in names]
    return found[0] if len(found) == 1 else found


def gear(world, row=0):
    return GEARS[has(world, "gear", row=row)]


def position(world, row=0):
    """Row and column of an agent on the map."""
    r = world._rules
    cell = int(world._arrays.body[0, row, CELL])
    return cell // r.stride - r.pad, cell % r.stride - r.pad


def cell_of(world, y, x):
    r = world._rules
    return (y + r.pad) * r.stride + x + r.pad


def put_at(world, y, x, row=0):
    """Move an agent to another free cell."""
    s, team = world._arrays, row // world._rules.rows_per_team
    old, new = int(s.body[0, row, CELL]), cell_of(world, y, x)
    for each in range(s.team_view.shape[1]):
        word = int(s.team_view[0, each, old])
        s.team_view[0, each, new] = (int(s.team_view[0, each, new]) & 0x3000) | (word & 0xFFF)
        s.team_view[0, each, old] = word & 0x3000
    s.cell_detail[0, new], s.cell_detail[0, old], s.body[0, row, CELL] = row, -1, new
    assert team < s.team_view.shape[1]
    return world


def store(world, team=0):
    """Carbon, oxygen, germanium, silicon and hearts of a team."""
    return world._arrays.store[0, team, :5].tolist()


def chest_hearts(world, team=0):
    return int(world._arrays.store[0, team, 5])


def set_store(world, *amounts, team=0):
    world._arrays.store[0, team, : len(amounts)] = amounts
    return world


def owners(world):
    """Who holds each junction, in reading order: -1 nobody, then teams, then the clips."""
    junction = world._arrays.junction[0]
    return junction[junction[:, JUNCTION_CELL] > 0, JUNCTION_OWNER].tolist()


def counter(world, name):
    return int(world.counters()[name][0])


def kinds(world):
    """What happened in the last tick, by name."""
    return [h.kind for h in world.events()]


def areas(world, y, x, team=0):
    """Whether a cell is in a friendly and in an enemy area."""
    word = int(world._arrays.team_view[0, team, cell_of(world, y, x)])
    return bool(word >> 12 & 1), bool(word >> 13 & 1)
