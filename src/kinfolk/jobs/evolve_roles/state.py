"""State of role evolution (coordinator, teams, champion) and its snapshots and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import numpy as np

from kinfolk.core.events import FileChunk, Snapshot
from kinfolk.core.random import fold_in, seed_key
from kinfolk.engines.base import Engine
from kinfolk.jobs.evolve_roles.games import (
    BirthRecord,
    GameScores,
    RoleGame,
    RoleGameResult,
    games_task,
    split_batches,
)
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.play.task import run_task
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.policies.role_domain import RoleDomain
from kinfolk.roles.catalog import RoleCatalog, map_role_to_vibe
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.fitness import AgentScore
from kinfolk.roles.history import HistoryWriter, RoleHistory, parse_history, restore_history
from kinfolk.roles.model import EvolutionConfig, RoleDef
from kinfolk.roles.operators import sample_role
from kinfolk.roles.program import role_tables
from kinfolk.roles.teams import MayReplace, TeamComposition, allow_any, next_teams, rank_teams
from kinfolk.store.arrays import BEST, PolicyFile, make_policy_chunk

HISTORY_FILE = "role_history.json"
_HISTORY_BACKUPS = 3  # earlier versions that are kept
_TEAMS_BRANCH, _SAMPLE_BRANCH = 100, 101  # of the run's key; the coordinator has those below


@dataclass
class RoleEvolutionState:
    """A population of roles and one of teams, between two generations.

    Args:
        settings: Settings of the evolution.
        coordinator: Holds the pool of roles, their catalog and their scores.
        seeded_team: The seeded team, which never changes.
        teams: Teams of the next generation.
        champion: Role ids of the best team of the last generation.
        may_replace: Whether a role may replace another in crossover of teams.
    """

    settings: EvolveRoles
    coordinator: EvolutionaryRoleCoordinator
    seeded_team: TeamComposition
    teams: list[TeamComposition]
    champion: tuple[int, ...]
    may_replace: MayReplace = allow_any
    _writer: HistoryWriter = field(default_factory=HistoryWriter)

    @property
    def seeded_roles(self) -> tuple[int, ...]:
        """Role ids of the seeded team, with which all others are compared."""
        return self.seeded_team.roles

    @property
    def catalog(self) -> RoleCatalog:
        """Catalog of all behaviors and roles."""
        return self.coordinator.catalog

    def evolve_teams(self, n_teams: int, survivors: int, breed: bool) -> None:
        """Replace the teams by survivors and offspring, in which new roles are tried.

        Args:
            n_teams: Number of teams.
            survivors: Teams that survive unchanged.
            breed: Whether teams are recombined and mutated.
        """
        coordinator, generation = self.coordinator, self.coordinator.generation
        pool = [self.catalog.roles[i] for i in coordinator.pool]
        new = [r.id for r in pool if r.generation == generation and r.origin != "manual"]
        key = fold_in(fold_in(seed_key(coordinator.seed), _TEAMS_BRANCH), generation)
        self.teams = next_teams(
            coordinator, self.teams, n_teams, survivors, new, breed, key, self.may_replace
        )

    def history_text(self) -> str:
        """Return the text of the role history file."""
        counts = {name: getattr(self.coordinator, name) for name in ("generation", "seed", "games")}
        return self._writer.format(self.catalog, **counts, teams=rank_teams(self.teams))

    def play_games(
        self, engine: Engine, seed: int, games: Sequence[RoleGame]
    ) -> list[RoleGameResult]:
        """Play games on an engine, and return their results in the order of the games.

        Args:
            engine: Engine that plays the games.
            seed: Random seed of all games.
            games: Episode and teams of each game.
        """
        parts = split_batches(games, self.settings.chunk_size, engine.jobs)
        environment, catalog = self.settings.environment, self.catalog
        tasks = (games_task(environment, catalog, seed, part) for part in parts)
        played = [result.observed for result in engine.map(run_task, tasks)]
        return [played[i % len(parts)][i // len(parts)] for i in range(len(games))]

    def team_policy(self, roles: Sequence[int]) -> ResolvedPolicy:
        """Return the policy of a team with these role ids; it needs no catalog to play."""
        used = list(dict.fromkeys(roles))
        tables = role_tables([self.catalog.roles[i] for i in used])._asdict()
        settings = {"roles": [used.index(role) for role in roles], **self.settings.policy_kwargs}
        return ResolvedPolicy(self.settings.environment.domain.team_policy_class, settings, tables)

    def output_files(self) -> Iterator[FileChunk]:
        """Yield the role history and the champion's policy as files of the run."""
        text = self.history_text().encode()
        yield FileChunk(path=HISTORY_FILE, data=text, n_backups=_HISTORY_BACKUPS)
        team = self.team_policy(self.champion)
        policy = PolicyFile(team.class_path, team.settings, team.arrays)
        yield make_policy_chunk("champion", BEST, policy)

    def snapshot(self, done: int, shares: Mapping[str, float]) -> Snapshot:
        """Return a snapshot after `done` generations; `shares` has the last shares of behaviors."""
        coordinator = self.coordinator
        evolution = {
            "wins": coordinator.wins,
            "hybrids": coordinator.n_hybrids,
            "pool": list(coordinator.pool),
            "pending": list(coordinator.pending),
            "seeded_team": asdict(self.seeded_team),
            "champion": list(self.champion),
            "teams": [asdict(team) for team in self.teams],
        }
        previous = {"shares": dict(shares)}
        return Snapshot(
            step=done,
            arrays={"history": np.frombuffer(self.history_text().encode(), dtype=np.uint8)},
            notes={"done": done, "evolution": evolution, "previous_generation": previous},
        )


