"""The format of a golden trace: how it is parsed, and which keys it must have."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from typing import Any

from kinfolk.core.errors import DamagedRunError, KinfolkError
from kinfolk.core.settings import validate_settings
from kinfolk.store.event_log import decompress_gzip
from kinfolk.store.files import parse_json
from kinfolk.worlds.savanna.rules import AGENT_TYPES
from kinfolk.worlds.savanna.settings import Savanna

# (module, revision) -> rule set
RULE_SETS = {
    ("shared_prey", "f2761140"): "r1",
    ("shared_prey", "74794be1"): "r2",
    ("lineage_rewards", "74794be1"): "lineage",
}
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
# Values of PredPreyGrass where the config has none.
_DEFAULT_FERTILITY_AGES = {"type_1_predator": 80, "type_1_prey": 60}
_QUIRKS = ("published_placement", "cell_erasure", "zero_terminal", "fixed_visibility")


class TraceError(KinfolkError):
    """A file is not a trace that can be replayed."""


def find_rule_set(module: str, revision: str) -> str:
    """Return which rules a recording was made with: 'r1', 'r2' or 'lineage'.

    Raises:
        TraceError: Kinfolk has no rules for this module and revision.
    """
    rule_set = RULE_SETS.get((module, revision[:_REVISION_DIGITS]))
    if rule_set is None:
        known = ", ".join(f"{name} at {rev}" for name, rev in RULE_SETS)
        raise TraceError(f"No rules are known for {module} at {revision}. Known: {known}.")
    return rule_set


def convert_config(config: Mapping[str, Any], rule_set: str, n_rows: int) -> Savanna:
    """Return the settings of kinfolk for a configuration of PredPreyGrass under a rule set.

    Args:
        config: Configuration of PredPreyGrass.
        rule_set: 'r1', 'r2' or 'lineage'.
        n_rows: Rows that the world needs.

    Raises:
        TraceError: A key is missing.
        SettingsError: A value is out of range.
    """
    settings: dict[str, Any] = {
        "max_rows": n_rows,
        "draw_border": False,
        "lineage_reward_mode": "symmetric",
    }
    for key in _UNCHANGED_KEYS:
        if key not in config:
            raise TraceError(f"The trace's config has no '{key}'.")
        settings[key] = _parse_number(config[key])
    for species in ("predator", "prey"):
        key = f"reproduction_reward_{species}"
        settings[key] = _select_types(config[key], species)
    quirks = dict.fromkeys(_QUIRKS, True)
    if rule_set == "lineage":
        settings |= _convert_lineage(config)
        quirks |= {"dead_prey_bitten": True, "default_age_caps": True}
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
            settings[key] = _parse_number(config[key])
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


def _parse_number(value: Any) -> Any:
    """Return a value of a configuration, in which JSON has infinity as the text "inf"."""
    return float("inf") if value == "inf" else value


_KEYS = (
    "upstream",
    "seed",
    "config",
    "grass_pos",
    "walls",
    "initial",
    "steps",
    "event_log",
    "stats",
)
_STEP_KEYS = (
    *("actions", "state", "rewards", "terminated", "truncated", "obs_sha1", "n_pred"),
    "n_prey",
)
_STATE_KEYS = ("pos", "energy", "age", "grass")


def parse_trace(data: bytes, name: str = "The trace") -> dict[str, Any]:
    """Parse the content of a gzip file that holds a trace.

    Args:
        data: Content of the file.
        name: Name of the file in error messages.

    Raises:
        TraceError: The data is not gzip, is cut short, or holds something else.
    """
    if not data:
        raise TraceError(f"{name} is empty.")
    try:
        trace = parse_json(decompress_gzip(data, name))
    except EOFError:
        raise TraceError(f"{name} is cut short.") from None
    except (gzip.BadGzipFile, zlib.error):
        raise TraceError(f"{name} is not a gzip file, or it is damaged.") from None
    except DamagedRunError as error:
        raise TraceError(str(error)) from None
    except ValueError:
        raise TraceError(f"{name} is not valid JSON.") from None
    if not isinstance(trace, dict):
        raise TraceError(f"{name} is not a trace: its JSON is no object.")
    return trace


def check_trace(trace: Mapping[str, Any]) -> None:
    """Check that a trace has all keys, with values of the right types.

    Raises:
        TraceError: Something is missing or of a wrong type.
    """
    for key in _KEYS:
        if key not in trace:
            raise TraceError(f"The trace has no '{key}': it is not a savanna trace, or incomplete.")
    for key in ("module", "rev"):
        if not isinstance(trace["upstream"], Mapping) or key not in trace["upstream"]:
            raise TraceError(f"The trace's 'upstream' has no '{key}'.")
    if not isinstance(trace["seed"], int) or trace["seed"] < 0:
        raise TraceError(f"The trace's seed must be a whole number, not {trace['seed']!r}.")
    if not isinstance(trace["config"], Mapping):
        raise TraceError("The trace's 'config' is not an object.")
    if not isinstance(trace["steps"], list) or not trace["steps"]:
        raise TraceError("The trace has no steps.")
    _check_state(trace["initial"], "initial state")
    for t, step in enumerate(trace["steps"]):
        for key in _STEP_KEYS:
            if not isinstance(step, Mapping) or key not in step:
                raise TraceError(f"Step {t} of the trace has no '{key}'.")
        if not all(_is_pair(pair, str, int) for pair in step["actions"]):
            raise TraceError(f"Step {t} of the trace has actions that are not [agent, action].")
        _check_state(step["state"], f"state after step {t}")


def _is_pair(value: Any, first: type, second: type) -> bool:
    """Return whether a value is a list of two elements of the given types.

    Args:
        value: Any JSON value.
        first: Type of its first element.
        second: Type of its second element.
    """
    pair = isinstance(value, list | tuple) and len(value) == 2
    return pair and isinstance(value[0], first) and isinstance(value[1], second)


def _check_state(state: Any, name: str) -> None:
    """Raise TraceError unless a state, called `name` in the message, has all keys and cells."""
    for key in _STATE_KEYS:
        if not isinstance(state, Mapping) or not isinstance(state.get(key), Mapping):
            raise TraceError(f"The trace's {name} has no '{key}'.")
    for agent, position in state["pos"].items():
        if not _is_pair(position, int, int):
            raise TraceError(f"The trace's {name} gives no cell for {agent}, but {position!r}.")
