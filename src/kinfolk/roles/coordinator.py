"""Assign roles to agents, score them, and breed the next generation."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from kinfolk.core.errors import SettingsError, require
from kinfolk.core.random import KeyedRng, Rng, fold_in, seed_from, seed_key
from kinfolk.roles.catalog import RoleCatalog, default_catalog, map_role_to_vibe
from kinfolk.roles.fitness import AgentScore, pick_role_id_weighted, record_game
from kinfolk.roles.generations import make_initial_pool, next_generation, select_survivors
from kinfolk.roles.history import HistoryWriter, restore_history
from kinfolk.roles.history_file import read_history
from kinfolk.roles.history_schema import CoordinatorEntry, RoleHistory
from kinfolk.roles.model import BehaviorDef, EvolutionConfig, RoleDef
from kinfolk.roles.operators import make_hybrid, sample_role
from kinfolk.roles.program import materialize_role_behaviors
from kinfolk.store.backups import write_with_backups

HISTORY_BACKUPS = 3  # earlier versions of a role_history.json that are kept
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
    """Assigns roles from a pool, scores them, and breeds a generation every so many games.

    New roles are added to the catalog; nothing else creates or retires roles. All draws follow from
    the seed and the number of games, generations and hybrids so far, so that the same calls give the
    same history.

    A subclass registers further behaviors in `_seed_default_behaviors`, with
    `act=self._behavior_act(name)`, and puts their actions into `behavior_hooks`.

    Args:
        num_agents: Agents of a team at the start of a game; higher ids are newborns.
        games_per_generation: Games per generation; 10, as in cogames, gives noisy fitness.
        rng: A `random.Random`, a numpy `Generator` or an integer that gives the seed. Without it a
            seed is drawn, and can be read from `coordinator.seed`.
        catalog: Behaviors and initial roles; by default those of CogsGuard.
        config: Hyperparameters of evolution; by default those of the design note, with as many roles
            as the catalog has.
        pool: Ids of the active roles; by default those of the catalog, and sampled ones as far as
            `config.generated_role_count` asks for more.

    Attributes:
        behavior_hooks: `act(state)` by name of behavior. A policy that plays by this coordinator
            calls these instead of the actions that the behaviors were registered with.
        pool: Ids of the living roles.
        agent_assignments: Role id of each agent in the current game.
        pending: Ids of hybrids that wait for an agent.
        reserved: Ids of roles that will be assigned in the next generation, and so survive.
        breeds: Whether `end_game` breeds at the end of a generation; if not, roles that never played
            are retired, the fittest of the others fill the pool, and new roles come only as hybrids.

    Raises:
        SettingsError: A number is too small, or `rng` or `catalog` has another type.
    """

    def __init__(
        self,
        num_agents: int,
        games_per_generation: int = 10,
        rng: Rng = None,
        *,
        catalog: RoleCatalog | None = None,
        config: EvolutionConfig | None = None,
        pool: list[int] | None = None,
    ) -> None:
        class_name = "EvolutionaryRoleCoordinator"
        counts = {"num_agents": num_agents, "games_per_generation": games_per_generation}
        for name, count in counts.items():
            is_count = isinstance(count, int) and count >= 1
            require(
                is_count, f"{class_name}.{name} must be an integer of at least 1, not {count!r}."
            )
        require(
            catalog is None or isinstance(catalog, RoleCatalog),
            f"{class_name}.catalog must be a RoleCatalog, not {catalog!r}.",
        )
        self.num_agents = num_agents
        self.games_per_generation = games_per_generation
        self.seed = seed_from(rng, _SEED_BITS)
        self.behavior_hooks: dict[str, Callable[[Any], Any]] = {}
        self.catalog = RoleCatalog() if catalog is None else catalog
        if catalog is None:
            self._seed_default_behaviors()
            self._seed_initial_roles()
        if config is None:
            n_roles = sum(role.retired is None for role in self.catalog.roles)
            config = EvolutionConfig(generated_role_count=max(2, n_roles))
        self.config = config
        self.generation = self.games = self.games_this_generation = self.wins = self.n_hybrids = 0
        self.pending: deque[int] = deque()
        self.agent_assignments: dict[int, int] = {}
        self.reserved: Collection[int] = ()
        self.breeds = True
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
        """Return an action that calls `behavior_hooks[name]`, which may be set later."""

        def act(state: Any) -> Any:
            """Call the hook of the behavior.

            Raises:
                SettingsError: There is none.
            """
            hooks = self.behavior_hooks
            advice = f"set coordinator.behavior_hooks['{name}'] to a function of the state"
            require(name in hooks, f"The behavior '{name}' has no hook: {advice}.")
            return hooks[name](state)

        return act

    def save(self, path: str | Path) -> None:
        """Write roles, behaviors' records and the state of evolution as a `role_history.json`.

        The file is replaced atomically, and the last three versions are kept beside it.

        Raises:
            StoreError: The file could not be written.
        """
        entry = CoordinatorEntry(
            num_agents=self.num_agents,
            games_per_generation=self.games_per_generation,
            config=self.config,
            **self.get_progress(),
        )
        text = HistoryWriter().format(
            self.catalog,
            generation=self.generation,
            seed=self.seed,
            games=self.games,
            coordinator=entry,
        )
        write_with_backups(Path(path), text.encode(), HISTORY_BACKUPS)

    @classmethod
    def load(
        cls, path: str | Path, num_agents: int | None = None, catalog: RoleCatalog | None = None
    ) -> Self:
        """Return a coordinator that goes on from what `save`, or a run of role evolution, wrote.

        Args:
            path: The file.
            num_agents: Agents of a team; by default those of the file, which a run does not store.
            catalog: A catalog with all behaviors of the file, matched by name; by default the
                behaviors that this class seeds.

        Raises:
            UsageError: There is no such file, or it names behaviors that are not registered.
            DamagedRunError: The file is damaged.
            SettingsError: `num_agents` is in neither place.
        """
        return cls.from_history(read_history(Path(path)), str(path), num_agents, catalog)

    @classmethod
    def from_history(
        cls,
        history: RoleHistory,
        source: str,
        num_agents: int | None = None,
        catalog: RoleCatalog | None = None,
    ) -> Self:
        """Return a coordinator with the state of a history; see `load`.

        Args:
            history: The parsed file.
            source: Name of the file, for error messages.
            num_agents: Agents of a team; by default those of the file.
            catalog: A catalog with all behaviors of the file.
        """
        entry = history.coordinator
        if num_agents is None:
            if entry is None:
                raise SettingsError(
                    f"{source} does not say how many agents a team has: give num_agents."
                )
            num_agents = entry.num_agents
        restored = cls(num_agents, rng=history.seed, catalog=catalog, pool=[])
        restored.pool = restore_history(history, restored.catalog, source)
        restored.generation = history.generation
        restored.games = history.games
        if entry is None:
            size = max(2, len(restored.pool))
            restored.config = EvolutionConfig(generated_role_count=size)
        else:
            restored.config = entry.config
            restored.games_per_generation = entry.games_per_generation
            restored.restore_progress(entry.model_dump())
        return restored

    def get_progress(self) -> dict[str, Any]:
        """Return the state within a generation as JSON values, for `restore_progress`."""
        return {
            "wins": self.wins,
            "hybrids": self.n_hybrids,
            "pool": list(self.pool),
            "pending": list(self.pending),
            "assignments": {str(agent): role for agent, role in self.agent_assignments.items()},
            "games_this_generation": self.games_this_generation,
        }

    def restore_progress(self, progress: Mapping[str, Any]) -> None:
        """Restore what `get_progress` returned."""
        self.wins = progress["wins"]
        self.n_hybrids = progress["hybrids"]
        self.pool = list(progress["pool"])
        self.pending = deque(progress["pending"])
        assignments = progress["assignments"]
        self.agent_assignments = {int(agent): role for agent, role in assignments.items()}
        self.games_this_generation = progress["games_this_generation"]

    def assign_role(self, agent_id: int, step: int = 0) -> RoleDef:
        """Return the role of an agent, and draw one with `draw_role` if it has none.

        Args:
            agent_id: Id of the agent.
            step: Ignored: an agent keeps its role until the generation ends. Accepted for
                compatibility with the design note.
        """
        del step
        if agent_id not in self.agent_assignments:
            key = fold_in(fold_in(self._derive_key(_ASSIGN), self.games), agent_id)
            self.agent_assignments[agent_id] = self.draw_role(key)
        return self.catalog.roles[self.agent_assignments[agent_id]]

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
        self.agent_assignments = dict(enumerate(roles))

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
        """Update the fitness of an agent's role and of its behaviors at once.

        Every agent counts: a role that two agents play is updated twice. See `score_game` for one
        update per game.

        Args:
            agent_id: An agent that has a role.
            score: Score of its game, such as from 0 to 1; weights of selection are at least 0.1.
            won: Whether its team won.
            acted: By behavior id, the ticks in which it acted; behaviors that did not act are not
                scored. If None, all behaviors of the role are scored alike.

        Raises:
            SettingsError: The agent has no role, or the score is not finite.
        """
        if agent_id not in self.agent_assignments:
            raise SettingsError(f"Agent {agent_id} has no role yet; call assign_role first.")
        self.score_game([AgentScore(self.agent_assignments[agent_id], score, won, acted)])

    def score_game(self, scores: Sequence[AgentScore]) -> None:
        """Update roles and behaviors once for a whole game, by the mean over their agents."""
        record_game(self.catalog, scores, self.config)

    def end_game(self, won: bool = False) -> bool:
        """Count a game, and breed if it was the last one of a generation.

        Newborns lose their roles with the game; founders keep theirs through the generation.

        Args:
            won: Whether the team won, for the count of wins.

        Returns:
            Whether a new generation has begun.
        """
        self.games += 1
        self.wins += int(won)
        self.games_this_generation += 1
        founders = {a: r for a, r in self.agent_assignments.items() if a < self.num_agents}
        self.agent_assignments = founders
        if self.games_this_generation < self.games_per_generation:
            return False
        self._evolve_generation()
        return True

    def _evolve_generation(self) -> None:
        """Select survivors and breed now; every agent draws a new role next."""
        self.generation += 1
        config, size = self.config, self.config.generated_role_count
        key = fold_in(self._derive_key(_BREED), self.generation)
        assigned = {*self.reserved, *self.pending}
        if self.breeds:
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
        self.agent_assignments.clear()

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
