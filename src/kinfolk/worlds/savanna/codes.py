"""Codes that the savanna's arrays hold, and names of its counters, energy accounts and events."""

from __future__ import annotations

PREDATOR, PREY, GRASS = 0, 1, 2  # species, and planes of `visible_energy`
SECOND_PREY = 3  # plane of prey of type 2, if it has one of its own
DEATH_CAUSES = ("none", "starved", "eaten", "max_age", "failed_attack", "exhausted_hunt")
NO_CAUSE, STARVED, EATEN, MAX_AGE, FAILED_ATTACK, EXHAUSTED = range(len(DEATH_CAUSES))
NO_EVENT, ATE, DIET_BLOCKED = 0, 1, 2  # values of `step_event`
NO_BIRTH_TICK = -(1 << 40)

# Counted since the reset, under the names of PredPreyGrass where it has any.
COUNTERS = (
    *("spawned_predators", "spawned_prey"),
    *(
        f"deaths_{cause}_{species}"
        for cause in DEATH_CAUSES[1:]
        for species in ("predator", "prey")
    ),
    *("team_capture_successes", "team_capture_failures"),
    *("team_capture_coop_successes", "team_capture_coop_failures"),
    *("team_capture_helper_total", "team_capture_last_helpers"),
    "team_capture_failed_helper_total",
    "reproduction_blocked_due_to_capacity_predator",
    "reproduction_blocked_due_to_capacity_prey",
    "reproduction_blocked_due_to_fertility_predator",
    "reproduction_blocked_due_to_fertility_prey",
    "reproduction_blocked_due_to_density_predator",
    "satiation_blocked_catches_predator",
    "carcass_only_live_prey_blocks_predator",
    *("moves_blocked_wall", "moves_blocked_occupied"),
    *("moves_blocked_corner_cut", "moves_blocked_los"),
    *("live_bites", "carcass_bites", "grass_bites", "carcasses"),
    *("kin_kickbacks", "newborns_placed_at_random", "type_mutations", "trait_mutations"),
    *("hunt_joins", "hunt_free_rides", "donations"),
    *("fertility_expired_predator", "fertility_expired_prey"),
)
# Indices into COUNTERS; where a counter exists by species, that of predators.
SPAWNED, DEATHS = 0, 2
SUCCESSES = COUNTERS.index("team_capture_successes")
FAILURES, COOP_SUCCESSES, COOP_FAILURES = SUCCESSES + 1, SUCCESSES + 2, SUCCESSES + 3
HELPER_TOTAL, LAST_HELPERS, FAILED_HELPER_TOTAL = SUCCESSES + 4, SUCCESSES + 5, SUCCESSES + 6
CAPACITY_BLOCKS = COUNTERS.index("reproduction_blocked_due_to_capacity_predator")
FERTILITY_BLOCKS, DENSITY_BLOCKS = CAPACITY_BLOCKS + 2, CAPACITY_BLOCKS + 4
SATIATION_BLOCKS, DIET_BLOCKS = CAPACITY_BLOCKS + 5, CAPACITY_BLOCKS + 6
BLOCKED_WALL = COUNTERS.index("moves_blocked_wall")
BLOCKED_OCCUPIED, BLOCKED_CORNER, BLOCKED_LOS = BLOCKED_WALL + 1, BLOCKED_WALL + 2, BLOCKED_WALL + 3
LIVE_BITES = COUNTERS.index("live_bites")
CARCASS_BITES, GRASS_BITES, CARCASSES = LIVE_BITES + 1, LIVE_BITES + 2, LIVE_BITES + 3
KICKBACKS = COUNTERS.index("kin_kickbacks")
RANDOM_PLACEMENTS, MUTATIONS, TRAIT_MUTATIONS = KICKBACKS + 1, KICKBACKS + 2, KICKBACKS + 3
JOINS = COUNTERS.index("hunt_joins")
FREE_RIDES, DONATIONS, EXPIRED_FERTILITY = JOINS + 1, JOINS + 2, JOINS + 3

# Where energy came from and went: bodies + grass = start + grown - all the others.
ENERGY_ACCOUNTS = (
    *("energy_grown", "energy_decayed", "energy_moved"),
    *("energy_failed_attacks", "energy_wasted", "energy_lost_with_the_dead"),
    "energy_join_costs",
)
GROWN, DECAYED, MOVE_COST, FAILED_ATTACKS, WASTED, LOST_WITH_DEAD, JOIN_COSTS = range(
    len(ENERGY_ACCOUNTS)
)

# kind: uid, other, value
EVENT_KINDS = (
    "birth",  # child, parent, 1 if its type mutated
    "death",  # the dead, -1, index into DEATH_CAUSES; bites and captures name the predators
    "capture",  # helper, prey, energy gained
    "failed_capture",  # helper, prey, energy it cost
    "bite",  # predator, living prey, energy gained
    "carcass_bite",  # predator, carcass, energy gained
    "carcass",  # prey of which energy is left, predator that killed it, energy left
    "eat",  # prey, grass patch, energy gained
    "reproduction_blocked_due_to_capacity",  # agent that had no room for a child
    "reproduction_blocked_due_to_fertility",  # agent, -1, its age
    "fertility_expired",  # agent, -1, its age
    "carcass_only_block",  # juvenile, the living prey it may not bite, its age
    "kick_back",  # grandparent, grandchild, reward
    "lineage_reward",  # ancestor, -1, reward
    "reproduction_reward",  # parent, child, reward
    "scavenge",  # predator that did not join a capture, prey, energy gained
    "donation",  # giver, receiver, energy given
    "free_ride",  # predator beside a capture that neither joined it nor got a share, prey, 0
    # For `agent_log` only, not among a world's events:
    "move",  # agent that acted, -1, its energy then
    "reward",  # agent, -1, its reward of the step
)
BIRTH, DEATH, CAPTURE, FAILED_CAPTURE, BITE, CARCASS_BITE, CARCASS, EAT = range(8)
CAPACITY_BLOCK, FERTILITY_BLOCK, FERTILITY_EXPIRED, CARCASS_ONLY_BLOCK = range(8, 12)
KICK_BACK, LINEAGE_REWARD, REPRODUCTION_REWARD, SCAVENGE, DONATION, FREE_RIDE = range(12, 18)
MOVE, REWARD = 18, 19

# Columns of an event; those after `value` are filled where `agent_log` needs them.
EVENT_COLUMNS = (
    *("kind", "uid", "other", "value"),
    "energy_after",  # of uid; of a birth: the child's group; of a move: its length; of a death: age
    "energy_before",  # of uid; of a birth: the child's number
    *("cell", "other_cell"),
    "other_energy",  # before the event
)