def seeded_team(domain: RoleDomain, catalog: RoleCatalog, n_agents: int) -> tuple[int, ...]:
    """Return the role ids of a seeded team, sorted.

    Args:
        domain: Role domain of the world, which lists the seeded roles.
        catalog: Catalog that holds the roles.
        n_agents: Number of agents of the team.
    """
    names = [domain.seeded_roles[agent % len(domain.seeded_roles)] for agent in range(n_agents)]
    return tuple(sorted(catalog.role(name).id for name in names))


def seeded_roles(domain: RoleDomain, catalog: RoleCatalog) -> list[RoleDef]:
    """Return the seeded roles that are in a catalog; one made by a user may lack some."""
    known = {role.name for role in catalog.roles}
    return [catalog.role(name) for name in dict.fromkeys(domain.seeded_roles) if name in known]


def reduce_to_vibes(
    domain: RoleDomain, catalog: RoleCatalog, team: Sequence[int]
) -> tuple[int, ...]:
    """Return a control team in which each role is replaced by the seeded role with the same vibe.

    What the given team scores above the control team is due to the evolved programs of its roles.
    In cogames-agents evolved teams were played in this reduced form.

    Args:
        domain: Role domain of the world, which lists the seeded roles.
        catalog: Catalog that holds the roles.
        team: Role id of each agent of the given team.

    Returns:
        Role ids, sorted as in every team, so that equal compositions play equal games.
    """
    return tuple(sorted(assign_vibe_roles(domain, catalog, team)))


def assign_vibe_roles(
    domain: RoleDomain, catalog: RoleCatalog, team: Sequence[int]
) -> tuple[int, ...]:
    """Return a seeded role id for each agent: one with the vibe of the agent's role.

    Seeded roles with the same vibe are dealt out in the order of the seeded team. An agent whose
    vibe no seeded role has gets the last seeded role.

    Args:
        domain: Role domain of the world, which lists the seeded roles.
        catalog: Catalog that holds the roles.
        team: Role id of each agent.
    """
    seeded, others = seeded_team(domain, catalog, len(team)), seeded_roles(domain, catalog)
    by_vibe: dict[str, list[int]] = {}
    for i in (*seeded, *(role.id for role in others if role.id not in seeded)):
        by_vibe.setdefault(map_role_to_vibe(catalog, catalog.roles[i]), []).append(i)
    assigned = []
    for i in team:
        candidates = by_vibe.get(map_role_to_vibe(catalog, catalog.roles[i]), [others[-1].id])
        assigned.append(candidates.pop(0) if len(candidates) > 1 else candidates[0])
    return tuple(assigned)


