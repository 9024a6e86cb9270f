"""The settings of role evolution."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import field_validator, model_validator

from kinfolk.core.errors import require
from kinfolk.core.settings import Flag, merge_settings, parse_value, setting
from kinfolk.jobs.evolve_roles.archive.settings import QualityDiversitySettings
from kinfolk.jobs.evolve_roles.coevolution.settings import CoevolutionSettings
from kinfolk.jobs.evolve_roles.games import RoleEnvironment
from kinfolk.play.settings import WorldSelection
from kinfolk.play.task import WorldRef
from kinfolk.roles.model import EvolutionConfig

JOB_EVOLUTION = EvolutionConfig(
    team_weight=1.0,
    selection_pressure=4.0,
    exploration_chance=0.0,
    recombination_chance=0.2,
    reorder_chance=0.3,
    insertion_chance=0.15,
    deletion_chance=0.1,
    parameter_rate=0.4,
    guard_rate=0.15,
    weight_rate=0.05,
    switch_chance=0.05,
)

NOTE_EVOLUTION = EvolutionConfig()
_LIVE_GAMES = 10  # per generation, as in the design note


def combine_values(varied: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return every combination of the values of some settings, each listed behind commas.

    >>> combine_values({"agents": "6,8", "preset": "arena"})
    [{'agents': 6, 'preset': 'arena'}, {'agents': 8, 'preset': 'arena'}]
    """
    values = [[parse_value(word) for word in text.split(",")] for text in varied.values()]
    return [dict(zip(varied, chosen, strict=True)) for chosen in product(*values)]


