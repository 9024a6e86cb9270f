"""State of role evolution (coordinator, teams, champion) and its snapshots and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.events import FileChunk, Snapshot
from kinfolk.core.random import fold_in, seed_key
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.policies.role_domain import RoleDomain
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.history import RoleHistory, restore_history
from kinfolk.roles.history_text import HistoryWriter, parse_history
from kinfolk.roles.model import RoleDef
from kinfolk.roles.operators import sample_role
from kinfolk.roles.program import role_tables
from kinfolk.roles.teams import MayReplace, TeamComposition, allow_any, next_teams, rank_teams
from kinfolk.store.policy_file import BEST, PolicyFile, make_policy_chunk

HISTORY_FILE = "role_history.json"
_HISTORY_BACKUPS = 3  # earlier versions that are kept
_TEAMS_BRANCH, _SAMPLE_BRANCH = (
    100,
    101,
)  # branches of the run's key; the coordinator has those below


@dataclass
class RoleEvolutionState:
    """A population of roles and one of teams, between two generations.

    Args:
        coordinator: Holds the pool of roles, their catalog and their scores.
        seeded_team: The seeded team, which never changes.
        teams: Teams of the next generation.
        champion: Role ids of the best team of the last generation.
        may_replace: Whether a role may replace another in crossover of teams.
    """

    coordinator: EvolutionaryRoleCoordinator
    seeded_team: TeamComposition
    teams: list[TeamComposition]
    champion: tuple[int, ...]
    may_replace: MayReplace = allow_any
    _writer: HistoryWriter = field(default_factory=HistoryWriter)

    @property
    def seeded_roles(self) -> tuple[int, ...]:
        """Return the role ids of the team that all others are compared with."""
        return self.seeded_team.roles

    @property
    def catalog(self) -> RoleCatalog:
        """Return the catalog of all behaviors and roles."""
        return self.coordinator.catalog

    def evolve_teams(self, n_teams: int, survivors: int, breed: bool) -> None:
        """Replace the teams by their offspring, in which new roles are tried.

        Args:
            n_teams: Number of teams.
            survivors: Teams that survive unchanged.
            breed: Whether teams are recombined and mutated.
        """
        coordinator = self.coordinator
        newborns = [i for i in coordinator.pool if self._is_new(i)]
        key = fold_in(fold_in(seed_key(coordinator.seed), _TEAMS_BRANCH), coordinator.generation)
        self.teams = next_teams(
            coordinator, self.teams, n_teams, survivors, newborns, breed, key, self.may_replace
        )

    def _is_new(self, role_id: int) -> bool:
        """Return whether a role entered the pool in this generation."""
        role = self.catalog.roles[role_id]
        return role.generation == self.coordinator.generation and role.origin != "manual"

    def history_text(self) -> str:
        """Return the history as the text of its file."""
        coordinator = self.coordinator
        return self._writer.format(
            self.catalog,
            generation=coordinator.generation,
            seed=coordinator.seed,
            games=coordinator.games,
            teams=rank_teams(self.teams),
        )

    def output_files(
        self, domain: RoleDomain, policy_kwargs: Mapping[str, Any]
    ) -> Iterator[FileChunk]:
        """Yield the history and the champion, a policy that can be played, as files."""
        yield FileChunk(
            path=HISTORY_FILE, data=self.history_text().encode(), n_backups=_HISTORY_BACKUPS
        )
        team = team_policy(domain, self.catalog, self.champion, policy_kwargs)
        policy = PolicyFile(team.class_path, team.settings, team.arrays)
        yield make_policy_chunk("champion", BEST, policy)

    def snapshot(self, done: int, previous: Mapping[str, Any]) -> Snapshot:
        """Return the state after `done` generations as arrays and notes."""
        coordinator, text = self.coordinator, self.history_text()
        evolution = {
            "wins": coordinator.wins,
            "hybrids": coordinator.n_hybrids,
            "pool": list(coordinator.pool),
            "pending": list(coordinator.pending),
            "seeded_team": asdict(self.seeded_team),
            "champion": list(self.champion),
            "teams": [asdict(team) for team in self.teams],
        }
        return Snapshot(
            step=done,
            arrays={"history": np.frombuffer(text.encode(), dtype=np.uint8)},
            notes={"done": done, "evolution": evolution, "previous_generation": dict(previous)},
        )


def team_policy(
    domain: RoleDomain,
    catalog: RoleCatalog,
    roles: tuple[int, ...],
    policy_kwargs: Mapping[str, Any],
) -> ResolvedPolicy:
    """Return a team as a policy that can be played without its catalog.

    Args:
        domain: The role domain of the world.
        catalog: The catalog of roles.
        roles: Role ids of the team.
        policy_kwargs: Further settings of the policy.
    """
    used = list(dict.fromkeys(roles))
    tables = role_tables([catalog.roles[i] for i in used])
    rows = [used.index(role) for role in roles]
    return ResolvedPolicy(
        domain.team_policy_class, {"roles": rows, **policy_kwargs}, tables._asdict()
    )


def initial_state(
    domain: RoleDomain, catalog: RoleCatalog, n_agents: int, config: EvolutionConfig, seed: int
) -> RoleEvolutionState:
    """Return the first state: seeded and sampled roles, and the seeded team.

    Args:
        domain: The role domain of the world.
        catalog: The catalog of roles; sampled ones are added.
        n_agents: Agents of a team.
        config: Settings of evolution.
        seed: Random seed.
    """
    coordinator = EvolutionaryRoleCoordinator(n_agents, catalog, config=config, seed=seed)
    seeded = seeded_team(domain, catalog, n_agents)
    return RoleEvolutionState(
        coordinator, TeamComposition(seeded), [TeamComposition(seeded)], seeded
    )


def seeded_team(domain: RoleDomain, catalog: RoleCatalog, n_agents: int) -> tuple[int, ...]:
    """Return the role ids that agents of a seeded team play.

    Args:
        domain: The role domain of the world.
        catalog: The catalog of roles.
        n_agents: Agents of the team.
    """
    names = [domain.seeded_roles[agent % len(domain.seeded_roles)] for agent in range(n_agents)]
    return tuple(sorted(catalog.role(name).id for name in names))


def seeded_roles(domain: RoleDomain, catalog: RoleCatalog) -> list[RoleDef]:
    """Return the seeded roles that a catalog has; a user's own need not have all."""
    known = {role.name for role in catalog.roles}
    return [catalog.role(name) for name in dict.fromkeys(domain.seeded_roles) if name in known]


