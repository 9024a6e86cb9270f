"""Assign roles to agents, collect their scores, and breed the next generation."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kinfolk.core.errors import SettingsError, require
from kinfolk.core.random import KeyedRng, Rng, fold_in, seed_from, seed_key
from kinfolk.roles.catalog import RoleCatalog, default_catalog, map_role_to_vibe
from kinfolk.roles.fitness import AgentScore, pick_role_id_weighted, record_game
from kinfolk.roles.generations import make_initial_pool, next_generation, select_survivors
from kinfolk.roles.model import BehaviorDef, EvolutionConfig, RoleDef
from kinfolk.roles.operators import make_hybrid, sample_role
from kinfolk.roles.program import materialize_role_behaviors

# Folded into the coordinator's key, so that draws for different purposes are independent.
_INITIAL_POOL, _ASSIGN, _PROGRAM, _BREED, _HYBRID, _RESTART = range(6)
_EXPLORE, _SAMPLE, _PICK = range(3)  # folded into the key of an assignment
_SEED_BITS = 32  # size of a drawn seed: browsers read it in histories, exactly up to 53 bits


def _always_true(state: Any) -> bool:
    """Return True: a behavior that can always start."""
    del state
    return True


def _always_false(state: Any) -> bool:
    """Return False: a behavior that never has to stop."""
    del state
    return False


class EvolutionaryRoleCoordinator:
    """Assigns roles from a pool, collects scores, and breeds a generation every so many games.

    New roles are added to the given catalog; nothing else creates or retires roles. All draws
    follow from the seed and the number of games, generations and hybrids so far, so that the same
    calls give the same history.

    Args:
        num_agents: Agents of a team at the start of a game; higher ids are newborns.
        catalog: Behaviors and initial roles; by default those of CogsGuard.
        games_per_generation: Games per generation; 10, as in cogames, gives noisy fitness.
        config: Hyperparameters of evolution; the defaults if None.
        seed: Seed of all draws.
        pool: Ids of the active roles; by default those of the catalog and sampled ones.
        rng: A `random.Random`, a numpy `Generator` or an integer that gives the seed. Without it
            and without `seed`, a seed is drawn, and can be read from `coordinator.seed`.

    Attributes:
        behavior_hooks: Actions by name of behavior, for behaviors made by `_behavior_act`.
        pool: Ids of the living roles.
        assignments: Role id of each agent in the current game.
        pending: Ids of hybrids that wait for an agent.
        reserved: Ids of roles that will be assigned in the next generation, and so survive.
        breeds: Whether `end_game` breeds at the end of a generation; if not, see
            `evolve_generation`.

    Raises:
        SettingsError: A number is too small, `rng` or `catalog` has another type, or both `seed`
            and `rng` are given.
    """

    def __init__(
        self,
        num_agents: int,
        catalog: RoleCatalog | None = None,
        games_per_generation: int = 10,
        config: EvolutionConfig | None = None,
        seed: int | None = None,
        pool: list[int] | None = None,
        rng: Rng = None,
    ) -> None:
        class_name = "EvolutionaryRoleCoordinator"
        counts = {"num_agents": num_agents, "games_per_generation": games_per_generation}
        for name, count in counts.items():
            require(count >= 1, f"{class_name}.{name} must be at least 1, not {count}.")
        require(seed is None or rng is None, f"{class_name} takes seed or rng, not both.")
        self.num_agents = num_agents
        require(
            catalog is None or isinstance(catalog, RoleCatalog),
            f"{class_name}.catalog must be a RoleCatalog, not {catalog!r}. "
            f"Give games_per_generation and rng by name.",
        )
        self.behavior_hooks: dict[str, Callable[[Any], Any]] = {}
        self.catalog = RoleCatalog() if catalog is None else catalog
        if catalog is None:
            self._seed_default_behaviors()
            self._seed_initial_roles()
        self.seed = seed_from(rng if seed is None else seed, _SEED_BITS)
        self.games_per_generation = games_per_generation
        self.config = EvolutionConfig() if config is None else config
        self.generation = self.games = self.games_this_generation = self.wins = self.n_hybrids = 0
        self.pending: deque[int] = deque()
        self.assignments: dict[int, int] = {}
        self.reserved: Collection[int] = ()
        self.breeds = True
        self._scores: list[AgentScore] = []
        if pool is None:
            pool = make_initial_pool(self.catalog, self._derive_key(_INITIAL_POOL), self.config)
        self.pool = pool

    def _seed_default_behaviors(self) -> None:
        """Register the thirteen behaviors of CogsGuard; override it to register further ones."""
        seeded = default_catalog()
        self.catalog.behaviors, self.catalog.facts = seeded.behaviors, seeded.facts

    def _seed_initial_roles(self) -> None:
        """Register the four seeded roles of CogsGuard; override it to register further ones."""
        for role in default_catalog().roles:
            self.catalog.add_role(role)

    def _behavior_act(self, name: str) -> Callable[[Any], Any]:
        """Return a hook that calls `behavior_hooks[name]`, which may be set later."""

        def act(state: Any) -> Any:
            """Call the hook of the behavior, or do nothing while there is none."""
            hook = self.behavior_hooks.get(name)
            return None if hook is None else hook(state)

        return act

    def assign_role(self, agent_id: int, step: int = 0) -> RoleDef:
        """Return the role of an agent, and draw one with `draw_role` if it has none.

        Args:
            agent_id: Id of the agent.
            step: Ignored: an agent keeps its role until the generation ends. Accepted for
                compatibility with the design note.
        """
        del step
        if agent_id not in self.assignments:
            key = fold_in(fold_in(self._derive_key(_ASSIGN), self.games), agent_id)
            self.assignments[agent_id] = self.draw_role(key)
        return self.catalog.roles[self.assignments[agent_id]]

    def assign_team(self, roles: Sequence[int]) -> None:
        """Assign living roles to the agents of the next game, instead of drawing them.

        Args:
            roles: Role id of each agent, from agent 0 on.

        Raises:
            SettingsError: A role is retired, or there are more roles than agents.
        """
        agents = f"{len(roles)} roles were given for {self.num_agents} agents"
        require(len(roles) <= self.num_agents, f"A team has a role per agent; {agents}.")
        for role in roles:
            entry = self.catalog.roles[role]
            since = f"it has been retired since generation {entry.retired}"
            require(entry.retired is None, f"'{entry.name}' cannot be assigned; {since}.")
        self.assignments = dict(enumerate(roles))

    def revive(self, roles: Sequence[int]) -> None:
        """Make roles active again that are retired, such as the seeded ones of an old history."""
        for role in dict.fromkeys(roles):
            if self.catalog.roles[role].retired is not None or role not in self.pool:
                self.catalog.roles[role] = replace(self.catalog.roles[role], retired=None)
                self.pool.append(role)

    def restart(self, founders: Sequence[int], set_aside: Collection[int] = ()) -> None:
        """Begin anew: the pool becomes some founders and newly sampled roles.

        Args:
            founders: Ids of roles to begin with.
            set_aside: Ids of roles that stay alive outside of the pool; `revive` brings them back.
                All others of the pool are retired.
        """
        for role in sorted(set(self.pool) - {*founders, *set_aside}):
            self.catalog.roles[role] = replace(self.catalog.roles[role], retired=self.generation)
        self.pool = []
        self.revive(founders)
        key = fold_in(self._derive_key(_RESTART), self.generation)
        for number in range(self.config.generated_role_count - len(self.pool)):
            self.add_to_pool(sample_role(self.catalog, fold_in(key, number), self.config))

    def choose_vibe(self, agent_id: int, step: int = 0) -> str:
        """Return the vibe of an agent's role; `step` is ignored as in `assign_role`."""
        return map_role_to_vibe(self.catalog, self.assign_role(agent_id, step))

    def get_role_behaviors(self, agent_id: int) -> list[BehaviorDef]:
        """Return the behaviors that an agent runs in this game, highest priority first."""
        key = fold_in(fold_in(self._derive_key(_PROGRAM), self.games), agent_id)
        return materialize_role_behaviors(self.catalog, self.assign_role(agent_id), key)

    def queue_hybrid(self, left_id: int, right_id: int) -> RoleDef:
        """Create the hybrid of two roles; the next agent without a role gets it.

        Args:
            left_id: Id of the role that gives the first tiers.
            right_id: Id of the role that gives the last tiers.
        """
        left, right = self.catalog.roles[left_id], self.catalog.roles[right_id]
        key = fold_in(self._derive_key(_HYBRID), self.n_hybrids)
        self.n_hybrids += 1
        hybrid = self.add_to_pool(make_hybrid(self.catalog, left, right, key, self.config))
        self.pending.append(hybrid.id)
        return hybrid

    def add_to_pool(self, role: RoleDef) -> RoleDef:
        """Register a new role in the catalog, in this generation, and make it active."""
        registered = self.catalog.add_role(role, self.generation)
        self.pool.append(registered.id)
        return registered

    def record_agent_performance(
        self,
        agent_id: int,
        score: float,
        won: bool = False,
        acted: Mapping[int, int] | None = None,
    ) -> None:
        """Record the score of an agent, to be applied by `score_game` or `end_game`.

        Args:
            agent_id: An agent that has a role.
            score: Score of its game, from 0 to 1.
            won: Whether its team won.
            acted: By behavior id, the ticks in which it acted, by which behaviors are credited; if
                None, all behaviors of the role are credited alike.

        Raises:
            SettingsError: The agent has no role, or the score is not in [0, 1].
        """
        if agent_id not in self.assignments:
            raise SettingsError(f"Agent {agent_id} has no role yet; call assign_role first.")
        self._scores.append(AgentScore(self.assignments[agent_id], score, won, acted))

    def score_game(self, scores: Sequence[AgentScore] | None = None) -> None:
        """Update the fitness of all roles and behaviors that took part in a game.

        Args:
            scores: Scores of its agents; by default those recorded since the last call.
        """
        record_game(self.catalog, self._scores if scores is None else scores, self.config)
        self._scores.clear()

    def end_game(self, won: bool = False) -> bool:
        """Apply the recorded scores, and breed if this was the last game of a generation.

        Newborns lose their roles with the game; founders keep theirs through the generation.

        Args:
            won: Whether the team won, for the count of wins.

        Returns:
            Whether a new generation has begun.
        """
        self.score_game()
        self.games += 1
        self.wins += int(won)
        self.games_this_generation += 1
        self.assignments = {a: r for a, r in self.assignments.items() if a < self.num_agents}
        if self.games_this_generation < self.games_per_generation:
            return False
        self.evolve_generation(self.breeds)
        return True

    def evolve_generation(self, breed: bool = True) -> None:
        """Select survivors and breed now; every agent draws a new role next.

        Args:
            breed: Whether to breed. If not, roles that never played are retired, the fittest of
                the others fill the pool, and new roles come only as hybrids.
        """
        self.generation += 1
        config, size = self.config, self.config.generated_role_count
        key = fold_in(self._derive_key(_BREED), self.generation)
        assigned = {*self.reserved, *self.pending}
        if breed:
            self.pool = next_generation(
                self.catalog, self.pool, self.generation, key, config, assigned
            )
        else:
            played = [i for i in self.pool if i in assigned or self.catalog.roles[i].own_games > 0]
            for role in set(self.pool) - set(played):
                retired = replace(self.catalog.roles[role], retired=self.generation)
                self.catalog.roles[role] = retired
            survivors = select_survivors(
                self.catalog, played, size, self.generation,
                config=config, key=key, assigned=assigned,
            )  # fmt: skip
            self.pool = sorted(survivors)
        self.games_this_generation = 0
        self.assignments.clear()

    def draw_role(self, key: int) -> int:
        """Draw the id of a role: a pending hybrid, a newly sampled role, or one of the pool."""
        if self.pending:
            return self.pending.popleft()
        if KeyedRng(fold_in(key, _EXPLORE)).bernoulli(self.config.exploration_chance):
            role = sample_role(self.catalog, fold_in(key, _SAMPLE), self.config, "explore")
            return self.add_to_pool(role).id
        if self.config.selection == "uniform":
            return KeyedRng(fold_in(key, _PICK)).choice(self.pool)
        return pick_role_id_weighted(self.catalog, self.pool, fold_in(key, _PICK))

    def _derive_key(self, purpose: int) -> int:
        """Return the random key of one purpose, which follows from the seed."""
        return int(fold_in(seed_key(self.seed), purpose))
