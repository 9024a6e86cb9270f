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
FRIENDLY_SHIFT, ENEMY_SHIFT = 12, 13
FRIENDLY_AREA, ENEMY_AREA = 1 << FRIENDLY_SHIFT, 1 << ENEMY_SHIFT
AREA_MASK = FRIENDLY_AREA | ENEMY_AREA

# Columns of `CogsguardState.body`; the agent observes the first of them as they are.
OBSERVED_COLUMNS = ("hp", "energy", *ELEMENTS, "hearts", "influence", "gear", "vibe")
BODY_COLUMNS = (*OBSERVED_COLUMNS, "last_action_succeeded", "cell", "spawn")
HP, ENERGY, FIRST_CARGO = 0, 1, 2
HEARTS, INFLUENCE, GEAR, VIBE, ACTION_SUCCEEDED, CELL, SPAWN_CELL = range(6, len(BODY_COLUMNS))
# Columns of `CogsguardState.store` after the elements: hearts in the hub, and those for the chest.
STORE_HEARTS, CHEST_HEARTS, STORE_COLUMNS = 4, 5, 6
# Elements in the order in which they are kept when cargo must shrink, and deposited in a store that
# is nearly full: oxygen, carbon, germanium, silicon.
ELEMENT_ORDER = (1, 0, 2, 3)

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

# The books: columns of `CogsguardState.ledger`, one row per agent. What an agent holds is the sum of
# its entries, by resource. `*_limit` is what limits cut off, negative, or added where an amount
# cannot go below 0.
_HP_BOOKS = ("start", "upkeep", "friendly_area", "enemy_area", "limit")
_ENERGY_BOOKS = ("start", "solar", "friendly_area", "actions", "limit")
_INFLUENCE_BOOKS = ("upkeep", "friendly_area", "enemy_area", "limit")
_HEART_BOOKS = ("received", "aligning", "scrambling", "exhaustion", "limit")
_CARGO_BOOKS = ("mined", "deposited", "limit")
LEDGER = (
    *(f"hp_{source}" for source in _HP_BOOKS),
    *(f"energy_{source}" for source in _ENERGY_BOOKS),
    *(f"influence_{source}" for source in _INFLUENCE_BOOKS),
    *(f"hearts_{source}" for source in _HEART_BOOKS),
    *(f"{element}_{source}" for source in _CARGO_BOOKS for element in ELEMENTS),
)
HP_START, HP_UPKEEP, HP_FRIENDLY, HP_ENEMY, HP_CUT = range(5)
ENERGY_START, ENERGY_SOLAR, ENERGY_FRIENDLY, ENERGY_ACTIONS, ENERGY_CUT = range(5, 10)
INFLUENCE_UPKEEP, INFLUENCE_FRIENDLY, INFLUENCE_ENEMY, INFLUENCE_CUT = range(10, 14)
HEARTS_RECEIVED, HEARTS_ALIGNING, HEARTS_SCRAMBLING, HEARTS_EXHAUSTED, HEARTS_CUT = range(14, 19)
CARGO_MINED, CARGO_DEPOSITED, CARGO_CUT = 19, 23, 27  # first of four elements

# The books of a team's store: columns of `CogsguardState.team_ledger`.
_STORE_BOOKS = ("start", "deposits", "gear", "hearts")
_STORE_HEART_BOOKS = ("start", "made", "given", "births", "wasted")
TEAM_LEDGER = (
    *(f"store_{element}_{source}" for source in _STORE_BOOKS for element in ELEMENTS),
    *(f"store_hearts_{source}" for source in _STORE_HEART_BOOKS),
    *(f"chest_hearts_{source}" for source in _STORE_HEART_BOOKS),
)
STORE_START, STORE_DEPOSITS, STORE_GEAR, STORE_PAID_HEARTS = 0, 4, 8, 12  # first of four elements
# Of a column of hearts, add `HEARTS_BOOK + N_HEART_BOOKS * (column - STORE_HEARTS)`.
HEARTS_BOOK, N_HEART_BOOKS = 16, len(_STORE_HEART_BOOKS)
HEARTS_START, HEARTS_MADE_BOOK, HEARTS_GIVEN, HEARTS_BORN, HEARTS_WASTED = range(N_HEART_BOOKS)

# Columns of `CogsguardState.teams`, which has a row for every team and a last one for the clips. The
# first are counted since the reset; JUNCTIONS_HELD is the current number, N_AGENTS the rows in use
# from the team's first on, and NEXT_BIRTH_TICK the first tick at which it can have a birth.
TEAM_STATISTICS = ("junction_ticks", "junctions_won", "junctions_lost", "births")
JUNCTION_TICKS, JUNCTIONS_WON, JUNCTIONS_LOST, BIRTHS = range(len(TEAM_STATISTICS))
JUNCTIONS_HELD, N_AGENTS, NEXT_BIRTH_TICK = range(4, 7)
TEAM_COLUMNS = 7

# Columns of `CogsguardState.junction`: its cell (0: there is none), its owner (-1: nobody), in edition
# A the networks that it is in, the row of the agent that aligned it (-1: none), two that the clips
# and their quirks need, and scratch. Networks are bits, OWNER_LINKED and SECOND_LINKED. The marks of
# the clips are bits: CLIPS_FOUND if those of edition F find it as theirs, CLIPS_SHIP << i if ship i
# took it; one that a map draws as theirs has them all. The second owner is a team whose mark a junction of the clips bears too (-1: none).
JUNCTION_CELL, JUNCTION_OWNER, JUNCTION_LINKED, JUNCTION_ALIGNED_BY = range(4)
JUNCTION_CLIPS_MARKS, JUNCTION_SECOND_OWNER, JUNCTION_REACHED, JUNCTION_COLUMNS = 4, 5, 6, 7
OWNER_LINKED, SECOND_LINKED = 1, 2
CLIPS_FOUND, CLIPS_SHIP, ALL_CLIPS_MARKS = 1, 2, -1

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
