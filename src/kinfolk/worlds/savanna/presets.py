"""Presets of the savanna: settings of the rule sets of PredPreyGrass, with descriptions.

`shared_prey_r1` and `lineage_documented` are the rules as the design notes of PredPreyGrass state them,
without quirks. Where the published code does something else, `shared_prey_r1_published` and
`lineage_published` do what the code does, as the golden traces record it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COMMON_QUIRKS = {
    "published_placement": True,
    "cell_erasure": True,
    "zero_terminal": True,
    "fixed_visibility": True,
}
_CARCASS_QUIRKS = _COMMON_QUIRKS | {"dead_prey_bitten": True, "carcasses_live": True}
_COMMON: dict[str, Any] = {"draw_border": False, "quirks": _COMMON_QUIRKS}
_SMALL: dict[str, Any] = {
    "draw_border": False,
    "grid_size": 25,
    "predator_obs_range": 7,
    "n_initial_active_type_1_predator": 10,
    "n_initial_active_type_1_prey": 10,
    "initial_energy_prey": 3.0,
}
_SOLO_PREDATION: dict[str, Any] = _SMALL | {
    "team_capture_enabled": False,
    "prey_creation_energy_threshold": 8.0,
}
_PUBLISHED_SOLO_PREDATION: dict[str, Any] = _SOLO_PREDATION | {
    "lineage_reward_mode": "symmetric",
    "quirks": _CARCASS_QUIRKS,
}

SHARED_PREY_R1 = _SMALL | {
    "energy_loss_per_step_predator": 0.15,
    "prey_creation_energy_threshold": 6.0,
}
SHARED_PREY_R1_PUBLISHED = SHARED_PREY_R1 | {
    "quirks": _COMMON_QUIRKS | {"mean_catch_reward": True},
}
SHARED_PREY_R2 = _COMMON | {
    "team_capture_tie": "fails",
    "energy_percentage_loss_per_failed_attacked_prey": 0.2,
}
SHARED_PREY_TRAINED = _COMMON | {
    "initial_energy_prey": 2.5,
    "prey_creation_energy_threshold": 5.5,
    "team_capture_equal_split": False,
}
LINEAGE_DOCUMENTED = _SOLO_PREDATION | {
    "energy_loss_per_step_predator": 0.15,
    "max_energy_gain_per_grass": 1.5,
    "max_energy_gain_per_prey": 2.5,
    "lineage_reward_coeff": {"type_1_predator": 0.35, "type_1_prey": 0.60},
    "max_fertility_age": {"type_1_predator": 160, "type_1_prey": 120},
    "max_agent_age": {"type_1_predator": 220, "type_1_prey": 180},
    "carcass_only_predator_age": {"type_1_predator": 30},
}
LINEAGE_PUBLISHED = LINEAGE_DOCUMENTED | {
    "lineage_reward_mode": "symmetric",
    "max_fertility_age": {"type_1_predator": 100, "type_1_prey": 80},
    "carcass_only_predator_age": {"type_1_predator": 10},
    "quirks": _CARCASS_QUIRKS,
}
LINEAGE_SHIPPED = _PUBLISHED_SOLO_PREDATION | {
    "energy_gain_per_step_grass": 0.08,
    "quirks": _CARCASS_QUIRKS | {"default_age_caps": True},
}
KICK_BACK = _PUBLISHED_SOLO_PREDATION | {
    "energy_loss_per_step_predator": 0.15,
    "max_energy_gain_per_grass": 1.5,
    "max_energy_gain_per_prey": 2.5,
    "kin_kick_back_reward_predator": {"type_1_predator": 4.0},
    "kin_kick_back_reward_prey": {"type_1_prey": 4.0},
}
LIMITED_INTAKE = _PUBLISHED_SOLO_PREDATION | {
    "energy_loss_per_step_predator": 0.15,
    "max_energy_gain_per_grass": 1.5,
    "max_energy_gain_per_prey": 2.5,
    "n_initial_active_type_1_predator": 6,
    "n_initial_active_type_1_prey": 8,
    "move_energy_cost_factor": 0.0,
    "energy_transfer_efficiency": 1.0,
    "reproduction_energy_efficiency": 1.0,
    "reproduction_cooldown_steps": 0,
}

_NO_SIGHT: dict[str, Any] = {
    "manual_wall_positions": [],
    "mask_observation_with_visibility": False,
    "include_visibility_channel": False,
    "respect_los_for_movement": False,
}
_STAG_HUNT: dict[str, Any] = _NO_SIGHT | {
    "draw_border": False,
    "type_2_action_range": 3,
    "separate_prey_channels": True,
    "n_initial_active_type_1_predator": 10,
    "n_initial_active_type_1_prey": 10,
    "n_initial_active_type_2_prey": 10,
    "initial_energy_predator": 4.0,
    "initial_energy_prey": {"type_1_prey": 10.0, "type_2_prey": 1.5},
    "energy_loss_per_step_predator": 0.08,
    "energy_loss_per_step_prey": {"type_1_prey": 0.1, "type_2_prey": 0.02},
    "predator_creation_energy_threshold": 10.0,
    "prey_creation_energy_threshold": {"type_1_prey": 18.0, "type_2_prey": 2.7},
    "max_energy_gain_per_grass": {"type_1_prey": 3.0, "type_2_prey": 0.3},
    "leave_small_bite": True,
    "initial_energy_grass": 3.0,
    "max_energy_grass": 3.0,
    "energy_gain_per_step_grass": 0.08,
    "team_capture_tie": "fails",
    "reproduction_reward_prey": {"type_1_prey": 10.0, "type_2_prey": 10.0},
    "quirks": {
        "published_placement": True,
        "cell_erasure": True,
        "zero_terminal_observation": True,
        "fixed_visibility": True,
        "predators_ignore_lines": True,
    },
}
STAG_HUNT = _STAG_HUNT
STAG_HUNT_DEFECTION = _STAG_HUNT | {
    "energy_loss_per_step_prey": {"type_1_prey": 0.1, "type_2_prey": 0.01},
    "join_choice": True,
    "team_capture_join_cost": 0.2,
    "team_capture_scavenger_fraction": 0.1,
}
METABOLIC_RATE = _NO_SIGHT | {
    "draw_border": False,
    "grid_size": 25,
    "predator_obs_range": 7,
    "n_initial_active_type_1_predator": 6,
    "n_initial_active_type_1_prey": 8,
    "initial_energy_prey": 3.0,
    "energy_loss_per_step_predator": 0.15,
    "prey_creation_energy_threshold": 8.0,
    "team_capture_enabled": False,
    "leave_carcass": False,
    "predator_satiation_cooldown": 8,
    "max_energy_gain_per_prey": 8.0,
    "traits": {
        "metabolic_rate": {"low": 0.5, "high": 2.0, "std_predator": 0.1, "std_prey": 0.1},
    },
    "on_extinction": "terminate",
    "quirks": {
        "published_placement": True,
        "cell_erasure": True,
        "fixed_visibility": True,
        "dead_prey_bitten": True,
        "view_at_death": True,
    },
}
_BASE: dict[str, Any] = _NO_SIGHT | {
    "grid_size": 25,
    "predator_obs_range": 7,
    "n_initial_active_type_1_predator": 6,
    "n_initial_active_type_1_prey": 8,
    "initial_energy_prey": 3.0,
    "energy_loss_per_step_predator": 0.15,
    "prey_creation_energy_threshold": 8.0,
    "team_capture_enabled": False,
}
SEASONAL = _BASE | {"season_length_steps": 40}
DONATION = _BASE | {
    "type_2_action_range": 3,
    "n_initial_active_type_1_prey": 10,
    "n_initial_active_type_2_prey": 10,
    "donation_fraction": {"type_1_prey": 0.05},
    "reproduction_reward_prey": {"type_1_prey": 10.0, "type_2_prey": 10.0},
}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "shared_prey_r1": SHARED_PREY_R1,
    "shared_prey_r1_published": SHARED_PREY_R1_PUBLISHED,
    "shared_prey_r2": SHARED_PREY_R2,
    "shared_prey_trained": SHARED_PREY_TRAINED,
    "lineage_documented": LINEAGE_DOCUMENTED,
    "lineage_published": LINEAGE_PUBLISHED,
    "lineage_shipped": LINEAGE_SHIPPED,
    "kick_back": KICK_BACK,
    "limited_intake": LIMITED_INTAKE,
    "stag_hunt": STAG_HUNT,
    "stag_hunt_defection": STAG_HUNT_DEFECTION,
    "metabolic_rate": METABOLIC_RATE,
    "seasonal": SEASONAL,
    "donation": DONATION,
}
DESCRIPTIONS: Mapping[str, str] = {
    "shared_prey_r1": "team capture as its design note states it: helpers share catch and reward equally",
    "shared_prey_r1_published": "shared_prey_r1 as its code runs: every helper gets the whole reward",
    "shared_prey_r2": "team capture as it is run today: a tie fails, failure costs energy",
    "shared_prey_trained": "the settings under which the published actors were trained",
    "lineage_documented": "bites, carcasses, juvenile diet, caps and lineage rewards as the note states",
    "lineage_published": "lineage_documented as its code runs: deaths of kin cost, and earlier caps",
    "lineage_shipped": "lineage_rewards as its config ships: no lineage reward, undocumented age caps",
    "kick_back": "bites and carcasses; a birth rewards the newborn's grandparent",
    "limited_intake": "bites and carcasses with small meals, and no rewards for kin",
    "stag_hunt": "large and small prey: teams of predators are needed for the large ones",
    "stag_hunt_defection": "a stag hunt in which predators choose to join; others may scavenge",
    "metabolic_rate": "a heritable metabolic rate: costs rise with it, and so does the use of food",
    "seasonal": "bites and carcasses; grass grows in turns of good and bad seasons",
    "donation": "prey of type 1 give energy to the prey around them, prey of type 2 only take",
}
