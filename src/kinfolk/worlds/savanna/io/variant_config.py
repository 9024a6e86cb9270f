"""Configurations of the newer PredPreyGrass modules: stag hunts and heritable traits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.worlds.savanna.io.trace_format import TraceError
from kinfolk.worlds.savanna.rules import METABOLIC_RATE

_UNLIMITED = float("inf")
_TYPES = ("type_1_predator", "type_2_predator", "type_1_prey", "type_2_prey")
_COMMON_KEYS = (
    *("max_steps", "grid_size", "predator_obs_range", "prey_obs_range", "initial_energy_predator"),
    *("max_energy_grass", "initial_num_grass", "initial_energy_grass"),
    "energy_gain_per_step_grass",
)
_STAG_HUNT_KEYS = (
    *_COMMON_KEYS,
    *("type_1_action_range", "type_2_action_range", "energy_loss_per_step_predator"),
    *(f"n_initial_active_{name}" for name in _TYPES),
)
_OPTIONAL_KEYS = ("team_capture_margin", "energy_percentage_loss_per_failed_attacked_prey")
_VIEW_KEYS = (
    *("respect_los_for_movement", "mask_observation_with_visibility"),
    "include_visibility_channel",
)


def _take(config: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of `keys`, or raise TraceError for a missing one."""
    for key in keys:
        if key not in config:
            raise TraceError(f"The configuration has no '{key}'.")
    return {key: parse_number(config[key]) for key in keys}


def parse_number(value: Any) -> Any:
    """Return a value of a configuration, in which JSON has infinity as the text "inf"."""
    return _UNLIMITED if value == "inf" else value


def _read_prey_table(config: Mapping[str, Any], keys: tuple[str, ...], absent: float) -> Any:
    """Return a number, or a table of both types of prey.

    Args:
        config: Configuration of PredPreyGrass.
        keys: Names of the setting; the first that is there counts.
        absent: Value of a type that the table misses, and of a missing setting.
    """
    value = next((config[key] for key in keys if key in config), absent)
    if isinstance(value, Mapping):
        return {t: parse_number(value.get(t, absent)) for t in ("type_1_prey", "type_2_prey")}
    return parse_number(value)


def _select(value: Any, species: str) -> Any:
    """Return the values of both types of a species; a plain number stays as it is."""
    if not isinstance(value, Mapping):
        return value
    return {name: value.get(name, 0.0) for name in _TYPES if name.endswith(species)}


def convert_stag_hunt(config: Mapping[str, Any], rule_set: str) -> dict[str, Any]:
    """Return the settings for a configuration of stag_hunt or stag_hunt_defection.

    Args:
        config: Configuration of PredPreyGrass.
        rule_set: 'stag_hunt' or 'stag_hunt_defection'.

    Raises:
        TraceError: A key is missing.
    """
    thresholds = ("energy_treshold_creation_predator", "predator_creation_energy_threshold")
    bites = _read_prey_table(config, ("bite_size_prey",), _UNLIMITED)
    if isinstance(bites, Mapping):
        bites = {name: max(0.0, bite) for name, bite in bites.items()}
    else:
        bites = max(0.0, bites)
    start = _read_prey_table(config, ("initial_energy_prey",), 0.0)
    if isinstance(start, Mapping):  # a type without founders needs no energy
        start = {t: e if e or config[f"n_initial_active_{t}"] else 1.0 for t, e in start.items()}
    is_strict = bool(config.get("strict_rllib_output", False))
    settings = {
        **_take(config, _STAG_HUNT_KEYS),
        **{key: config.get(key, 0.0) for key in _OPTIONAL_KEYS},
        **{key: config.get(key, False) for key in _VIEW_KEYS},
        "manual_wall_positions": config.get("manual_wall_positions", []),
        **{f"n_possible_{name}": _count_ids(config, name) for name in _TYPES},
        "predator_creation_energy_threshold": next(
            (config[key] for key in thresholds if key in config), 0.0
        ),
        "prey_creation_energy_threshold": _read_prey_table(
            config, ("energy_treshold_creation_prey", "prey_creation_energy_threshold"), 0.0
        ),
        "initial_energy_prey": start,
        "energy_loss_per_step_prey": _read_prey_table(config, ("energy_loss_per_step_prey",), 0.0),
        "max_energy_gain_per_grass": bites,
        "leave_small_bite": True,
        "separate_prey_channels": True,
        "team_capture_tie": "fails",
        "team_capture_equal_split": config.get("team_capture_equal_split", False),
        "death_penalty": {
            name: config.get(
                "death_penalty_predator" if "predator" in name else f"death_penalty_{name}", 0.0
            )
            for name in _TYPES
        },
        "quirks": {
            **dict.fromkeys(("published_placement", "cell_erasure", "fixed_visibility"), True),
            "predators_ignore_lines": True,
            "parents_not_logged": True,
            "zero_terminal_observation" if is_strict else "zero_terminal": True,
        },
    }
    for species in ("predator", "prey"):
        key = f"reproduction_reward_{species}"
        settings[key] = _select(config.get(key, 0.0), species)
    if rule_set == "stag_hunt":
        key = "failed_attack_kills_predator"
        return settings | {key: bool(config.get(key, False))}
    fraction = float(config.get("team_capture_scavenger_fraction", 0.0))
    return settings | {
        "join_choice": True,
        "team_capture_join_cost": max(0.0, float(config.get("team_capture_join_cost", 0.0))),
        "team_capture_scavenger_fraction": min(max(fraction, 0.0), 1.0),
    }


