"""What role evolution goes on from: the coordinator, the line-ups, the champion; and its snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.events import Artefact, Snapshot
from kinfolk.core.keys import fold, root
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.policies.role_kits import RoleKit
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.history import RoleHistory, restore
from kinfolk.roles.history_text import HistoryWriter, from_text
from kinfolk.roles.lineups import Lineup, MayReplace, anybody, best_first
from kinfolk.roles.materialise import role_tables
from kinfolk.roles.mixing import next_lineups
from kinfolk.roles.model import RoleDef
from kinfolk.roles.operators import sample_role
from kinfolk.store.policy_file import BEST, PolicyFile, policy_artefact

HISTORY = "role_history.json"
_KEPT = 3  # earlier ones
_MIX, _TOP_UP = 100, 101  # branches of the run's key; the coordinator has those below


@dataclass
class Evolution:
    """A population of roles and one of line-ups, between two generations."""

    coordinator: EvolutionaryRoleCoordinator
    reference: Lineup  # the seeded line-up, which never changes
    lineups: list[Lineup]
    champion: tuple[int, ...]  # the line-up that was best in the last generation
    may_replace: MayReplace = anybody  # which role may take whose place when line-ups are mixed
    _writer: HistoryWriter = field(default_factory=HistoryWriter)

    @property
    def seeded(self) -> tuple[int, ...]:
        """The roles of the line-up that all others are compared with."""
        return self.reference.roles

    @property
    def catalog(self) -> RoleCatalog:
        """All behaviours and roles."""
        return self.coordinator.catalog

    def mix(self, size: int, survivors: int, breed: bool) -> None:
        """The next line-ups, in which roles that nobody has played yet are tried."""
        coordinator = self.coordinator
        newborns = [i for i in coordinator.pool if self._is_new(i)]
        key = fold(fold(root(coordinator.seed), _MIX), coordinator.generation)
        self.lineups = next_lineups(
            coordinator, self.lineups, size, survivors, newborns, breed, key, self.may_replace
        )

    def _is_new(self, role_id: int) -> bool:
        """Whether a role of the pool entered it now; a mutation keeps the games of its parent."""
        role = self.catalog.roles[role_id]
        return role.generation == self.coordinator.generation and role.origin != "manual"

    def text(self) -> str:
        """The history as its file."""
        coordinator = self.coordinator
        return self._writer.text(
            self.catalog,
            generation=coordinator.generation,
            seed=coordinator.seed,
            games=coordinator.games,
            lineups=best_first(self.lineups),
        )

    def artefacts(self, kit: RoleKit, players: Mapping[str, Any]) -> Iterator[Artefact]:
        """The history, and the champion as a policy that can be played, as files of the run."""
        yield Artefact(name=HISTORY, data=self.text().encode(), kept=_KEPT)
        made = lineup_policy(kit, self.catalog, self.champion, players)
        policy = PolicyFile(made.class_path, made.settings, made.arrays)
        yield policy_artefact("champion", BEST, policy)

    def snapshot(self, done: int, yesterday: Mapping[str, Any]) -> Snapshot:
        """All that is needed to go on."""
        coordinator, text = self.coordinator, self.text()
        own = {
            "wins": coordinator.wins,
            "hybrids": coordinator.hybrids,
            "pool": list(coordinator.pool),
            "pending": list(coordinator.pending),
            "reference": asdict(self.reference),
            "champion": list(self.champion),
            "lineups": [asdict(lineup) for lineup in self.lineups],
        }
        return Snapshot(
            step=done,
            arrays={"history": np.frombuffer(text.encode(), dtype=np.uint8)},
            notes={"done": done, "evolution": own, "yesterday": dict(yesterday)},
        )


def lineup_policy(
    kit: RoleKit, catalog: RoleCatalog, roles: tuple[int, ...], players: Mapping[str, Any]
) -> ResolvedPolicy:
    """A line-up as a policy that can be played anywhere; `players` are further settings."""
    used = list(dict.fromkeys(roles))
    tables = role_tables([catalog.roles[i] for i in used])
    seats = [used.index(role) for role in roles]
    return ResolvedPolicy(kit.lineup_policy, {"roles": seats, **players}, tables._asdict())


def found(
    kit: RoleKit, catalog: RoleCatalog, agents: int, config: EvolutionConfig, seed: int
) -> Evolution:
    """Begin: the seeded roles and sampled ones; the seeded line-up."""
    coordinator = EvolutionaryRoleCoordinator(agents, catalog, config=config, seed=seed)
    seeded = seeded_lineup(kit, catalog, agents)
    return Evolution(coordinator, Lineup(seeded), [Lineup(seeded)], seeded)


def seeded_lineup(kit: RoleKit, catalog: RoleCatalog, agents: int) -> tuple[int, ...]:
    """The roles that agents of a seeded team play."""
    names = [kit.seeded[agent % len(kit.seeded)] for agent in range(agents)]
    return tuple(sorted(catalog.role(name).id for name in names))


def seeded_roles(kit: RoleKit, catalog: RoleCatalog) -> list[RoleDef]:
    """The seeded roles that a catalogue has: one of one's own, for small teams, need not have all."""
    known = {role.name for role in catalog.roles}
    return [catalog.role(name) for name in dict.fromkeys(kit.seeded) if name in known]


def from_history(
    kit: RoleKit, catalog: RoleCatalog, agents: int, config: EvolutionConfig, seed: int, text: str
) -> Evolution:
    """Go on from the history of another run: its roles, and its line-ups if the teams are as large."""
    history = from_text(text, "The history")
    references = seeded_roles(kit, catalog)
    coordinator, lineups = _restored(history, catalog, agents, config, seed)
    for role in references:  # they may have been renamed or left out by hand
        if all(role.tiers != known.tiers or role.name != known.name for known in catalog.roles):
            catalog.add_role(role)
    key = fold(root(seed), _TOP_UP)
    for number in range(config.generated_role_count - len(coordinator.pool)):
        coordinator.take_in(sample_role(catalog, fold(key, number), config))
    seeded = seeded_lineup(kit, catalog, agents)
    fitting = [Lineup(one.roles, one.fitness) for one in lineups if len(one.roles) == agents]
    return Evolution(coordinator, Lineup(seeded), fitting or [Lineup(seeded)], seeded)


def from_snapshot(
    catalog: RoleCatalog, agents: int, config: EvolutionConfig, snapshot: Snapshot
) -> Evolution:
    """Go on from where a run stopped."""
    history = from_text(snapshot.arrays["history"].tobytes().decode(), "The checkpoint")
    own = snapshot.notes["evolution"]
    coordinator, _ = _restored(history, catalog, agents, config, history.seed)
    coordinator.wins, coordinator.hybrids = own["wins"], own["hybrids"]
    coordinator.pool = list(own["pool"])
    coordinator.pending.extend(own["pending"])
    lineups = [_lineup(one) for one in own["lineups"]]
    return Evolution(coordinator, _lineup(own["reference"]), lineups, tuple(own["champion"]))


def _lineup(entry: Mapping[str, Any]) -> Lineup:
    return Lineup(**{**entry, "roles": tuple(entry["roles"])})


def _restored(
    history: RoleHistory, catalog: RoleCatalog, agents: int, config: EvolutionConfig, seed: int
) -> tuple[EvolutionaryRoleCoordinator, Sequence[Lineup]]:
    pool = restore(history, catalog, "The history")
    coordinator = EvolutionaryRoleCoordinator(agents, catalog, config=config, seed=seed, pool=pool)
    coordinator.generation, coordinator.games = history.generation, history.games
    return coordinator, [Lineup(**dict(entry)) for entry in history.lineups]
