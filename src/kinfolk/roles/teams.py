"""Team compositions, one role per agent, and their evolution together with that of the roles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from kinfolk.core.random import fold_in
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.generations import make_distinct_offspring
from kinfolk.roles.keyed_rng import KeyedRng

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
        """Return the composition with the scores of one more generation added."""
        return replace(
            self,
            total=self.total * SCORE_DECAY + sum(margins),
            games=self.games * SCORE_DECAY + len(margins),
        )

    def with_roles(self, roles: Sequence[int]) -> TeamComposition:
        """Return a child with these roles and no record."""
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
    changes = [
        (agent, new)
        for agent, old in enumerate(roles)
        for new in distinct
        if new != old and may_replace(new, old)
    ]
    if changes:
        agent, new = KeyedRng(key).choice(changes)
        roles[agent] = new
    return team.with_roles(roles)


def crossover_teams(
    team: TeamComposition,
    other_team: TeamComposition,
    key: int,
    may_replace: MayReplace = allow_any,
) -> TeamComposition:
    """Return a child that takes each agent's role from either of two teams (uniform crossover).

    Args:
        team: One parent team.
        other_team: The other parent team.
        key: Random key.
        may_replace: Which role may replace which.
    """
    rng, pairs = KeyedRng(key), _pair_roles(team, other_team, may_replace)
    return team.with_roles([role if rng.bernoulli(0.5) else other for role, other in pairs])


def _pair_roles(
    team: TeamComposition, other_team: TeamComposition, may_replace: MayReplace
) -> list[tuple[int, int]]:
    """Pair each role of a team with one of another team that may replace it, else with itself.

    Teams are sorted by role id, so roles at equal positions need not be exchangeable.

    Args:
        team: The team.
        other_team: The other team; each of its roles is used at most once.
        may_replace: Which role may replace which.
    """
    others, pairs = list(other_team.roles), []
    for role in team.roles:
        match = next((i for i, other in enumerate(others) if may_replace(other, role)), None)
        pairs.append((role, role if match is None else others.pop(match)))
    return pairs


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
    next_generation = list(survivors)
    for number in range(size - len(survivors)):
        known = {team.roles for team in next_generation}
        for attempt in range(_MAX_TRIES):
            try_key = fold_in(fold_in(key, number), attempt)
            child = _make_child(coordinator, survivors, waiting, breed, try_key, may_replace)
            if child.roles not in known:
                break
        else:
            child = _any_new_team(coordinator, survivors, known, fold_in(key, number), may_replace)
        waiting = [role for role in waiting if role not in child.roles]
        next_generation.append(replace(child, prior=prior))
    return next_generation


def _make_child(
    coordinator: EvolutionaryRoleCoordinator,
    survivors: Sequence[TeamComposition],
    waiting: Sequence[int],
    breed: bool,
    key: int,
    may_replace: MayReplace,
) -> TeamComposition:
    """Create a child of the surviving teams by an operator drawn by weight.

    Args:
        coordinator: Pool and catalog of the roles; a role may be added.
        survivors: Possible parents, best first.
        waiting: Ids of newborn roles that have not been tried.
        breed: Whether a role may be bred for the child.
        key: Random key.
        may_replace: Which role may replace which.
    """
    rng = KeyedRng(fold_in(key, _OPERATOR))
    change_key, draw_key = fold_in(key, _CHANGE), fold_in(key, _DRAW)
    possible = {"newborn": bool(waiting), "variant": breed}
    operators = [name for name in _OPERATOR_WEIGHTS if possible.get(name, True)]
    operator = rng.weighted_choice(operators, [_OPERATOR_WEIGHTS[name] for name in operators])
    # The best has twice the weight of the second, and so on.
    parent = rng.weighted_choice(survivors, [0.5**rank for rank in range(len(survivors))])
    if operator == "newborn":
        return replace_parent(coordinator.catalog, parent, waiting[0], change_key, may_replace)
    if operator == "variant":
        return _with_role_variant(coordinator, parent, change_key, draw_key, may_replace)
    if operator == "draw":
        return replace_one_role(parent, coordinator.draw_role(draw_key), change_key, may_replace)
    if operator == "cross" and len(survivors) > 1:
        return crossover_teams(parent, rng.choice(survivors), change_key, may_replace)
    return shift_roles(parent, change_key, may_replace)


def _with_role_variant(
    coordinator: EvolutionaryRoleCoordinator,
    parent: TeamComposition,
    key: int,
    draw_key: int,
    may_replace: MayReplace,
) -> TeamComposition:
    """Breed a variant of a random role of a team and put it in that role's place.

    Roles are drawn uniformly, so that also role types that score little themselves improve.

    Args:
        coordinator: The variant is added to its pool.
        parent: The parent team.
        key: Random key of the role and its variant.
        draw_key: Random key of the mate and of the replacement.
        may_replace: Which role may replace which.
    """
    catalog = coordinator.catalog
    role = catalog.roles[KeyedRng(key).choice(parent.roles)]
    others = [i for i in {*coordinator.pool, *parent.roles} if i != role.id]
    mate = catalog.roles[KeyedRng(draw_key).choice(sorted(others))]
    offspring = make_distinct_offspring(catalog, role, mate, key, coordinator.config)
    variant = coordinator.add_to_pool(offspring)
    return replace_parent(catalog, parent, variant.id, draw_key, may_replace)


def _any_new_team(
    coordinator: EvolutionaryRoleCoordinator,
    survivors: Sequence[TeamComposition],
    known: Collection[tuple[int, ...]],
    key: int,
    may_replace: MayReplace,
) -> TeamComposition:
    """Return a team that does not exist yet, with one role from the pool; a survivor if none does.

    Args:
        coordinator: Pool of the roles.
        survivors: Possible parents.
        known: Roles of the teams that exist.
        key: Random key.
        may_replace: Which role may replace which.
    """
    children = {
        child.roles: child
        for parent in survivors
        for role in coordinator.pool
        for child in [replace_one_role(parent, role, fold_in(key, role), may_replace)]
        if child.roles not in known
    }
    return KeyedRng(key).choice(list(children.values()) or survivors)
