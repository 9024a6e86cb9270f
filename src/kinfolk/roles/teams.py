"""Teams: assignments of living roles to the agents of a team, and how new ones are proposed.

A team is no individual of its own: only the coordinator creates and retires roles. New teams are
those that scored best with one or two changes: a new role in the place of its parent, a role for
another agent, another living role, or a crossover with another team.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from kinfolk.core.random import KeyedRng, fold_in
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.contribution import Contributions
from kinfolk.roles.fitness import selection_weight
from kinfolk.roles.model import EvolutionConfig

_ONE_AGENT = 0.25  # probability that a new role replaces its parent for one agent, not for all
_SHIFT_ALL = 0.3  # probability that all agents of a role take over another role, not one

# Whether the first role may replace the second in a team.
MayReplace = Callable[[int, int], bool]


def allow_any(new_role: int, old_role: int) -> bool:
    """Return True: every role may replace every other in a team."""
    del new_role, old_role
    return True


@dataclass(frozen=True)
class TeamComposition:
    """The roles of a team and its estimated score.

    Attributes:
        roles: One role id per agent, in ascending order.
        value: Estimated score per game; see `contribution`.
        games: Number of its games.
    """

    roles: tuple[int, ...]
    value: float = 0.0
    games: int = 0

    def with_roles(self, roles: Sequence[int]) -> TeamComposition:
        """Return a new composition with these role ids, sorted, that has not played."""
        return TeamComposition(tuple(sorted(roles)))


def rank_teams(teams: Sequence[TeamComposition]) -> list[TeamComposition]:
    """Sort teams by value, best first; ties by more games, then by role ids."""
    return sorted(teams, key=lambda team: (-team.value, -team.games, team.roles))


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
    if rng.bernoulli(_ONE_AGENT):
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
    """Return a child in which agents get the role of another: the same roles in other numbers.

    One agent gets it, or all agents that had the same role. If no such change is possible, the child
    has the roles of the team.

    Args:
        team: The parent team.
        key: Random key.
        may_replace: Which role may replace which.
    """
    roles, distinct = list(team.roles), dict.fromkeys(team.roles)
    pairs = itertools.product(enumerate(roles), distinct)
    changes = [(i, new) for (i, old), new in pairs if new != old and may_replace(new, old)]
    if changes:
        rng = KeyedRng(key)
        agent, new = rng.choice(changes)
        old = roles[agent]
        if rng.bernoulli(_SHIFT_ALL):
            roles = [new if role == old else role for role in roles]
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


_MAX_TRIES = 6  # to propose a team that does not exist yet
_SECOND_CHANGE = 0.4  # probability that a proposed team differs from its parent in two ways
_PARENT_DECAY = 0.7  # weight of each parent team relative to the next better one
_OPERATORS = {"shift": 2.0, "draw": 2.0, "cross": 1.0}  # weights of the changes besides new roles


@dataclass(frozen=True)
class TeamProposer:
    """Proposes teams of living roles.

    Attributes:
        catalog: Catalog with the roles.
        pool: Ids of the living roles.
        parents: Teams to start from, best first.
        config: How roles are drawn.
        contributions: Estimated effects, by which one team is composed.
        may_replace: Which role may replace which.
    """

    catalog: RoleCatalog
    pool: Sequence[int]
    parents: Sequence[TeamComposition]
    config: EvolutionConfig
    contributions: Contributions
    may_replace: MayReplace = allow_any

    def propose(self, n_teams: int, new_roles: Sequence[int], key: int) -> list[TeamComposition]:
        """Return teams that are not among the parents, with every new role in one of them.

        Args:
            n_teams: Number of teams; if there are more new roles, each still gets a team.
            new_roles: Ids of roles that have not played.
            key: Random key.
        """
        known = {team.roles for team in self.parents}
        waiting = [role for role in new_roles if self._has_place(role)]
        proposed: list[TeamComposition] = []
        if self.config.selection == "fitness" and self.contributions.roles:
            best = self.compose_by_contribution()
            if best.roles not in known:
                proposed.append(best)
        while len(proposed) < n_teams or waiting:
            known |= {team.roles for team in proposed}
            child_key = fold_in(key, len(proposed))
            new_role = waiting.pop(0) if waiting else None
            for attempt in range(_MAX_TRIES):
                team = self._change(new_role, fold_in(child_key, attempt))
                if team.roles not in known:
                    break
            else:
                if new_role is None:
                    break  # so few teams are possible that none is left
            proposed.append(team)
        return proposed

    def compose_by_contribution(self) -> TeamComposition:
        """Return the best parent after the single replacement that promises most, if one does."""
        best = self.parents[0]
        played = [role for role in self.pool if role in self.contributions.roles]
        candidates = [best.roles]
        for agent, role in itertools.product(range(len(best.roles)), played):
            if role != best.roles[agent] and self.may_replace(role, best.roles[agent]):
                changed = (*best.roles[:agent], role, *best.roles[agent + 1 :])
                candidates.append(tuple(sorted(changed)))
        effects = self.contributions.roles
        value = {team: sum(effects.get(role, 0.0) for role in team) for team in candidates}
        return TeamComposition(max(sorted(value), key=lambda team: value[team]))

    def _has_place(self, role: int) -> bool:
        """Return whether a role may replace any role of the parents."""
        return any(self.may_replace(role, other) for team in self.parents for other in team.roles)

    def _change(self, new_role: int | None, key: int) -> TeamComposition:
        """Return a parent with one or two changes, the first of which places a new role, if any."""
        draws = KeyedRng(key)
        weights = [_PARENT_DECAY**rank for rank in range(len(self.parents))]
        if self.config.selection == "uniform":
            weights = [1.0] * len(self.parents)
        team = draws.weighted_choice(self.parents, weights)
        if new_role is not None:
            fitting = [t for t in self.parents if self._may_enter(new_role, t)]
            ancestors = set(self.catalog.roles[new_role].parents)
            related = [t for t in fitting if ancestors & set(t.roles)]
            team = team if team in (related or fitting) else (related or fitting)[0]
            team = replace_parent(self.catalog, team, new_role, fold_in(key, 0), self.may_replace)
            if draws.bernoulli(_SECOND_CHANGE):
                team = self._vary(team, draws, fold_in(key, 1), kept_role=new_role)
            return team
        team = self._vary(team, draws, fold_in(key, 2))
        if draws.bernoulli(_SECOND_CHANGE):
            team = self._vary(team, draws, fold_in(key, 3))
        return team

    def _may_enter(self, role: int, team: TeamComposition) -> bool:
        """Return whether a role may replace one of a team."""
        return any(self.may_replace(role, other) for other in team.roles)

    def _vary(
        self, team: TeamComposition, draws: KeyedRng, key: int, kept_role: int | None = None
    ) -> TeamComposition:
        """Return a team with one change that needs no new role, and that keeps one role, if given."""
        operator = draws.weighted_choice(list(_OPERATORS), list(_OPERATORS.values()))
        if operator == "cross" and len(self.parents) > 1:
            other = draws.choice(self.parents)
            changed = crossover_teams(team, other, key, self.may_replace)
        elif operator == "draw":
            played = [i for i in self.pool if self.catalog.roles[i].own_games > 0] or self.pool
            weights = [selection_weight(self.catalog.roles[i], self.config) for i in played]
            drawn = draws.weighted_choice(played, weights)
            changed = replace_one_role(team, drawn, key, self.may_replace)
        else:
            changed = shift_roles(team, key, self.may_replace)
        return changed if kept_role is None or kept_role in changed.roles else team


def assigned_roles(teams: Collection[TeamComposition]) -> set[int]:
    """Return the ids of all roles of some teams."""
    return {role for team in teams for role in team.roles}
