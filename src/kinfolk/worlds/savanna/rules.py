"""The settings that kernels read, as numbers and small tables by type."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.worlds.savanna.settings import Savanna

TYPES = ("type_1_predator", "type_2_predator", "type_1_prey", "type_2_prey")
_DEFAULT_AGE_CAPS = {"type_1_predator": 120, "type_1_prey": 100}


class Rules(NamedTuple):
    """Tables are by kind, `2 * species + type`; `[2]` means predators, prey."""

    size: int
    types: int  # 1 if there is no type 2: groups count only the types there are
    max_steps: int
    wall: Bools  # [cells]
    moves: Ints  # [2 types, actions, 2] steps in x and y
    los_moves: bool
    loss: Floats  # [2]
    start: Floats  # [2]
    most: Floats  # [2] most energy a body holds
    threshold: Floats  # [2]
    move_cost: float
    grass_start: float
    grass_gain: float
    grass_most: float
    grass_bite: float
    prey_bite: float
    transfer: float
    birth_transfer: float
    cooldown: int
    chance: Floats  # [4] of a birth
    mutation: Floats  # [2]
    margin: float
    tie_succeeds: bool
    equal_split: bool
    failure_cost: float
    mean_catch: bool
    birth_reward: Floats  # [4] and the tables below as well
    meal_reward: Floats  # catching prey, eating grass
    step_reward: Floats
    caught_reward: Floats
    kin: Floats
    kick_back: Floats
    symmetric: bool
    fertility: Ints  # -1: no limit
    oldest: Ints
    juvenile: Ints
    bite_dead: bool
    erase: bool
    zero_terminal: bool


def rules_of(given: Savanna) -> Rules:
    """Lay out settings for the kernels."""
    wall = np.zeros(given.grid_size**2, dtype=np.bool_)
    wall[given.walls] = True
    quirks = given.quirks
    return Rules(
        size=given.grid_size,
        types=2 if given.type_2_action_range else 1,
        max_steps=given.max_steps,
        wall=wall,
        moves=_moves(given.type_1_action_range, given.type_2_action_range),
        los_moves=given.respect_los_for_movement,
        loss=_pair(given.energy_loss_per_step_predator, given.energy_loss_per_step_prey),
        start=_pair(given.initial_energy_predator, given.initial_energy_prey),
        most=_pair(given.max_energy_predator, given.max_energy_prey),
        threshold=_pair(
            given.predator_creation_energy_threshold, given.prey_creation_energy_threshold
        ),
        move_cost=given.move_energy_cost_factor,
        grass_start=given.initial_energy_grass,
        grass_gain=given.energy_gain_per_step_grass,
        grass_most=given.max_energy_grass,
        grass_bite=given.max_energy_gain_per_grass,
        prey_bite=given.max_energy_gain_per_prey,
        transfer=given.energy_transfer_efficiency,
        birth_transfer=given.reproduction_energy_efficiency,
        cooldown=given.reproduction_cooldown_steps,
        chance=_table(given.reproduction_chance_predator, given.reproduction_chance_prey),
        mutation=_pair(given.mutation_rate_predator, given.mutation_rate_prey),
        margin=given.team_capture_margin,
        tie_succeeds=given.team_capture_tie == "succeeds",
        equal_split=given.team_capture_equal_split,
        failure_cost=given.energy_percentage_loss_per_failed_attacked_prey,
        mean_catch=quirks.mean_catch_reward,
        birth_reward=_table(given.reproduction_reward_predator, given.reproduction_reward_prey),
        meal_reward=_table(given.reward_predator_catch_prey, given.reward_prey_eat_grass),
        step_reward=_table(given.reward_predator_step, given.reward_prey_step),
        caught_reward=_table(given.penalty_prey_caught),
        kin=_table(given.lineage_reward_coeff),
        kick_back=_table(given.kin_kick_back_reward_predator, given.kin_kick_back_reward_prey),
        symmetric=given.lineage_reward_mode == "symmetric",
        fertility=_ages(given.max_fertility_age, {}),
        oldest=_ages(given.max_agent_age, _DEFAULT_AGE_CAPS if quirks.default_age_caps else {}),
        juvenile=_ages(given.carcass_only_predator_age, {}),
        bite_dead=quirks.dead_prey_bitten,
        erase=quirks.cell_erasure,
        zero_terminal=quirks.zero_terminal,
    )


def _pair(predator: float, prey: float) -> Floats:
    return np.array([predator, prey], dtype=np.float64)


def _table(*parts: object) -> Floats:
    """The value of every kind; a kind that no part names has 0."""
    values = [next((getattr(p, name) for p in parts if hasattr(p, name)), 0.0) for name in TYPES]
    return np.array(values, dtype=np.float64)


def _ages(limits: object, instead_of_none: dict[str, int]) -> Ints:
    found = []
    for name in TYPES:
        limit = getattr(limits, name, None)
        if limit is None:
            limit = instead_of_none.get(name)
        found.append(-1 if limit is None or limit < 0 else int(limit))
    return np.array(found, dtype=np.int64)


def _moves(*ranges: int) -> Ints:
    """Action k of range r goes (k // r - (r - 1) / 2, k % r - (r - 1) / 2)."""
    table = np.zeros((2, max(ranges) ** 2, 2), dtype=np.int64)
    for kind, reach in enumerate(ranges):
        for action in range(reach**2):
            table[kind, action] = (
                action // reach - (reach - 1) // 2,
                action % reach - (reach - 1) // 2,
            )
    return table
