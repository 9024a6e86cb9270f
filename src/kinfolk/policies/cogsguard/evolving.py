"""`kin://roles?evolution=1`: agents that draw their roles from a pool that has evolved."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.keys import fold, root
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Memory, Rows
from kinfolk.policies.cogsguard.catalog import catalog_of
from kinfolk.policies.cogsguard.knowledge import AGENTS, Tuning
from kinfolk.policies.cogsguard.lineups import LineUp, counted_roles
from kinfolk.policies.cogsguard.roles import RolePolicy
from kinfolk.policies.cogsguard.temple import EXPLORED, TempleRoles
from kinfolk.roles.breeding import found_pool
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.dice import Dice
from kinfolk.roles.fitness import pick_role_id_weighted
from kinfolk.roles.history import restore
from kinfolk.roles.history_text import from_text
from kinfolk.roles.materialise import role_tables

FLAGS = ("evolution", "evolutionary", "evolve")
_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_FOUND, _EXPLORE, _PICK = range(3)  # branches of keys


class Roles:
    """`kin://roles`: a fixed line-up, or one that is drawn, or one that learns, by its flags."""

    kernels, prepare = RolePolicy.kernels, RolePolicy.prepare

    def __new__(cls, spec: WorldSpec, **given: Any) -> Any:
        """The policy that the flags ask for.

        Raises:
            SettingsError: A flag is neither on nor off, or `learn` stands alone.
        """
        on = [is_on(flag, given.pop(flag)) for flag in FLAGS if flag in given]
        learn = is_on("learn", given.pop("learn", "0"))
        if learn and not any(on):
            raise SettingsError("learn=1 needs evolution=1: only roles that evolve can learn.")
        if not any(on):
            return LineUp(spec, **given)
        return LiveRoles(spec, **given) if learn else EvolvingRoles(spec, **given)


def is_on(flag: str, value: Any) -> bool:
    """Whether a flag of a URI is on.

    >>> is_on("evolve", "Yes"), is_on("evolve", 1), is_on("evolve", False)
    (True, True, False)
    """
    word = str(value).lower()
    if word not in (*_ON, *_OFF):
        raise SettingsError(f"{flag} must be one of {', '.join(_ON + _OFF)}, not '{value}'.")
    return word in _ON


class EvolvingRoles(TempleRoles):
    """Counts fix some agents' roles; the others draw theirs, by fitness or a new one.

    The pool is frozen: the same game gives the same roles, on any number of workers.

    Args:
        spec: The face of CogsGuard.
        history: The text of a `role_history.json`; without it, the seeded roles and sampled ones.
        seed: Where the sampled ones come from.
        catalog: The import path of a function that makes a catalogue of one's own.
        given: Counts by role name, settings of `Tuning` and of `EvolutionConfig`.
    """

    def __init__(
        self,
        spec: WorldSpec,
        history: str | None = None,
        seed: int = 0,
        catalog: str | None = None,
        **given: Any,
    ) -> None:
        evolution, tuning = _taken(given, EvolutionConfig), _taken(given, Tuning)
        known = catalog_of(catalog)
        pool = None
        if history is not None:
            pool = restore(from_text(str(history), "The history"), known, "The history")
        fixed = counted_roles(known, given)
        super().__init__(spec, evolution, catalog=known, **tuning)
        key = fold(root(seed), _FOUND)
        self.pool = found_pool(known, key, self.evolution) if pool is None else pool
        self.tables = role_tables(known.roles)
        self._fixed, self._agents = fixed, int(self.rules[AGENTS])
        require(
            len(fixed) <= self._agents,
            f"The line-up has {len(fixed)} agents; a team has {self._agents}. "
            f"Ask for fewer, or set agents.",
        )

    def roles_of(self, rows: Rows, memory: Memory, keys: Ints) -> Ints:
        """A newborn's is a hybrid; a founder's is fixed, or drawn from the key of its life."""
        roles = super().roles_of(rows, memory, keys)
        for i in np.flatnonzero(roles >= 0).tolist():
            number = int(rows.uid[i]) % self._agents
            roles[i] = (
                self._fixed[number] if number < len(self._fixed) else self._draw(int(keys[i]))
            )
        return roles

    def _draw(self, key: int) -> int:
        if Dice(fold(key, _EXPLORE)).chance(self.evolution.exploration_chance):
            return EXPLORED
        return pick_role_id_weighted(self.catalog, self.pool, fold(key, _PICK))


class LiveRoles(EvolvingRoles):
    """The same with a coordinator that lives: `finish_game` teaches it, between games.

    It remembers from game to game, so it plays one game at a time, and in one process only:
    see `kinfolk.jobs.live_roles`. An evaluation, which plays many at once, is refused.
    """

    def __init__(self, spec: WorldSpec, games_per_generation: int = 10, **given: Any) -> None:
        super().__init__(spec, **given)
        self.coordinator = EvolutionaryRoleCoordinator(
            self._agents,
            self.catalog,
            games_per_generation,
            self.evolution,
            int(given.get("seed", 0)),
            self.pool,
        )

    def roles_of(self, rows: Rows, memory: Memory, keys: Ints) -> Ints:  # noqa: ARG002
        """The coordinator assigns: to a newborn the hybrid that was queued for it."""
        require(
            len(set(rows.world.tolist())) == 1,
            "kin://roles?learn=1 learns from one game at a time, and is not for evaluations.",
        )
        known = memory["role"]
        for agent, places in zip(rows.uid.tolist(), rows.parent_places.tolist(), strict=True):
            if agent < len(self._fixed):
                self.coordinator.assignments.setdefault(agent, self._fixed[agent])
            elif min(places) >= 0 and agent not in self.coordinator.assignments:
                self.coordinator.queue_hybrid(int(known[places[0]]), int(known[places[1]]))
            self.coordinator.assign_role(agent)
        self.tables = role_tables(self.catalog.roles)
        return np.array([self.coordinator.assignments[a] for a in rows.uid.tolist()], np.int64)

    def finish_game(self, scores: dict[int, float], won: bool) -> bool:
        """Enter what agents scored, by uid; returns whether a new generation began."""
        for agent, score in scores.items():
            self.coordinator.record_agent_performance(agent, score, won)
        return self.coordinator.end_game(won)


def _taken(given: dict[str, Any], kind: Any) -> dict[str, Any]:
    """Take the settings of one kind out of all that were given."""
    return {name: given.pop(name) for name in list(given) if name in kind.model_fields}
