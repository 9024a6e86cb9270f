"""Roles at the temple: an agent born in play takes on a hybrid of its parents' roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.settings import read
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Cell, Memory, MemoryLayout, Rows
from kinfolk.policies.cogsguard.roles import RolePolicy
from kinfolk.policies.role_kits import OWN, own_tables
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.hybrids import hybrid_role
from kinfolk.roles.materialise import (
    RoleTables,
    materialise_rows,
    role_from_tables,
    role_tables,
    tables_from,
)
from kinfolk.roles.model import MOST_BEHAVIORS, RoleDef
from kinfolk.roles.operators import sample_role

# In place of a row of the tables: the role lies in memory only.
HYBRID, EXPLORED = -2, -3


class TempleRoles(RolePolicy):
    """Plays roles as `RolePolicy` does, and gives every newborn a hybrid.

    A hybrid stands in no catalogue while the game goes on. So the role itself lies in the memory
    of its life, where its own children find it, and the job after the game.
    """

    def __init__(
        self, spec: WorldSpec, evolution: Mapping[str, Any] | None = None, **given: Any
    ) -> None:
        self.evolution = read(EvolutionConfig, evolution or {})
        super().__init__(spec, **given)

    @property
    def memory(self) -> MemoryLayout:
        """Also the role."""
        cells = {
            f"{OWN}{name}": Cell((MOST_BEHAVIORS,), str(array.dtype))
            for name, array in role_tables([])._asdict().items()
        }
        return {**super().memory, **cells}

    def roles_of(self, rows: Rows, memory: Memory, keys: Ints) -> Ints:
        """The member of a founder; HYBRID for a child of roles, else what its parents are.

        Smart agents, and those that do nothing, have no role to hand on.
        """
        roles, own = super().roles_of(rows, memory, keys), own_tables(memory)
        for i, places in enumerate(rows.parent_places.tolist()):
            known = [place for place in places if place >= 0]
            if known:
                has_role = any(own.behaviors[place, 0] >= 0 for place in known)
                roles[i] = HYBRID if has_role else memory["role"][known[0]]
        return roles

    def write_programs(self, rows: Rows, roles: Ints, memory: Memory, keys: Ints) -> None:
        """Lay each life's role in its memory, and draw its program from that."""
        own = own_tables(memory)
        for i, (place, role) in enumerate(zip(rows.place.tolist(), roles.tolist(), strict=True)):
            source, row = self.tables, role
            if role in (HYBRID, EXPLORED):
                made = self._make(role, own, rows.parent_places[i].tolist(), int(keys[i]))
                source, row = role_tables([made]), 0
            for name in RoleTables._fields:
                getattr(own, name)[place] = getattr(source, name)[row]
        programs = np.empty((len(roles), MOST_BEHAVIORS), dtype=np.int16)
        drawn = tables_from({name: a[rows.place] for name, a in own._asdict().items()})
        materialise_rows(drawn, np.arange(len(roles)), keys, programs)
        memory["program"][rows.place] = programs

    def _make(self, kind: int, own: RoleTables, places: list[int], key: int) -> RoleDef:
        if kind == EXPLORED:
            return sample_role(self.catalog, key, self.evolution, "explore")
        real = [p for p in places if p >= 0 and own.behaviors[p, 0] >= 0]
        left, right = (role_from_tables(own, place) for place in (real[0], real[-1]))
        return hybrid_role(self.catalog, left, right, key, self.evolution)
