"""Line-ups: which mix of roles wins. They are evolved beside the roles they are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.dice import Dice

# How many games of what is expected of it count beside a line-up's own. About the variance of a
# game (18 million, in CogsGuard) over that between line-ups (some millions): see docs/roles.md.
PRIOR_GAMES = 6
# What a game counts after each further generation: opponents change, and luck is forgotten.
FADING = 0.9
# Whether the first role may take the place of the second in a line-up.
MayReplace = Callable[[int, int], bool]


def anybody(newcomer: int, leaving: int) -> bool:
    """The rule of free mixes: every role may take the place of every other."""
    del newcomer, leaving
    return True


@dataclass(frozen=True)
class Lineup:
    """One role id per agent of a team, lowest first, and what came of it."""

    roles: tuple[int, ...]
    prior: float = 0.0  # what was expected of it
    total: float = 0.0  # what it held, or was ahead by, in all its games; older ones count less
    games: float = 0.0

    @property
    def fitness(self) -> float:
        """The mean per game, drawn towards what was expected while games are few.

        Of many children the luckiest looks best; the expectation takes that back.
        """
        return (self.prior * PRIOR_GAMES + self.total) / (PRIOR_GAMES + self.games)

    def played(self, margins: Sequence[float]) -> Lineup:
        """The line-up after some more games."""
        return replace(
            self,
            total=self.total * FADING + sum(margins),
            games=self.games * FADING + len(margins),
        )

    def of(self, roles: Sequence[int]) -> Lineup:
        """A child with these roles. Nothing is expected of it yet."""
        return Lineup(tuple(sorted(roles)))


def best_first(lineups: Sequence[Lineup]) -> list[Lineup]:
    """By fitness; of equals the one with more games, then by their roles."""
    return sorted(lineups, key=lambda one: (-one.fitness, -one.games, one.roles))


def with_newborn(
    catalog: RoleCatalog,
    lineup: Lineup,
    role_id: int,
    key: int,
    may_replace: MayReplace = anybody,
) -> Lineup:
    """A new role tried in the place of its parent, or of all who play its parent's role.

    Where no parent plays whom it may replace, it takes the place of anybody whom it may; where
    there is nobody, the child has the roles of the line-up.
    """
    dice, seats = Dice(key), list(lineup.roles)
    open_to_it = [seat for seat in seats if may_replace(role_id, seat)]
    if not open_to_it:
        return lineup.of(seats)
    parents = [one for one in dict.fromkeys(open_to_it) if one in catalog.roles[role_id].parents]
    leaving = dice.choice(parents) if parents else dice.choice(open_to_it)
    places = [at for at, seat in enumerate(seats) if seat == leaving]
    if dice.chance(0.5):
        places = places[:1]
    return lineup.of([role_id if at in places else seat for at, seat in enumerate(seats)])


def with_one_changed(
    lineup: Lineup, role_id: int, key: int, may_replace: MayReplace = anybody
) -> Lineup:
    """Another role for one agent whom it may replace; the same roles where there is none."""
    seats = list(lineup.roles)
    places = [at for at, seat in enumerate(seats) if may_replace(role_id, seat)]
    if places:
        seats[Dice(key).choice(places)] = role_id
    return lineup.of(seats)


def shifted(lineup: Lineup, key: int, may_replace: MayReplace = anybody) -> Lineup:
    """The same roles in another mix: one agent takes on the role of another whom it may replace.

    Where all who may be exchanged play the same, the child has the roles of the line-up.
    """
    seats, kinds = list(lineup.roles), dict.fromkeys(lineup.roles)
    changes = [
        (at, role)
        for at, seat in enumerate(seats)
        for role in kinds
        if role != seat and may_replace(role, seat)
    ]
    if changes:
        at, taken_on = Dice(key).choice(changes)
        seats[at] = taken_on
    return lineup.of(seats)


def crossed(one: Lineup, other: Lineup, key: int, may_replace: MayReplace = anybody) -> Lineup:
    """Each agent's role from either of two line-ups."""
    dice, pairs = Dice(key), _paired(one, other, may_replace)
    return one.of([mine if dice.chance(0.5) else theirs for mine, theirs in pairs])


def _paired(one: Lineup, other: Lineup, may_replace: MayReplace) -> list[tuple[int, int]]:
    """Each role with the first one left of the other line-up that may replace it, else with itself.

    Line-ups are sorted by role id, so equal places need not hold roles that may be exchanged.
    """
    left, pairs = list(other.roles), []
    for mine in one.roles:
        at = next((at for at, role in enumerate(left) if may_replace(role, mine)), None)
        pairs.append((mine, mine if at is None else left.pop(at)))
    return pairs
