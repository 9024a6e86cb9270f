"""Read a configuration of PredPreyGrass, with a list of what has no effect here."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kinfolk.core.errors import SettingsError, UsageError, format_suggestion
from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna.io.upstream_config import convert_config
from kinfolk.worlds.savanna.io.variant_config import convert_base
from kinfolk.worlds.savanna.presets import PRESETS
from kinfolk.worlds.savanna.rules import METABOLIC_RATE
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
# Rule set -> the preset with the settings file that its module ships with.
PUBLISHED_PRESETS = {
    "r1": "shared_prey_r1_published",
    "r2": "shared_prey_r2",
    "lineage": "lineage_shipped",
    "kick_back": "kick_back",
    "limited_intake": "limited_intake",
    "stag_hunt": "stag_hunt",
    "stag_hunt_defection": "stag_hunt_defection",
    "metabolic_rate": "metabolic_rate",
    "seasonal": "seasonal",
    "donation": "donation",
}
# Rule set -> our name of a setting -> its key in the module's configuration.
_STAG_HUNT_NAMES = {"max_energy_gain_per_grass": "bite_size_prey"}
_OTHER_NAMES = {
    "stag_hunt": _STAG_HUNT_NAMES,
    "stag_hunt_defection": _STAG_HUNT_NAMES,
    "metabolic_rate": {
        "energy_loss_per_step_predator": "basal_energy_cost_predator",
        "energy_loss_per_step_prey": "basal_energy_cost_prey",
        "n_initial_active_type_1_predator": "n_initial_active_predators",
        "n_initial_active_type_1_prey": "n_initial_active_prey",
    },
    "seasonal": {
        "n_initial_active_type_1_predator": "n_initial_active_predator",
        "n_initial_active_type_1_prey": "n_initial_active_prey",
    },
    "donation": {
        "n_initial_active_type_1_predator": "n_initial_active_predator",
        "n_initial_active_type_1_prey": "n_initial_active_cooperator_prey",
        "n_initial_active_type_2_prey": "n_initial_active_defector_prey",
        "donation_multiplier": "cooperation_benefit_multiplier",
    },
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
    """A configuration, completed by those of its module, that remembers which of its keys were read."""

    def __init__(self, config: Mapping[str, Any], published: Mapping[str, Any]) -> None:
        self._config = config
        self._published = published
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        source = self._config if key in self._config else self._published
        value = source[key]
        self.read.add(key)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._config)

    def __len__(self) -> int:
        return len(self._config)


def from_upstream(config: Mapping[str, Any], rule_set: str | None = None) -> UpstreamSettings:
    """Return the settings of kinfolk for a configuration of PredPreyGrass.

    They include the quirks of the published code, except for the modules base_environment_seasonal
    and network_reciprocity, whose season and donation are options of kinfolk's own rules.

    Keys that the configuration leaves out have the values of the module's published settings file, which
    are those of a preset: see `PUBLISHED_PRESETS`.

    Args:
        config: A configuration, as in `config/config_env_*.py` of PredPreyGrass, or a part of one.
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
            f"Give a key that only one of them has, such as lineage_reward_coeff, or name the rules."
        )
    read = _ReadKeys(config, _list_published_keys(rule_set))
    if rule_set in ("seasonal", "donation"):
        settings = validate_settings(Savanna, convert_base(read))
    else:
        settings = convert_config(read, rule_set, None)
    ignored = {key: _explain(key, rule_set, read.read) for key in config if key not in read.read}
    return UpstreamSettings(settings, rule_set, ignored)


def _list_published_keys(rule_set: str) -> dict[str, Any]:
    """Return the configuration that a module ships with, as far as it is read."""
    preset = PRESETS[PUBLISHED_PRESETS[rule_set]]
    config = validate_settings(Savanna, {}).model_dump() | dict(preset)
    names = _OTHER_NAMES.get(rule_set, {})
    config |= {theirs: config[ours] for ours, theirs in names.items()}
    if rule_set.startswith("stag_hunt"):
        config["strict_rllib_output"] = True
    if rule_set in ("metabolic_rate", "seasonal", "donation"):
        config |= {"reproduction_reward_predator": 10.0, "reproduction_reward_prey": 10.0}
    if rule_set == "metabolic_rate":
        trait = validate_settings(Savanna, dict(preset)).traits[METABOLIC_RATE]
        config["trait_bounds"] = {METABOLIC_RATE: (trait.low, trait.high)}
        config["genome_mutation"] = {"rate": trait.mutation_rate, "std": trait.mutation_std}
        config["founder_genome"] = {
            species: {
                "metabolic_rate_mean": getattr(trait, f"mean_{species}"),
                "metabolic_rate_std": getattr(trait, f"std_{species}"),
            }
            for species in ("predator", "prey")
        }
    if rule_set == "donation":
        config["cooperation_cost"] = preset["donation_fraction"]["type_1_prey"]
    return config


def read_python_config(source: str, name: str) -> dict[str, Any]:
    """Return the configuration in a Python file, such as `config_env_shared_prey.py`, without running it.

    Args:
        source: Content of the file: an assignment of a dictionary of literals, which may contain
            `float("inf")`.
        name: Name of the file in error messages.

    Raises:
        UsageError: It is not Python, or no dictionary of literals is assigned in it.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise UsageError(f"{name} is not valid Python: {error.msg}, line {error.lineno}.") from None
    tables = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(
            statement.value, ast.Dict
        ):
            tables.append(statement.value)
    if len(tables) != 1:
        raise UsageError(
            f"{name} must assign one dictionary, such as config_env = {{...}}; it assigns {len(tables)}."
        )
    try:
        config: dict[str, Any] = ast.literal_eval(_ReplaceInfinity().visit(tables[0]))
    except ValueError as error:
        raise UsageError(
            f"{name} is read without running it, so its dictionary can hold literals only: {error}."
        ) from None
    return config


class _ReplaceInfinity(ast.NodeTransformer):
    """Replace `float("inf")` by a literal that is infinite."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the literal, or the call if it is another one."""
        if ast.unparse(node) in ("float('inf')", "float('Infinity')"):
            return ast.copy_location(ast.Constant(float("inf")), node)
        return node


def _explain(key: str, rule_set: str, known_keys: Iterable[str]) -> str:
    """Return why a key has no effect, or raise SettingsError if no version has such a key.

    Args:
        key: Key that was not read.
        rule_set: Rules of the configuration.
        known_keys: Keys that these rules read.
    """
    for start, reason in _IGNORED.items():
        if key.startswith(start):
            return reason
    if key in _GENOME_KEYS and rule_set == "metabolic_rate":
        return "genomes are off"
    if key.endswith("_min") or key in ("genome_enabled",):
        return "this module does not read it"
    hint = format_suggestion(key, sorted({*_SIGNS, *known_keys}))
    raise SettingsError(
        f"'{key}' is no key of PredPreyGrass that kinfolk knows for the rules {rule_set}: it is of "
        f"another version, or misspelt.{hint}"
    )
