"""Columns of the arrays that kernels read: rules, known map, known objects and state of an agent.

Kernels import this module as `col`.
"""

from __future__ import annotations

from itertools import count, islice

from kinfolk.worlds.cogsguard.spec import N_FACTS

# Columns of `AgentMemory.rules`: first the public rules of the game, by these names.
RULE_NAMES = (
    "height", "width", "window_radius", "teams", "agents", "edition_a", "max_steps",
    "hp_limit", "hp_scout", "hp_scrambler", "energy_limit", "energy_scout",
    "cargo_limit", "cargo_miner", "influence_limit", "influence_aligner",
    "hp_upkeep", "move_cost", "day_period", "day_length", "solar_day", "solar_night",
    "area_radius", "heart_price", "gear_price_main", "gear_price_other",
    "align_hearts", "align_influence", "scramble_hearts", "align_reach", "align_hub_reach",
    "most_junctions", "most_extractors", "store_cap", "hp_enemy_area",
)  # fmt: skip
(
    HEIGHT, WIDTH, RADIUS, TEAMS, AGENTS, EDITION_A, MAX_STEPS,
    HP_LIMIT, HP_SCOUT, HP_SCRAMBLER, ENERGY_LIMIT, ENERGY_SCOUT,
    CARGO_LIMIT, CARGO_MINER, INFLUENCE_LIMIT, INFLUENCE_ALIGNER,
    HP_UPKEEP, MOVE_COST, DAY_PERIOD, DAY_LENGTH, SOLAR_DAY, SOLAR_NIGHT,
    AREA_RADIUS, HEART_PRICE, GEAR_PRICE_MAIN, GEAR_PRICE_OTHER,
    ALIGN_HEARTS, ALIGN_INFLUENCE, SCRAMBLE_HEARTS, ALIGN_REACH, ALIGN_HUB_REACH,
    MAX_JUNCTIONS, MAX_EXTRACTORS, STORE_CAP, HP_ENEMY_AREA,
) = range(len(RULE_NAMES))  # fmt: skip
# Layout of the known map: STRIDE cells per line, a power of two (1 << SHIFT), so that line and column
# are bits of a cell number; FACTS_OFFSET: first byte of the facts in an observation; MOVE_OFFSETS: change of
# the cell number by each move, staying first.
_columns = count(len(RULE_NAMES))
STRIDE, SHIFT, MAP_HEIGHT, FACTS_OFFSET = islice(_columns, 4)
MOVE_OFFSETS, *_ = islice(_columns, 5)
MAX_SEARCH_CELLS = next(_columns)
# Addresses of the kernels that all behaviors share; see `primitives`.
FIND_PATH_KERNEL, STEP_KERNEL, EXPLORE_KERNEL, TARGET_KERNEL, HOME_KERNEL = islice(_columns, 5)
RULE_COLUMNS = next(_columns)

# A cell of the known map: the word of the window without agents, the flag KNOWN, and above these 16 bits
# the number of the object on it, from 1.
KNOWN, WORD_MASK, OBJECT_SHIFT = 1 << 14, 0xFFFF, 16

# Columns of a known object: junctions first, then extractors, up to as many as there can be. LAST_SEEN
# and LAST_CHANGED are ticks of the agent's own clock; PREVIOUS_OWNER is the owner before the last
# change; before RETRY_AT it is not tried again. An object that is gone has cell 0.
OBJECT_CELL, KIND, OWNER, LAST_SEEN, LAST_CHANGED, PREVIOUS_OWNER, RETRY_AT = range(7)
OBJECT_COLUMNS = 7

# An agent in view, one number: cell << 8 | owner << 6 | gear << 3 | vibe.
NEARBY_CELL, NEARBY_OWNER, NEARBY_GEAR = 8, 6, 3  # shifts
MAX_NEARBY = 24
MAX_PATH_STEPS = 96  # of a stored path; the rest of a longer one is searched again on the way

# Rows of the scratch of searches.
STAMP, CAME_FROM, QUEUE, DEFERRED, COST = range(5)

# Columns of the state: first the observed facts as integers (the last one, the elapsed share of the
# episode, as the tick of the game), then these. All cells are cell numbers, 0 for none.
TICK = N_FACTS - 1
_columns = count(N_FACTS)
# Number of observations so far, the agent's position, random key of this tick, and the agent's uid, from
# which its preferences follow.
CLOCK, CELL, RANDOM_KEY, UID = islice(_columns, 4)
EXTRACTOR_COUNTS, *_ = islice(_columns, 4)  # known usable extractors by element
JUNCTION_COUNTS, *_ = islice(_columns, 4)  # known junctions by owner
HUB_CELL, CHEST_CELL = islice(_columns, 2)  # of the team's own buildings, 0 while unknown
STATION_CELL, *_ = islice(_columns, 4)  # likewise, by gear
# Junctions and extractors found so far, also extractors that are gone.
N_JUNCTIONS, N_EXTRACTORS = islice(_columns, 2)
# A number that rises when a path may have opened or closed, clock when an object was last found, ticks of
# searching for junctions since one was found, and the cell of an enemy area that was seen last.
MAP_VERSION, LAST_FOUND, FRUITLESS_TICKS, ENEMY_CELL = islice(_columns, 4)
# The stored path: its goal, its length, the index of the next step, and the cell where that step starts.
PATH_GOAL, PATH_LENGTH, PATH_STEP, PATH_FROM = islice(_columns, 4)
# Failed moves in a row, cell to which the last search found no path, and the clock before which that
# search is not repeated.
BLOCKED, FAILED_GOAL, FAILED_UNTIL = islice(_columns, 3)
# Cell to explore next, and the exploration mode in which it was chosen; map version on which no frontier
# could be reached, and the clock before which frontiers are not searched again; goal of the patrol when
# the map is explored.
FRONTIER_CELL, FRONTIER_MODE = islice(_columns, 2)
NO_FRONTIER_VERSION, NO_FRONTIER_UNTIL, PATROL_CELL = islice(_columns, 3)
# Cell of the chosen target, and the clock before which no other target is chosen, by purpose.
MINE_TARGET, ALIGN_TARGET, SCRAMBLE_TARGET, DEPOT_TARGET = islice(_columns, 4)
MINE_RETRY, ALIGN_RETRY, SCRAMBLE_RETRY, DEPOT_RETRY = islice(_columns, 4)
TRAVEL_STEPS = next(_columns)  # steps outside friendly areas to the junction to align
# Clock when HOME_DISTANCE was computed, approximate steps to the nearest friendly area, and the friendly
# cell to which the agent returns.
HOME_CLOCK, HOME_DISTANCE, HOME_CELL = islice(_columns, 3)
# Seeded role + 1 that a smart agent plays, and the clock before which it keeps that role.
SMART_ROLE, SMART_ROLE_UNTIL = islice(_columns, 2)
# Parameters of behaviors, which an agent's role may set: those of `BehaviorParams` in their order, then
# those of behaviors that a user adds, in the order of their registration.
HEARTS_WANTED, EXTRACTORS_WANTED, RETRY_DELAY, HOME_MARGIN = islice(_columns, 4)
COMMIT_DISTANCE, STORE_RESERVE, RECENT_TICKS, CARGO_PERCENT = islice(_columns, 4)
GEARS_IN_RESERVE, RIVAL_COST, SCARCE_BONUS = islice(_columns, 3)
N_GAME_PARAMETERS, MAX_OWN_PARAMETERS = 11, 8
OWN_PARAMETERS, *_ = islice(_columns, MAX_OWN_PARAMETERS)
STATE_COLUMNS = next(_columns)
