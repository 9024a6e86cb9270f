"""The columns of an atlas: what a net is told of its agent, and of each thing its map shows."""

from __future__ import annotations

from kinfolk.policies.cogsguard.exploring import SECTORS
from kinfolk.worlds.cogsguard.codes import ELEMENTS, GEARS, MOVES, OWNERS
from kinfolk.worlds.cogsguard.layout import FACTS

# Things, in the order in which the columns tell of them.
THINGS = (
    "hub",
    "chest",
    *(f"{gear}_station" for gear in GEARS[1:]),
    *(f"{element}_extractor" for element in ELEMENTS),
    *(f"junction_of_{owner}" for owner in OWNERS),
    "friendly_area",
    "frontier",
    "extractor_to_mine",  # the aims that scripted roles would choose, from here on
    "junction_to_align",
    "junction_to_scramble",
    "depot",
)
HUB_THING, CHEST_THING, STATION_THING, EXTRACTOR_THING, JUNCTION_THING = 0, 1, 2, 6, 10
FRIENDLY_THING, FRONTIER_THING, AIM_THINGS = 14, 15, 16
OF_EACH = ("way", "near", "beside", *MOVES[1:])  # the moves: all that begin a shortest way
WAY, NEAR, BESIDE, MOVE = range(4)
HORIZON = 40.0  # steps: what is farther is as far
PLENTY = 20.0  # of hp or influence: more is as much

NAMES = (
    *FACTS,  # scaled
    *(f"wears_{gear}" for gear in GEARS),
    *(f"store_pays_{gear}" for gear in GEARS[1:]),
    "store_pays_heart",
    "cargo_full",
    "hp_share",  # of what it can have with its gear
    "energy_share",
    "can_move",
    "spare_hp",  # beyond what the way home takes
    "spare_influence",  # beyond what the way to the junction takes
    "hour",
    "is_day",
    *(f"likes_{element}" for element in ELEMENTS),  # habits, as scripted roles have
    *(f"searches_sector_{sector}" for sector in range(SECTORS)),
    *(f"{move}_is_free" for move in MOVES[1:]),
    *(f"{move}_is_taken" for move in MOVES[1:]),
    *(f"{thing}_{column}" for thing in THINGS for column in OF_EACH),
)
COLUMNS = -(-len(NAMES) // 8) * 8  # a multiple of 8; the last are zero
WEARS = NAMES.index("wears_none")
STORE_PAYS = NAMES.index("store_pays_aligner")
CARGO_FULL = NAMES.index("cargo_full")
HP_SHARE = NAMES.index("hp_share")
SPARE_HP = NAMES.index("spare_hp")
HOUR = NAMES.index("hour")
LIKES = NAMES.index("likes_carbon")
SEARCHES = NAMES.index("searches_sector_0")
FREE = NAMES.index("north_is_free")
TAKEN = NAMES.index("north_is_taken")
THINGS_AT = NAMES.index("hub_way")
PER_THING = len(OF_EACH)
