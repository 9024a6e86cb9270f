"""The settings of role evolution."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kinfolk.core.settings import Settings, merge_settings
from kinfolk.jobs.evolve_roles.games import RoleEnvironment
from kinfolk.roles.config import EvolutionConfig


class EvolveRoles(Settings):
    """What to evolve. The history follows from these and nothing else."""

    world: str = "cogsguard"
    preset: str | None = None
    world_settings: dict[str, Any] = Field(default={})
    policy_settings: dict[str, Any] = Field(default={})
    catalog: str | None = None  # import path of a function that makes a catalogue of one's own
    generations: int = Field(default=30, ge=1)
    # Of all line-ups together, the seeded one among them; docs/roles.md says how it was chosen.
    games_per_generation: int = Field(default=100, ge=2)
    population: int = Field(default=16, ge=2)  # roles
    n_teams: int = Field(default=24, ge=1)
    survivors: int = Field(default=6, ge=1)  # line-ups that stay for another generation
    # held: in a line-up a role gives way only to one of its vibe, so that as many ply each craft as
    # before and whatever is gained is the roles'. free: how many ply which craft evolves too.
    role_counts: Literal["fixed", "free"] = "fixed"
    trigger: Literal["cadence", "temple"] = "cadence"
    evolution: EvolutionConfig = EvolutionConfig(fitness_alpha=0.05)
    score_step: int | None = Field(default=None, ge=1)
    seed: int = Field(default=0, ge=0)
    history: str | None = None  # the text of a role_history.json to start from
    # Of the line-ups that stayed, those that are judged again at the end.
    finalists: int = Field(default=6, ge=1)
    finalist_games: int = Field(default=32, ge=1)  # by which the champion is chosen among them
    eval_games: int = Field(default=100, ge=2)  # by which it is compared; nobody saw these
    # shuffled: line-ups get the results of others, and nothing must be gained.
    control: Literal["none", "shuffled"] = "none"
    replay_every: int = Field(default=10, ge=0)  # generations; 0 records no games
    chunk_size: int = Field(default=64, ge=1)  # games of a task; changes no result

    @property
    def environment(self) -> RoleEnvironment:
        """Where it is played."""
        temple = self.trigger == "temple"
        rules = (
            merge_settings(self.world_settings, {"temple": True}) if temple else self.world_settings
        )
        policy = self.policy_kwargs
        if temple:
            policy["evolution"] = self.config.model_dump()
        return RoleEnvironment(self.world, self.preset, rules, policy, self.score_step, temple)

    def records_replay_after(self, generation: int) -> bool:
        """Whether a game is recorded after so many generations: the first, each n-th, the last."""
        every = self.replay_every
        return every > 0 and (generation in (1, self.generations) or generation % every == 0)

    @property
    def policy_kwargs(self) -> dict[str, Any]:
        """What every policy of the run is made with."""
        own = {} if self.catalog is None else {"catalog": self.catalog}
        return {**self.policy_settings, **own}

    @property
    def config(self) -> EvolutionConfig:
        """The numbers that evolution goes by, with the population asked for."""
        return self.evolution.model_copy(update={"generated_role_count": self.population})

    @property
    def generation_size(self) -> tuple[int, int]:
        """How many line-ups play beside the seeded one, and how many episodes each."""
        episodes = max(1, self.games_per_generation // (self.n_teams + 1))
        return max(1, self.games_per_generation // episodes - 1), episodes
