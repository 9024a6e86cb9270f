"""State of role evolution (coordinator, best teams, recent games), its snapshots and its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kinfolk.core.events import FileChunk, Snapshot
from kinfolk.core.random import fold_in, seed_key
from kinfolk.engines.base import Engine
from kinfolk.jobs.evolve_roles.coevolution.opponents import OpponentMixture
from kinfolk.jobs.evolve_roles.games import (
    RoleEnvironment,
    RoleGame,
    RoleGameResult,
    games_task,
    split_batches,
)
from kinfolk.jobs.evolve_roles.seeded import seeded_roles, seeded_team
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.play.task import run_task
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.contribution import Contributions, ScoredGame, estimate_contributions
from kinfolk.roles.coordinator import HISTORY_BACKUPS, EvolutionaryRoleCoordinator
from kinfolk.roles.history import HistoryWriter, parse_history
from kinfolk.roles.history_schema import RoleHistory
from kinfolk.roles.model import EvolutionConfig
from kinfolk.roles.operators import sample_role
from kinfolk.roles.program import role_tables
from kinfolk.roles.teams import MayReplace, TeamComposition, TeamProposer, allow_any
from kinfolk.store.arrays import BEST, PolicyFile, make_policy_chunk

HISTORY_FILE = "role_history.json"
_TEAMS_BRANCH, _SAMPLE_BRANCH = 100, 101  # of the run's key; the coordinator has those below


@dataclass
class RoleEvolutionState:
    """State of role evolution between two generations.

    Args:
        settings: Settings of the evolution.
        coordinator: Holds the pool of roles, their catalog and their scores.
        seeded_roles: Role ids of the seeded team, with which all others are compared.
        teams: The best teams so far, best first.
        champion: Role ids of the best team of the last generation.
        recent: Games of the last generations, which tell what roles contribute.
        contributions: What they tell.
        seeded_scores: Scores of the seeded team in all generations: their sum and their number.
        may_replace: Whether a role may replace another in a team.
        opponents: Teams of other populations that play the other side; None for frozen opponents
            of the population's own.
        set_aside: The best teams of former starts, whose roles stay alive outside of the pool.
    """

    settings: EvolveRoles
    coordinator: EvolutionaryRoleCoordinator
    seeded_roles: tuple[int, ...]
    teams: list[TeamComposition]
    champion: tuple[int, ...]
    recent: list[list[ScoredGame]] = field(default_factory=list)
    contributions: Contributions = field(default_factory=Contributions)
    seeded_scores: tuple[float, int] = (0.0, 0)
    may_replace: MayReplace = allow_any
    opponents: OpponentMixture | None = None
    set_aside: list[TeamComposition] = field(default_factory=list)
    _writer: HistoryWriter = field(default_factory=HistoryWriter)

    @property
    def catalog(self) -> RoleCatalog:
        """Catalog of all behaviors and roles."""
        return self.coordinator.catalog

    @cached_property
    def n_sides(self) -> int:
        """Number of teams in a world."""
        return self.settings.environment.n_teams

    @property
    def game_catalog(self) -> RoleCatalog:
        """Catalog of all roles that games of the population need, those of opponents included."""
        return self.catalog if self.opponents is None else self.opponents.extend(self.catalog)

    def other_sides(self, episode: int, frozen: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Return the teams of the other sides in an episode.

        Args:
            episode: Number of the episode, which decides which opponent plays.
            frozen: The team that opposes if there are no opponents of other populations.
        """
        if self.opponents is not None:
            frozen = self.opponents.role_ids(self.catalog, episode)
        return (frozen,) * (self.n_sides - 1)

    def estimate_contributions(self, further: Sequence[ScoredGame] = ()) -> Contributions:
        """Estimate what roles and teams contribute from recent games and some further ones."""
        games = [game for generation in self.recent for game in generation]
        games += further
        return estimate_contributions(games, self.catalog.roles) if games else Contributions()

    def propose_teams(self, n_teams: int) -> list[TeamComposition]:
        """Return new teams, in which all roles that have not played have a place."""
        coordinator, generation = self.coordinator, self.coordinator.generation
        pool = coordinator.pool
        new = [i for i in pool if self.catalog.roles[i].own_games == 0]
        key = fold_in(fold_in(seed_key(coordinator.seed), _TEAMS_BRANCH), generation)
        proposer = TeamProposer(
            self.catalog, pool, self.teams, coordinator.config, self.contributions, self.may_replace
        )
        return proposer.propose(n_teams, new, key)

    def history_text(self) -> str:
        """Return the text of the role history file."""
        counts = {name: getattr(self.coordinator, name) for name in ("generation", "seed", "games")}
        return self._writer.format(self.catalog, **counts, teams=self.teams)

    def play_games(
        self,
        engine: Engine,
        seed: int,
        games: Sequence[RoleGame],
        catalog: RoleCatalog | None = None,
        environments: Sequence[RoleEnvironment] | None = None,
    ) -> list[RoleGameResult]:
        """Play games on an engine, and return their results in the order of the games.

        Episodes take the environments in turn.

        Args:
            engine: Engine that plays the games.
            seed: Random seed of all games.
            games: Episode and teams of each game.
            catalog: Catalog with the roles of the teams; by default that of the evolution and of
                its opponents.
            environments: World, policy and scoring; by default those of the settings.
        """
        known, chunk = catalog or self.game_catalog, self.settings.chunk_size
        environments = environments or self.settings.environments
        numbers: list[list[int]] = []  # indices of the games of each task
        tasks = []
        for turn, environment in enumerate(environments):
            in_turn = [
                i for i, game in enumerate(games) if game.episode % len(environments) == turn
            ]
            for part in split_batches(in_turn, chunk, engine.jobs) if in_turn else []:
                numbers.append(list(part))
                tasks.append(games_task(environment, known, seed, [games[i] for i in part]))
        results: dict[int, RoleGameResult] = {}
        for part, played in zip(numbers, engine.map(run_task, tasks), strict=True):
            results |= dict(zip(part, played.observed, strict=True))
        return [results[i] for i in range(len(games))]

    def team_policy(self, roles: Sequence[int]) -> ResolvedPolicy:
        """Return the policy of a team with these role ids; it needs no catalog to play."""
        used = list(dict.fromkeys(roles))
        tables = role_tables([self.catalog.roles[i] for i in used], self.catalog)._asdict()
        settings = {"roles": [used.index(role) for role in roles], **self.settings.policy_kwargs}
        return ResolvedPolicy(self.settings.environment.domain.team_policy_class, settings, tables)

    def output_files(self) -> Iterator[FileChunk]:
        """Yield the role history and the champion's policy as files of the run."""
        text = self.history_text().encode()
        yield FileChunk(path=HISTORY_FILE, data=text, n_backups=HISTORY_BACKUPS)
        team = self.team_policy(self.champion)
        policy = PolicyFile(team.class_path, team.settings, team.arrays)
        yield make_policy_chunk("champion", BEST, policy)

    def snapshot(self, done: int, shares: Mapping[str, float]) -> Snapshot:
        """Return a snapshot after `done` generations; `shares` has the last shares of behaviors."""
        coordinator = self.coordinator
        evolution = {
            **coordinator.get_progress(),
            "champion": list(self.champion),
            "seeded_scores": list(self.seeded_scores),
            "set_aside": [asdict(team) for team in self.set_aside],
        }
        games = [(i, game) for i, generation in enumerate(self.recent) for game in generation]
        return Snapshot(
            step=done,
            arrays={
                "history": np.frombuffer(self.history_text().encode(), dtype=np.uint8),
                "recent_generations": np.array([i for i, _ in games], dtype=np.int64),
                "recent_episodes": np.array([game.episode for _, game in games], dtype=np.int64),
                "recent_roles": np.array([game.roles for _, game in games], dtype=np.int64),
                "recent_scores": np.array([game.score for _, game in games]),
            },
            notes={"done": done, "evolution": evolution, "previous_shares": dict(shares)},
        )


