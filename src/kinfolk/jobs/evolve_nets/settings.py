"""Settings of an evolution of nets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from kinfolk.core.errors import SettingsError
from kinfolk.core.settings import Flag, Settings, setting
from kinfolk.nets.heads import HEADS
from kinfolk.play.task import WorldRef

_DEFAULT_MATCHES = 4  # fewer, and snes ends in a poor optimum of Pendulum now and then
_HELD_OUT_EVALUATIONS = 10  # of a run, unless held_out_every is set
_GYM_PREFIX = "gym:"
_TRAJECTORY_SUFFIXES = (".npz", ".safetensors")
AXES_SYNTAX = "NAME=LOW..HIGH[xCELLS][,...]"


class ArchiveAxis(Settings):
    """One axis of a MAP-Elites archive."""

    name: str = Field(
        description="Measure: ticks, a counter of the world, or mean:N of observation value N."
    )
    low: float = Field(description="Lower end.")
    high: float = Field(description="Upper end.")
    cells: int = setting(20, "Number of cells.", ge=1)

    @model_validator(mode="after")
    def _check_ends(self) -> ArchiveAxis:
        """Check that the lower end of the axis is below its upper end.

        Raises:
            ValueError: It is not.
        """
        if self.low >= self.high:
            ends = f"from {self.low} to {self.high}"
            raise ValueError(f"The axis {self.name} must go up; it goes {ends}.")
        return self


def read_axes(text: str) -> list[dict[str, Any]]:
    """Parse the axes of an archive as they are written on a command line.

    >>> read_axes("ticks=0..500x20")
    [{'name': 'ticks', 'low': 0.0, 'high': 500.0, 'cells': 20}]
    """
    axes = []
    for part in text.split(","):
        name, _, rest = part.partition("=")
        ends, _, cells = rest.partition("x")
        try:
            low, high = (float(end) for end in ends.split(".."))
            axis: dict[str, Any] = {"name": name, "low": low, "high": high}
            axes.append(axis | ({"cells": int(cells)} if cells else {}))
        except ValueError:
            raise SettingsError(f"An archive is written {AXES_SYNTAX}, not '{part}'.") from None
    return axes


class EvolveNets(Settings):
    """Settings of an evolution of nets, which determine its results completely."""

    task: Annotated[str, Flag(completes="world")] = setting(
        "gym:CartPole-v1", "World, or Gymnasium task as gym:ID or gym:MODULE:ID."
    )
    preset: Annotated[str | None, Flag(completes="preset")] = setting(
        None, "Named set of rules of the world; see `kinfolk presets`."
    )
    world_settings: Annotated[dict[str, Any], Flag("--set")] = setting(
        {}, "Rules of the world to change; see `kinfolk settings WORLD`."
    )
    fixed: dict[str, str] = setting(
        {}, "Groups that do not evolve, with the policy that plays each."
    )
    held_out_opponents: Annotated[dict[str, str], Flag("--rival")] = setting(
        {}, "Policies that play the other groups in held-out episodes; by default random."
    )
    populations_per_group: int = setting(
        1, "Populations among which the agents of the only group are dealt.", ge=1
    )
    fitness: dict[str, str] = setting(
        {}, "Fitness per population: return, per_life, life or counter:NAME; by default return."
    )

    net: Literal["feedforward", "recurrent", "dynamic"] = setting("feedforward", "Kind of network.")
    hidden: tuple[int, ...] = setting((16,), "Sizes of hidden layers.")
    head: str = setting(
        "argmax", "How outputs become actions: argmax, softmax_sample, tanh or raw."
    )
    zero_init: bool = setting(False, "Start with all weights zero.")
    normalize: bool | None = setting(
        None,
        "Standardise inputs of static nets by running statistics; by default with default snes only.",
    )
    algorithm: (
        Literal["ga", "cma", "sep-cma", "openai-es", "lm-ma", "pgpe", "snes", "xnes"] | None
    ) = setting(
        None,
        "Evolutionary algorithm; by default snes on Gymnasium tasks, ga elsewhere and if needed.",
    )
    population: int = setting(64, "Members of a population.", ge=2)
    generations: int = setting(100, "Most generations.", ge=1)
    max_evaluations: int | None = setting(
        None, "Stop after this number of evaluated members.", ge=1
    )
    sigma: float | None = setting(
        None,
        "Standard deviation of mutations; by default 0.01 for ga, 2 for snes, 0.5 for all others.",
        ge=0.0,
    )
    self_adaptive: bool = setting(False, "Evolve a sigma per weight.")
    learning_rate: float = setting(0.3, "Learning rate of openai-es.", gt=0.0)
    selection: Literal["truncation", "tournament"] = setting(
        "truncation", "How parents are selected."
    )
    tournament_size: int = setting(3, "Contestants of a tournament.", ge=1)
    elites: int = setting(0, "Best members that survive unchanged.", ge=0)
    crossover: float = setting(
        0.0, "Probability that a child has two parents; by ga only.", ge=0.0, le=1.0
    )
    species_distance: float | None = setting(
        None,
        "Dynamic nets that differ in less than this share of edges are one species; by ga only.",
        gt=0.0,
        le=1.0,
    )
    keep_running_stats: bool = setting(
        True, "Children keep the running statistics of their parents; switch off to compare."
    )

    inherit: tuple[Literal["env", "mem", "fit"], ...] = setting(
        (), "What offspring take over from their parents: state of the world, memory, fitness."
    )
    matches: int | None = setting(
        None,
        "Episodes per member and generation; by default 4 with the default algorithm snes, else 1.",
        ge=1,
    )
    steps: int | None = setting(None, "Ticks per match; by default whole episodes.", ge=1)
    hall_every: int | None = setting(
        None,
        "Generations between two champions of a population in the hall of fame; by default none.",
        ge=1,
    )
    imitate: str | None = setting(None, "Policy URI, or file with x and actions, to imitate.")
    adversarial: str | None = setting(
        None, "Policy URI to be mistaken for by discriminators that evolve too."
    )
    adversarial_fitness: Literal["sum", "mean"] = setting(
        "sum", "Sum of the 2 x matches scores of adversarial imitation, or mean over matches."
    )
    target_episodes: int = setting(8, "Episodes recorded of the imitated policy.", ge=1)
    archive: Annotated[tuple[ArchiveAxis, ...], Flag(metavar=AXES_SYNTAX)] = setting(
        (), "MAP-Elites archive with one or two measures as axes."
    )
    emitter: Literal["improvement", "random-direction", "optimizing", "annealing"] | None = setting(
        None,
        "Emitters that fill the archive: of CMA-ME, or annealing (CMA-MAE); by default mutation.",
    )
    n_emitters: int = setting(4, "Emitters, among which the members are divided.", ge=1)
    min_fitness: float | None = setting(
        None, "Fitness at which the thresholds of cells start; annealing needs it."
    )
    novelty: tuple[str, ...] = setting(
        (), "Select for novelty of these measures instead of fitness: ticks, a counter, mean:N."
    )

    held_out_episodes: int = setting(
        100, "Held-out episodes of each evaluation that chooses the best net; 0 for none.", ge=0
    )
    held_out_every: int | None = setting(
        None, "Generations between held-out evaluations; by default ten in a run.", ge=1
    )
    goal: float | None = setting(None, "Score at which to stop; exit code 1 if it is missed.")
    goal_of: Literal["mean", "elite", "center"] = setting("elite", "Whose score the goal is of.")
    seed: int = setting(0, "Random seed.", ge=0)
    chunk_size: int = setting(32, "Members per task; changes no result.", ge=1)
    checkpoint_every: int = setting(10, "Generations between two checkpoints.", ge=1)

    @field_validator("archive", mode="before")
    @classmethod
    def _read_axes(cls, value: Any) -> Any:
        """Parse axes that are written as one text."""
        return read_axes(value) if isinstance(value, str) else value

    @field_validator("head")
    @classmethod
    def _check_head(cls, head: str) -> str:
        """Check the name of the output head.

        Raises:
            ValueError: No head has this name.
        """
        if head not in HEADS:
            raise ValueError(f"EvolveNets.head must be one of {', '.join(HEADS)}, not '{head}'.")
        return head

    @model_validator(mode="after")
    def _check_combinations(self) -> EvolveNets:
        """Check that algorithm, nets, inheritance, imitation, archive and goal can be combined.

        Raises:
            ValueError: Two settings exclude each other; the message says what to change.
        """
        problem, algorithm = None, self.search_algorithm
        is_strategy = algorithm != "ga"
        if is_strategy and self.net == "dynamic":
            problem = (
                f"Dynamic nets have no fixed set of parameters, which {algorithm} needs. "
                f"Use the algorithm ga, or feedforward or recurrent nets."
            )
        elif is_strategy and self.inherit:
            lack = f"have no parents to inherit {self.inherit[0]} from"
            problem = f"Members drawn by {algorithm} {lack}. Use the algorithm ga."
        elif self.elites >= self.population:
            limit = f"fewer than the {self.population} members"
            problem = f"EvolveNets.elites must be {limit}, not {self.elites}."
        elif "env" in self.inherit and self.steps is None:
            end = "an end before the episode's"
            problem = f"To inherit env a generation must have {end}: set steps."
        elif "mem" in self.inherit and self.net == "feedforward":
            problem = "Feedforward nets have no memory to inherit: leave out mem, or change net."
        elif "fit" in self.inherit and self.novelty:
            problem = "Novelty selects without fitness: leave out fit of inherit, or novelty."
        elif self.hall_every and (self.imitate or self.adversarial or self.inherit):
            problem = "A hall of fame cannot be combined with imitation or inherit: leave one out."
        elif self.imitate and self.adversarial:
            problem = "A run imitates by comparing or adversarially: give imitate or adversarial."
        elif (self.imitate or self.adversarial) and (self.inherit or self.archive):
            problem = "Imitation cannot be combined with inherit or archive: leave those out."
        elif self.archive and (is_strategy or len(self.archive) > 2):
            problem = "An archive has 1 or 2 axes, and needs the algorithm ga."
        elif self.archive and self.inherit:
            problem = "Parents from an archive are its elites: leave out inherit."
        elif self.novelty and (self.imitate or self.adversarial):
            problem = "Imitation has no measures to be novel in: leave out novelty."
        elif self.goal is not None and self.goal_of == "center" and not is_strategy:
            problem = "Only strategies have a search centre: take the goal of elite or mean."
        elif self.goal is not None and self.goal_of != "mean" and not self.held_out_episodes:
            problem = f"The goal of {self.goal_of} is scored on held-out episodes: set some."
        if problem is not None:
            raise ValueError(problem)
        return self

    @model_validator(mode="after")
    def _check_effects(self) -> EvolveNets:
        """Check that every setting that is not at its default has an effect.

        Raises:
            ValueError: One has none; the message says where it would.
        """
        for name, scope in _SCOPES.items():
            default = type(self).model_fields[name].default
            if getattr(self, name) != default and not scope.applies(self):
                raise ValueError(
                    f"EvolveNets.{name} has an effect {scope.where} only. Here {self.net} nets "
                    f"evolve by {self.search_name}: leave it out."
                )
        return self

    @model_validator(mode="after")
    def _check_emitter(self) -> EvolveNets:
        """Check that emitters have an archive, nets that they can draw, and members to divide.

        Raises:
            ValueError: They have not; the message says what to change.
        """
        problem = None
        if self.emitter is None:
            if self.min_fitness is not None:
                problem = "Only annealing emitters have a min_fitness: leave it out."
        elif not self.archive:
            problem = f"Emitters fill an archive: give one, as {AXES_SYNTAX}."
        elif self.net == "dynamic":
            problem = (
                "Dynamic nets have no fixed set of parameters, which emitters need. "
                "Use feedforward or recurrent nets, or leave out emitter."
            )
        elif self.normalizes or self.self_adaptive:
            problem = "Emitters draw weights only: leave out normalize and self_adaptive."
        elif self.population % self.n_emitters or self.population < 2 * self.n_emitters:
            divided = f"{self.population} members among {self.n_emitters} emitters"
            problem = f"Emitters have the same number of members, at least 2, not {divided}."
        elif (self.emitter == "annealing") != (self.min_fitness is not None):
            problem = "Annealing emitters need a min_fitness, and the others have none."
        if problem is not None:
            raise ValueError(problem)
        return self

    @property
    def world_ref(self) -> WorldRef:
        """The world with its preset and rules."""
        return WorldRef(self.task, self.preset, self.world_settings)

    @property
    def measure_names(self) -> tuple[str, ...]:
        """Measures of behaviour that an archive or novelty needs."""
        return tuple(axis.name for axis in self.archive) or self.novelty

    @property
    def step_size(self) -> float:
        """`sigma`, or the algorithm's default step size if it is None."""
        if self.sigma is not None:
            return self.sigma
        if self.emitter is not None:
            return 0.5
        return {"ga": 0.01, "snes": 2.0}.get(self.search_algorithm, 0.5)

    @property
    def search_algorithm(self) -> str:
        """`algorithm`, or the default one for the other settings."""
        if self.algorithm is not None:
            return self.algorithm
        needs_ga = self.net == "dynamic" or self.imitate or self.adversarial or self.self_adaptive
        only_ga = (self.inherit, self.elites, self.archive, self.novelty, self.crossover,
                   self.selection != "truncation")  # fmt: skip
        has_one_agent = self.task.startswith(_GYM_PREFIX)
        return "snes" if has_one_agent and not needs_ga and not any(only_ga) else "ga"

    @property
    def search_name(self) -> str:
        """What makes the next generation: the algorithm, or the kind of emitters."""
        return self.search_algorithm if self.emitter is None else f"{self.emitter} emitters"

    @property
    def is_default_search(self) -> bool:
        """Whether no algorithm was chosen and `snes` is the default one."""
        return self.algorithm is None and self.search_algorithm == "snes"

    @property
    def normalizes(self) -> bool:
        """`normalize`, or whether the default search does."""
        return self.is_default_search if self.normalize is None else self.normalize

    @property
    def n_matches(self) -> int:
        """`matches`, or those of the default search."""
        return self.matches or (_DEFAULT_MATCHES if self.is_default_search else 1)

    @property
    def held_out_interval(self) -> int:
        """`held_out_every`, or its default: every generation for a goal of elite or centre."""
        if self.held_out_every is not None:
            return self.held_out_every
        if self.goal is not None and self.goal_of != "mean":
            return 1
        return -(-self.generations // _HELD_OUT_EVALUATIONS)

    @property
    def records_target(self) -> bool:
        """Whether the imitated policy is played and recorded, not read from a file."""
        source = self.imitate or self.adversarial
        return source is not None and not source.endswith(_TRAJECTORY_SUFFIXES)

    @property
    def is_genetic(self) -> bool:
        """Whether parents are selected among the members of the last generation."""
        return self.search_algorithm == "ga" and not self.archive


class _Scope(NamedTuple):
    """Where a setting has an effect; elsewhere it is refused unless it is at its default."""

    where: str  # completes "NAME has an effect ... only"
    applies: Callable[[EvolveNets], bool]


_STATIC = _Scope("with feedforward or recurrent nets", lambda s: s.net != "dynamic")
_GENETIC = _Scope("with the algorithm ga without an archive", lambda s: s.is_genetic)
_PLAYED = _Scope("where members play, not with imitate", lambda s: s.imitate is None)
_HELD_OUT = _Scope("with held-out episodes", lambda s: s.held_out_episodes > 0)
# Settings that are not listed have an effect in every evolution, or are checked above.
_SCOPES: Mapping[str, _Scope] = {
    "hidden": _STATIC,
    "zero_init": _STATIC,
    "normalize": _STATIC,
    "sigma": _STATIC,
    "self_adaptive": _Scope(
        "where feedforward or recurrent nets mutate, by ga",
        lambda s: s.net != "dynamic" and s.search_algorithm == "ga" and s.emitter is None,
    ),
    "learning_rate": _Scope(
        "with the algorithm openai-es", lambda s: s.search_algorithm == "openai-es"
    ),
    "selection": _Scope(
        "with the algorithm ga without an archive or species",
        lambda s: s.is_genetic and s.species_distance is None,
    ),
    "tournament_size": _Scope("with selection tournament", lambda s: s.selection == "tournament"),
    "elites": _GENETIC,
    "crossover": _GENETIC,
    "novelty": _GENETIC,
    "species_distance": _Scope(
        "with dynamic nets by the algorithm ga without an archive",
        lambda s: s.is_genetic and s.net == "dynamic",
    ),
    "keep_running_stats": _Scope(
        "with the algorithm ga without an archive, on dynamic nets or with normalize",
        lambda s: s.is_genetic and (s.net == "dynamic" or s.normalizes),
    ),
    "matches": _PLAYED,
    "steps": _PLAYED,
    "adversarial_fitness": _Scope("with adversarial", lambda s: s.adversarial is not None),
    "target_episodes": _Scope(
        "where imitate or adversarial names a policy", lambda s: s.records_target
    ),
    "n_emitters": _Scope("with emitter", lambda s: s.emitter is not None),
    "held_out_opponents": _HELD_OUT,
    "held_out_every": _HELD_OUT,
    "fitness": _Scope(
        "where members play or have held-out episodes",
        lambda s: not (s.imitate or s.adversarial) or s.held_out_episodes > 0,
    ),
    "goal_of": _Scope("with goal", lambda s: s.goal is not None),
}
