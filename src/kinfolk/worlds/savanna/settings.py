"""Settings of the savanna, under the names of PredPreyGrass.

Without a preset: the grid, windows and energies of shared_prey as it is run today, capture at a
tie, an equal split, no cost of failure, no caps, no lineage reward, and true visibility. Settings
that differ by type of agent are given as `{"type_1_predator": 10.0, ...}` or as one number.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import model_validator

from kinfolk.core.settings import Settings, setting
from kinfolk.worlds.savanna.checks import check_fit, check_variants
from kinfolk.worlds.savanna.per_type import (
    HeritableTrait,
    PerTypeAges,
    PerTypeValues,
    PredatorAges,
    PredatorProbabilities,
    PredatorValues,
    PreyFractions,
    PreyProbabilities,
    PreyValues,
    Quirks,
    split_tables,
)

# A square of walls with gaps: the map of PredPreyGrass, made for a grid of 25.
DEFAULT_WALLS: tuple[tuple[int, int], ...] = (
    *((x, 6) for x in range(6, 18) if x not in (9, 14)),
    *((x, 17) for x in range(6, 18) if x not in (11, 16)),
    *((6, y) for y in range(7, 17) if y not in (10, 15)),
    *((17, y) for y in range(7, 17) if y not in (12, 16)),
)

UNLIMITED = float("inf")


class Savanna(Settings):
    """Settings of a square grid with grass, prey that graze it and predators that hunt prey.

    Energies are plain numbers; ages and periods are in steps.
    """

    max_steps: int = setting(1000, "Length of an episode in steps.", ge=1)
    on_extinction: Literal["end", "terminate", "continue"] = setting(
        "end",
        "When a species dies out: end (survivors are truncated), terminate them, or continue.",
    )
    max_rows: int | None = setting(
        None, "Most agents alive at once; by default 4 x the initial number, at least 256.", ge=1
    )
    observation: Literal["float32", "compact"] = setting(
        "float32", "Observations as float32 windows, or as compact bytes."
    )

    grid_size: int = setting(30, "Cells per side of the grid.", ge=1)
    manual_wall_positions: tuple[tuple[int, int], ...] = setting(
        DEFAULT_WALLS, "Wall cells as (x, y); those off the grid are left out."
    )
    predator_obs_range: int = setting(
        9, "Side of the predators' square observation window; odd.", ge=1
    )
    prey_obs_range: int = setting(9, "Side of the prey's square observation window; odd.", ge=1)
    mask_observation_with_visibility: bool = setting(True, "Hide what walls conceal.")
    include_visibility_channel: bool = setting(True, "Add a channel with the visibility mask.")
    respect_los_for_movement: bool = setting(
        True, "Refuse moves to cells without a free line of sight."
    )
    draw_border: bool = setting(True, "Show the edge of the grid as walls.")
    separate_prey_channels: bool = setting(
        False, "Show prey of type 2 in a channel of their own, after that of type 1."
    )
    forward_view: bool = setting(
        False,
        "Shift predators' windows ahead, by half their side, in the direction of the last move.",
    )

    type_1_action_range: int = setting(3, "Side of the square of moves of type 1; odd.", ge=1)
    type_2_action_range: int = setting(
        0, "Side of the square of moves of type 2; odd, or 0 for no type 2.", ge=0
    )
    n_initial_active_type_1_predator: int = setting(15, "Predators of type 1 at the start.", ge=0)
    n_initial_active_type_2_predator: int = setting(0, "Predators of type 2 at the start.", ge=0)
    n_initial_active_type_1_prey: int = setting(15, "Prey of type 1 at the start.", ge=0)
    n_initial_active_type_2_prey: int = setting(0, "Prey of type 2 at the start.", ge=0)
    n_possible_type_1_predator: int | None = setting(
        None, "Most predators of type 1 ever alive in an episode; none: no limit.", ge=0
    )
    n_possible_type_2_predator: int | None = setting(None, "The same of predators of type 2.", ge=0)
    n_possible_type_1_prey: int | None = setting(None, "The same of prey of type 1.", ge=0)
    n_possible_type_2_prey: int | None = setting(None, "The same of prey of type 2.", ge=0)

    initial_num_grass: int = setting(100, "Grass patches.", ge=0)
    initial_energy_grass: float = setting(2.0, "Energy of a grass patch at the start.", ge=0.0)
    max_energy_grass: float = setting(2.0, "Most energy of a grass patch.", ge=0.0)
    energy_gain_per_step_grass: float = setting(
        0.04, "Energy that a grass patch gains per step.", ge=0.0
    )
    season_length_steps: int = setting(0, "Steps of a season of grass growth; 0: no seasons.", ge=0)
    season_high_multiplier: float = setting(
        1.5, "Growth of grass in even seasons, the first included, as a multiple.", ge=0.0
    )
    season_low_multiplier: float = setting(
        0.5, "Growth of grass in odd seasons, as a multiple.", ge=0.0
    )

    initial_energy_predator: float = setting(5.0, "Energy of a predator at the start.", gt=0.0)
    initial_energy_prey: float = setting(3.5, "Energy of prey at the start.", gt=0.0)
    initial_energy_type_2_predator: float | None = setting(
        None, "The same of predators of type 2; none: as type 1.", gt=0.0
    )
    initial_energy_type_2_prey: float | None = setting(
        None, "The same of prey of type 2; none: as type 1.", gt=0.0
    )
    max_energy_predator: float = setting(UNLIMITED, "Most energy of a predator.", gt=0.0)
    max_energy_prey: float = setting(UNLIMITED, "Most energy of prey.", gt=0.0)
    energy_loss_per_step_predator: float = setting(
        0.2, "Energy that a predator loses per step.", ge=0.0
    )
    energy_loss_per_step_prey: float = setting(0.05, "Energy that prey lose per step.", ge=0.0)
    energy_loss_per_step_type_2_predator: float | None = setting(
        None, "The same of predators of type 2; none: as type 1.", ge=0.0
    )
    energy_loss_per_step_type_2_prey: float | None = setting(
        None, "The same of prey of type 2; none: as type 1.", ge=0.0
    )
    move_energy_cost_factor: float = setting(
        0.0, "Cost of a move per cell and unit of energy.", ge=0.0
    )
    movement_energy_cost_per_cell_predator: float = setting(
        0.0, "Cost of a predator's move per cell, whatever its energy.", ge=0.0
    )
    movement_energy_cost_per_cell_prey: float = setting(
        0.0, "Cost of a move of prey per cell, whatever its energy.", ge=0.0
    )
    max_energy_gain_per_grass: float = setting(
        UNLIMITED, "Most energy gained from a grass patch in one step.", ge=0.0
    )
    max_energy_gain_per_grass_type_2_prey: float | None = setting(
        None, "The same of prey of type 2; none: as type 1.", ge=0.0
    )
    leave_small_bite: bool = setting(
        False, "Prey of type 1 always leave one bite of prey of type 2 on a patch."
    )
    max_energy_gain_per_prey: float = setting(
        UNLIMITED, "Most energy gained from one prey.", ge=0.0
    )
    leave_carcass: bool = setting(
        True, "What a bite leaves of a prey is a carcass; false: it is lost."
    )
    predator_satiation_cooldown: int = setting(
        0, "Steps after a bite in which a predator does not hunt.", ge=0
    )
    energy_transfer_efficiency: float = setting(
        1.0, "Share of eaten energy that arrives.", ge=0.0, le=1.0
    )

    predator_creation_energy_threshold: float = setting(
        12.0, "Energy from which a predator reproduces.", ge=0.0
    )
    prey_creation_energy_threshold: float = setting(
        6.5, "Energy from which prey reproduce.", ge=0.0
    )
    type_2_predator_creation_energy_threshold: float | None = setting(
        None, "The same of predators of type 2; none: as type 1.", ge=0.0
    )
    type_2_prey_creation_energy_threshold: float | None = setting(
        None, "The same of prey of type 2; none: as type 1.", ge=0.0
    )
    predator_reproduction_max_ratio: float | None = setting(
        None, "Predators per prey from which predators have no offspring; none: no limit.", ge=0.0
    )
    reproduction_energy_efficiency: float = setting(
        1.0, "Share of the parent's investment that the offspring gets.", ge=0.0, le=1.0
    )
    reproduction_cooldown_steps: int = setting(0, "Steps between two births of a parent.", ge=0)
    reproduction_chance_predator: PredatorProbabilities = setting(
        PredatorProbabilities(), "Probability that a predator with enough energy reproduces."
    )
    reproduction_chance_prey: PreyProbabilities = setting(
        PreyProbabilities(), "Probability that prey with enough energy reproduce."
    )
    mutation_rate_predator: float = setting(
        0.0, "Probability that a predator's offspring is of the other type.", ge=0.0, le=1.0
    )
    mutation_rate_prey: float = setting(
        0.0, "Probability that the offspring of prey is of the other type.", ge=0.0, le=1.0
    )
    traits: dict[str, HeritableTrait] = setting({}, "Heritable traits by name.")
    metabolic_rate_alpha: float = setting(
        0.4, "Exponent of the trait metabolic_rate: food worth f gives f * rate^alpha."
    )
    neutral_drift: bool = setting(
        False, "Children inherit traits from a random agent of their species, not from the parent."
    )
    donation_fraction: PreyFractions = setting(
        PreyFractions(), "Share of its energy that prey gives to each prey around it in a step."
    )
    donation_multiplier: float = setting(
        1.5, "Energy that arrives per unit of energy given.", ge=0.0
    )

    team_capture_enabled: bool = setting(
        True, "Predators around a prey capture it together; false: bites on the own cell."
    )
    team_capture_margin: float = setting(0.0, "Energy by which the helpers must exceed the prey.")
    team_capture_tie: Literal["succeeds", "fails"] = setting(
        "succeeds", "What happens when the helpers' energy just equals the prey's plus the margin."
    )
    team_capture_equal_split: bool = setting(
        True, "Split captured energy equally; false: in proportion to the helpers' energies."
    )
    energy_percentage_loss_per_failed_attacked_prey: float = setting(
        0.0, "Share of energy that a helper loses in a failed capture.", ge=0.0
    )
    failed_attack_kills_predator: bool = setting(False, "The helpers of a failed capture die.")
    join_choice: bool = setting(
        False, "Predators choose whether to join captures, by a second action head."
    )
    team_capture_join_cost: float = setting(
        0.0, "Energy that each joiner of a successful capture pays.", ge=0.0
    )
    team_capture_scavenger_fraction: float = setting(
        0.0,
        "Share of a captured prey that goes to predators beside it that did not join.",
        ge=0.0,
        le=1.0,
    )

    reproduction_reward_predator: PredatorValues = setting(
        PredatorValues(type_1_predator=10.0), "Reward of a predator for a birth."
    )
    reproduction_reward_prey: PreyValues = setting(
        PreyValues(type_1_prey=10.0), "Reward of prey for a birth."
    )
    reward_predator_catch_prey: PredatorValues = setting(
        PredatorValues(), "Reward of a predator for a capture."
    )
    reward_prey_eat_grass: PreyValues = setting(PreyValues(), "Reward of prey for eating grass.")
    reward_predator_step: PredatorValues = setting(
        PredatorValues(), "Reward of a predator per step."
    )
    reward_prey_step: PreyValues = setting(PreyValues(), "Reward of prey per step.")
    penalty_prey_caught: PreyValues = setting(
        PreyValues(), "Reward of prey for being caught; a penalty is a negative number."
    )
    death_penalty: PerTypeValues = setting(
        PerTypeValues(), "Added to an agent's reward at its death; a penalty is a negative number."
    )
    energy_change_reward: PerTypeValues = setting(
        PerTypeValues(),
        "Reward per unit of energy gained or lost in a step; the dead have none left.",
    )
    lineage_reward_coeff: PerTypeValues = setting(
        PerTypeValues(), "Coefficient of the reward for changes in the number of live descendants."
    )
    lineage_reward_mode: Literal["positive", "symmetric"] = setting(
        "positive", "Reward gains of descendants only (positive), or losses too (symmetric)."
    )
    kin_kick_back_reward_predator: PredatorValues = setting(
        PredatorValues(), "Reward of a predator when its offspring gives birth."
    )
    kin_kick_back_reward_prey: PreyValues = setting(
        PreyValues(), "Reward of prey when their offspring gives birth."
    )

    max_fertility_age: PerTypeAges = setting(
        PerTypeAges(),
        "Age in steps after which an agent has no offspring; none or negative: no limit.",
    )
    max_agent_age: PerTypeAges = setting(
        PerTypeAges(), "Age in steps at which an agent dies; none or negative: no limit."
    )
    carcass_only_predator_age: PredatorAges = setting(
        PredatorAges(),
        "Age in steps until which predators eat carcasses only; none or negative: never.",
    )

    quirks: Quirks = setting(
        Quirks(), "Differences of the published code from its text; set by presets."
    )

    @model_validator(mode="before")
    @classmethod
    def _split_tables(cls, values: Any) -> Any:
        """Accept tables by type for energies, see `split_tables`."""
        return split_tables(values)

    @property
    def founder_counts(self) -> tuple[int, int, int, int]:
        """Numbers of founders: predators of type 1 and 2, prey of type 1 and 2."""
        return (
            self.n_initial_active_type_1_predator,
            self.n_initial_active_type_2_predator,
            self.n_initial_active_type_1_prey,
            self.n_initial_active_type_2_prey,
        )

    @property
    def has_lineage_rewards(self) -> bool:
        """Whether some agents are paid for changes in their live descendants."""
        return any(self.lineage_reward_coeff.model_dump().values())

    @property
    def has_fertility_caps(self) -> bool:
        """Whether some agents have an age from which on they have no offspring."""
        ages = self.max_fertility_age.model_dump().values()
        return any(age is not None and age >= 0 for age in ages)

    @property
    def rows(self) -> int:
        """Number of rows: how many agents can be alive at once."""
        if self.max_rows is not None:
            return self.max_rows
        return max(256, 4 * sum(self.founder_counts))

    @property
    def wall_cells(self) -> list[int]:
        """Wall cells on the grid, as indices x * grid_size + y."""
        size = self.grid_size
        on_grid = {
            (x, y) for x, y in self.manual_wall_positions if 0 <= min(x, y) <= max(x, y) < size
        }
        return sorted(x * size + y for x, y in on_grid)

    @model_validator(mode="after")
    def _check(self) -> Savanna:
        """Raise ValueError unless the settings fit together."""
        check_fit(self)
        check_variants(self)
        return self
