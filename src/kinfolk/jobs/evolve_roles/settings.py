"""The settings of role evolution."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from kinfolk.core.settings import Flag, merge_settings, setting
from kinfolk.jobs.evolve_roles.games import RoleEnvironment
from kinfolk.play.settings import WorldSelection
from kinfolk.play.task import WorldRef
from kinfolk.roles.model import EvolutionConfig


class EvolveRoles(WorldSelection):
    """Settings of role evolution, which determine its history completely."""

    world: Annotated[str, Flag(completes="world")] = setting(
        "cogsguard", "World to play in; it needs a catalog of roles."
    )
    policy_settings: dict[str, Any] = setting({}, "Settings of the policy that runs the roles.")
    catalog: str | None = setting(
        None, "Import path of a function that makes a role catalog of your own."
    )
    generations: int = setting(30, "Number of generations.", ge=1)
    games_per_generation: int = setting(
        100, "Games per generation over all teams, the seeded one included.", ge=2
    )
    population: int = setting(16, "Roles in the pool.", ge=2)
    n_teams: int = setting(24, "Teams that compete in a generation.", ge=1)
    survivors: int = setting(6, "Teams that survive into the next generation.", ge=1)
    role_counts: Literal["fixed", "free"] = setting(
        "fixed", "fixed: the number of agents per role type stays as seeded; free: it evolves too."
    )
    trigger: Literal["cadence", "temple"] = setting(
        "cadence", "When roles evolve: between games (cadence), or at births in the temple."
    )
    evolution: EvolutionConfig = setting(
        EvolutionConfig(fitness_alpha=0.05), "How roles are sampled, varied, scored and named."
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
    control: Literal["none", "shuffled"] = setting(
        "none",
        "Control experiment; shuffled: teams get the scores of others, so nothing can improve.",
    )
    replay_every: int = setting(10, "Generations between two recorded games; 0 records none.", ge=0)
    chunk_size: int = setting(64, "Games per task; changes no result.", ge=1)

    @property
    def environment(self) -> RoleEnvironment:
        """The world, the policy and the scoring of all games."""
        is_temple = self.trigger == "temple"
        rules, policy = self.world_settings, self.policy_kwargs
        if is_temple:
            rules = merge_settings(rules, {"temple": True})
            policy["evolution"] = self.config.model_dump()
        world = WorldRef(self.world, self.preset, rules)
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
        return self.evolution.model_copy(update={"generated_role_count": self.population})

    @property
    def generation_size(self) -> tuple[int, int]:
        """Number of teams besides the seeded one, and number of episodes that each team plays."""
        episodes = max(1, self.games_per_generation // (self.n_teams + 1))
        return max(1, self.games_per_generation // episodes - 1), episodes
