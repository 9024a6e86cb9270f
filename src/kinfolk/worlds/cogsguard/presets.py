"""Named rule sets: plain data, each with a line that says what it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "arena": {"map": "arena"},
    "machina_1": {"map": "machina_1"},
    "tutorial": {"map": "tutorial", "agents": 4},
    "head_to_head": {"map": "arena", "teams": 2, "agents": 8},
    "edition_a": {"map": "arena", "edition": "A"},
    "edition_a_machina_1": {"map": "machina_1", "edition": "A"},
    "edition_a_released": {"map": "arena", "edition": "A", "free_moves": True},
    "temple": {"map": "arena", "temple": True},
}
DESCRIPTIONS: Mapping[str, str] = {
    "arena": "edition F on 50 x 50 cells, 1,000 ticks, 8 agents",
    "machina_1": "edition F on 88 x 88 cells, 10,000 ticks, 8 agents",
    "tutorial": "edition F on 30 x 30 cells, 500 ticks, 4 agents",
    "head_to_head": "two teams of 8 on the arena, each with a hub, and the clips",
    "edition_a": "territory, ships and networks (the last release) on the arena; moves cost energy",
    "edition_a_machina_1": "territory, ships and networks on 88 x 88 cells, 10,000 ticks",
    "edition_a_released": "edition A as its engine was released: moves cost nothing",
    "temple": "edition F on the arena; pairs beside the hub have children, up to 24 agents",
}
