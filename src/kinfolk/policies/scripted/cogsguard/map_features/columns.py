"""Columns of the map features: the agent's own state, then each kind of landmark on its map."""

from __future__ import annotations

from kinfolk.policies.scripted.cogsguard.exploration import N_SECTORS
from kinfolk.worlds.cogsguard.codes import ELEMENTS, GEARS, MOVES, OWNERS
from kinfolk.worlds.cogsguard.spec import FACTS

# Kinds of landmarks, in the order of the columns.
LANDMARKS = (
    "hub",
    "chest",
    *(f"{gear}_station" for gear in GEARS[1:]),
    *(f"{element}_extractor" for element in ELEMENTS),
    *(f"junction_of_{owner}" for owner in OWNERS),
    "friendly_area",
    "frontier",
    "extractor_to_mine",  # from here on: the targets that scripted roles would choose
    "junction_to_align",
    "junction_to_scramble",
    "depot",
)
HUB_LANDMARK, CHEST_LANDMARK, STATION_LANDMARK = 0, 1, 2  # indices of LANDMARKS; first of four
EXTRACTOR_LANDMARK, JUNCTION_LANDMARK = 6, 10  # each the first of four
FRIENDLY_LANDMARK, FRONTIER_LANDMARK, TARGET_LANDMARKS = 14, 15, 16
# Of each landmark; a move is 1 if a shortest path begins with it.
LANDMARK_COLUMNS = ("reachable", "proximity", "adjacent", *MOVES[1:])
REACHABLE, PROXIMITY, ADJACENT, FIRST_MOVE = range(4)
MAX_DISTANCE = 40.0  # steps at which proximity is 0
MAX_SPARE = 20.0  # hp or influence at which the spare columns are 1

COLUMN_NAMES = (
    *FACTS,  # scaled
    *(f"wears_{gear}" for gear in GEARS),
    *(f"store_pays_{gear}" for gear in GEARS[1:]),
    "store_pays_heart",
    "cargo_full",
    "hp_share",  # of the limit with its gear
    "energy_share",
    "can_move",
    "spare_hp",  # beyond what the path home takes
    "spare_influence",  # beyond what the path to the junction takes
    "hour",
    "is_day",
    *(f"likes_{element}" for element in ELEMENTS),  # preferences, as scripted roles have
    *(f"searches_sector_{sector}" for sector in range(N_SECTORS)),
    *(f"{move}_is_free" for move in MOVES[1:]),
    *(f"{move}_is_taken" for move in MOVES[1:]),
    *(f"{landmark}_{column}" for landmark in LANDMARKS for column in LANDMARK_COLUMNS),
)
COLUMNS = -(-len(COLUMN_NAMES) // 8) * 8  # rounded up to a multiple of 8, padded with zeros
WEARS = COLUMN_NAMES.index("wears_none")
STORE_PAYS = COLUMN_NAMES.index("store_pays_aligner")
CARGO_FULL = COLUMN_NAMES.index("cargo_full")
HP_SHARE = COLUMN_NAMES.index("hp_share")
SPARE_HP = COLUMN_NAMES.index("spare_hp")
HOUR = COLUMN_NAMES.index("hour")
LIKES = COLUMN_NAMES.index("likes_carbon")
SEARCHES = COLUMN_NAMES.index("searches_sector_0")
FREE = COLUMN_NAMES.index("north_is_free")
TAKEN = COLUMN_NAMES.index("north_is_taken")
LANDMARKS_OFFSET = COLUMN_NAMES.index("hub_reachable")
COLUMNS_PER_LANDMARK = len(LANDMARK_COLUMNS)