def initial_state(settings: EvolveRoles, catalog: RoleCatalog, n_agents: int) -> RoleEvolutionState:
    """Return the first state: sampled roles or those of `settings.history`, and their teams.

    From a history the roles are taken, and the teams if they have as many agents.

    Args:
        settings: Settings of the evolution.
        catalog: The catalog of behaviors and roles. Sampled roles are added; the roles of a history
            replace those of the catalog.
        n_agents: Agents of a team.
    """
    domain, config, seed = settings.environment.domain, settings.config, settings.seed
    teams: Sequence[TeamComposition] = ()
    if settings.history is None:
        coordinator = EvolutionaryRoleCoordinator(n_agents, catalog, config=config, seed=seed)
    else:
        references = seeded_roles(domain, catalog)
        history = parse_history(settings.history, "The history")
        coordinator = _restore_coordinator(history, catalog, n_agents, config, seed)
        teams = [TeamComposition(**dict(entry)) for entry in history.teams]
        for role in references:  # they may have been renamed or left out by hand
            if all(role.tiers != known.tiers or role.name != known.name for known in catalog.roles):
                catalog.add_role(role)
        key = fold_in(seed_key(seed), _SAMPLE_BRANCH)
        for number in range(config.generated_role_count - len(coordinator.pool)):
            coordinator.add_to_pool(sample_role(catalog, fold_in(key, number), config))
    seeded = TeamComposition(seeded_team(domain, catalog, n_agents))
    fitting = [TeamComposition(t.roles, t.fitness) for t in teams if len(t.roles) == n_agents]
    return RoleEvolutionState(settings, coordinator, seeded, fitting or [seeded], seeded.roles)


def state_from_snapshot(
    settings: EvolveRoles, catalog: RoleCatalog, n_agents: int, snapshot: Snapshot
) -> RoleEvolutionState:
    """Restore the state of a snapshot.

    Args:
        settings: Settings of the evolution.
        catalog: A catalog of behaviors; the roles of the snapshot replace its own.
        n_agents: Agents of a team.
        snapshot: The snapshot.
    """
    history = parse_history(snapshot.arrays["history"].tobytes().decode(), "The checkpoint")
    notes = snapshot.notes["evolution"]
    coordinator = _restore_coordinator(history, catalog, n_agents, settings.config, history.seed)
    coordinator.wins, coordinator.n_hybrids = notes["wins"], notes["hybrids"]
    coordinator.pool = list(notes["pool"])
    coordinator.pending.extend(notes["pending"])
    seeded, *teams = [
        TeamComposition(**{**entry, "roles": tuple(entry["roles"])})
        for entry in (notes["seeded_team"], *notes["teams"])
    ]
    return RoleEvolutionState(settings, coordinator, seeded, teams, tuple(notes["champion"]))


def _restore_coordinator(
    history: RoleHistory, catalog: RoleCatalog, n_agents: int, config: EvolutionConfig, seed: int
) -> EvolutionaryRoleCoordinator:
    """Return a coordinator with the roles, the generation and the number of games of a history.

    Args:
        history: Role history to restore.
        catalog: A catalog of behaviors; the roles of the history replace its own.
        n_agents: Agents of a team.
        config: Settings of evolution.
        seed: Random seed.
    """
    pool = restore_history(history, catalog, "The history")
    restored = EvolutionaryRoleCoordinator(n_agents, catalog, config=config, seed=seed, pool=pool)
    restored.generation, restored.games = history.generation, history.games
    return restored


class GameBirths(NamedTuple):
    """A game in which agents may have been born, with its scores."""

    roles: tuple[int, ...]  # of the founders
    newborns: tuple[BirthRecord, ...]
    scores: GameScores


def add_hybrids(
    coordinator: EvolutionaryRoleCoordinator, games: Sequence[GameBirths]
) -> list[RoleDef]:
    """Add the best hybrids of a generation's games to the pool, with the score of their game.

    Hundreds are born per generation. At most half as many as the pool holds are added, the best by
    score, earlier ones first among equals. The others are discarded.
    """
    born = [
        (-float(game.scores.scores[-1, newborn.agent]), number, birth)
        for number, game in enumerate(games)
        for birth, newborn in enumerate(game.newborns)
    ]
    n_added = max(1, coordinator.config.generated_role_count // 2)
    chosen = {(number, birth) for _, number, birth in sorted(born)[:n_added]}
    added = []
    for number, game in enumerate(games):
        role_of: dict[int, tuple[int, ...]] = {i: (role,) for i, role in enumerate(game.roles)}
        for birth, newborn in enumerate(game.newborns):
            agent = newborn.agent
            parents = tuple(dict.fromkeys(i for p in newborn.parents for i in role_of[p]))[:2]
            role_of[agent] = parents
            if (number, birth) in chosen:
                hybrid = RoleDef(newborn.tiers, origin="hybrid", parents=parents)
                role = coordinator.add_to_pool(hybrid)
                role_of[agent] = (role.id,)
                score = float(game.scores.scores[-1, agent])
                coordinator.score_game([AgentScore(role.id, score, game.scores.won[-1])])
                added.append(role)
    return added
