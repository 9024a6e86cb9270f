"""Configurations of PredPreyGrass as settings of kinfolk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna.io.trace_format import TraceError
from kinfolk.worlds.savanna.io.variant_config import (
    convert_metabolic_rate,
    convert_stag_hunt,
    parse_number,
)
from kinfolk.worlds.savanna.rules import AGENT_TYPES
from kinfolk.worlds.savanna.settings import Savanna

# (module, revision) -> rule set
RULE_SETS = {
    ("shared_prey", "f2761140"): "r1",
    ("shared_prey", "74794be1"): "r2",
    ("lineage_rewards", "74794be1"): "lineage",
    ("stag_hunt", "74794be1"): "stag_hunt",
    ("stag_hunt_defection", "74794be1"): "stag_hunt_defection",
    ("eco_evolutionary_metabolic_rate", "74794be1"): "metabolic_rate",
}
# Modules of which one set of rules is known, whatever the revision.
_ONLY_RULE_SETS = {"kick_back_rewards": "kick_back", "limited_intake": "limited_intake"}
_REVISION_DIGITS = 8  # digits of a revision that are compared

_UNCHANGED_KEYS = (
    *("max_steps", "grid_size", "predator_obs_range", "prey_obs_range"),
    *("type_1_action_range", "type_2_action_range", "respect_los_for_movement"),
    *("mask_observation_with_visibility", "include_visibility_channel", "manual_wall_positions"),
    *("energy_loss_per_step_predator", "energy_loss_per_step_prey"),
    *("predator_creation_energy_threshold", "prey_creation_energy_threshold"),
    *("initial_energy_predator", "initial_energy_prey", "max_energy_grass"),
    *("n_initial_active_type_1_predator", "n_initial_active_type_2_predator"),
    *("n_initial_active_type_1_prey", "n_initial_active_type_2_prey"),
    *("initial_num_grass", "initial_energy_grass", "energy_gain_per_step_grass"),
    *("reproduction_reward_predator", "reproduction_reward_prey"),
)
_OLDER_NUMBERS = (
    *("max_energy_gain_per_grass", "max_energy_gain_per_prey", "move_energy_cost_factor"),
    *("mutation_rate_predator", "mutation_rate_prey", "max_energy_predator", "max_energy_prey"),
    *("reproduction_cooldown_steps", "energy_transfer_efficiency"),
    "reproduction_energy_efficiency",
)
_OLDER_TABLES = (
    *("kin_kick_back_reward_predator", "kin_kick_back_reward_prey"),
    *("reproduction_chance_predator", "reproduction_chance_prey"),
    *("reward_predator_catch_prey", "reward_prey_eat_grass", "reward_predator_step"),
    *("reward_prey_step", "penalty_prey_caught"),
)
# Values of PredPreyGrass where the config has none.
_DEFAULT_FERTILITY_AGES = {"type_1_predator": 80, "type_1_prey": 60}
_QUIRKS = ("published_placement", "cell_erasure", "zero_terminal", "fixed_visibility")
_CARCASS_QUIRKS = {"dead_prey_bitten": True, "carcasses_live": True}


def find_rule_set(module: str, revision: str) -> str:
    """Return which rules a recording was made with, such as 'r1', 'r2' or 'lineage'.

    Raises:
        TraceError: Kinfolk has no rules for this module and revision.
    """
    rule_set = RULE_SETS.get((module, revision[:_REVISION_DIGITS])) or _ONLY_RULE_SETS.get(module)
    if rule_set is None:
        known = ", ".join(f"{name} at {rev}" for name, rev in RULE_SETS)
        raise TraceError(f"No rules are known for {module} at {revision}. Known: {known}.")
    return rule_set


def convert_config(config: Mapping[str, Any], rule_set: str, n_rows: int | None) -> Savanna:
    """Return the settings of kinfolk for a configuration of PredPreyGrass under a rule set.

    Args:
        config: Configuration of PredPreyGrass.
        rule_set: One of the values of `RULE_SETS`.
        n_rows: Rows that the world needs; None for the default.

    Raises:
        TraceError: A key is missing.
        SettingsError: A value is out of range.
    """
    settings: dict[str, Any] = {
        "max_rows": n_rows,
        "draw_border": False,
        "lineage_reward_mode": "symmetric",
    }
    if rule_set in ("stag_hunt", "stag_hunt_defection"):
        return validate_settings(Savanna, settings | convert_stag_hunt(config, rule_set))
    if rule_set == "metabolic_rate":
        return validate_settings(Savanna, settings | convert_metabolic_rate(config))
    for key in _UNCHANGED_KEYS:
        if key not in config:
            raise TraceError(f"The configuration has no '{key}'.")
        settings[key] = parse_number(config[key])
    for species in ("predator", "prey"):
        key = f"reproduction_reward_{species}"
        settings[key] = _select_types(config[key], species)
    quirks = dict.fromkeys(_QUIRKS, True)
    if rule_set == "lineage":
        settings |= _convert_lineage(config)
        quirks |= {"default_age_caps": True}
        quirks |= _CARCASS_QUIRKS
    elif rule_set in ("kick_back", "limited_intake"):
        settings |= _convert_older(config)
        quirks |= _CARCASS_QUIRKS
    else:
        settings |= _convert_team_capture(config, rule_set)
        quirks |= {"mean_catch_reward": rule_set == "r1", "parents_not_logged": True}
    return validate_settings(Savanna, settings | {"quirks": quirks})


def _convert_team_capture(config: Mapping[str, Any], rules: str) -> dict[str, Any]:
    """Return the settings of team capture under the rules 'r1' or 'r2'."""
    settings = {"team_capture_margin": config.get("team_capture_margin", 0.0)}
    if rules == "r1":  # the split is hard-wired, failure is free, and three reward keys are read
        keys = ("reward_predator_catch_prey", "reward_prey_eat_grass", "penalty_prey_caught")
        return settings | {
            key: _select_types(config[key], "predator" if "predator" in key else "prey")
            for key in keys
            if key in config
        }
    cost_key = "energy_percentage_loss_per_failed_attacked_prey"
    return settings | {
        "team_capture_tie": "fails",
        "team_capture_equal_split": config.get("team_capture_equal_split", False),
        cost_key: config.get(cost_key, 0.0),
    }


def _convert_lineage(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of lineage_rewards, which reads no other reward keys."""
    settings: dict[str, Any] = {
        "team_capture_enabled": False,
        "lineage_reward_coeff": _select_types(config.get("lineage_reward_coeff", 0.0)),
        "max_fertility_age": _DEFAULT_FERTILITY_AGES | _select_ages(config, "max_fertility_age"),
        "max_agent_age": _select_ages(config, "max_agent_age"),
        "carcass_only_predator_age": _select_ages(config, "carcass_only_predator_age", "predator"),
    }
    for key in ("max_energy_gain_per_grass", "max_energy_gain_per_prey"):
        if key in config:
            settings[key] = parse_number(config[key])
    return settings


def _convert_older(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of kick_back_rewards and limited_intake, which have no age caps."""
    settings: dict[str, Any] = {"team_capture_enabled": False}
    for key in _OLDER_NUMBERS:
        if key in config:
            settings[key] = parse_number(config[key])
    for key in _OLDER_TABLES:
        if key in config:
            species = "predator" if "predator" in key else "prey"
            settings[key] = _select_types(config[key], species)
    return settings


def _select_types(value: Any, species: str = "") -> Any:
    """Return the values of the types of a species; a plain number stays as it is."""
    if not isinstance(value, Mapping):
        return value
    return {name: value[name] for name in AGENT_TYPES if name in value and species in name}


def _select_ages(config: Mapping[str, Any], key: str, species: str = "") -> dict[str, Any]:
    """Return a mapping of ages by type; other values are ignored, as in PredPreyGrass.

    Args:
        config: Configuration of PredPreyGrass.
        key: Key of the mapping.
        species: Select only types of this species.
    """
    value = config.get(key)
    return dict(_select_types(value, species)) if isinstance(value, Mapping) else {}