def read_team(entry: Mapping[str, Any]) -> TeamComposition:
    """Return a team from its fields."""
    return TeamComposition(tuple(entry["roles"]), entry["value"], entry["games"])


def read_recent_games(snapshot: Snapshot) -> list[list[ScoredGame]]:
    """Return the recent games of a snapshot, by generation."""
    arrays = snapshot.arrays
    recent: dict[int, list[ScoredGame]] = {}
    names = ("recent_generations", "recent_episodes", "recent_roles", "recent_scores")
    for number, episode, roles, score in zip(*(arrays[n].tolist() for n in names), strict=True):
        recent.setdefault(number, []).append(ScoredGame(episode, tuple(roles), score))
    return list(recent.values())


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
        coordinator = EvolutionaryRoleCoordinator(
            n_agents, rng=seed, catalog=catalog, config=config
        )
    else:
        references = seeded_roles(domain, catalog)
        history = parse_history(settings.history, "The history")
        coordinator = _restore_coordinator(history, catalog, n_agents, config, seed)
        teams = [read_team(dict(entry)) for entry in history.teams]
        for role in references:  # they may have been renamed or left out by hand
            if all(role.tiers != known.tiers or role.name != known.name for known in catalog.roles):
                catalog.add_role(role)
        key = fold_in(seed_key(seed), _SAMPLE_BRANCH)
        for number in range(config.generated_role_count - len(coordinator.pool)):
            coordinator.add_to_pool(sample_role(catalog, fold_in(key, number), config))
    seeded = seeded_team(domain, catalog, n_agents)
    living = set(coordinator.pool)
    fitting = [t for t in teams if len(t.roles) == n_agents and set(t.roles) <= living]
    if not fitting:
        fitting = [TeamComposition(seeded)]
        coordinator.revive(seeded)
    return RoleEvolutionState(settings, coordinator, seeded, fitting, seeded)


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
    coordinator.restore_progress(notes)
    seeded = seeded_team(settings.environment.domain, catalog, n_agents)
    teams = [read_team(dict(entry)) for entry in history.teams]
    total, n_games = notes["seeded_scores"]
    state = RoleEvolutionState(
        settings, coordinator, seeded, teams, tuple(notes["champion"]),
        read_recent_games(snapshot), seeded_scores=(total, n_games),
        set_aside=[read_team(entry) for entry in notes.get("set_aside", ())],
    )  # fmt: skip
    state.contributions = state.estimate_contributions()
    return state


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
    roles_only = history.model_copy(update={"coordinator": None})
    restored = EvolutionaryRoleCoordinator.from_history(
        roles_only, "The history", n_agents, catalog
    )
    restored.config = config
    restored.seed = seed
    return restored
