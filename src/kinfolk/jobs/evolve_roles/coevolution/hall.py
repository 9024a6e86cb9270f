"""The hall of fame: champions by generation, what they score against each other, and what follows.

All champions of all populations are policies of one symmetric zero-sum game: sides of a world are
exchanged in half of the games, and the payoff is the lead over the other team. The mixture is a Nash
equilibrium of that game, as in policy-space response oracles (Lanctot et al. 2017).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import Arrays, Floats
from kinfolk.evaluation.games import alpha_rank, nash_mixture
from kinfolk.roles.model import RoleDef

_CLEAR = 2.0  # standard errors above 0 from which a lead is called clear


class HallChampion(NamedTuple):
    """The champion of a population after some generations: its role ids in that population."""

    population: int
    generation: int
    roles: tuple[int, ...]

    @property
    def name(self) -> str:
        """Number of the population, from 1 on, and generations."""
        return f"{self.population + 1}-{self.generation}"


class Cycle(NamedTuple):
    """Three champions of which each beats the next, and the last the first."""

    champions: list[str]
    leads: list[float]
    is_clear: bool  # whether every lead is more than twice its standard error


@dataclass
class HallOfFame:
    """Champions and what they score against each other.

    Attributes:
        champions: All champions, in the order in which they joined.
        total: `[n, n]`, sum of the leads of the row's champion over the column's.
        squares: `[n, n]`, sum of the squared leads.
        n_games: Games of each pair.
    """

    champions: list[HallChampion] = field(default_factory=list)
    total: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    squares: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    n_games: int = 1

    def add(self, champions: Sequence[HallChampion]) -> list[tuple[int, int]]:
        """Add champions, and return the pairs of indices that have to meet."""
        first = len(self.champions)
        self.champions += champions
        n_new = len(champions)
        self.total = np.pad(self.total, (0, n_new))
        self.squares = np.pad(self.squares, (0, n_new))
        return [(a, b) for b in range(first, first + n_new) for a in range(b)]

    def record(self, pair: tuple[int, int], leads: Sequence[float]) -> None:
        """Record the games of a pair: the lead of its first champion in each of them."""
        a, b = pair
        self.n_games = len(leads)
        self.total[a, b], self.total[b, a] = sum(leads), -sum(leads)
        self.squares[a, b] = self.squares[b, a] = sum(lead * lead for lead in leads)

    @property
    def payoffs(self) -> Floats:
        """`[n, n]`, mean lead of the row's champion over the column's."""
        return self.total / self.n_games

    @property
    def standard_errors(self) -> Floats:
        """`[n, n]`, standard errors of the payoffs."""
        variance = np.maximum(self.squares / self.n_games - self.payoffs**2, 0.0)
        errors: Floats = np.sqrt(variance / max(1, self.n_games - 1))
        return errors

    def nash(self) -> list[float]:
        """Return the weight of each champion in a Nash equilibrium."""
        payoffs = self.payoffs
        return nash_mixture(payoffs, -payoffs).mixtures[0]

    def alpha_rank(self) -> list[float]:
        """Return the probability of each champion by alpha-rank."""
        ranks: list[float] = alpha_rank([self.payoffs]).tolist()
        return ranks

    def latest(self, population: int | None = None) -> list[int]:
        """Return the index of the last champion of every population, apart from one, if given."""
        last = {champion.population: i for i, champion in enumerate(self.champions)}
        return [i for number, i in sorted(last.items()) if number != population]

    def find_cycles(self) -> list[Cycle]:
        """Return all cycles of three champions, that with the largest of smallest leads first."""
        payoffs, errors = self.payoffs, self.standard_errors
        cycles = []
        for a, b, c in combinations(range(len(self.champions)), 3):
            for first, second, third in ((a, b, c), (a, c, b)):
                edges = ((first, second), (second, third), (third, first))
                leads = [float(payoffs[edge]) for edge in edges]
                if min(leads) > 0:
                    clear = all(payoffs[edge] > _CLEAR * errors[edge] for edge in edges)
                    names = [self.champions[i].name for i in (first, second, third)]
                    cycles.append(Cycle(names, leads, clear))
        return sorted(cycles, key=lambda cycle: (not cycle.is_clear, -min(cycle.leads)))

    def share_later_wins(self) -> float | None:
        """Return in how many pairs of different generations the later champion leads on average."""
        order = self.champions
        leads = [
            self.payoffs[b, a] > 0
            for a, b in combinations(range(len(order)), 2)
            if order[a].generation < order[b].generation
        ]
        return float(np.mean(leads)) if leads else None

    def to_notes(self) -> dict[str, Any]:
        """Return the champions and the number of games as plain values."""
        champions = [[c.population, c.generation, list(c.roles)] for c in self.champions]
        return {"champions": champions, "n_games": self.n_games}

    def to_arrays(self) -> dict[str, Floats]:
        """Return the sums of leads and of their squares."""
        return {"hall/total": self.total, "hall/squares": self.squares}


def hall_from_snapshot(notes: Mapping[str, Any], arrays: Arrays) -> HallOfFame:
    """Restore a hall of fame from what `to_notes` and `to_arrays` returned."""
    champions = [HallChampion(p, g, tuple(roles)) for p, g, roles in notes["champions"]]
    size = (len(champions),) * 2  # a file holds no empty matrix
    total, squares = (arrays[f"hall/{name}"].reshape(size) for name in ("total", "squares"))
    return HallOfFame(champions, total.copy(), squares.copy(), notes["n_games"])


def roles_of(
    champion: HallChampion, role_tables: Sequence[Sequence[RoleDef]]
) -> tuple[RoleDef, ...]:
    """Return the role of every agent of a champion; `role_tables` are the roles by population."""
    return tuple(role_tables[champion.population][role] for role in champion.roles)
