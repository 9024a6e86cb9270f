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

from kinfolk.core.arrays import AnyArray
from kinfolk.core.spaces import ActionHead, AgentGroup, ObservationField, WorldSpec
from kinfolk.worlds.cogsguard.codes import (
    ACTION_SUCCEEDED,
    BODY_COLUMNS,
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
    VIBE,
    VIBE_SHIFT,
    VIBES,
)
from kinfolk.worlds.cogsguard.settings import Cogsguard

FACTS = (
    *BODY_COLUMNS[:ACTION_SUCCEEDED],  # hp, energy, cargo by element, hearts, influence, gear, vibe
    *(f"store_{element}" for element in ELEMENTS),
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
        ObservationField("facts", (len(FACTS),), "float32"),
    )
    heads = (ActionHead("move", MOVES), ActionHead("vibe", VIBES))
    names = ["cogs"] if settings.teams == 1 else [f"cogs_{team}" for team in range(settings.teams)]
    groups = tuple(AgentGroup(name, fields, heads) for name in names)
    rows = settings.teams * settings.rows_per_team
    return WorldSpec("cogsguard", rows, groups, settings.max_steps, get_public_rules(settings))


def get_public_rules(settings: Cogsguard) -> tuple[tuple[str, int], ...]:
    """Return what players know of the rules: all numeric settings, and sizes of maps.

    Nothing here distinguishes two games with the same settings.
    """
    height, width = settings.map_shape
    parsed_map = settings.parsed_map
    junctions, extractors = (
        settings.junctions[1],
        len(ELEMENTS) * (settings.extractors[1] + settings.teams),
    )
    if parsed_map is not None:
        kind = parsed_map.kind
        junctions = int((kind == JUNCTION).sum())
        extractors = int(((kind >= EXTRACTOR) & (kind < HUB)).sum())
    rules = {name: value for name, value in settings.model_dump().items() if isinstance(value, int)}
    rules |= {"height": height, "width": width, "edition_a": settings.edition == "A"}
    rules |= {"most_junctions": junctions, "most_extractors": extractors}
    return tuple((name, int(value)) for name, value in sorted(rules.items()))


def decode_window(window: npt.NDArray[np.uint16]) -> dict[str, AnyArray]:
    """Return the parts of a window's words as arrays of codes, each of the window's shape."""
    words = window.astype(np.int64)
    return {
        "kind": words & KIND_MASK,
        "owner": words >> OWNER_SHIFT & 3,
        "gear": words >> GEAR_SHIFT & 7,
        "vibe": words >> VIBE_SHIFT & 7,
        "friendly_area": words >> 12 & 1,
        "enemy_area": words >> 13 & 1,
    }


def window_to_planes(window: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Convert words `[..., R, R]` into one-hot planes `[..., PLANES, R, R]`.

    Empty cells, cells without owner, and agents without gear or with the default vibe have no plane.
    """
    codes = decode_window(window)
    agent = codes["kind"] == KINDS.index("agent")
    planes = [codes["kind"] == kind for kind in range(1, len(KINDS))]
    planes += [codes["owner"] == owner for owner in range(1, len(OWNERS))]
    planes += [codes["gear"] == gear for gear in range(1, len(GEARS))]
    planes += [agent & (codes["vibe"] == vibe) for vibe in range(1, len(VIBES))]
    planes += [codes["friendly_area"], codes["enemy_area"]]
    return np.stack(planes, axis=-3).astype(np.float32)


def facts_to_features(facts: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Convert facts `[..., FACTS]` into network inputs: scaled amounts, then one-hot gear and vibe."""
    amounts = np.delete(facts / FACT_SCALES, [GEAR, VIBE], axis=-1)
    gear = facts[..., GEAR, None] == np.arange(len(GEARS))
    vibe = facts[..., VIBE, None] == np.arange(len(VIBES))
    return np.concatenate([amounts, gear, vibe], axis=-1).astype(np.float32)
