"""Codes that the savanna's arrays hold, and names of its counters, energy accounts and events."""

from __future__ import annotations

PREDATOR, PREY, GRASS = 0, 1, 2  # species, and planes of `visible_energy`
DEATH_CAUSES = ("none", "starved", "eaten", "max_age")
NO_CAUSE, STARVED, EATEN, MAX_AGE = range(len(DEATH_CAUSES))
NO_EVENT, ATE, DIET_BLOCKED = 0, 1, 2  # values of `step_event`
NO_BIRTH_TICK = -(1 << 40)

# Counted since the reset, under the names of PredPreyGrass where it has any.
COUNTERS = (
    *("spawned_predators", "spawned_prey"),
    *("deaths_starved_predator", "deaths_starved_prey"),
    *("deaths_eaten_predator", "deaths_eaten_prey"),
    *("deaths_max_age_predator", "deaths_max_age_prey"),
    *("team_capture_successes", "team_capture_failures"),
    *("team_capture_coop_successes", "team_capture_coop_failures"),
    *("team_capture_helper_total", "team_capture_last_helpers"),
    "reproduction_blocked_due_to_capacity_predator",
    "reproduction_blocked_due_to_capacity_prey",
    "reproduction_blocked_due_to_fertility_predator",
    "reproduction_blocked_due_to_fertility_prey",
    "carcass_only_live_prey_blocks_predator",
    *("moves_blocked_wall", "moves_blocked_occupied"),
    *("moves_blocked_corner_cut", "moves_blocked_los"),
    *("live_bites", "carcass_bites", "grass_bites", "carcasses"),
    *("kin_kickbacks", "newborns_placed_at_random", "type_mutations"),
)
# Indices into COUNTERS; where a counter exists by species, that of predators.
SPAWNED, DEATHS = 0, 2
SUCCESSES, FAILURES, COOP_SUCCESSES, COOP_FAILURES, HELPER_TOTAL, LAST_HELPERS = range(8, 14)
CAPACITY_BLOCKS, FERTILITY_BLOCKS, DIET_BLOCKS = 14, 16, 18
BLOCKED_WALL, BLOCKED_OCCUPIED, BLOCKED_CORNER, BLOCKED_LOS = range(19, 23)
LIVE_BITES, CARCASS_BITES, GRASS_BITES, CARCASSES = range(23, 27)
KICKBACKS, RANDOM_PLACEMENTS, MUTATIONS = range(27, len(COUNTERS))

# Where energy came from and went: bodies + grass = start + grown - all the others.
ENERGY_ACCOUNTS = (
    *("energy_grown", "energy_decayed", "energy_moved"),
    *("energy_failed_attacks", "energy_wasted", "energy_lost_with_the_dead"),
)
GROWN, DECAYED, MOVE_COST, FAILED_ATTACKS, WASTED, LOST_WITH_DEAD = range(len(ENERGY_ACCOUNTS))

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
)
BIRTH, DEATH, CAPTURE, FAILED_CAPTURE, BITE, CARCASS_BITE, CARCASS, EAT = range(8)
CAPACITY_BLOCK, FERTILITY_BLOCK, FERTILITY_EXPIRED, CARCASS_ONLY_BLOCK = range(8, 12)
KICK_BACK, LINEAGE_REWARD, REPRODUCTION_REWARD = range(12, len(EVENT_KINDS))
