"""Settings that differ by type of agent, heritable traits, and quirks of the published code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import model_validator

from kinfolk.core.settings import Settings, setting


class _PerType(Settings):
    """Values by type of agent; a plain number sets the same value for every type."""

    @model_validator(mode="before")
    @classmethod
    def _expand_number(cls, value: Any) -> Any:
        """Give every type the same value if a plain number was given."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return dict.fromkeys(cls.model_fields, value)
        return value


class PredatorValues(_PerType):
    """A number per type of predator."""

    type_1_predator: float = setting(0.0, "Value of predators of type 1.")
    type_2_predator: float = setting(0.0, "Value of predators of type 2.")


class PreyValues(_PerType):
    """A number per type of prey."""

    type_1_prey: float = setting(0.0, "Value of prey of type 1.")
    type_2_prey: float = setting(0.0, "Value of prey of type 2.")


class PerTypeValues(PreyValues, PredatorValues):
    """A number per type of agent."""


class PredatorProbabilities(_PerType):
    """A probability per type of predator."""

    type_1_predator: float = setting(1.0, "Probability of predators of type 1.", ge=0.0, le=1.0)
    type_2_predator: float = setting(1.0, "Probability of predators of type 2.", ge=0.0, le=1.0)


class PreyProbabilities(_PerType):
    """A probability per type of prey."""

    type_1_prey: float = setting(1.0, "Probability of prey of type 1.", ge=0.0, le=1.0)
    type_2_prey: float = setting(1.0, "Probability of prey of type 2.", ge=0.0, le=1.0)


class PreyFractions(_PerType):
    """A fraction per type of prey."""

    type_1_prey: float = setting(0.0, "Fraction of prey of type 1.", ge=0.0, le=1.0)
    type_2_prey: float = setting(0.0, "Fraction of prey of type 2.", ge=0.0, le=1.0)


class PredatorAges(_PerType):
    """An age in steps per type of predator; None or a negative number means no limit."""

    type_1_predator: int | None = setting(None, "Age in steps of predators of type 1.")
    type_2_predator: int | None = setting(None, "Age in steps of predators of type 2.")


class PerTypeAges(PredatorAges):
    """An age in steps per type of agent; None or a negative number means no limit."""

    type_1_prey: int | None = setting(None, "Age in steps of prey of type 1.")
    type_2_prey: int | None = setting(None, "Age in steps of prey of type 2.")


class HeritableTrait(Settings):
    """A number that children inherit, with mutations; founders draw it from a normal distribution.

    The trait `metabolic_rate` multiplies the energy loss per step, and `metabolic_rate_alpha` says
    how it changes the energy of meals. A trait of any other name has no effect: a neutral marker.
    """

    low: float | None = setting(None, "Lowest value; must be given.")
    high: float | None = setting(None, "Highest value; must be given.")
    mean_predator: float = setting(1.0, "Mean of the founders among predators.")
    std_predator: float = setting(
        0.0, "Standard deviation of the founders among predators.", ge=0.0
    )
    mean_prey: float = setting(1.0, "Mean of the founders among prey.")
    std_prey: float = setting(0.0, "Standard deviation of the founders among prey.", ge=0.0)
    mutation_rate: float = setting(0.05, "Probability that a child mutates.", ge=0.0, le=1.0)
    mutation_std: float = setting(0.04, "Standard deviation of a mutation.", ge=0.0)


# Settings that may be given as a table by type -> the setting of type 2.
TYPE_2_SETTINGS = {
    "initial_energy_predator": "initial_energy_type_2_predator",
    "initial_energy_prey": "initial_energy_type_2_prey",
    "energy_loss_per_step_predator": "energy_loss_per_step_type_2_predator",
    "energy_loss_per_step_prey": "energy_loss_per_step_type_2_prey",
    "predator_creation_energy_threshold": "type_2_predator_creation_energy_threshold",
    "prey_creation_energy_threshold": "type_2_prey_creation_energy_threshold",
    "max_energy_gain_per_grass": "max_energy_gain_per_grass_type_2_prey",
}


def split_tables(values: Any) -> Any:
    """Replace tables by type, such as `{"type_1_prey": 10, "type_2_prey": 1.5}`, by two settings.

    Raises:
        ValueError: A table misses a type, or has a key that is no type of its species.
    """
    if not isinstance(values, Mapping):
        return values
    split = dict(values)
    for name, second_name in TYPE_2_SETTINGS.items():
        table = split.get(name)
        if not isinstance(table, Mapping):
            continue
        species = "predator" if "predator" in name else "prey"
        types = {f"type_{i}_{species}" for i in (1, 2)}
        if set(table) != types:
            wrong = sorted(types - set(table)) or sorted(set(table) - types)
            verb = "misses" if types - set(table) else "has the unknown type"
            raise ValueError(
                f"Savanna.{name} {verb} {wrong[0]}: give one number, or a table with "
                f"{' and '.join(sorted(types))}."
            )
        split[name], split[second_name] = table[f"type_1_{species}"], table[f"type_2_{species}"]
    return split


class Quirks(Settings):
    """Undocumented behaviour of the PredPreyGrass code; only presets switch it on."""

    published_placement: bool = setting(
        False, "Draw initial positions by numpy's default_rng(seed)."
    )
    dead_prey_bitten: bool = setting(
        False, "Prey that died of age or hunger can be bitten in the same step."
    )
    cell_erasure: bool = setting(
        False, "An agent that leaves or dies blanks its cell even if another stands there."
    )
    zero_terminal: bool = setting(False, "The last reward and observation of a life are zeros.")
    fixed_visibility: bool = setting(
        False, "Use one all-ones visibility mask instead of lines of sight."
    )
    zero_terminal_observation: bool = setting(
        False, "The last observation of a life is zeros; its last reward is delivered."
    )
    view_at_death: bool = setting(
        False, "The last observation of a life is taken when it ends, not at the end of the step."
    )
    carcasses_live: bool = setting(
        False, "Carcasses are paid like living prey, and starve when nobody eats them."
    )
    predators_ignore_lines: bool = setting(False, "respect_los_for_movement binds prey only.")
    stale_visibility: bool = setting(False, "Use the visibility mask of resets after the first.")
    default_age_caps: bool = setting(
        False, "Unset maximum ages mean 120 (predators) and 100 (prey)."
    )
    parents_not_logged: bool = setting(False, "Logs and statistics name no parents.")
    mean_catch_reward: bool = setting(
        False, "Every helper gets the mean catch reward instead of its share."
    )
