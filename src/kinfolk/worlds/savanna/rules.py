"""The settings as numbers and small tables that kernels read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.worlds.savanna.per_type import TYPE_2_SETTINGS
from kinfolk.worlds.savanna.settings import Savanna

AGENT_TYPES = ("type_1_predator", "type_2_predator", "type_1_prey", "type_2_prey")
METABOLIC_RATE = "metabolic_rate"  # the trait that has an effect
_CACHED_CELLS = 40_000  # 24 bytes each, in a cache of 1 MB
_DEFAULT_AGE_CAPS = {"type_1_predator": 120, "type_1_prey": 100}


class SavannaRules(NamedTuple):
    """Settings of a savanna for kernels.

    Tables `[4]` are indexed by `2 * species + type`, tables `[2]` by species: predators, prey.
    """

    size: int  # side of the grid
    n_types: int  # 1 if there is no type 2: groups count only the types there are
    max_steps: int
    wall: Bools  # [cells]
    has_walls: bool
    exceeds_cache: bool  # the grid is larger than a processor's cache: kernels load ahead
    moves: Ints  # [2 types, actions, 2] steps in x and y
    line_of_sight_moves: bool  # walls block moves across them and around their corners
    predators_ignore_lines: bool  # quirk
    energy_loss: Floats  # [4] per step
    initial_energy: Floats  # [4] of founders, and what a birth costs
    max_energy: Floats  # [2] per agent
    birth_threshold: Floats  # [4] energy from which an agent reproduces
    move_cost: float  # per cell, as a fraction of the agent's energy
    flat_move_cost: Floats  # [2] per cell
    initial_grass: float  # energy of a patch
    grass_gain: float  # energy a patch gains per step
    max_grass: float  # energy of a full patch
    season_length: int  # steps, 0: no seasons
    season_high: float  # factor of `grass_gain` in even seasons
    season_low: float  # and in odd ones
    max_grass_bite: Floats  # [4] energy of a meal
    leave_small_bite: bool  # type 1 leaves a bite of type 2
    max_prey_bite: float
    leave_carcass: bool
    satiation: int  # steps without hunting after a bite
    transfer_efficiency: float  # fraction of a meal that the eater gains
    birth_efficiency: float  # fraction of the cost of a birth that the child gets
    birth_cooldown: int  # least number of steps between two births of an agent
    n_possible: Ints  # [4] agents ever alive, -1: no limit
    max_predator_ratio: float  # predators per prey from which predators do not reproduce, -1: none
    birth_probability: Floats  # [4] per step in which an agent could reproduce
    mutation_rate: Floats  # [2] probability that a child is of the other type
    capture_margin: float  # energy by which helpers must exceed the prey
    tie_succeeds: bool
    equal_split: bool  # False: in proportion to the helpers' energy
    failure_cost: float  # energy of a failed attack, as a fraction of the prey's
    lethal_failure: bool  # helpers of a failed attack die
    join_choice: bool  # the second action head says who joins
    join_cost: float
    scavenger_fraction: float  # of a prey, for those who did not join
    mean_catch_reward: bool  # quirk
    birth_reward: Floats  # [4], as are the tables below
    meal_reward: Floats  # of catching prey and of eating grass
    step_reward: Floats  # of a step without a meal
    caught_reward: Floats  # of being eaten
    death_reward: Floats  # of any death
    energy_reward: Floats  # per unit of energy gained or lost
    pays_energy: bool  # whether one of them is not 0
    lineage_coeff: Floats  # reward per change in live descendants
    kick_back_reward: Floats  # of a birth of a grandchild
    symmetric_lineage: bool  # losses of descendants are paid too
    max_fertility_age: Ints  # -1: no limit, as for the ages below
    max_age: Ints
    juvenile_age: Ints  # below it, predators bite carcasses only
    donation: Floats  # [4] fraction of the energy, to each neighbour
    donates: bool  # whether one of them is not 0
    donation_multiplier: float
    trait_bounds: Floats  # [traits, 2]
    trait_mutation_rate: Floats  # [traits]
    trait_mutation_std: Floats  # [traits]
    founder_traits: Floats  # [2 species, traits, 2] mean and standard deviation
    metabolic_trait: int  # index of the trait metabolic_rate, -1 if there is none
    metabolic_alpha: float
    neutral_drift: bool
    separate_prey: bool  # prey of type 2 have a plane of their own
    forward_view: bool  # predators' windows lie ahead of them
    radius: Ints  # [2] cells that a window reaches to each side
    dead_prey_bitten: bool  # quirk
    cell_erasure: bool  # quirk
    zero_terminal: bool  # quirk
    view_at_death: bool  # quirk
    carcasses_live: bool  # quirk
    extinction_continues: bool  # the episode goes on without a species
    extinction_terminates: bool  # survivors of an extinction are terminated, not truncated


def make_rules(settings: Savanna) -> SavannaRules:
    """Convert settings into the tables that kernels read."""
    s, quirks = settings, settings.quirks
    wall = np.zeros(s.grid_size**2, dtype=np.bool_)
    wall[s.wall_cells] = True
    return SavannaRules(
        size=s.grid_size,
        n_types=2 if s.type_2_action_range else 1,
        max_steps=s.max_steps,
        wall=wall,
        has_walls=bool(wall.any()),
        exceeds_cache=s.grid_size**2 > _CACHED_CELLS,
        moves=_make_move_table(s.type_1_action_range, s.type_2_action_range),
        line_of_sight_moves=s.respect_los_for_movement,
        predators_ignore_lines=quirks.predators_ignore_lines,
        energy_loss=_make_energy_table(
            s, "energy_loss_per_step_predator", "energy_loss_per_step_prey"
        ),
        initial_energy=_make_energy_table(s, "initial_energy_predator", "initial_energy_prey"),
        max_energy=_make_species_table(s.max_energy_predator, s.max_energy_prey),
        birth_threshold=_make_energy_table(
            s, "predator_creation_energy_threshold", "prey_creation_energy_threshold"
        ),
        move_cost=s.move_energy_cost_factor,
        flat_move_cost=_make_species_table(
            s.movement_energy_cost_per_cell_predator, s.movement_energy_cost_per_cell_prey
        ),
        initial_grass=s.initial_energy_grass,
        grass_gain=s.energy_gain_per_step_grass,
        max_grass=s.max_energy_grass,
        season_length=s.season_length_steps,
        season_high=s.season_high_multiplier,
        season_low=s.season_low_multiplier,
        max_grass_bite=_make_energy_table(s, "", "max_energy_gain_per_grass"),
        leave_small_bite=s.leave_small_bite,
        max_prey_bite=s.max_energy_gain_per_prey,
        leave_carcass=s.leave_carcass,
        satiation=s.predator_satiation_cooldown,
        transfer_efficiency=s.energy_transfer_efficiency,
        birth_efficiency=s.reproduction_energy_efficiency,
        birth_cooldown=s.reproduction_cooldown_steps,
        n_possible=np.array(
            [_or_unlimited(getattr(s, f"n_possible_{name}")) for name in AGENT_TYPES],
            dtype=np.int64,
        ),
        max_predator_ratio=float(_or_unlimited(s.predator_reproduction_max_ratio)),
        birth_probability=_make_type_table(
            s.reproduction_chance_predator, s.reproduction_chance_prey
        ),
        mutation_rate=_make_species_table(s.mutation_rate_predator, s.mutation_rate_prey),
        capture_margin=s.team_capture_margin,
        tie_succeeds=s.team_capture_tie == "succeeds",
        equal_split=s.team_capture_equal_split,
        failure_cost=s.energy_percentage_loss_per_failed_attacked_prey,
        lethal_failure=s.failed_attack_kills_predator,
        join_choice=s.join_choice,
        join_cost=s.team_capture_join_cost,
        scavenger_fraction=s.team_capture_scavenger_fraction,
        mean_catch_reward=quirks.mean_catch_reward,
        birth_reward=_make_type_table(s.reproduction_reward_predator, s.reproduction_reward_prey),
        meal_reward=_make_type_table(s.reward_predator_catch_prey, s.reward_prey_eat_grass),
        step_reward=_make_type_table(s.reward_predator_step, s.reward_prey_step),
        caught_reward=_make_type_table(s.penalty_prey_caught),
        death_reward=_make_type_table(s.death_penalty),
        energy_reward=_make_type_table(s.energy_change_reward),
        pays_energy=any(s.energy_change_reward.model_dump().values()),
        lineage_coeff=_make_type_table(s.lineage_reward_coeff),
        kick_back_reward=_make_type_table(
            s.kin_kick_back_reward_predator, s.kin_kick_back_reward_prey
        ),
        symmetric_lineage=s.lineage_reward_mode == "symmetric",
        max_fertility_age=_make_age_limits(s.max_fertility_age, {}),
        max_age=_make_age_limits(
            s.max_agent_age, _DEFAULT_AGE_CAPS if quirks.default_age_caps else {}
        ),
        juvenile_age=_make_age_limits(s.carcass_only_predator_age, {}),
        donation=_make_type_table(s.donation_fraction),
        donates=any(s.donation_fraction.model_dump().values()),
        donation_multiplier=s.donation_multiplier,
        **_make_trait_tables(s),
        separate_prey=s.separate_prey_channels,
        forward_view=s.forward_view,
        radius=np.array([(s.predator_obs_range - 1) // 2, (s.prey_obs_range - 1) // 2]),
        dead_prey_bitten=quirks.dead_prey_bitten,
        cell_erasure=quirks.cell_erasure,
        zero_terminal=quirks.zero_terminal,
        view_at_death=quirks.view_at_death,
        carcasses_live=quirks.carcasses_live,
        extinction_continues=s.on_extinction == "continue",
        extinction_terminates=s.on_extinction == "terminate",
    )


def _make_trait_tables(settings: Savanna) -> dict[str, Any]:
    """Return the tables of heritable traits, in the order of the settings."""
    names, traits = list(settings.traits), list(settings.traits.values())
    founders = [
        [(getattr(t, f"mean_{species}"), getattr(t, f"std_{species}")) for t in traits]
        for species in ("predator", "prey")
    ]
    return {
        "trait_bounds": np.array([(t.low, t.high) for t in traits], np.float64).reshape(-1, 2),
        "trait_mutation_rate": np.array([t.mutation_rate for t in traits], np.float64),
        "trait_mutation_std": np.array([t.mutation_std for t in traits], np.float64),
        "founder_traits": np.array(founders, np.float64).reshape(2, -1, 2),
        "metabolic_trait": names.index(METABOLIC_RATE) if METABOLIC_RATE in names else -1,
        "metabolic_alpha": settings.metabolic_rate_alpha,
        "neutral_drift": settings.neutral_drift,
    }


def _or_unlimited(limit: float | None) -> float:
    """Return a limit, or -1 for None."""
    return -1 if limit is None else limit


def _make_energy_table(settings: Savanna, predator: str, prey: str) -> Floats:
    """Return `[4]` float64, an energy per species and type.

    Args:
        settings: Settings, with a field for type 2 that may be None: as type 1.
        predator: Name of the setting of predators; empty for 0.
        prey: Name of the setting of prey.
    """
    table = []
    for name in (predator, prey):
        first = getattr(settings, name) if name else 0.0
        second = getattr(settings, TYPE_2_SETTINGS[name]) if name else 0.0
        table += [first, first if second is None else second]
    return np.array(table, dtype=np.float64)


def _make_species_table(predator: float, prey: float) -> Floats:
    """Return `[2]` float64, one value per species."""
    return np.array([predator, prey], dtype=np.float64)


def _make_type_table(*parts: object) -> Floats:
    """Return `[4]` float64, one value per species and type.

    Args:
        parts: Settings models with a field per type; a type that no model has gets 0.
    """
    values = [
        next((getattr(p, name) for p in parts if hasattr(p, name)), 0.0) for name in AGENT_TYPES
    ]
    return np.array(values, dtype=np.float64)


def _make_age_limits(limits: object, instead_of_none: dict[str, int]) -> Ints:
    """Return `[4]` int64, an age limit in steps per species and type; -1 means no limit.

    Args:
        limits: Settings model with a field per type.
        instead_of_none: Limits, by type, of the types whose field is None or missing.
    """
    table = []
    for name in AGENT_TYPES:
        limit = getattr(limits, name, None)
        if limit is None:
            limit = instead_of_none.get(name)
        table.append(-1 if limit is None or limit < 0 else int(limit))
    return np.array(table, dtype=np.int64)


def _make_move_table(*ranges: int) -> Ints:
    """Return the step in x and y of each action, `[2 types, actions, 2]`.

    Action `k` of a type with range `r` moves to cell `k`, in reading order, of the square of `r` by
    `r` cells around the agent. The table is padded with zeros.

    Args:
        ranges: Side of the square of each type, odd; 0 for a type without actions.
    """
    table = np.zeros((2, max(ranges) ** 2, 2), dtype=np.int64)
    for kind, reach in enumerate(ranges):
        half = (reach - 1) // 2
        for action in range(reach**2):
            table[kind, action] = action // reach - half, action % reach - half
    return table
