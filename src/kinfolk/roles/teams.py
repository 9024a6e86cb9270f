"""Team compositions (one role per agent) and their evolution beside the roles they consist of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from kinfolk.core.random import fold_in
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.generations import make_distinct_offspring
from kinfolk.roles.keyed_rng import KeyedRng

# How many games of what is expected of it count beside a line-up's own. About the variance of a
# game (18 million, in CogsGuard) over that between line-ups (some millions): see docs/roles.md.
PRIOR_GAMES = 6

# What a game counts after each further generation: opponents change, and luck is forgotten.
SCORE_DECAY = 0.9

# Whether the first role may take the place of the second in a line-up.
MayReplace = Callable[[int, int], bool]


def allow_any(new_role: int, old_role: int) -> bool:
    """The rule of free mixes: every role may take the place of every other."""
    del new_role, old_role
    return True


@dataclass(frozen=True)
class TeamComposition:
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

    def with_games(self, margins: Sequence[float]) -> TeamComposition:
        """The line-up after some more games."""
        return replace(
            self,
            total=self.total * SCORE_DECAY + sum(margins),
            games=self.games * SCORE_DECAY + len(margins),
        )

    def with_roles(self, roles: Sequence[int]) -> TeamComposition:
        """A child with these roles. Nothing is expected of it yet."""
        return TeamComposition(tuple(sorted(roles)))


def rank_teams(teams: Sequence[TeamComposition]) -> list[TeamComposition]:
    """By fitness; of equals the one with more games, then by their roles."""
    return sorted(teams, key=lambda one: (-one.fitness, -one.games, one.roles))


def replace_parent(
    catalog: RoleCatalog,
    team: TeamComposition,
    role_id: int,
    key: int,
    may_replace: MayReplace = allow_any,
) -> TeamComposition:
    """A new role tried in the place of its parent, or of all who play its parent's role.

    Where no parent plays whom it may replace, it takes the place of anybody whom it may; where
    there is nobody, the child has the roles of the line-up.
    """
    dice, seats = KeyedRng(key), list(team.roles)
    open_to_it = [seat for seat in seats if may_replace(role_id, seat)]
    if not open_to_it:
        return team.with_roles(seats)
    parents = [one for one in dict.fromkeys(open_to_it) if one in catalog.roles[role_id].parents]
    leaving = dice.choice(parents) if parents else dice.choice(open_to_it)
    places = [at for at, seat in enumerate(seats) if seat == leaving]
    if dice.bernoulli(0.5):
        places = places[:1]
    return team.with_roles([role_id if at in places else seat for at, seat in enumerate(seats)])


def replace_one_role(
    team: TeamComposition, role_id: int, key: int, may_replace: MayReplace = allow_any
) -> TeamComposition:
    """Another role for one agent whom it may replace; the same roles where there is none."""
    seats = list(team.roles)
    places = [at for at, seat in enumerate(seats) if may_replace(role_id, seat)]
    if places:
        seats[KeyedRng(key).choice(places)] = role_id
    return team.with_roles(seats)


def shift_roles(
    team: TeamComposition, key: int, may_replace: MayReplace = allow_any
) -> TeamComposition:
    """The same roles in another mix: one agent takes on the role of another whom it may replace.

    Where all who may be exchanged play the same, the child has the roles of the line-up.
    """
    seats, kinds = list(team.roles), dict.fromkeys(team.roles)
    changes = [
        (at, role)
        for at, seat in enumerate(seats)
        for role in kinds
        if role != seat and may_replace(role, seat)
    ]
    if changes:
        at, taken_on = KeyedRng(key).choice(changes)
        seats[at] = taken_on
    return team.with_roles(seats)


def crossover_teams(
    team: TeamComposition,
    other_team: TeamComposition,
    key: int,
    may_replace: MayReplace = allow_any,
) -> TeamComposition:
    """Each agent's role from either of two line-ups."""
    dice, pairs = KeyedRng(key), _pair_roles(team, other_team, may_replace)
    return team.with_roles([mine if dice.bernoulli(0.5) else theirs for mine, theirs in pairs])


def _pair_roles(
    team: TeamComposition, other_team: TeamComposition, may_replace: MayReplace
) -> list[tuple[int, int]]:
    """Each role with the first one left of the other line-up that may replace it, else with itself.

    Line-ups are sorted by role id, so equal places need not hold roles that may be exchanged.
    """
    left, pairs = list(other_team.roles), []
    for mine in team.roles:
        at = next((at for at, role in enumerate(left) if may_replace(role, mine)), None)
        pairs.append((mine, mine if at is None else left.pop(at)))
    return pairs


_TRIES = 6  # to find a mix that is not there yet

_OPERATOR, _CHANGE, _DRAW = range(3)  # branches of a child's key

