"""Read a configuration of PredPreyGrass, with a list of what has no effect here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kinfolk.core.errors import SettingsError, format_suggestion
from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna.io.trace_format import TraceError
from kinfolk.worlds.savanna.io.upstream_config import convert_config
from kinfolk.worlds.savanna.io.variant_config import convert_base
from kinfolk.worlds.savanna.settings import Savanna

# A key that only one module has -> its rule set; the first that is found counts.
_SIGNS = {
    "basal_energy_cost_predator": "metabolic_rate",
    "team_capture_join_cost": "stag_hunt_defection",
    "team_capture_scavenger_fraction": "stag_hunt_defection",
    "bite_size_prey": "stag_hunt",
    "failed_attack_kills_predator": "stag_hunt",
    "season_length_steps": "seasonal",
    "cooperation_cost": "donation",
    "lineage_reward_coeff": "lineage",
    "kin_kick_back_reward_predator": "kick_back",
    "kin_kick_back_reward_prey": "kick_back",
    "energy_percentage_loss_per_failed_attacked_prey": "r2",
    "team_capture_margin": "r1",
    "move_energy_cost_factor": "limited_intake",
    "max_energy_gain_per_prey": "limited_intake",
}
_GENOME_KEYS = ("founder_genome", "genome_mutation", "trait_bounds")  # unread without genomes
# Keys without an effect on the rules, and why.
_IGNORED = {
    "seed": "the seed of an episode is given at reset",
    "strict_rllib_output": "the adapters decide which agents are in a step's output",
    "num_obs_channels": "it follows from the other settings",
    "wall_placement_mode": "PredPreyGrass does not read it",
    "num_walls": "PredPreyGrass does not read it",
    "debug_mode": "it prints",
    "n_possible": "rows are reused, so ids do not run out",
    "verbose": "it prints",
    "n_initial_active_predators_min": "the number of founders is not drawn",
    "n_initial_active_prey_min": "the number of founders is not drawn",
    "reward": "this module does not read it",
    "penalty": "this module does not read it",
    "lineage_reward_coeff": "this module does not read it",
    "team_capture": "this module does not read it",
    "max_energy_gain": "this module does not read it",
    "default": "PredPreyGrass does not read it",
}


@dataclass(frozen=True)
class UpstreamSettings:
    """A configuration of PredPreyGrass as settings of kinfolk.

    Attributes:
        settings: The settings.
        rule_set: Rules that the configuration's keys belong to, such as "r2" or "stag_hunt".
        ignored: Keys without an effect here, with the reason.
    """

    settings: Savanna
    rule_set: str
    ignored: Mapping[str, str]


class _ReadKeys(Mapping[str, Any]):
    """A configuration that remembers which of its keys were read."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return self._config[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._config)

    def __len__(self) -> int:
        return len(self._config)


def from_upstream(config: Mapping[str, Any], rule_set: str | None = None) -> UpstreamSettings:
    """Return the settings of kinfolk for a configuration of PredPreyGrass.

    They include the quirks of the published code, except for the modules base_environment_seasonal
    and network_reciprocity, whose season and donation are options of kinfolk's own rules.

    Args:
        config: A configuration, as in `config/config_env_*.py` of PredPreyGrass.
        rule_set: "r1", "r2", "lineage", "kick_back", "limited_intake", "stag_hunt",
            "stag_hunt_defection", "metabolic_rate", "seasonal" or "donation"; by default it follows
            from the keys.

    Raises:
        SettingsError: No module has such keys, a key is unknown, or a value is invalid.
    """
    if rule_set is None:
        rule_set = next((rules for key, rules in _SIGNS.items() if key in config), None)
    if rule_set is None or rule_set not in {*_SIGNS.values()}:
        known = ", ".join(dict.fromkeys(_SIGNS.values()))
        raise SettingsError(
            f"This is no configuration of a PredPreyGrass module that kinfolk knows: {known}. "
            f"Give one with all of its module's keys, or name the rules."
        )
    read = _ReadKeys(config)
    try:
        if rule_set in ("seasonal", "donation"):
            settings = validate_settings(Savanna, convert_base(read))
        else:
            settings = convert_config(read, rule_set, None)
    except (TraceError, KeyError) as error:
        problem = f"The configuration has no {error}." if isinstance(error, KeyError) else error
        raise SettingsError(
            f"{problem} The rules {rule_set} need it: give all keys of the module, or name other rules."
        ) from error
    ignored = {key: _explain(key, rule_set, config) for key in config if key not in read.read}
    return UpstreamSettings(settings, rule_set, ignored)


def _explain(key: str, rule_set: str, config: Mapping[str, Any]) -> str:
    """Return why a key has no effect, or raise SettingsError if no version has such a key.

    Args:
        key: Key that was not read.
        rule_set: Rules of the configuration.
        config: The configuration.
    """
    for start, reason in _IGNORED.items():
        if key.startswith(start):
            return reason
    if key in _GENOME_KEYS and rule_set == "metabolic_rate":
        return "genomes are off"
    if key.endswith("_min") or key in ("genome_enabled",):
        return "this module does not read it"
    hint = format_suggestion(key, [known for known in (*_SIGNS, *config) if known != key])
    raise SettingsError(
        f"'{key}' is no key of PredPreyGrass that kinfolk knows for the rules {rule_set}: it is of "
        f"another version, or misspelt.{hint}"
    )
