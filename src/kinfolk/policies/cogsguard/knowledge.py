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

_PUBLIC = (
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
    MOST_JUNCTIONS, MOST_EXTRACTORS,
) = range(len(_PUBLIC))  # fmt: skip
# The known map: cells to a line, a power of two, so that lines and columns are bits of a cell;
# AHEAD and the four after it: how far each move leads, from staying on.
STRIDE, SHIFT, LINES, FACTS_AT, AHEAD = range(len(_PUBLIC), len(_PUBLIC) + 5)
(
    HEARTS_WANTED, EXTRACTORS_WANTED, A_WHILE, MARGIN, CLOSE, SPARE, RECENTLY, SEARCH_BOUND,
) = range(AHEAD + 5, AHEAD + 13)  # fmt: skip
# Addresses of the routines that all behaviours share; see `tools`.
FIND_TOOL, WALK_TOOL, EXPLORE_TOOL, AIM_TOOL, HOME_TOOL = range(SEARCH_BOUND + 1, SEARCH_BOUND + 6)
COLUMNS = HOME_TOOL + 1


class Tuning(Settings):
    """How behaviours are tuned; each is a setting of every policy that runs them."""

    hearts_wanted: int = Field(default=2, ge=1, le=10)
    extractors_wanted: int = Field(default=3, ge=1, le=100)  # per element
    a_while: int = Field(default=60, ge=1, le=10_000)  # ticks
    margin: int = Field(default=5, ge=0, le=1000)  # ticks to spare on the way home
    close: int = Field(default=3, ge=0, le=100)  # cells: so near a goal nothing interrupts
    spare: int = Field(default=3, ge=0, le=10_000)  # of each element left by a scout's gear
    recently: int = Field(
        default=100, ge=0, le=10_000
    )  # ticks that a scrambled junction comes first
    search_bound: int = Field(default=8000, ge=16, le=1_000_000)  # cells a search may look at


def rules_row(spec: WorldSpec, tuning: Tuning) -> Ints:
    """The public rules and the tuning as one row; the addresses of tools are put in later.

    Raises:
        SettingsError: The world is not CogsGuard.
    """
    given = dict(spec.rules)
    missing = [name for name in _PUBLIC if name not in given]
    if missing or [field.name for field in spec.groups[0].fields] != ["window", "facts"]:
        raise SettingsError(f"This policy plays cogsguard; {spec.world} shows other things.")
    row = np.zeros(COLUMNS, dtype=np.int64)
    row[: len(_PUBLIC)] = [given[name] for name in _PUBLIC]
    if given["free_moves"]:
        row[MOVE_COST] = 0
    row[SHIFT] = int(2 * (row[WIDTH] + row[RADIUS])).bit_length()
    row[STRIDE] = 1 << int(row[SHIFT])
    row[LINES] = 2 * (row[HEIGHT] + row[RADIUS]) + 1
    row[AHEAD : AHEAD + 5] = [0, -row[STRIDE], row[STRIDE], -1, 1]
    row[FACTS_AT] = spec.groups[0].offsets["facts"]
    row[HEARTS_WANTED : SEARCH_BOUND + 1] = list(tuning.model_dump().values())
    return row
