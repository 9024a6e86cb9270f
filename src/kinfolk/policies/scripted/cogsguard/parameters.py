"""The public rules of the game and the tuning of behaviors, as one row of integers for kernels.

Kernels get the row as `AgentMemory.rules`; the constants here are its columns.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.settings import Settings
from kinfolk.core.spaces import WorldSpec

_RULE_NAMES = (
    "height", "width", "window_radius", "teams", "agents", "edition_a", "max_steps",
    "hp_limit", "hp_scout", "hp_scrambler", "energy_limit", "energy_scout",
    "cargo_limit", "cargo_miner", "influence_limit", "influence_aligner",
    "hp_upkeep", "move_cost", "day_period", "day_length", "solar_day", "solar_night",
    "area_radius", "heart_price", "gear_price_main", "gear_price_other",
    "align_hearts", "align_influence", "scramble_hearts", "align_reach", "align_hub_reach",
    "most_junctions", "most_extractors",
)  # fmt: skip
(
    HEIGHT, WIDTH, RADIUS, TEAMS, AGENTS, EDITION_A, MAX_STEPS,
    HP_LIMIT, HP_SCOUT, HP_SCRAMBLER, ENERGY_LIMIT, ENERGY_SCOUT,
    CARGO_LIMIT, CARGO_MINER, INFLUENCE_LIMIT, INFLUENCE_ALIGNER,
    HP_UPKEEP, MOVE_COST, DAY_PERIOD, DAY_LENGTH, SOLAR_DAY, SOLAR_NIGHT,
    AREA_RADIUS, HEART_PRICE, GEAR_PRICE_MAIN, GEAR_PRICE_OTHER,
    ALIGN_HEARTS, ALIGN_INFLUENCE, SCRAMBLE_HEARTS, ALIGN_REACH, ALIGN_HUB_REACH,
    MAX_JUNCTIONS, MAX_EXTRACTORS,
) = range(len(_RULE_NAMES))  # fmt: skip
# Layout of the known map: STRIDE cells per line, a power of two (1 << SHIFT), so that line and column
# are bits of a cell number; MOVE_OFFSETS and the four after it: change of the cell number by each move,
# staying first.
STRIDE, SHIFT, MAP_HEIGHT, FACTS_OFFSET, MOVE_OFFSETS = range(
    len(_RULE_NAMES), len(_RULE_NAMES) + 5
)
(
    HEARTS_WANTED, EXTRACTORS_WANTED, RETRY_DELAY, HOME_MARGIN, COMMIT_DISTANCE, STORE_RESERVE, RECENT_TICKS, MAX_SEARCH_CELLS,
) = range(MOVE_OFFSETS + 5, MOVE_OFFSETS + 13)  # fmt: skip
# Addresses of the kernels that all behaviors share; see `shared_kernels`.
FIND_PATH_KERNEL, STEP_KERNEL, EXPLORE_KERNEL, TARGET_KERNEL, HOME_KERNEL = range(
    MAX_SEARCH_CELLS + 1, MAX_SEARCH_CELLS + 6
)
COLUMNS = HOME_KERNEL + 1


class BehaviorParams(Settings):
    """Tuning of the behaviors; each field is a setting of every policy that runs them.

    Attributes:
        hearts_wanted: Hearts that an agent collects before it uses them.
        extractors_wanted: Extractors per element that a scout looks for.
        retry_delay: Ticks before a target that could not be reached is tried again.
        home_margin: Ticks of hp to spare on the path home.
        commit_distance: Cells from a goal within which nothing interrupts a behavior.
        store_reserve: Amount of each element that a scout's gear must leave in the store.
        recent_ticks: Ticks during which a scrambled junction is preferred.
        max_search_cells: The most cells that a path search expands.
    """

    hearts_wanted: int = Field(default=2, ge=1, le=10)
    extractors_wanted: int = Field(default=3, ge=1, le=100)
    retry_delay: int = Field(default=60, ge=1, le=10_000)
    home_margin: int = Field(default=5, ge=0, le=1000)
    commit_distance: int = Field(default=3, ge=0, le=100)
    store_reserve: int = Field(default=3, ge=0, le=10_000)
    recent_ticks: int = Field(default=100, ge=0, le=10_000)
    max_search_cells: int = Field(default=8000, ge=16, le=1_000_000)


def parameter_row(spec: WorldSpec, params: BehaviorParams) -> Ints:
    """Return the rules and the tuning as one row, with the kernel addresses still zero.

    Raises:
        SettingsError: The world is not CogsGuard.
    """
    rules = dict(spec.rules)
    missing = [name for name in _RULE_NAMES if name not in rules]
    if missing or [field.name for field in spec.groups[0].fields] != ["window", "facts"]:
        raise SettingsError(f"This policy plays cogsguard; {spec.world} has other observations.")
    row = np.zeros(COLUMNS, dtype=np.int64)
    row[: len(_RULE_NAMES)] = [rules[name] for name in _RULE_NAMES]
    if rules["free_moves"]:
        row[MOVE_COST] = 0
    row[SHIFT] = int(2 * (row[WIDTH] + row[RADIUS])).bit_length()
    row[STRIDE] = 1 << int(row[SHIFT])
    row[MAP_HEIGHT] = 2 * (row[HEIGHT] + row[RADIUS]) + 1
    row[MOVE_OFFSETS : MOVE_OFFSETS + 5] = [0, -row[STRIDE], row[STRIDE], -1, 1]
    row[FACTS_OFFSET] = spec.groups[0].offsets["facts"]
    row[HEARTS_WANTED : MAX_SEARCH_CELLS + 1] = list(params.model_dump().values())
    return row
