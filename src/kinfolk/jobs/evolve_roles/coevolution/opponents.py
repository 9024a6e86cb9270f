"""Opponents of an evolving team: champions of a hall of fame, by their weights in a mixture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kinfolk.core.random import KeyedRng, fold_in
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import RoleDef


@dataclass(frozen=True)
class OpponentMixture:
    """Which team opposes an evolving one in an episode: the same for all teams of a race.

    The roles of the opponents are of other catalogs. In games they have the ids from
    `len(catalog.roles)` on, in a catalog that `extend` returns.

    Attributes:
        teams: Roles of every agent of each opponent.
        weights: Probability of each opponent.
        latest: Indices of opponents that take turns in even episodes; if empty, every episode
            draws by the weights.
        key: Random key of the draws.
    """

    teams: Sequence[Sequence[RoleDef]]
    weights: Sequence[float]
    latest: Sequence[int]
    key: int

    def pick(self, episode: int) -> int:
        """Return the index of the opponent of an episode."""
        if self.latest and episode % 2 == 0:
            return self.latest[episode // 2 % len(self.latest)]
        draws = KeyedRng(fold_in(self.key, episode))
        return draws.weighted_choice(range(len(self.teams)), self.weights)

    def role_ids(self, catalog: RoleCatalog, episode: int) -> tuple[int, ...]:
        """Return the role ids of the opponent of an episode in the extended catalog."""
        index = self.pick(episode)
        first = len(catalog.roles) + sum(len(team) for team in self.teams[:index])
        return tuple(range(first, first + len(self.teams[index])))

    def extend(self, catalog: RoleCatalog) -> RoleCatalog:
        """Return a catalog with the roles of the opponents behind the others, for games only."""
        extended = catalog.copy()
        extended.roles += [role for team in self.teams for role in team]
        return extended