# How a child comes about, and how often. A newborn of the pool is tried if one waits.
_OPERATOR_WEIGHTS = {"newborn": 2.0, "variant": 6.0, "shift": 2.0, "cross": 2.0, "draw": 1.0}


def next_teams(
    coordinator: EvolutionaryRoleCoordinator,
    teams: Sequence[TeamComposition],
    size: int,
    n_survivors: int,
    newborns: Sequence[int],
    breed: bool,
    key: int,
    may_replace: MayReplace = allow_any,
) -> list[TeamComposition]:
    """The best `n_survivors` and, up to `size`, children of theirs.

    Of a child the mean of the survivors is expected. Roles that are bred for it enter the pool.
    A newborn that may replace nobody stays in the pool, unplayed; it may still become a parent.

    Args:
        coordinator: Whose roles they are.
        teams: Those that have played.
        size: How many there shall be.
        n_survivors: How many stay.
        newborns: Ids of roles that nobody has played yet, to be tried in this order.
        breed: Whether roles may be bred for line-ups.
        key: Where all chance comes from.
        may_replace: Which role may take the place of which; children keep to it.
    """
    first: dict[tuple[int, ...], TeamComposition] = {}
    for lineup in rank_teams(teams):  # of copies, which play the same games, one is enough
        first.setdefault(lineup.roles, lineup)
    kept = list(first.values())[:n_survivors]
    expected = sum(lineup.fitness for lineup in kept) / len(kept)
    seated = sorted({role for lineup in kept for role in lineup.roles})
    # One that fits nowhere would keep the others waiting behind it.
    waiting = [i for i in newborns if any(may_replace(i, role) for role in seated)]
    made = list(kept)
    for number in range(size - len(kept)):
        known = {lineup.roles for lineup in made}
        for attempt in range(_TRIES):
            own = fold_in(fold_in(key, number), attempt)
            child = _make_child(coordinator, kept, waiting, breed, own, may_replace)
            if child.roles not in known:
                break
        else:
            child = _any_new_team(coordinator, kept, known, fold_in(key, number), may_replace)
        waiting = [role for role in waiting if role not in child.roles]
        made.append(replace(child, prior=expected))
    return made


def _make_child(
    coordinator: EvolutionaryRoleCoordinator,
    survivors: Sequence[TeamComposition],
    waiting: Sequence[int],
    breed: bool,
    key: int,
    may_replace: MayReplace,
) -> TeamComposition:
    dice, change, draw = (
        KeyedRng(fold_in(key, _OPERATOR)),
        fold_in(key, _CHANGE),
        fold_in(key, _DRAW),
    )
    possible = {"newborn": bool(waiting), "variant": breed}
    ways = [way for way in _OPERATOR_WEIGHTS if possible.get(way, True)]
    way = dice.weighted_choice(ways, [_OPERATOR_WEIGHTS[one] for one in ways])
    # The best has twice the weight of the second, and so on.
    parent = dice.weighted_choice(survivors, [0.5**rank for rank in range(len(survivors))])
    if way == "newborn":
        return replace_parent(coordinator.catalog, parent, waiting[0], change, may_replace)
    if way == "variant":
        return _with_role_variant(coordinator, parent, change, draw, may_replace)
    if way == "draw":
        return replace_one_role(parent, coordinator.draw_role(draw), change, may_replace)
    if way == "cross" and len(survivors) > 1:
        return crossover_teams(parent, dice.choice(survivors), change, may_replace)
    return shift_roles(parent, change, may_replace)


def _with_role_variant(
    coordinator: EvolutionaryRoleCoordinator,
    parent: TeamComposition,
    key: int,
    draw: int,
    may_replace: MayReplace,
) -> TeamComposition:
    """A child of one of its own roles, in its place: also of crafts that score little themselves."""
    catalog = coordinator.catalog
    role = catalog.roles[KeyedRng(key).choice(parent.roles)]
    others = [i for i in {*coordinator.pool, *parent.roles} if i != role.id]
    mate = catalog.roles[KeyedRng(draw).choice(sorted(others))]
    made = coordinator.add_to_pool(
        make_distinct_offspring(catalog, role, mate, key, coordinator.config)
    )
    return replace_parent(catalog, parent, made.id, draw, may_replace)


def _any_new_team(
    coordinator: EvolutionaryRoleCoordinator,
    survivors: Sequence[TeamComposition],
    known: Collection[tuple[int, ...]],
    key: int,
    may_replace: MayReplace,
) -> TeamComposition:
    """A line-up that is not there yet, with any role of the pool; a copy where there is none."""
    others = {
        child.roles: child
        for parent in survivors
        for role in coordinator.pool
        for child in [replace_one_role(parent, role, fold_in(key, role), may_replace)]
        if child.roles not in known
    }
    return KeyedRng(key).choice(list(others.values()) or survivors)
