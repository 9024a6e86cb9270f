"""Lives: what became of every agent, put together from happenings while a world is watched.

The fields are those of the published statistics and event logs, each counted once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import hypot
from typing import Any

import numpy as np

from kinfolk.lineage.family import Family, FamilyMember
from kinfolk.worlds.base import WorldEvent
from kinfolk.worlds.savanna.world import SavannaWorld

_REWARD_FIELDS = ("reproduction_reward", "lineage_reward", "kickback_reward")
_ROUNDING = 1e-12
_MEAL_EVENTS = ("eat", "bite", "carcass_bite", "capture")


@dataclass
class SavannaAgentRecord:
    """One agent from birth to death."""

    agent_id: str
    uid: int
    policy_group: str
    birth_step: int
    parent: str | None
    death_step: int | None = None
    death_cause: str | None = None
    cumulative_reward: float = 0.0
    lineage_reward_total: float = 0.0
    offspring_ids: list[str] = field(default_factory=list)
    distance_traveled: float = 0.0
    times_ate: int = 0
    energy_gained: float = 0.0
    avg_energy_sum: float = 0.0
    avg_energy_steps: int = 0
    failed_attacks: int = 0
    kin_kickbacks: int = 0
    carcass_only_blocks: int = 0
    fertility_blocked_attempts: int = 0
    fertility_expired_step: int | None = None
    age_expired_step: int | None = None
    eating_events: list[dict[str, Any]] = field(default_factory=list)
    reward_events: list[dict[str, Any]] = field(default_factory=list)
    reproduction_events: list[dict[str, Any]] = field(default_factory=list)
    diet_events: list[dict[str, Any]] = field(default_factory=list)
    fertility_events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def avg_energy(self) -> float:
        """Mean energy over the steps it lived through."""
        return self.avg_energy_sum / max(self.avg_energy_steps, 1)


class SavannaAgentLog:
    """All lives of one world of a batch. Call `begin` after a reset and `update` after each step."""

    def __init__(self, world: SavannaWorld, world_index: int = 0) -> None:
        self._world = world
        self._index = world_index
        self._positions: dict[int, tuple[int, int]] = {}
        self.by_uid: dict[int, SavannaAgentRecord] = {}
        self.carcass_makers: dict[int, int] = {}  # carcass -> who made it one
        self.settings = world.settings

    @property
    def by_id(self) -> dict[str, SavannaAgentRecord]:
        """The lives by published id, such as `type_1_prey_12`, in order of birth."""
        return {life.agent_id: life for life in self.by_uid.values()}

    def build_family(self) -> Family:
        """Everybody's ancestry, for measures and export; a carcass counts as dead."""
        ids = {life.agent_id: life.uid for life in self.by_uid.values()}
        return Family.from_members(
            FamilyMember(
                life.uid,
                () if life.parent is None else (ids[life.parent],),
                life.policy_group,
                life.birth_step,
                None if life.death_cause == "time_limit" else life.death_step,
                life.death_cause,
            )
            for life in self.by_uid.values()
        )

    def start(self) -> None:
        """Start over with the founders."""
        self._world.record_events(True)
        self.by_uid.clear()
        self.carcass_makers.clear()
        self._add_new_agents(0)

    def _rows(self) -> list[int]:
        """Rows of the living and of those that ended in this step, in uid order."""
        uid = self._world._arrays.uid[self._index]
        rows = np.flatnonzero(uid >= 0)
        return [int(row) for row in rows[np.argsort(uid[rows])]]

    def _add_new_agents(self, step: int) -> None:
        s, w = self._world._arrays, self._index
        for row in self._rows():
            uid = int(s.uid[w, row])
            self._positions[uid] = (int(s.x[w, row]), int(s.y[w, row]))
            if uid not in self.by_uid:
                group = self._world.spec.groups[int(s.group[w, row])].name
                parent = self.by_uid.get(int(s.parents[w, row, 0]))
                name = f"{group}_{int(s.number[w, row])}"
                self.by_uid[uid] = SavannaAgentRecord(
                    name, uid, group, step, parent.agent_id if parent else None
                )

    def update(self) -> None:
        """Take in the step just made."""
        s, w = self._world._arrays, self._index
        step = int(s.tick[w]) - 1
        for row in self._rows():
            uid = int(s.uid[w, row])
            life = self.by_uid.get(uid)
            if life is not None:
                x, y = self._positions[uid]
                life.distance_traveled += hypot(int(s.x[w, row]) - x, int(s.y[w, row]) - y)
                life.avg_energy_sum += float(s.energy[w, row])
                life.avg_energy_steps += 1
        self._add_new_agents(step)
        for happening in self._world.events():
            if happening.world == w:
                self._handle_event(happening, step)
        for row in self._rows():
            self._finish_step(row, step)

    def _finish_step(self, row: int, step: int) -> None:
        s, w = self._world._arrays, self._index
        life = self.by_uid[int(s.uid[w, row])]
        booked = 0.0
        for event in reversed(life.reward_events):
            if event["t"] != step:
                break
            booked += sum(event.get(name, 0.0) for name in _REWARD_FIELDS)
        # What is delivered counts: steps and meals are not events, and a birth overwrites.
        rest = float(s.reward[w, row]) - booked
        if abs(rest) > _ROUNDING:
            life.cumulative_reward += rest
        if bool(s.truncated[w, row]) and int(s.tick[w]) >= self._world.settings.max_steps:
            life.death_step = step + 1 if life.death_step is None else life.death_step
            life.death_cause = "time_limit"

    def _handle_event(self, event: WorldEvent, step: int) -> None:
        life, value = self.by_uid[event.uid], event.value
        if event.kind in _MEAL_EVENTS:
            life.times_ate += 1
            life.energy_gained += value
            life.eating_events.append(
                {"t": step, "other": event.other, "kind": event.kind, "bite_size": value}
            )
        elif event.kind == "failed_capture":
            life.failed_attacks += 1
        elif event.kind == "carcass":
            life.death_step = step
            self.carcass_makers[event.uid] = event.other
        elif event.kind == "death":
            life.death_step = step if life.death_step is None else life.death_step
            life.death_cause = event.note
            if life.death_cause == "max_age":
                life.age_expired_step = step
        elif event.kind == "birth":
            child = self.by_uid[event.uid].agent_id
            parent = self.by_uid[event.other]
            parent.offspring_ids.append(child)
            parent.reproduction_events.append({"t": step, "child_id": child})
        elif event.kind == "reproduction_reward":
            self._add_reward(life, step, value, "reproduction_reward")
        elif event.kind == "lineage_reward":
            life.lineage_reward_total += value
            self._add_reward(life, step, value, "lineage_reward")
        elif event.kind == "kick_back":
            life.kin_kickbacks += 1
            self._add_reward(life, step, value, "kickback_reward")
        else:
            self._handle_blocked_event(life, event, step)

    def _handle_blocked_event(
        self, record: SavannaAgentRecord, event: WorldEvent, step: int
    ) -> None:
        if event.kind == "carcass_only_block":
            record.carcass_only_blocks += 1
            prey = self.by_uid[event.other].agent_id
            record.diet_events.append(
                {"t": step, "event": event.kind, "prey_id": prey, "age": int(event.value)}
            )
        elif event.kind == "fertility_expired":
            record.fertility_expired_step = step
            record.fertility_events.append(
                {"t": step, "event": event.kind, "age": int(event.value)}
            )
        elif event.kind == "reproduction_blocked_due_to_fertility":
            record.fertility_blocked_attempts += 1
            record.fertility_events.append({"t": step, "event": "reproduction_blocked"})

    def _add_reward(self, record: SavannaAgentRecord, step: int, value: float, name: str) -> None:
        record.cumulative_reward += value
        record.reward_events.append(
            {"t": step, name: value, "cumulative_reward": record.cumulative_reward}
        )
