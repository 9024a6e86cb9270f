"""Observations and actions of CogsGuard, and how to decode them.

Field `window`, uint16 `[2 radius + 1, 2 radius + 1]`: the cells around the agent, which is in the
middle, north at the top, west at the left. Cells outside the map are walls. One word per cell:

| bits  | meaning |
|-------|---------|
| 0-3   | what is on the cell: index into `codes.KINDS` |
| 4-5   | its owner: index into `codes.OWNERS` (nobody, own, clips, other team) |
| 6-8   | an agent's gear: index into `codes.GEARS` |
| 9-11  | an agent's vibe: index into `codes.VIBES` |
| 12    | the cell is in a friendly area |
| 13    | the cell is in an enemy area (edition F: it can be in both) |

Field `facts`, float32: the numbers of `FACTS`, unscaled. Gear and vibe are indices; `south` and
`east` are cells from the spawn point.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.jit import allocation_free_kernel, inline, inline_always
from kinfolk.core.spaces import ActionHead, AgentGroup, ObservationField, WorldSpec
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import CellWords, GameArrays

FACTS = (
    *codes.OBSERVED_COLUMNS,  # hp, energy, cargo by element, hearts, influence, gear, vibe
    *(f"store_{element}" for element in codes.ELEMENTS),
    "store_hearts",
    "south",
    "east",
    "last_action_succeeded",
    "episode_fraction_elapsed",
)
N_FACTS = len(FACTS)
STORE_FACT, SOUTH_FACT, EAST_FACT, SUCCEEDED_FACT, ELAPSED_FACT = 10, 15, 16, 17, 18
# Facts divided by these lie mostly within -1 and 1. Gear and vibe are codes, not amounts.
FACT_SCALES = np.array(
    [100, 20, 40, 40, 40, 40, 10, 20, 1, 1, 100, 100, 100, 100, 10, 50, 50, 1, 1], dtype=np.float32
)


def make_spec(settings: Cogsguard) -> WorldSpec:
    """Return the spec: one group per team, named `cogs`, or `cogs_0`, `cogs_1` and so on."""
    side = 2 * settings.window_radius + 1
    fields = (
        ObservationField("window", (side, side), "uint16"),
        ObservationField("facts", (len(FACTS),), "float32", FACTS),
    )
    heads = (ActionHead("move", codes.MOVES), ActionHead("vibe", codes.VIBES))
    names = ["cogs"] if settings.teams == 1 else [f"cogs_{team}" for team in range(settings.teams)]
    groups = tuple(AgentGroup(name, fields, heads) for name in names)
    rows = settings.teams * settings.rows_per_team
    return WorldSpec("cogsguard", rows, groups, settings.max_steps, get_public_rules(settings))


def get_public_rules(settings: Cogsguard) -> tuple[tuple[str, int], ...]:
    """Return name and value of each rule that players know: numeric settings and sizes of maps.

    Nothing here distinguishes two games with the same settings.
    """
    height, width = settings.map_shape
    rules = {name: value for name, value in settings.model_dump().items() if isinstance(value, int)}
    rules |= {"height": height, "width": width, "edition_a": settings.edition == "A"}
    rules |= {"most_junctions": settings.most_junctions}
    rules |= {"most_extractors": settings.most_extractors}
    return tuple((name, int(value)) for name, value in sorted(rules.items()))


def decode_window(window: npt.NDArray[np.uint16]) -> dict[str, AnyArray]:
    """Return the parts of a window's words as arrays of codes, each of the window's shape."""
    words = window.astype(np.int64)
    return {
        "kind": words & codes.KIND_MASK,
        "owner": words >> codes.OWNER_SHIFT & 3,
        "gear": words >> codes.GEAR_SHIFT & 7,
        "vibe": words >> codes.VIBE_SHIFT & 7,
        "friendly_area": words >> 12 & 1,
        "enemy_area": words >> 13 & 1,
    }


def window_to_planes(window: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Convert words `[..., R, R]` into one-hot planes `[..., PLANES, R, R]`.

    Empty cells, cells without owner, and agents without gear or with the default vibe have no plane.
    """
    parts = decode_window(window)
    agent = parts["kind"] == codes.AGENT
    planes = [parts["kind"] == kind for kind in range(1, len(codes.KINDS))]
    planes += [parts["owner"] == owner for owner in range(1, len(codes.OWNERS))]
    planes += [parts["gear"] == gear for gear in range(1, len(codes.GEARS))]
    planes += [agent & (parts["vibe"] == vibe) for vibe in range(1, len(codes.VIBES))]
    planes += [parts["friendly_area"], parts["enemy_area"]]
    return np.stack(planes, axis=-3).astype(np.float32)


