"""The sight `atlas`: a net of CogsGuard that is shown its agent's own map."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.hooks import address_of
from kinfolk.core.spaces import Field, WorldSpec
from kinfolk.policies.base import Memory, MemoryLayout, Rows, allocate, no_rows
from kinfolk.policies.cogsguard.aims import aim
from kinfolk.policies.cogsguard.atlas import survey
from kinfolk.policies.cogsguard.atlas_columns import COLUMNS
from kinfolk.policies.cogsguard.knowledge import AIM_TOOL, MAX_STEPS, Tuning, rules_row
from kinfolk.policies.cogsguard.memory import LIFE, TICK, mind_layout, mind_of, scratch_for
from kinfolk.policies.cogsguard.perceive import perceive
from kinfolk.worlds.cogsguard.layout import SCALES


class Atlas:
    """Draws the map of what is observed, and shows where things are on it."""

    def __init__(self, spec: WorldSpec) -> None:
        self._rules = rules_row(spec, Tuning())
        self._scratch = scratch_for(self._rules)
        self._scales = SCALES.copy()
        self._scales[TICK] = self._rules[MAX_STEPS]
        nobody = mind_of(allocate(self.memory, 0), self._scratch, self._rules)
        self._rules[AIM_TOOL] = address_of(aim, nobody, 0, 0, 0)
        shown = (Field("atlas", (COLUMNS,), "float32"),)
        self.spec = replace(spec, groups=tuple(replace(g, fields=shown) for g in spec.groups))
        self._compile(spec)

    @property
    def memory(self) -> MemoryLayout:
        """A mind, as scripted roles have."""
        return mind_layout(self._rules)

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Number new lives as scripted roles do: habits follow from it."""
        del keys
        memory["notes"][rows.place, LIFE] = rows.uid

    def see(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> Bytes:
        """Look, remember, and look things up."""
        fit = np.require(observations, requirements=["C", "W"])
        mind = mind_of(memory, self._scratch, self._rules)
        perceive(mind, fit.view(np.uint16), fit.view(np.float32), rows.place, keys)
        out = np.zeros((len(rows.place), COLUMNS), dtype=np.float32)
        survey(mind, rows.place, self._scales, out)
        return out.view(np.uint8)

    def _compile(self, spec: WorldSpec) -> None:
        """Compile all that is called, or load it from the cache, before anybody waits."""
        rows, seen = no_rows(), np.zeros((0, spec.row_bytes), dtype=np.uint8)
        self.see(seen, rows, allocate(self.memory, 0), rows.uid)
