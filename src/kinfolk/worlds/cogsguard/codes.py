"""Integer codes of CogsGuard: what is on a cell, columns of agents and teams, statistics, events."""

from __future__ import annotations

ELEMENTS = ("carbon", "oxygen", "germanium", "silicon")
GEARS = ("none", "aligner", "scrambler", "miner", "scout")
NO_GEAR, ALIGNER, SCRAMBLER, MINER, SCOUT = range(len(GEARS))
VIBES = ("default", "heart", "gear", "scrambler", "aligner", "miner", "scout")
MOVES = ("noop", "north", "south", "west", "east")

# What is on a cell: an element is `kind - EXTRACTOR`, the gear of a station `kind - STATION + 1`.
_EXTRACTORS = tuple(f"{element}_extractor" for element in ELEMENTS)
_STATIONS = tuple(f"{gear}_station" for gear in GEARS[1:])
KINDS = ("empty", "wall", "agent", *_EXTRACTORS, "hub", "chest", *_STATIONS, "junction", "ship")
EMPTY, WALL, AGENT, EXTRACTOR = 0, 1, 2, 3
HUB, CHEST, STATION, JUNCTION, SHIP = 7, 8, 9, 13, 14

# A cell as a team sees it, one word of 16 bits: `spec` has its table.
KIND_MASK = 15
OWNERS = ("nobody", "own", "clips", "other")
NOBODY, OWN, CLIPS, OTHER = range(len(OWNERS))
OWNER_SHIFT, GEAR_SHIFT, VIBE_SHIFT = 4, 6, 9
FRIENDLY_AREA, ENEMY_AREA = 1 << 12, 1 << 13
AREA_MASK = FRIENDLY_AREA | ENEMY_AREA

# Columns of `CogsguardState.body`; the agent observes the first of them as they are.
OBSERVED_COLUMNS = ("hp", "energy", *ELEMENTS, "hearts", "influence", "gear", "vibe")
BODY_COLUMNS = (*OBSERVED_COLUMNS, "last_action_succeeded", "cell", "spawn")
HP, ENERGY, FIRST_CARGO = 0, 1, 2
HEARTS, INFLUENCE, GEAR, VIBE, ACTION_SUCCEEDED, CELL, SPAWN_CELL = range(6, len(BODY_COLUMNS))
STORE_HEARTS = 4  # column of `CogsguardState.store`, after the elements

# Rows of `CogsguardRules.limits`.
HP_LIMIT, ENERGY_LIMIT, CARGO_LIMIT, HEARTS_LIMIT, INFLUENCE_LIMIT = range(5)

# Counted for every agent, columns of `CogsguardState.stats`.
STATISTICS = (
    "aligned",
    "scrambled",
    *(f"{element}_mined" for element in ELEMENTS),
    "deposited",
    "hearts_made",
    "hearts_taken",
    "hearts_spent",
    "gear_changes",
    "explored",  # cells of the map that were ever in its window
    "moves",
    "bumps_failed",  # into a wall, an agent, or an object that could not be used
    "actions_without_energy",
    "ticks_without_motion",
    "ticks_at_hp_0",
    "held_ticks",  # of junctions it aligned, as long as they stay with its team
)
ALIGNED, SCRAMBLED, FIRST_MINED = 0, 1, 2
DEPOSITED, HEARTS_MADE, HEARTS_TAKEN, HEARTS_SPENT, GEAR_CHANGES, EXPLORED = range(6, 12)
MOVES_MADE, BUMPS_FAILED, ACTIONS_WITHOUT_ENERGY, MOTIONLESS_TICKS = range(12, 16)
EXHAUSTED_TICKS, HELD_TICKS = range(16, len(STATISTICS))

# Columns of `CogsguardState.teams`, which has a row for every team and a last one for the clips. The
# first are counted since the reset; JUNCTIONS_HELD is the current number, N_AGENTS the rows in use
# from the team's first on, NEXT_BIRTH_TICK the first tick at which it can have a birth, and
# NETWORK_BROKEN whether its network lost a junction.
TEAM_STATISTICS = ("junction_ticks", "junctions_won", "junctions_lost", "births")
JUNCTION_TICKS, JUNCTIONS_WON, JUNCTIONS_LOST, BIRTHS = range(len(TEAM_STATISTICS))
JUNCTIONS_HELD, N_AGENTS, NEXT_BIRTH_TICK, NETWORK_BROKEN = range(4, 8)
TEAM_COLUMNS = 8

# Columns of `CogsguardState.junction`: its cell (0: there is none), its owner (-1: nobody), scratch,
# and the row of the agent that aligned it (-1: none).
JUNCTION_CELL, JUNCTION_OWNER, JUNCTION_LINKED, JUNCTION_ALIGNED_BY = range(4)
JUNCTION_COLUMNS = 4

# Events, by kind: row (-1: the clips), other, value. A former owner of -1 is nobody. Agents are recorded by row;
# since nobody dies, a row has one uid in an episode.
EVENT_KINDS = (
    "align",  # agent, junction, its former owner
    "scramble",  # agent, junction, its former owner
    "clips_align",  # -1, junction, its former owner
    "clips_scramble",  # -1, junction, its former owner
    "cut_off",  # -1, junction that lost its link to a hub or ship, its former owner
    "mine",  # agent, element, amount
    "extractor_emptied",  # agent, element, extractor
    "deposit",  # agent, element, amount
    "heart_made",  # agent, team, 1
    "heart_taken",  # agent, team, 1
    "gear",  # agent, gear it had, gear it has now
    "birth",  # child, first parent, second parent
    "exhausted",  # agent, gear it lost, hearts it lost
)
ALIGN_EVENT, SCRAMBLE_EVENT, CLIPS_ALIGN_EVENT, CLIPS_SCRAMBLE_EVENT, CUT_OFF_EVENT = range(5)
MINE_EVENT, EMPTIED_EVENT, DEPOSIT_EVENT, HEART_MADE_EVENT, HEART_TAKEN_EVENT = range(5, 10)
GEAR_EVENT, BIRTH_EVENT, EXHAUSTED_EVENT = range(10, len(EVENT_KINDS))