class EvolveRoles(WorldSelection):
    """Settings of role evolution, which determine its history completely."""

    world: Annotated[str, Flag(completes="world")] = setting(
        "cogsguard", "World to play in; it needs a catalog of roles."
    )
    policy_settings: dict[str, Any] = setting({}, "Settings of the policy that runs the roles.")
    catalog: str | None = setting(
        None, "Import path of a function that makes a role catalog of your own."
    )
    generations: int = setting(50, "Number of generations.", ge=1)
    games_per_generation: int | None = setting(
        None,
        "Most games of a generation; by default 10 live, else all of n_teams and racing.",
        ge=1,
    )
    n_teams: int = setting(24, "Most teams that begin the race of a generation.", ge=2)
    racing: tuple[int, ...] = setting(
        (2, 2, 4),
        "Games per team in each stage of the race; after a stage the better half goes on.",
        min_length=1,
    )
    survivors: int = setting(6, "Teams that survive into the next generation.", ge=1)
    population: int = setting(24, "Roles in the pool; if live, 4 by default.", ge=2)
    recent_generations: int = setting(
        8, "Generations whose games tell what roles contribute.", ge=1
    )
    restarts: int = setting(
        0,
        "New starts; in the last third of the generations the best teams of all evolve together.",
        ge=0,
    )
    role_counts: Literal["fixed", "free"] = setting(
        "free", "free: the number of agents per role type evolves too; fixed: it stays as seeded."
    )
    vary: dict[str, str] = setting(
        {},
        "World settings that vary from episode to episode, as NAME=V1,V2: preset, agents and others.",
    )
    held_out: dict[str, str] = setting(
        {},
        "World settings, written as for vary, on which only the champion is evaluated.",
    )
    trigger: Literal["cadence", "temple"] = setting(
        "cadence", "When roles evolve: between games (cadence), or at births in the temple."
    )
    live: bool = setting(
        False,
        "Play one game after another; agents draw roles by fitness, which every game changes.",
    )
    coevolve: int = setting(
        0,
        "Populations that evolve against each other, in a world with two teams; 0 for one population.",
        ge=0,
    )
    coevolution: CoevolutionSettings = setting(
        CoevolutionSettings(), "How populations evolve against each other."
    )
    archive: bool = setting(
        False, "Keep an archive of teams and roles that play in different ways (quality diversity)."
    )
    quality_diversity: QualityDiversitySettings = setting(
        QualityDiversitySettings(), "How the archive is divided and filled."
    )
    evolution: EvolutionConfig = setting(
        JOB_EVOLUTION,
        "How roles are sampled, varied, scored and named; if live, by default as in the design note.",
    )
    score_step: int | None = setting(
        None, "Tick at which a game is scored in addition to its end.", ge=1
    )
    history: str | None = setting(None, "Text of a role_history.json to start from.")
    finalists: int = setting(
        6, "Surviving teams that are evaluated again to choose the champion.", ge=1
    )
    finalist_games: int = setting(32, "Games per finalist to choose the champion.", ge=1)
    eval_games: int = setting(
        100, "Held-out games that compare the champion with the baselines.", ge=2
    )
    control: Literal["none", "shuffled", "uniform"] = setting(
        "none",
        "Control: teams get the scores of others (shuffled), or fitness has no effect (uniform).",
    )
    replay_every: int = setting(10, "Generations between two recorded games; 0 records none.", ge=0)
    chunk_size: int = setting(64, "Games per task; changes no result.", ge=1)

    @model_validator(mode="before")
    @classmethod
    def _complete_evolution(cls, values: Any) -> Any:
        """Complete `evolution` with the defaults of the job, or of the note if the loop is live."""
        if not isinstance(values, Mapping):
            return values
        is_live = values.get("live", False)
        defaults = NOTE_EVOLUTION if is_live else JOB_EVOLUTION
        completed = dict(values)
        if is_live:
            completed.setdefault("population", NOTE_EVOLUTION.generated_role_count)
        evolution = values.get("evolution", {})
        if isinstance(evolution, Mapping):
            completed["evolution"] = {**defaults.model_dump(), **evolution}
        return completed

    @field_validator("racing")
    @classmethod
    def _check_racing(cls, racing: tuple[int, ...]) -> tuple[int, ...]:
        """Raise SettingsError unless every stage has games."""
        fewest = f"EvolveRoles.racing must give at least 1 game per stage, not {min(racing)}."
        require(min(racing) >= 1, fewest)
        return racing

    @property
    def environment(self) -> RoleEnvironment:
        """The world, the policy and the scoring of games, without what varies."""
        return self._make_environment({})

    @property
    def environments(self) -> list[RoleEnvironment]:
        """The environments of the episodes, in turn: every combination of what varies."""
        return [self._make_environment(changes) for changes in combine_values(self.vary)]

    @property
    def held_out_environments(self) -> dict[str, RoleEnvironment]:
        """The environments that only the champion is evaluated on, by description."""
        combined = combine_values(self.held_out) if self.held_out else []
        return {
            ", ".join(f"{n} {v}" for n, v in changes.items()): self._make_environment(changes)
            for changes in combined
        }

    def _make_environment(self, changes: Mapping[str, Any]) -> RoleEnvironment:
        """Return the environment of all games, with some settings of the world changed."""
        rules = dict(changes)
        preset = rules.pop("preset", self.preset)
        is_temple, policy = self.trigger == "temple", self.policy_kwargs
        if is_temple:
            rules["temple"] = True
            policy["evolution"] = self.config.model_dump()
        world = WorldRef(self.world, preset, merge_settings(self.world_settings, rules))
        return RoleEnvironment(world, policy, self.score_step, is_temple)

    def records_replay_after(self, generation: int) -> bool:
        """Return whether a replay is recorded after this number of generations.

        It is after the first, after every `replay_every`-th and after the last.
        """
        every = self.replay_every
        return every > 0 and (generation in (1, self.generations) or generation % every == 0)

    @property
    def policy_kwargs(self) -> dict[str, Any]:
        """Settings with which every policy of the run is built."""
        catalog = {} if self.catalog is None else {"catalog": self.catalog}
        return {**self.policy_settings, **catalog}

    @property
    def config(self) -> EvolutionConfig:
        """Settings of the evolution operators, with the population size of the run."""
        changes: dict[str, Any] = {"generated_role_count": self.population}
        if self.control == "uniform":
            changes["selection"] = "uniform"
        return self.evolution.model_copy(update=changes)

    @property
    def start_generations(self) -> int:
        """Generations of every start; all of them if evolution does not start anew."""
        if self.restarts == 0:
            return self.generations
        return 2 * self.generations // 3 // (self.restarts + 1)

    @property
    def live_games(self) -> int:
        """Games of a generation of a live evolution."""
        return _LIVE_GAMES if self.games_per_generation is None else self.games_per_generation

    @property
    def race_games(self) -> int:
        """Games of a generation: those of the race, and the seeded team's in its first stage."""
        return self._count_race_games(self.racing_teams)

    @property
    def racing_teams(self) -> int:
        """Teams that begin a race: as many as the games of a generation suffice for, at least 2."""
        if self.games_per_generation is None:
            return self.n_teams
        numbers = range(self.n_teams, 2, -1)
        fits = (n for n in numbers if self._count_race_games(n) <= self.games_per_generation)
        return next(fits, 2)

    @property
    def race_sizes(self) -> list[tuple[int, int]]:
        """Teams and games per team of each stage of a race, apart from the seeded team."""
        return self._list_stages(self.racing_teams)

    def _list_stages(self, n_teams: int) -> list[tuple[int, int]]:
        """Return teams and games per team of each stage of a race that `n_teams` begin."""
        sizes = [max(n_teams >> stage, 2) for stage in range(len(self.racing))]
        return list(zip(sizes, self.racing, strict=True))

    def _count_race_games(self, n_teams: int) -> int:
        """Return the games of a race that `n_teams` begin, with those of the seeded team."""
        return sum(size * games for size, games in self._list_stages(n_teams)) + self.racing[0]
