"""What role evolution goes on from: the coordinator, the line-ups, the champion; and its snapshot."""

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
_HISTORY_BACKUPS = 3  # earlier ones
_TEAMS_BRANCH, _SAMPLE_BRANCH = (
    100,
    101,
)  # branches of the run's key; the coordinator has those below


@dataclass
class RoleEvolutionState:
    """A population of roles and one of line-ups, between two generations."""

    coordinator: EvolutionaryRoleCoordinator
    seeded_team: TeamComposition  # the seeded line-up, which never changes
    teams: list[TeamComposition]
    champion: tuple[int, ...]  # the line-up that was best in the last generation
    may_replace: MayReplace = allow_any  # which role may take whose place when line-ups are mixed
    _writer: HistoryWriter = field(default_factory=HistoryWriter)

    @property
    def seeded_roles(self) -> tuple[int, ...]:
        """The roles of the line-up that all others are compared with."""
        return self.seeded_team.roles

    @property
    def catalog(self) -> RoleCatalog:
        """All behaviours and roles."""
        return self.coordinator.catalog

    def evolve_teams(self, n_teams: int, survivors: int, breed: bool) -> None:
        """The next line-ups, in which roles that nobody has played yet are tried."""
        coordinator = self.coordinator
        newborns = [i for i in coordinator.pool if self._is_new(i)]
        key = fold_in(fold_in(seed_key(coordinator.seed), _TEAMS_BRANCH), coordinator.generation)
        self.teams = next_teams(
            coordinator, self.teams, n_teams, survivors, newborns, breed, key, self.may_replace
        )

    def _is_new(self, role_id: int) -> bool:
        """Whether a role of the pool entered it now; a mutation keeps the games of its parent."""
        role = self.catalog.roles[role_id]
        return role.generation == self.coordinator.generation and role.origin != "manual"

    def history_text(self) -> str:
        """The history as its file."""
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
        """The history, and the champion as a policy that can be played, as files of the run."""
        yield FileChunk(
            path=HISTORY_FILE, data=self.history_text().encode(), n_backups=_HISTORY_BACKUPS
        )
        made = team_policy(domain, self.catalog, self.champion, policy_kwargs)
        policy = PolicyFile(made.class_path, made.settings, made.arrays)
        yield make_policy_chunk("champion", BEST, policy)

    def snapshot(self, done: int, previous: Mapping[str, Any]) -> Snapshot:
        """All that is needed to go on."""
        coordinator, text = self.coordinator, self.history_text()
        own = {
            "wins": coordinator.wins,
            "hybrids": coordinator.n_hybrids,
            "pool": list(coordinator.pool),
            "pending": list(coordinator.pending),
            "seeded_team": asdict(self.seeded_team),
            "champion": list(self.champion),
            "teams": [asdict(lineup) for lineup in self.teams],
        }
        return Snapshot(
            step=done,
            arrays={"history": np.frombuffer(text.encode(), dtype=np.uint8)},
            notes={"done": done, "evolution": own, "previous_generation": dict(previous)},
        )


def team_policy(
    domain: RoleDomain,
    catalog: RoleCatalog,
    roles: tuple[int, ...],
    policy_kwargs: Mapping[str, Any],
) -> ResolvedPolicy:
    """A line-up as a policy that can be played anywhere; `policy_kwargs` are further settings."""
    used = list(dict.fromkeys(roles))
    tables = role_tables([catalog.roles[i] for i in used])
    seats = [used.index(role) for role in roles]
    return ResolvedPolicy(
        domain.team_policy_class, {"roles": seats, **policy_kwargs}, tables._asdict()
    )


def initial_state(
    domain: RoleDomain, catalog: RoleCatalog, n_agents: int, config: EvolutionConfig, seed: int
) -> RoleEvolutionState:
    """Begin: the seeded roles and sampled ones; the seeded line-up."""
    coordinator = EvolutionaryRoleCoordinator(n_agents, catalog, config=config, seed=seed)
    seeded = seeded_team(domain, catalog, n_agents)
    return RoleEvolutionState(
        coordinator, TeamComposition(seeded), [TeamComposition(seeded)], seeded
    )


def seeded_team(domain: RoleDomain, catalog: RoleCatalog, n_agents: int) -> tuple[int, ...]:
    """The roles that agents of a seeded team play."""
    names = [domain.seeded_roles[agent % len(domain.seeded_roles)] for agent in range(n_agents)]
    return tuple(sorted(catalog.role(name).id for name in names))


def seeded_roles(domain: RoleDomain, catalog: RoleCatalog) -> list[RoleDef]:
    """The seeded roles that a catalogue has: one of one's own, for small teams, need not have all."""
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
    """Go on from the history of another run: its roles, and its line-ups if the teams are as large."""
    history = parse_history(text, "The history")
    references = seeded_roles(domain, catalog)
    coordinator, lineups = _restored(history, catalog, n_agents, config, seed)
    for role in references:  # they may have been renamed or left out by hand
        if all(role.tiers != known.tiers or role.name != known.name for known in catalog.roles):
            catalog.add_role(role)
    key = fold_in(seed_key(seed), _SAMPLE_BRANCH)
    for number in range(config.generated_role_count - len(coordinator.pool)):
        coordinator.add_to_pool(sample_role(catalog, fold_in(key, number), config))
    seeded = seeded_team(domain, catalog, n_agents)
    fitting = [
        TeamComposition(one.roles, one.fitness) for one in lineups if len(one.roles) == n_agents
    ]
    return RoleEvolutionState(
        coordinator, TeamComposition(seeded), fitting or [TeamComposition(seeded)], seeded
    )


def state_from_snapshot(
    catalog: RoleCatalog, n_agents: int, config: EvolutionConfig, snapshot: Snapshot
) -> RoleEvolutionState:
    """Go on from where a run stopped."""
    history = parse_history(snapshot.arrays["history"].tobytes().decode(), "The checkpoint")
    own = snapshot.notes["evolution"]
    coordinator, _ = _restored(history, catalog, n_agents, config, history.seed)
    coordinator.wins, coordinator.n_hybrids = own["wins"], own["hybrids"]
    coordinator.pool = list(own["pool"])
    coordinator.pending.extend(own["pending"])
    lineups = [_team_from_dict(one) for one in own["teams"]]
    return RoleEvolutionState(
        coordinator, _team_from_dict(own["seeded_team"]), lineups, tuple(own["champion"])
    )


def _team_from_dict(entry: Mapping[str, Any]) -> TeamComposition:
    return TeamComposition(**{**entry, "roles": tuple(entry["roles"])})


def _restored(
    history: RoleHistory, catalog: RoleCatalog, agents: int, config: EvolutionConfig, seed: int
) -> tuple[EvolutionaryRoleCoordinator, Sequence[TeamComposition]]:
    pool = restore_history(history, catalog, "The history")
    coordinator = EvolutionaryRoleCoordinator(agents, catalog, config=config, seed=seed, pool=pool)
    coordinator.generation, coordinator.games = history.generation, history.games
    return coordinator, [TeamComposition(**dict(entry)) for entry in history.teams]
