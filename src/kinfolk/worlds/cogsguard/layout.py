"""The face of the game: what agents see and do, and how to read it.

Field `window`, uint16 `[2 radius + 1, 2 radius + 1]`: the cells around the agent, which stands
in the middle, north at the top, west at the left. Around the map all is wall. One word per cell:

| bits  | meaning |
|-------|---------|
| 0-3   | what is there: index into `codes.KINDS` |
| 4-5   | whose it is: index into `codes.OWNERS` (nobody, own, clips, other team) |
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

from kinfolk.core.arrays import AnyArray
from kinfolk.core.spaces import Field, Group, Head, WorldSpec
from kinfolk.worlds.cogsguard.codes import (
    BODY,
    ELEMENTS,
    EXTRACTOR,
    GEAR,
    GEAR_SHIFT,
    GEARS,
    HUB,
    JUNCTION,
    KIND_MASK,
    KINDS,
    MOVES,
    OWNER_SHIFT,
    OWNERS,
    SUCCEEDED,
    VIBE,
    VIBE_SHIFT,
    VIBES,
)
from kinfolk.worlds.cogsguard.settings import Cogsguard

FACTS = (
    *BODY[:SUCCEEDED],  # hp, energy, cargo by element, hearts, influence, gear, vibe
    *(f"store_{element}" for element in ELEMENTS),
    "store_hearts",
    "south",
    "east",
    "last_action_succeeded",
    "share_of_episode_gone",
)
FACTS_COUNT = len(FACTS)
STORE_FACT, SOUTH_FACT, EAST_FACT, SUCCEEDED_FACT, GONE_FACT = 10, 15, 16, 17, 18
# What a net divides facts by, so that most lie within -1 and 1. Gear and vibe are not amounts.
SCALES = np.array(
    [100, 20, 40, 40, 40, 40, 10, 20, 1, 1, 100, 100, 100, 100, 10, 50, 50, 1, 1], dtype=np.float32
)


def spec_of(given: Cogsguard) -> WorldSpec:
    """One group per team: `cogs`, or `cogs_0`, `cogs_1` and so on."""
    side = 2 * given.window_radius + 1
    fields = (Field("window", (side, side), "uint16"), Field("facts", (len(FACTS),), "float32"))
    heads = (Head("move", MOVES), Head("vibe", VIBES))
    names = ["cogs"] if given.teams == 1 else [f"cogs_{team}" for team in range(given.teams)]
    groups = tuple(Group(name, fields, heads) for name in names)
    rows = given.teams * given.rows_per_team
    return WorldSpec("cogsguard", rows, groups, given.max_steps, public_rules(given))


def public_rules(given: Cogsguard) -> tuple[tuple[str, int], ...]:
    """What players know of the rules: every setting that is a number, and how large maps are.

    Nothing here tells one game from another with the same settings.
    """
    height, width = given.shape
    drawing = given.drawing
    junctions, extractors = given.junctions[1], len(ELEMENTS) * (given.extractors[1] + given.teams)
    if drawing is not None:
        kind = drawing.kind
        junctions = int((kind == JUNCTION).sum())
        extractors = int(((kind >= EXTRACTOR) & (kind < HUB)).sum())
    plain = {name: value for name, value in given.model_dump().items() if isinstance(value, int)}
    plain |= {"height": height, "width": width, "edition_a": given.edition == "A"}
    plain |= {"most_junctions": junctions, "most_extractors": extractors}
    return tuple((name, int(value)) for name, value in sorted(plain.items()))


def decode(window: npt.NDArray[np.uint16]) -> dict[str, AnyArray]:
    """Words of cells as arrays of codes, each shaped as the words are."""
    words = window.astype(np.int64)
    return {
        "kind": words & KIND_MASK,
        "owner": words >> OWNER_SHIFT & 3,
        "gear": words >> GEAR_SHIFT & 7,
        "vibe": words >> VIBE_SHIFT & 7,
        "friendly_area": words >> 12 & 1,
        "enemy_area": words >> 13 & 1,
    }


def planes(window: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Words `[..., R, R]` as one-hot planes `[..., PLANES, R, R]`: nobody and no gear have none."""
    codes = decode(window)
    agent = codes["kind"] == KINDS.index("agent")
    found = [codes["kind"] == kind for kind in range(1, len(KINDS))]
    found += [codes["owner"] == owner for owner in range(1, len(OWNERS))]
    found += [codes["gear"] == gear for gear in range(1, len(GEARS))]
    found += [agent & (codes["vibe"] == vibe) for vibe in range(1, len(VIBES))]
    found += [codes["friendly_area"], codes["enemy_area"]]
    return np.stack(found, axis=-3).astype(np.float32)


def features(facts: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Facts `[..., FACTS]` for a net: amounts scaled, gear and vibe one-hot at the end."""
    amounts = np.delete(facts / SCALES, [GEAR, VIBE], axis=-1)
    gear = facts[..., GEAR, None] == np.arange(len(GEARS))
    vibe = facts[..., VIBE, None] == np.arange(len(VIBES))
    return np.concatenate([amounts, gear, vibe], axis=-1).astype(np.float32)
