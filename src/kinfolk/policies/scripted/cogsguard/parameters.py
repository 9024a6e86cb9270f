"""What an agent knows before it plays: the public rules of the game, and how it is tuned.

Both go to kernels as one row of whole numbers, `Mind.rules`; the constants here are its columns.
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
# The known map: cells to a line, a power of two, so that lines and columns are bits of a cell;
# AHEAD and the four after it: how far each move leads, from staying on.
STRIDE, SHIFT, MAP_HEIGHT, FACTS_OFFSET, MOVE_OFFSETS = range(
    len(_RULE_NAMES), len(_RULE_NAMES) + 5
)
(
    HEARTS_WANTED, EXTRACTORS_WANTED, RETRY_DELAY, HOME_MARGIN, COMMIT_DISTANCE, STORE_RESERVE, RECENT_TICKS, MAX_SEARCH_CELLS,
) = range(MOVE_OFFSETS + 5, MOVE_OFFSETS + 13)  # fmt: skip
# Addresses of the routines that all behaviours share; see `tools`.
FIND_PATH_KERNEL, STEP_KERNEL, EXPLORE_KERNEL, TARGET_KERNEL, HOME_KERNEL = range(
    MAX_SEARCH_CELLS + 1, MAX_SEARCH_CELLS + 6
)
COLUMNS = HOME_KERNEL + 1


class BehaviorParams(Settings):
    """How behaviours are tuned; each is a setting of every policy that runs them."""

    hearts_wanted: int = Field(default=2, ge=1, le=10)
    extractors_wanted: int = Field(default=3, ge=1, le=100)  # per element
    retry_delay: int = Field(default=60, ge=1, le=10_000)  # ticks
    home_margin: int = Field(default=5, ge=0, le=1000)  # ticks to spare on the way home
    commit_distance: int = Field(
        default=3, ge=0, le=100
    )  # cells: so near a goal nothing interrupts
    store_reserve: int = Field(default=3, ge=0, le=10_000)  # of each element left by a scout's gear
    recent_ticks: int = Field(
        default=100, ge=0, le=10_000
    )  # ticks that a scrambled junction comes first
    max_search_cells: int = Field(default=8000, ge=16, le=1_000_000)  # cells a search may look at


def parameter_row(spec: WorldSpec, params: BehaviorParams) -> Ints:
    """The public rules and the tuning as one row; the addresses of tools are put in later.

    Raises:
        SettingsError: The world is not CogsGuard.
    """
    given = dict(spec.rules)
    missing = [name for name in _RULE_NAMES if name not in given]
    if missing or [field.name for field in spec.groups[0].fields] != ["window", "facts"]:
        raise SettingsError(f"This policy plays cogsguard; {spec.world} shows other things.")
    row = np.zeros(COLUMNS, dtype=np.int64)
    row[: len(_RULE_NAMES)] = [given[name] for name in _RULE_NAMES]
    if given["free_moves"]:
        row[MOVE_COST] = 0
    row[SHIFT] = int(2 * (row[WIDTH] + row[RADIUS])).bit_length()
    row[STRIDE] = 1 << int(row[SHIFT])
    row[MAP_HEIGHT] = 2 * (row[HEIGHT] + row[RADIUS]) + 1
    row[MOVE_OFFSETS : MOVE_OFFSETS + 5] = [0, -row[STRIDE], row[STRIDE], -1, 1]
    row[FACTS_OFFSET] = spec.groups[0].offsets["facts"]
    row[HEARTS_WANTED : MAX_SEARCH_CELLS + 1] = list(params.model_dump().values())
    return row