def facts_to_features(facts: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Convert facts `[..., FACTS]` into network inputs: scaled amounts, then one-hot gear and vibe."""
    amounts = np.delete(facts / FACT_SCALES, [codes.GEAR, codes.VIBE], axis=-1)
    gear = facts[..., codes.GEAR, None] == np.arange(len(codes.GEARS))
    vibe = facts[..., codes.VIBE, None] == np.arange(len(codes.VIBES))
    return np.concatenate([amounts, gear, vibe], axis=-1).astype(np.float32)


@inline
def write_window(
    view: CellWords, source: int, stride: int, side: int, out: CellWords, out_start: int
) -> None:
    """Copy the window whose first cell is `source`; both arrays are flat.

    Indices are cast to uint64: unsigned indices need no check for negative values, so the compiler
    vectorises the copies.

    Args:
        view: Flat `[W, T, cells]`.
        source: Index of the window's first cell in `view`.
        stride: Cells per line of the padded map.
        side: Side of the window.
        out: Flat buffer, written.
        out_start: Index of the window's first word in `out`.
    """
    for i in range(side):
        target, line_start = out_start + i * side, source + i * stride
        for j in range(side):
            out[np.uint64(target + j)] = view[np.uint64(line_start + j)]


@inline_always
def write_facts(
    game: GameArrays, stride: int, w: int, row: int, team: int, facts: npt.NDArray[np.float32]
) -> None:
    """Write the facts of an agent about itself and its team, except for the time.

    Args:
        game: Reads `body` and `store`.
        stride: Cells per line of the padded map.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        facts: `[FACTS]` of the agent, written.
    """
    body, store = game.body, game.store
    for column in range(codes.ACTION_SUCCEEDED):
        facts[column] = body[w, row, column]
    for item in range(codes.CHEST_HEARTS):
        facts[STORE_FACT + item] = store[w, team, item]
    cell, spawn = body[w, row, codes.CELL], body[w, row, codes.SPAWN_CELL]
    facts[SOUTH_FACT] = cell // stride - spawn // stride
    facts[EAST_FACT] = cell % stride - spawn % stride
    facts[SUCCEEDED_FACT] = body[w, row, codes.ACTION_SUCCEEDED]


@allocation_free_kernel
def write_observations(
    game: GameArrays, tick: Ints, rules: CogsguardRules, facts_offset: int, worlds: Ints, out: Bytes
) -> None:
    """Write the observations of some worlds; empty rows are zero.

    Args:
        game: Arrays of the batch, read.
        tick: `[W]`, steps since the reset.
        rules: Rules of the batch.
        facts_offset: Byte of a row at which the facts begin.
        worlds: Indices of the worlds.
        out: Flat `[W, N, row_bytes]`, written.
    """
    view, words, floats = game.team_view.reshape(-1), out.view(np.uint16), out.view(np.float32)
    n_worlds, rows = game.body.shape[0], game.body.shape[1]
    width, side = out.shape[0] // (n_worlds * rows), 2 * rules.pad + 1
    for i in range(worlds.shape[0]):
        w = worlds[i]
        for row in range(rows):
            start, team = (w * rows + row) * width, row // rules.rows_per_team
            if row % rules.rows_per_team >= game.teams[w, team, codes.N_AGENTS]:
                for byte in range(start, start + width):
                    out[byte] = 0
                continue
            corner = game.body[w, row, codes.CELL] - rules.pad * rules.stride - rules.pad
            source = (w * rules.teams + team) * game.team_view.shape[2] + corner
            write_window(view, source, rules.stride, side, words, start // 2)
            for byte in range(start + 2 * side * side, start + facts_offset):
                out[byte] = 0
            for byte in range(start + facts_offset + 4 * N_FACTS, start + width):
                out[byte] = 0
            first_fact = (start + facts_offset) // 4
            facts = floats[first_fact : first_fact + N_FACTS]
            write_facts(game, rules.stride, w, row, team, facts)
            facts[ELAPSED_FACT] = tick[w] / rules.max_steps
