"""Settings of the savanna, under the names their authors published.

Without a preset: the grid, windows and energies of shared_prey as it is run today, capture at a
tie, an equal split, no cost of failure, no caps, no lineage reward, and true visibility. Settings
that differ by type of agent are given as `{"type_1_predator": 10.0, ...}` or as one number.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from kinfolk.core.settings import Settings


class _PerType(Settings):
    """A plain number stands for the same value in every type."""

    @model_validator(mode="before")
    @classmethod
    def _spread(cls, value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return dict.fromkeys(cls.model_fields, value)
        return value


class PredatorValues(_PerType):
    """A number per type of predator."""

    type_1_predator: float = 0.0
    type_2_predator: float = 0.0


class PreyValues(_PerType):
    """A number per type of prey."""

    type_1_prey: float = 0.0
    type_2_prey: float = 0.0


class PerTypeValues(_PerType):
    """A number per type of agent."""

    type_1_predator: float = 0.0
    type_2_predator: float = 0.0
    type_1_prey: float = 0.0
    type_2_prey: float = 0.0


class PredatorProbabilities(_PerType):
    """A chance per type of predator."""

    type_1_predator: float = Field(default=1.0, ge=0.0, le=1.0)
    type_2_predator: float = Field(default=1.0, ge=0.0, le=1.0)


class PreyProbabilities(_PerType):
    """A chance per type of prey."""

    type_1_prey: float = Field(default=1.0, ge=0.0, le=1.0)
    type_2_prey: float = Field(default=1.0, ge=0.0, le=1.0)


class PredatorAges(_PerType):
    """An age in steps per type of predator; None or a negative number means no limit."""

    type_1_predator: int | None = None
    type_2_predator: int | None = None


class PerTypeAges(_PerType):
    """An age in steps per type of agent; None or a negative number means no limit."""

    type_1_predator: int | None = None
    type_2_predator: int | None = None
    type_1_prey: int | None = None
    type_2_prey: int | None = None


# Two broken walls and their sides: the published map, made for a grid of 25.
DEFAULT_WALLS: tuple[tuple[int, int], ...] = (
    *((x, 6) for x in range(6, 18) if x not in (9, 14)),
    *((x, 17) for x in range(6, 18) if x not in (11, 16)),
    *((6, y) for y in range(7, 17) if y not in (10, 15)),
    *((17, y) for y in range(7, 17) if y not in (12, 16)),
)

UNLIMITED = float("inf")


class Quirks(Settings):
    """What the published code does and its text does not say; only presets switch these on."""

    published_placement: bool = False  # founders drawn by numpy's default_rng(seed)
    dead_prey_bitten: bool = False  # prey dead by age or hunger can be bitten in that step
    cell_erasure: bool = False  # who leaves or dies blanks its cell, whoever else stands there
    zero_terminal: bool = False  # the last reward and observation of a life are zeros
    fixed_visibility: bool = False  # one all-ones mask instead of lines of sight
    stale_visibility: bool = False  # the fixed mask of every reset but the first
    default_age_caps: bool = False  # max_agent_age None means 120 (predator) and 100 (prey)
    mean_catch_reward: bool = False  # every helper gets the mean catch reward, not its share


class Savanna(Settings):
    """A square of cells with grass, prey that graze it and predators that hunt prey.

    Energies are plain numbers; ages and periods count steps.
    """

    max_steps: int = Field(default=1000, ge=1)
    max_rows: int | None = Field(default=None, ge=1)  # None: 4 x founders, at least 256
    observation: Literal["float32", "compact"] = "float32"

    grid_size: int = Field(default=30, ge=1)
    manual_wall_positions: tuple[tuple[int, int], ...] = (
        DEFAULT_WALLS  # those off the grid are left out
    )
    predator_obs_range: int = Field(default=9, ge=1)
    prey_obs_range: int = Field(default=9, ge=1)
    mask_observation_with_visibility: bool = True
    include_visibility_channel: bool = True
    respect_los_for_movement: bool = True
    draw_border: bool = True

    type_1_action_range: int = Field(default=3, ge=1)
    type_2_action_range: int = Field(default=0, ge=0)  # 0: there is no type 2
    n_initial_active_type_1_predator: int = Field(default=15, ge=0)
    n_initial_active_type_2_predator: int = Field(default=0, ge=0)
    n_initial_active_type_1_prey: int = Field(default=15, ge=0)
    n_initial_active_type_2_prey: int = Field(default=0, ge=0)

    initial_num_grass: int = Field(default=100, ge=0)
    initial_energy_grass: float = Field(default=2.0, ge=0.0)
    max_energy_grass: float = Field(default=2.0, ge=0.0)
    energy_gain_per_step_grass: float = Field(default=0.04, ge=0.0)

    initial_energy_predator: float = Field(default=5.0, gt=0.0)
    initial_energy_prey: float = Field(default=3.5, gt=0.0)
    max_energy_predator: float = Field(default=UNLIMITED, gt=0.0)
    max_energy_prey: float = Field(default=UNLIMITED, gt=0.0)
    energy_loss_per_step_predator: float = Field(default=0.2, ge=0.0)
    energy_loss_per_step_prey: float = Field(default=0.05, ge=0.0)
    move_energy_cost_factor: float = Field(default=0.0, ge=0.0)  # per cell and unit of energy
    max_energy_gain_per_grass: float = Field(default=UNLIMITED, ge=0.0)
    max_energy_gain_per_prey: float = Field(default=UNLIMITED, ge=0.0)
    energy_transfer_efficiency: float = Field(default=1.0, ge=0.0, le=1.0)

    predator_creation_energy_threshold: float = Field(default=12.0, ge=0.0)
    prey_creation_energy_threshold: float = Field(default=6.5, ge=0.0)
    reproduction_energy_efficiency: float = Field(default=1.0, ge=0.0, le=1.0)
    reproduction_cooldown_steps: int = Field(default=0, ge=0)
    reproduction_chance_predator: PredatorProbabilities = PredatorProbabilities()
    reproduction_chance_prey: PreyProbabilities = PreyProbabilities()
    mutation_rate_predator: float = Field(default=0.0, ge=0.0, le=1.0)
    mutation_rate_prey: float = Field(default=0.0, ge=0.0, le=1.0)

    team_capture_enabled: bool = True  # False: bites on one's own cell
    team_capture_margin: float = 0.0
    team_capture_tie: Literal["succeeds", "fails"] = "succeeds"
    team_capture_equal_split: bool = True  # False: in proportion to the helpers' energies
    energy_percentage_loss_per_failed_attacked_prey: float = Field(default=0.0, ge=0.0)

    reproduction_reward_predator: PredatorValues = PredatorValues(type_1_predator=10.0)
    reproduction_reward_prey: PreyValues = PreyValues(type_1_prey=10.0)
    reward_predator_catch_prey: PredatorValues = PredatorValues()
    reward_prey_eat_grass: PreyValues = PreyValues()
    reward_predator_step: PredatorValues = PredatorValues()
    reward_prey_step: PreyValues = PreyValues()
    penalty_prey_caught: PreyValues = PreyValues()  # as paid: a penalty is a negative number
    lineage_reward_coeff: PerTypeValues = PerTypeValues()
    lineage_reward_mode: Literal["positive", "symmetric"] = "positive"
    kin_kick_back_reward_predator: PredatorValues = PredatorValues()
    kin_kick_back_reward_prey: PreyValues = PreyValues()

    max_fertility_age: PerTypeAges = PerTypeAges()
    max_agent_age: PerTypeAges = PerTypeAges()
    carcass_only_predator_age: PredatorAges = PredatorAges()

    quirks: Quirks = Quirks()

    @property
    def founder_counts(self) -> tuple[int, int, int, int]:
        """How many begin: predators of type 1 and 2, prey of type 1 and 2."""
        return (
            self.n_initial_active_type_1_predator,
            self.n_initial_active_type_2_predator,
            self.n_initial_active_type_1_prey,
            self.n_initial_active_type_2_prey,
        )

    @property
    def rows(self) -> int:
        """How many agents have a place at once."""
        if self.max_rows is not None:
            return self.max_rows
        return max(256, 4 * sum(self.founder_counts))

    @property
    def wall_cells(self) -> list[int]:
        """The wall cells on the grid, as numbers x * grid_size + y."""
        size = self.grid_size
        on_grid = {
            (x, y) for x, y in self.manual_wall_positions if 0 <= min(x, y) <= max(x, y) < size
        }
        return sorted(x * size + y for x, y in on_grid)

    @model_validator(mode="after")
    def _check_fit(self) -> Savanna:
        founders = sum(self.founder_counts)
        free = self.grid_size**2 - len(self.wall_cells)
        needed = founders + self.initial_num_grass
        if needed > free:
            raise ValueError(
                f"Savanna.grid_size {self.grid_size} leaves {free} free cells, and {founders} founders "
                f"and {self.initial_num_grass} grass patches need {needed}."
            )
        if founders > self.rows:
            raise ValueError(
                f"Savanna.max_rows must hold all {founders} founders, not {self.rows}."
            )
        for name in ("predator_obs_range", "prey_obs_range", "type_1_action_range"):
            if getattr(self, name) % 2 == 0:
                raise ValueError(f"Savanna.{name} must be odd, not {getattr(self, name)}.")
        second = self.type_2_action_range
        if second and second % 2 == 0:
            raise ValueError(f"Savanna.type_2_action_range must be 0 or odd, not {second}.")
        mutates = self.mutation_rate_predator > 0 or self.mutation_rate_prey > 0
        if second == 0 and (mutates or self.founder_counts[1] or self.founder_counts[3]):
            raise ValueError(
                "Savanna.type_2_action_range is 0, so there can be no founders of type 2 and no mutation."
            )
        return self
