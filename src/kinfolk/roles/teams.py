"""Team compositions, one role per agent, and their evolution together with that of the roles."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from kinfolk.core.random import KeyedRng, fold_in
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.generations import make_distinct_offspring

# Weight of the prior in a team's fitness, in games (shrinkage). About the variance of a game
# (18 million, in CogsGuard) over that between teams (some millions): see docs/roles.md.
PRIOR_GAMES = 6

# Weight of past games per generation: opponents change, and lucky scores fade.
SCORE_DECAY = 0.9

# Whether the first role may replace the second in a team.
MayReplace = Callable[[int, int], bool]


def allow_any(new_role: int, old_role: int) -> bool:
    """Return True: every role may replace every other in a team."""
    del new_role, old_role
    return True


@dataclass(frozen=True)
class TeamComposition:
    """The roles of a team and its record in past games.

    Attributes:
        roles: One role id per agent, in ascending order.
        prior: Expected score before it has played: the mean fitness of its generation's survivors.
        total: Sum of its scores (points, or the margin over the opponent), older ones decayed.
        games: Number of its games, older ones decayed.
    """

    roles: tuple[int, ...]
    prior: float = 0.0
    total: float = 0.0
    games: float = 0.0

    @property
    def fitness(self) -> float:
        """Mean score per game, shrunk towards the prior while games are few.

        Otherwise the luckiest of many new teams would be selected.
        """
        return (self.prior * PRIOR_GAMES + self.total) / (PRIOR_GAMES + self.games)

    def with_games(self, margins: Sequence[float]) -> TeamComposition:
        """Return the composition with the scores of one more generation; older scores decay."""
        total = self.total * SCORE_DECAY + sum(margins)
        return replace(self, total=total, games=self.games * SCORE_DECAY + len(margins))

    def with_roles(self, roles: Sequence[int]) -> TeamComposition:
        """Return a new composition with these role ids, sorted, and without prior or games."""
        return TeamComposition(tuple(sorted(roles)))


def rank_teams(teams: Sequence[TeamComposition]) -> list[TeamComposition]:
    """Sort teams by fitness, best first; ties by more games, then by role ids."""
    return sorted(teams, key=lambda team: (-team.fitness, -team.games, team.roles))


def replace_parent(
    catalog: RoleCatalog,
    team: TeamComposition,
    role_id: int,
    key: int,
    may_replace: MayReplace = allow_any,
) -> TeamComposition:
    """Return a child in which a new role replaces its parent, for one agent or for all.

    If none of its parents is in the team, or may be replaced, it replaces any role that it may; if
    there is none, the child has the roles of the team.

    Args:
        catalog: Catalog with the new role.
        team: The parent team.
        role_id: Id of the new role.
        key: Random key.
        may_replace: Which role may replace which.
    """
    rng, roles = KeyedRng(key), list(team.roles)
    replaceable = [role for role in roles if may_replace(role_id, role)]
    if not replaceable:
        return team.with_roles(roles)
    parents = [r for r in dict.fromkeys(replaceable) if r in catalog.roles[role_id].parents]
    replaced = rng.choice(parents or replaceable)
    agents = [agent for agent, role in enumerate(roles) if role == replaced]
    if rng.bernoulli(0.5):
        agents = agents[:1]
    return team.with_roles([role_id if i in agents else role for i, role in enumerate(roles)])


def replace_one_role(
    team: TeamComposition, role_id: int, key: int, may_replace: MayReplace = allow_any
) -> TeamComposition:
    """Return a child in which a role replaces that of one random agent, if it may replace any.

    Args:
        team: The parent team.
        role_id: Id of the role.
        key: Random key.
        may_replace: Which role may replace which.
    """
    roles = list(team.roles)
    agents = [agent for agent, role in enumerate(roles) if may_replace(role_id, role)]
    if agents:
        roles[KeyedRng(key).choice(agents)] = role_id
    return team.with_roles(roles)


def shift_roles(
    team: TeamComposition, key: int, may_replace: MayReplace = allow_any
) -> TeamComposition:
    """Return a child in which one agent gets the role of another: the same roles in other numbers.

    If no such change is possible, the child has the roles of the team.

    Args:
        team: The parent team.
        key: Random key.
        may_replace: Which role may replace which.
    """
    roles, distinct = list(team.roles), dict.fromkeys(team.roles)
    pairs = itertools.product(enumerate(roles), distinct)
    changes = [(i, new) for (i, old), new in pairs if new != old and may_replace(new, old)]
    if changes:
        agent, new = KeyedRng(key).choice(changes)
        roles[agent] = new
    return team.with_roles(roles)


def crossover_teams(
    team: TeamComposition, other: TeamComposition, key: int, may_replace: MayReplace = allow_any
) -> TeamComposition:
    """Return a child that takes each agent's role from either of two teams (uniform crossover).

    Teams are sorted by role id, so roles at equal positions need not be exchangeable: each role is
    paired with the first one of the other team that may replace it, or with itself.

    Args:
        team: One parent team.
        other: The other parent team; each of its roles is used at most once.
        key: Random key.
        may_replace: Which role may replace which.
    """
    rng, candidates, roles = KeyedRng(key), list(other.roles), []
    for role in team.roles:
        match = next((i for i, new in enumerate(candidates) if may_replace(new, role)), None)
        partner = role if match is None else candidates.pop(match)
        roles.append(role if rng.bernoulli(0.5) else partner)
    return team.with_roles(roles)


_MAX_TRIES = 6  # to breed a team that does not exist yet
_OPERATOR, _CHANGE, _DRAW = range(3)  # folded into a child's key

# Operators that create teams, by weight: put in an unplayed role, breed a variant of one of the
# team's roles, shift numbers between its roles, cross two teams, or draw a role from the pool.
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
    """Return the next generation of teams: the best ones, and children of theirs.

    The prior of a child is the mean fitness of the survivors. Roles that are bred for it enter the
    pool. A newborn role that may replace no other stays in the pool unplayed, as a possible parent.

    Args:
        coordinator: Pool and catalog of the roles; roles may be added.
        teams: The last generation, with the scores of its games.
        size: Number of teams in the next generation.
        n_survivors: How many of the best teams survive; of equal teams only the fittest.
        newborns: Ids of roles that have not been played, to be tried in this order.
        breed: Whether roles may be bred for teams.
        key: Random key.
        may_replace: Which role may replace which in a child.
    """
    distinct: dict[tuple[int, ...], TeamComposition] = {}
    for team in rank_teams(teams):
        distinct.setdefault(team.roles, team)
    survivors = list(distinct.values())[:n_survivors]
    prior = sum(team.fitness for team in survivors) / len(survivors)
    played = sorted({role for team in survivors for role in team.roles})
    # A newborn that may replace no role would block those after it.
    waiting = [i for i in newborns if any(may_replace(i, role) for role in played)]
    breeder = _TeamBreeder(coordinator, survivors, breed, may_replace)
    next_generation = list(survivors)
    for number in range(size - len(survivors)):
        known = {team.roles for team in next_generation}
        child_key = fold_in(key, number)
        for attempt in range(_MAX_TRIES):
            child = breeder.breed_child(waiting, fold_in(child_key, attempt))
            if child.roles not in known:
                break
        else:
            child = breeder.find_unknown_team(known, child_key)
        waiting = [role for role in waiting if role not in child.roles]
        next_generation.append(replace(child, prior=prior))
    return next_generation


@dataclass(frozen=True)
class _TeamBreeder:
    """Breeds children of the surviving teams.

    Attributes:
        coordinator: Pool and catalog of the roles; roles may be added.
        survivors: Possible parents, best first.
        breed: Whether roles may be bred for a child.
        may_replace: Which role may replace which.
    """

    coordinator: EvolutionaryRoleCoordinator
    survivors: Sequence[TeamComposition]
    breed: bool
    may_replace: MayReplace

    def breed_child(self, waiting: Sequence[int], key: int) -> TeamComposition:
        """Breed a child by an operator drawn by weight.

        Args:
            waiting: Ids of newborn roles that have not been tried.
            key: Random key.
        """
        rng = KeyedRng(fold_in(key, _OPERATOR))
        change_key, draw_key = fold_in(key, _CHANGE), fold_in(key, _DRAW)
        possible = {"newborn": bool(waiting), "variant": self.breed}
        operators = [name for name in _OPERATOR_WEIGHTS if possible.get(name, True)]
        operator = rng.weighted_choice(operators, [_OPERATOR_WEIGHTS[name] for name in operators])
        # The best has twice the weight of the second, and so on.
        weights = [0.5**rank for rank in range(len(self.survivors))]
        parent = rng.weighted_choice(self.survivors, weights)
        if operator == "newborn":
            return self._replace_parent(parent, waiting[0], change_key)
        if operator == "variant":
            return self._replace_by_variant(parent, change_key, draw_key)
        if operator == "draw":
            drawn = self.coordinator.draw_role(draw_key)
            return replace_one_role(parent, drawn, change_key, self.may_replace)
        if operator == "cross" and len(self.survivors) > 1:
            other = rng.choice(self.survivors)
            return crossover_teams(parent, other, change_key, self.may_replace)
        return shift_roles(parent, change_key, self.may_replace)

    def _replace_parent(self, team: TeamComposition, role_id: int, key: int) -> TeamComposition:
        """Return a child of a team in which a new role replaces its parent."""
        return replace_parent(self.coordinator.catalog, team, role_id, key, self.may_replace)

    def _replace_by_variant(
        self, parent: TeamComposition, key: int, draw_key: int
    ) -> TeamComposition:
        """Breed a variant of a random role of a team and put it in that role's place.

        Roles are drawn uniformly, so that also role types that score little themselves improve.

        Args:
            parent: The parent team.
            key: Random key of the role and its variant.
            draw_key: Random key of the mate and of the replacement.
        """
        coordinator, catalog = self.coordinator, self.coordinator.catalog
        role = catalog.roles[KeyedRng(key).choice(parent.roles)]
        others = [i for i in {*coordinator.pool, *parent.roles} if i != role.id]
        mate = catalog.roles[KeyedRng(draw_key).choice(sorted(others))]
        offspring = make_distinct_offspring(catalog, role, mate, key, coordinator.config)
        return self._replace_parent(parent, coordinator.add_to_pool(offspring).id, draw_key)

    def find_unknown_team(self, known: Collection[tuple[int, ...]], key: int) -> TeamComposition:
        """Return a team not in `known`, made of a survivor and a role of the pool; else a survivor.

        Args:
            known: Sorted role ids of the teams that exist.
            key: Random key.
        """
        children = {}
        for parent in self.survivors:
            for role in self.coordinator.pool:
                child = replace_one_role(parent, role, fold_in(key, role), self.may_replace)
                if child.roles not in known:
                    children[child.roles] = child
        return KeyedRng(key).choice(list(children.values()) or self.survivors)
