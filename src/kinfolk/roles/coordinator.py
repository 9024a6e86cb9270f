"""Who plays what, how it went, and when the next generation comes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import fold_in, seed_key
from kinfolk.roles.catalog import RoleCatalog, default_catalog, map_role_to_vibe
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.fitness import AgentScore, pick_role_id_weighted, record_game
from kinfolk.roles.generations import make_initial_pool, next_generation, select_survivors
from kinfolk.roles.keyed_rng import KeyedRng, Rng, seed_from
from kinfolk.roles.model import BehaviorDef, RoleDef
from kinfolk.roles.operators import make_hybrid, sample_role
from kinfolk.roles.program import materialize_role_behaviors

# Branches of the coordinator's key: what is drawn for one purpose never meets another's.
_INITIAL_POOL, _ASSIGN, _PROGRAM, _BREED, _HYBRID = range(5)
_EXPLORE, _SAMPLE, _PICK = range(3)  # branches of an assignment's key
_SEED_BITS = 32  # of a seed that is drawn: it is written into histories, and read by browsers


class EvolutionaryRoleCoordinator:
    """Assigns roles from a pool, takes scores, and breeds a generation every so many games.

    The catalogue is the caller's and grows here. All chance follows from the seed and from how
    many games, generations and hybrids there were, so that the same calls give the same history.

    Args:
        num_agents: Agents of a team at the start of a game; higher ids are newborns.
        catalog: Behaviours, and the roles to begin with; if not given, those of CogsGuard.
        games_per_generation: Games before the next generation; 10 is the original's, and noisy.
        config: The numbers that evolution goes by.
        seed: The whole number that all chance follows from.
        pool: Ids of the roles in play; made from the catalogue and sampled ones if not given.
        rng: A `random.Random`, a numpy `Generator` or a whole number that gives the seed. Without
            it and without `seed`, a seed is drawn; `coordinator.seed` tells it.

    Raises:
        SettingsError: A number is too small, `rng` or `catalog` is something else, or both `seed`
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
        _at_least_one("num_agents", num_agents)
        _at_least_one("games_per_generation", games_per_generation)
        if seed is not None and rng is not None:
            raise SettingsError("EvolutionaryRoleCoordinator takes seed or rng, not both.")
        self.num_agents = num_agents
        self.catalog = _checked_catalog(default_catalog() if catalog is None else catalog)
        self.seed = seed_from(rng if seed is None else seed, _SEED_BITS)
        self.games_per_generation = games_per_generation
        self.config = EvolutionConfig() if config is None else config
        self.generation = self.games = self.games_this_generation = self.wins = self.n_hybrids = 0
        self.pending: deque[int] = deque()
        self.assignments: dict[int, int] = {}
        self._records: list[AgentScore] = []
        self.pool = self._make_initial_pool() if pool is None else pool

    def assign_role(self, agent_id: int, step: int = 0) -> RoleDef:
        """The role of an agent: the one it has, else a pending hybrid, a new one, or a fit one.

        `step` is taken for users of the earlier system; a role is kept until the generation ends.
        """
        del step
        if agent_id not in self.assignments:
            key = fold_in(fold_in(self._key(_ASSIGN), self.games), agent_id)
            self.assignments[agent_id] = self.draw_role(key)
        return self.catalog.roles[self.assignments[agent_id]]

    def choose_vibe(self, agent_id: int, step: int = 0) -> str:
        """The vibe that an agent shows with its role."""
        return map_role_to_vibe(self.catalog, self.assign_role(agent_id, step))

    def get_role_behaviors(self, agent_id: int) -> list[BehaviorDef]:
        """What an agent runs in this game, in order of priority."""
        key = fold_in(fold_in(self._key(_PROGRAM), self.games), agent_id)
        return materialize_role_behaviors(self.catalog, self.assign_role(agent_id), key)

    def queue_hybrid(self, left_id: int, right_id: int) -> RoleDef:
        """Breed the hybrid of two roles; the next agent without a role gets it."""
        roles = self.catalog.roles
        key = fold_in(self._key(_HYBRID), self.n_hybrids)
        self.n_hybrids += 1
        made = make_hybrid(self.catalog, roles[left_id], roles[right_id], key, self.config)
        hybrid = self.add_to_pool(made)
        self.pending.append(hybrid.id)
        return hybrid

    def add_to_pool(self, role: RoleDef) -> RoleDef:
        """A new role enters the catalogue and the pool, in this generation."""
        made = self.catalog.add_role(role, self.generation)
        self.pool.append(made.id)
        return made

    def record_agent_performance(self, agent_id: int, score: float, won: bool = False) -> None:
        """Note how an agent's role did; `score_game` or `end_game` enters it in the catalogue.

        Args:
            agent_id: An agent that `assign_role` gave a role.
            score: How well it did, from 0 to 1.
            won: Whether its team won.

        Raises:
            SettingsError: The agent has no role, or the score does not lie in 0..1.
        """
        if agent_id not in self.assignments:
            raise SettingsError(f"Agent {agent_id} has no role yet; assign_role comes first.")
        self._records.append(AgentScore(self.assignments[agent_id], score, won))

    def score_game(self, records: Sequence[AgentScore] | None = None) -> None:
        """Enter what was recorded, or these: each role and each behaviour counts one game."""
        record_game(self.catalog, self._records if records is None else records, self.config)
        self._records.clear()

    def end_game(self, won: bool = False) -> bool:
        """A game is over: enter its scores, and breed if the generation is.

        Newborns' roles end with the game; founders keep theirs through the generation.

        Returns:
            Whether a new generation began.
        """
        self.score_game()
        self.games += 1
        self.wins += int(won)
        self.games_this_generation += 1
        self.assignments = {a: r for a, r in self.assignments.items() if a < self.num_agents}
        if self.games_this_generation < self.games_per_generation:
            return False
        self.evolve_generation()
        return True

    def evolve_generation(self, breed: bool = True) -> None:
        """Cull, and breed, now; everybody draws a new role next.

        Without breeding, as many as the pool shall hold stay: children come from the temple.
        """
        self.generation += 1
        config, size = self.config, self.config.generated_role_count
        if breed:
            key = fold_in(self._key(_BREED), self.generation)
            self.pool = next_generation(self.catalog, self.pool, self.generation, key, config)
        else:
            self.pool = sorted(select_survivors(self.catalog, self.pool, size, self.generation))
        self.games_this_generation = 0
        self.assignments.clear()

    def _make_initial_pool(self) -> list[int]:
        return make_initial_pool(self.catalog, self._key(_INITIAL_POOL), self.config)

    def draw_role(self, key: int) -> int:
        """A role for somebody who has none: a pending hybrid, a new one, or a fit one of the pool."""
        if self.pending:
            return self.pending.popleft()
        if KeyedRng(fold_in(key, _EXPLORE)).bernoulli(self.config.exploration_chance):
            new = sample_role(self.catalog, fold_in(key, _SAMPLE), self.config, "explore")
            return self.add_to_pool(new).id
        return pick_role_id_weighted(self.catalog, self.pool, fold_in(key, _PICK))

    def _key(self, branch: int) -> int:
        return int(fold_in(seed_key(self.seed), branch))


def _checked_catalog(catalog: RoleCatalog) -> RoleCatalog:
    if not isinstance(catalog, RoleCatalog):
        raise SettingsError(
            f"EvolutionaryRoleCoordinator.catalog must be a RoleCatalog, not {catalog!r}. "
            f"Give games_per_generation and rng by name."
        )
    return catalog


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise SettingsError(f"EvolutionaryRoleCoordinator.{name} must be at least 1, not {value}.")
