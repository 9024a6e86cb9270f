"""What each metric and counter of the savanna is: by pattern of its name, its unit and definition.

`{0}` stands for the first group of the pattern. Co-operation is counted per kill and, as the authors of
PredPreyGrass do, per event of a predator: a kill of three predators is one kill and three meals.
"""

from __future__ import annotations

_SPECIES = "(predator|prey)"
_EPISODES = "_(all|full_length)_episodes"
_OVER = "; over {0} episodes (full length: those that reached the time limit)"
# By pattern of a metric's name, why it does not apply to some episodes, and what to do.
MISSING_VALUES = {
    f"mean_{_SPECIES}_alive": (
        "the others ended when the other species died out, and leaving them out biases the mean; with "
        "on_extinction = continue all episodes are played to max_steps"
    ),
}
METRIC_DEFINITIONS = {
    "full_length_episodes": ("fraction", "share of episodes that reached the time limit"),
    f"capture_success_rate{_EPISODES}": (
        "fraction",
        "kills per attempt: captures / (captures + failed captures)" + _OVER,
    ),
    f"cooperative_kill_fraction{_EPISODES}": (
        "fraction",
        "share of kills with two predators or more: one kill counts once" + _OVER,
    ),
    f"predator_event_success_rate{_EPISODES}": (
        "fraction",
        "meals per predator's event: eating / (eating + failed eating), each predator for itself"
        + _OVER,
    ),
    f"cooperative_meal_fraction{_EPISODES}": (
        "fraction",
        "share of predators' meals at kills with two predators or more: a kill of three is three meals"
        + _OVER,
    ),
    f"total_(predator|prey){_EPISODES}": (
        "agents",
        "lives of the species {0} in an episode; over {1} episodes (full length: those that reached the "
        "time limit)",
    ),
    f"mean_{_SPECIES}_alive": (
        "agents",
        "living agents of the species {0}, mean over max_steps ticks; an extinct species counts as 0 to "
        "the end. Left out are episodes that the extinction of the other species ended, unless "
        "on_extinction is continue",
    ),
    f"mean_lifetime_{_SPECIES}": (
        "ticks",
        "ticks that an agent of the species {0} lived, mean over the lives of an episode; a life that "
        "its end cut off counts as long as it lasted",
    ),
    "hunt_join_fraction": ("fraction", "share of predators beside an attacked prey that joined"),
    "free_ride_fraction": ("fraction", "share of those fed at captures that had not joined"),
    "trait_(.+)_mean_(predator|prey)": (
        "of the trait",
        "mean {0} of the living of the species {1}; of all lives where none is left",
    ),
    "trait_(.+)_variance_(predator|prey)": (
        "of the trait, squared",
        "variance of {0} among the living of the species {1}",
    ),
    "trait_(.+)_selection_differential_(predator|prey)": (
        "of the trait",
        "mean {0} of parents of the species {1}, weighted by births, minus that of all lives",
    ),
    f"lineage_reward_total_{_SPECIES}": (
        "reward",
        "lineage rewards of all agents of the species {0} in an episode",
    ),
    f"fertility_expired_{_SPECIES}": (
        "agents",
        "agents of the species {0} that reached the age at which fertility ends",
    ),
    "trait_mutations": ("events", "traits that mutated at a birth"),
    "spawned_(predators|prey)": ("agents", "births of {0}"),
    f"deaths_starved_{_SPECIES}": ("deaths", "how often a {0} starved"),
    f"deaths_eaten_{_SPECIES}": ("deaths", "how often a {0} was eaten"),
    f"deaths_max_age_{_SPECIES}": ("deaths", "how often a {0} reached the maximum age"),
    f"deaths_failed_attack_{_SPECIES}": ("deaths", "how often a {0} died of a failed attack"),
    f"deaths_exhausted_hunt_{_SPECIES}": ("deaths", "how often a {0} died of the costs of a hunt"),
    "team_capture_successes": ("kills", "captures of prey"),
    "team_capture_failures": ("attempts", "captures that failed"),
    "team_capture_coop_successes": ("kills", "captures by two predators or more"),
    "team_capture_coop_failures": ("attempts", "failed captures by two predators or more"),
    "team_capture_helper_total": ("meals", "predators at all captures: meals"),
    "team_capture_last_helpers": ("agents", "predators at the last capture"),
    "team_capture_failed_helper_total": ("events", "predators at all failed captures"),
    "team_capture_coop_helper_total": ("meals", "predators at captures by two or more"),
    f"reproduction_blocked_due_to_capacity_{_SPECIES}": (
        "events",
        "births that a {0} had no room for",
    ),
    f"reproduction_blocked_due_to_fertility_{_SPECIES}": (
        "events",
        "births that a {0} was not of the age for",
    ),
    "reproduction_blocked_due_to_density_predator": ("events", "births of predators in a crowd"),
    "satiation_blocked_catches_predator": ("events", "catches left by predators that were full"),
    "carcass_only_live_prey_blocks_predator": (
        "events",
        "live prey left by predators that eat carcasses only",
    ),
    "moves_blocked_wall": ("moves", "moves into a wall"),
    "moves_blocked_occupied": ("moves", "moves into an occupied cell"),
    "moves_blocked_corner_cut": ("moves", "diagonal moves around the corner of a wall"),
    "moves_blocked_los": ("moves", "moves without a free line of sight"),
    "live_bites": ("bites", "bites into living prey"),
    "carcass_bites": ("bites", "bites into carcasses"),
    "grass_bites": ("bites", "bites of prey into grass"),
    "carcasses": ("carcasses", "prey that were killed with energy left"),
    "kin_kickbacks": ("rewards", "rewards given for births of descendants"),
    "newborns_placed_at_random": ("agents", "newborns without a free cell beside their parent"),
    "type_mutations": ("events", "newborns of another type than their parent"),
    "hunt_joins": ("decisions", "predators that chose to join an attack"),
    "hunt_free_rides": ("decisions", "predators beside an attack that did not join"),
    "donations": ("events", "gifts of energy"),
    "energy_grown": ("energy", "energy that grass grew"),
    "energy_decayed": ("energy", "energy that agents lost each tick"),
    "energy_moved": ("energy", "energy that moves cost"),
    "energy_failed_attacks": ("energy", "energy that failed attacks cost"),
    "energy_wasted": ("energy", "energy that eaters could not hold, and that births lost"),
    "energy_lost_with_the_dead": ("energy", "energy of agents that died otherwise than eaten"),
    "energy_join_costs": ("energy", "energy that joining attacks cost"),
    "active_num_predators": ("agents", "predators alive at the end"),
    "active_num_prey": ("agents", "prey alive at the end, and carcasses"),
}