def _count_ids(config: Mapping[str, Any], name: str) -> int | None:
    """Return how many agents of a type there may ever be: predators' keys are in the plural."""
    key = f"n_possible_{name}s" if name.endswith("predator") else f"n_possible_{name}"
    return config.get(key)


def convert_metabolic_rate(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings for a configuration of eco_evolutionary_metabolic_rate.

    `n_initial_active_*` are highest numbers there; a replay sets the numbers that were drawn.

    Raises:
        TraceError: A key is missing.
    """
    limit = parse_number(config.get("max_energy_gain_per_prey"))
    return {
        **_take(config, _COMMON_KEYS),
        **_take(config, ("predator_creation_energy_threshold", "prey_creation_energy_threshold")),
        **_take(config, ("initial_energy_prey",)),
        "type_1_action_range": config.get("action_range", 3),
        "n_initial_active_type_1_predator": config["n_initial_active_predators"],
        "n_initial_active_type_1_prey": config["n_initial_active_prey"],
        "n_possible_type_1_predator": config.get("n_possible_predators"),
        "n_possible_type_1_prey": config.get("n_possible_prey"),
        "energy_loss_per_step_predator": config["basal_energy_cost_predator"],
        "energy_loss_per_step_prey": config["basal_energy_cost_prey"],
        **{
            key: config.get(key, 0.0)
            for key in (
                "movement_energy_cost_per_cell_predator",
                "movement_energy_cost_per_cell_prey",
            )
        },
        "max_energy_gain_per_prey": _UNLIMITED if limit is None else limit,
        "predator_satiation_cooldown": max(0, config.get("predator_satiation_cooldown") or 0),
        "predator_reproduction_max_ratio": config.get("predator_reproduction_max_ratio"),
        "leave_carcass": False,
        "team_capture_enabled": False,
        "metabolic_rate_alpha": config.get("metabolic_rate_alpha", 0.7),
        "neutral_drift": bool(config.get("genome_neutral_drift_control", False)),
        "traits": _read_trait(config) if config.get("genome_enabled", True) else {},
        "manual_wall_positions": [],
        **dict.fromkeys(_VIEW_KEYS, False),
        "reproduction_reward_predator": {"type_1_predator": _read_reward(config, "predator")},
        "reproduction_reward_prey": {"type_1_prey": _read_reward(config, "prey")},
        "on_extinction": "terminate",
        "quirks": dict.fromkeys(
            (
                *("published_placement", "cell_erasure", "fixed_visibility", "dead_prey_bitten"),
                "view_at_death",
            ),
            True,
        ),
    }


def _read_reward(config: Mapping[str, Any], species: str) -> float:
    """Return the reward of a species for a birth: a number, or one in a table."""
    value = config.get(f"reproduction_reward_{species}", 0.0)
    return float(value.get(species, 0.0) if isinstance(value, Mapping) else value)


def _read_trait(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the trait metabolic_rate of a configuration."""
    low, high = config["trait_bounds"][METABOLIC_RATE]
    founders, mutation = config["founder_genome"], config["genome_mutation"]
    trait = {"low": low, "high": high}
    for species in ("predator", "prey"):
        trait[f"mean_{species}"] = founders[species]["metabolic_rate_mean"]
        trait[f"std_{species}"] = max(0.0, founders[species]["metabolic_rate_std"])
    trait |= {"mutation_rate": mutation["rate"], "mutation_std": mutation["std"]}
    return {METABOLIC_RATE: trait}


def convert_base(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the season or donation of a base_environment module, in kinfolk's rules.

    Raises:
        TraceError: A key is missing.
    """
    settings = {
        **_take(config, tuple(key for key in _COMMON_KEYS if key != "max_energy_grass")),
        **_take(config, ("predator_creation_energy_threshold", "prey_creation_energy_threshold")),
        **_take(config, ("initial_energy_prey", "energy_loss_per_step_prey")),
        **_take(config, ("energy_loss_per_step_predator",)),
        "max_energy_grass": config["initial_energy_grass"],
        "n_initial_active_type_1_predator": config["n_initial_active_predator"],
        "team_capture_enabled": False,
        "manual_wall_positions": [],
        **dict.fromkeys(_VIEW_KEYS, False),
    }
    for species in ("predator", "prey"):
        settings[f"reproduction_reward_{species}"] = _read_reward(config, species)
        settings[f"reward_{species}_step"] = config.get(f"reward_{species}_step", 0.0)
    for key in ("reward_predator_catch_prey", "reward_prey_eat_grass", "penalty_prey_caught"):
        settings[key] = config.get(key, 0.0)
    for key in ("season_length_steps", "season_high_multiplier", "season_low_multiplier"):
        if key in config:
            settings[key] = config[key]
    if "cooperation_cost" not in config:
        return settings | {"n_initial_active_type_1_prey": config["n_initial_active_prey"]}
    return settings | {
        "type_2_action_range": 3,
        "n_initial_active_type_1_prey": config["n_initial_active_cooperator_prey"],
        "n_initial_active_type_2_prey": config["n_initial_active_defector_prey"],
        "donation_fraction": {"type_1_prey": config["cooperation_cost"]},
        "donation_multiplier": config["cooperation_benefit_multiplier"],
    }
