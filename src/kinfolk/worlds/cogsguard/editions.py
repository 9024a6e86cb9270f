"""Defaults that depend on the edition and on the map: plain data, laid under what a user gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Edition A differs from the defaults of `settings.Cogsguard`, which are edition F, in these.
EDITION_A: Mapping[str, Any] = {
    "influence_aligner": 0,
    "influence_upkeep": 0,
    "influence_friendly_area": 0,
    "influence_enemy_area": 0,
    "align_influence": 0,
    "extractor_stock": 200,
    "heart_price": 7,
}
ELEMENTS_PER_AGENT_A = 3  # of each, in the store of edition A

MAPS: Mapping[str, Mapping[str, Any]] = {
    "arena": {
        "height": 50,
        "width": 50,
        "max_steps": 1000,
        "junctions": (27, 33),
        "extractors": (16, 28),
        "junction_gap": 5,
        "extractor_gap": 4,
    },
    "machina_1": {
        "height": 88,
        "width": 88,
        "max_steps": 10_000,
        "junctions": (65, 75),
        "extractors": (45, 55),
        "junction_gap": 6,
        "extractor_gap": 5,
    },
    "tutorial": {
        "height": 30,
        "width": 30,
        "max_steps": 500,
        "junctions": (6, 8),
        "extractors": (4, 6),
        "junction_gap": 4,
        "extractor_gap": 3,
    },
}


def with_defaults(data: Mapping[str, Any]) -> dict[str, Any]:
    """`data` over the defaults of the edition and the map that it names."""
    under: dict[str, Any] = {}
    if data.get("map_text") is None:
        under |= MAPS.get(str(data.get("map", "arena")), {})
    if data.get("edition") == "A":
        agents = str(data.get("agents", 8))
        stock = ELEMENTS_PER_AGENT_A * int(agents) if agents.isdigit() else 0
        under |= {**EDITION_A, "store_elements": stock}
    return under | dict(data)
