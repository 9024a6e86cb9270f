"""Presets of CogsGuard, and the defaults that depend on the edition and the map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Where edition A differs from the defaults of `Cogsguard`, which are those of edition F.
EDITION_A_DEFAULTS: Mapping[str, Any] = {
    "influence_aligner": 0,
    "influence_upkeep": 0,
    "influence_friendly_area": 0,
    "influence_enemy_area": 0,
    "align_influence": 0,
    "extractor_stock": 200,
    "heart_price": 7,
    "clips_align_from": 100,
    "clips_align_every": 200,
    "clips_scramble_from": 100,
    "clips_scramble_every": 200,
}

ELEMENTS_PER_AGENT = 3  # of each element, in the initial store

# Defaults of generated maps. Objects are so many per cell, shared between junctions and extractors;
# the distance of junctions follows from their number. All numbers are those of the original.
_MAP_FIELDS = ("height", "width", "max_steps", "compound_radius", "clearing_radius", "pads")
MAP_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "arena": dict(zip(_MAP_FIELDS, (50, 50, 1000, 10, 13, 20), strict=True)),
    "machina_1": dict(zip(_MAP_FIELDS, (88, 88, 10_000, 10, 13, 20), strict=True)),
    "tutorial": dict(zip(_MAP_FIELDS, (35, 35, 500, 7, 9, 1), strict=True)),
}
_OBJECT_FIELDS = ("junctions", "extractors", "junction_gap")
OBJECT_DEFAULTS: Mapping[tuple[str, str], tuple[int, int, int]] = {
    ("F", "arena"): (84, 145, 2),
    ("F", "machina_1"): (158, 210, 3),
    ("F", "tutorial"): (20, 34, 0),
    ("A", "arena"): (46, 184, 4),
    ("A", "machina_1"): (73, 295, 6),
    ("A", "tutorial"): (11, 43, 0),
}


# Settings that the former rules had, and what stands in their place.
FORMER_SETTINGS: Mapping[str, str] = {
    "extractor_gap": "extractors are drawn anywhere",
    "wall_patches": "terrain switches rocks, zones and rim off",
    "ships_from": "ships act by clips_align_from and clips_scramble_from",
    "ships_every": "ships act by clips_align_every and clips_scramble_every",
    "clips_seed_every": "it is clips_reseed_every",
}
FORMER_RULES = (
    "CogsGuard's rules and maps are those of the original engine since rules version 2; "
    "docs/cogsguard.md lists what changed"
)


def check_former_settings(data: Mapping[str, Any]) -> None:
    """Check that no setting of the former rules is given, as in runs that were made with them.

    Raises:
        ValueError: One is; the message says what stands in its place.
    """
    for name in data:
        if name in FORMER_SETTINGS:
            raise ValueError(
                f"Cogsguard.{name} is a setting of the former rules: {FORMER_SETTINGS[name]}. "
                f"{FORMER_RULES}."
            )
    for name in ("junctions", "extractors"):
        if isinstance(data.get(name), list | tuple):
            raise ValueError(
                f"Cogsguard.{name} is the number of objects to draw, not the fewest and the most as "
                f"in the former rules. {FORMER_RULES}."
            )


def add_defaults(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` merged over the defaults of the edition and the map that it names."""
    check_former_settings(data)
    defaults: dict[str, Any] = {}
    edition, site = str(data.get("edition", "F")), str(data.get("map", "arena"))
    if data.get("map_text") is None:
        defaults |= MAP_DEFAULTS.get(site, {})
        objects = OBJECT_DEFAULTS.get((edition, site))
        defaults |= dict(zip(_OBJECT_FIELDS, objects, strict=True)) if objects else {}
        defaults["ships"] = site != "tutorial"
    if edition == "A":
        defaults |= EDITION_A_DEFAULTS
    agents = str(data.get("agents", 8))
    if agents.isdigit():
        defaults["store_elements"] = ELEMENTS_PER_AGENT * int(agents)
    return defaults | dict(data)


# The quirks that recordings show; each has an effect in its edition only. The original's missions of edition F have no object that bears the clips'
# mark: the engine then does not know the mark and drops the test for it, `clips_find_all`. Recorded
# scenes do have such objects, and show `clips_lose_marks` instead.
AS_RELEASED: dict[str, Any] = {
    "quirks": {
        "clips_lose_marks": True,
        "both_marks": True,
        "stale_chains": True,
        "unlinked_stay": True,
        "wasted_hearts": True,
        "vibe_success": True,
        "unreachable_objects": True,
    }
}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "arena": {"map": "arena"},
    "machina_1": {"map": "machina_1"},
    "tutorial": {"map": "tutorial", "agents": 4},
    "head_to_head": {"map": "arena", "teams": 2, "agents": 8},
    "edition_a": {"map": "arena", "edition": "A"},
    "edition_a_machina_1": {"map": "machina_1", "edition": "A"},
    "as_released": AS_RELEASED | {"map": "arena", "edition": "A", "free_moves": True},
    "as_released_f": {
        "quirks": AS_RELEASED["quirks"] | {"clips_find_all": True},
        "map": "arena",
        "edition": "F",
    },
    "temple": {"map": "arena", "temple": True},
}

DESCRIPTIONS: Mapping[str, str] = {
    "arena": "edition F on 50 x 50 cells, 1,000 ticks, 8 agents",
    "machina_1": "edition F on 88 x 88 cells, 10,000 ticks, 8 agents",
    "tutorial": "edition F on 35 x 35 cells, 500 ticks, 4 agents",
    "head_to_head": "two teams of 8 on the arena, each with a hub, and the clips",
    "edition_a": "territory, ships and networks (the last release) on the arena; moves cost energy",
    "edition_a_machina_1": "territory, ships and networks on 88 x 88 cells, 10,000 ticks",
    "as_released": "edition A as its engine was released: moves cost nothing, and every quirk",
    "as_released_f": "edition F as its engine was released, with every quirk",
    "temple": "edition F on the arena; pairs beside the hub have children, up to 24 agents",
}