def state_from_history(
    domain: RoleDomain,
    catalog: RoleCatalog,
    n_agents: int,
    config: EvolutionConfig,
    seed: int,
    text: str,
) -> RoleEvolutionState:
    """Continue from the history of another run: its roles, and its teams if they are as large.

    Args:
        domain: The role domain of the world.
        catalog: A catalog of behaviors; the roles of the history replace its own.
        n_agents: Agents of a team.
        config: Settings of evolution.
        seed: Random seed.
        text: Text of a `role_history.json`.
    """
    history = parse_history(text, "The history")
    references = seeded_roles(domain, catalog)
    coordinator, teams = _restored(history, catalog, n_agents, config, seed)
    for role in references:  # they may have been renamed or left out by hand
        if all(role.tiers != known.tiers or role.name != known.name for known in catalog.roles):
            catalog.add_role(role)
    key = fold_in(seed_key(seed), _SAMPLE_BRANCH)
    for number in range(config.generated_role_count - len(coordinator.pool)):
        coordinator.add_to_pool(sample_role(catalog, fold_in(key, number), config))
    seeded = seeded_team(domain, catalog, n_agents)
    fitting = [
        TeamComposition(team.roles, team.fitness) for team in teams if len(team.roles) == n_agents
    ]
    return RoleEvolutionState(
        coordinator, TeamComposition(seeded), fitting or [TeamComposition(seeded)], seeded
    )


def state_from_snapshot(
    catalog: RoleCatalog, n_agents: int, config: EvolutionConfig, snapshot: Snapshot
) -> RoleEvolutionState:
    """Restore the state of a snapshot.

    Args:
        catalog: A catalog of behaviors; the roles of the snapshot replace its own.
        n_agents: Agents of a team.
        config: Settings of evolution.
        snapshot: The snapshot.
    """
    history = parse_history(snapshot.arrays["history"].tobytes().decode(), "The checkpoint")
    notes = snapshot.notes["evolution"]
    coordinator, _ = _restored(history, catalog, n_agents, config, history.seed)
    coordinator.wins, coordinator.n_hybrids = notes["wins"], notes["hybrids"]
    coordinator.pool = list(notes["pool"])
    coordinator.pending.extend(notes["pending"])
    teams = [_team_from_dict(entry) for entry in notes["teams"]]
    return RoleEvolutionState(
        coordinator, _team_from_dict(notes["seeded_team"]), teams, tuple(notes["champion"])
    )


def _team_from_dict(entry: Mapping[str, Any]) -> TeamComposition:
    return TeamComposition(**{**entry, "roles": tuple(entry["roles"])})


def _restored(
    history: RoleHistory, catalog: RoleCatalog, agents: int, config: EvolutionConfig, seed: int
) -> tuple[EvolutionaryRoleCoordinator, Sequence[TeamComposition]]:
    """Return a coordinator and the teams of a history.

    Args:
        history: The history.
        catalog: A catalog of behaviors; the roles of the history replace its own.
        agents: Agents of a team.
        config: Settings of evolution.
        seed: Random seed.
    """
    pool = restore_history(history, catalog, "The history")
    coordinator = EvolutionaryRoleCoordinator(agents, catalog, config=config, seed=seed, pool=pool)
    coordinator.generation, coordinator.games = history.generation, history.games
    return coordinator, [TeamComposition(**dict(entry)) for entry in history.teams]
