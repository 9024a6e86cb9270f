"""Per-agent records of one savanna world, built from its events.

The fields are those of the statistics and event logs of PredPreyGrass, each counted once.
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
    """The record of one agent from birth to death; steps are numbered from 0.

    Attributes:
        agent_id: Id as in PredPreyGrass, such as `type_1_prey_12`.
        uid: The agent's uid.
        policy_group: Name of its group.
        birth_step: Step of its birth, 0 for founders.
        parent: Id of its parent, None for founders.
        death_step: Step in which it died or became a carcass.
        death_cause: One of `DEATH_CAUSES`, or `time_limit` for survivors.
        cumulative_reward: Sum of its rewards.
        lineage_reward_total: The part of it paid for live descendants.
        offspring_ids: Ids of its children, in order of birth.
        distance_traveled: Euclidean length of all its moves, in cells.
        times_ate: Number of meals.
        energy_gained: Energy gained by eating.
        avg_energy_sum: Sum of its energy over its steps.
        avg_energy_steps: Number of those steps.
        failed_attacks: Team captures that failed.
        kin_kickbacks: Rewards received for grandchildren.
        carcass_only_blocks: Times it was too young to bite live prey.
        fertility_blocked_attempts: Births that its age prevented.
        fertility_expired_step: Step in which it passed its last fertile age.
        age_expired_step: Step in which it died of age.
        eating_events: Meals: step, what was eaten, kind and size.
        reward_events: Rewards other than those of steps and meals.
        reproduction_events: Births: step and id of the child.
        diet_events: Blocked bites of juveniles.
        fertility_events: End of fertility and blocked births.
    """

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
        """Mean energy of the agent over the steps it lived through."""
        return self.avg_energy_sum / max(self.avg_energy_steps, 1)


class SavannaAgentLog:
    """Record all agents of one world of a batch.

    Call `start` after a reset and `update` after each step.

    Args:
        world: The batch; its events are recorded from `start` on.
        world_index: Which of its worlds to follow.
    """

    def __init__(self, world: SavannaWorld, world_index: int = 0) -> None:
        self._world = world
        self._index = world_index
        self._positions: dict[int, tuple[int, int]] = {}
        self.by_uid: dict[int, SavannaAgentRecord] = {}
        self.carcass_makers: dict[int, int] = {}  # uid of a carcass -> uid of its killer
        self.settings = world.settings

    @property
    def by_id(self) -> dict[str, SavannaAgentRecord]:
        """Records by PredPreyGrass id, such as `type_1_prey_12`, in order of birth."""
        return {record.agent_id: record for record in self.by_uid.values()}

    def build_family(self) -> Family:
        """Return the ancestry of all agents, for metrics and export; a carcass counts as dead."""
        ids = {record.agent_id: record.uid for record in self.by_uid.values()}
        return Family.from_members(
            FamilyMember(
                record.uid,
                () if record.parent is None else (ids[record.parent],),
                record.policy_group,
                record.birth_step,
                None if record.death_cause == "time_limit" else record.death_step,
                record.death_cause,
            )
            for record in self.by_uid.values()
        )

    def start(self) -> None:
        """Start recording with the founders of a new episode."""
        self._world.record_events(True)
        self.by_uid.clear()
        self.carcass_makers.clear()
        self._add_new_agents(0)

    def _list_rows(self) -> list[int]:
        """Return the rows of the living and of those that died in this step, in uid order."""
        uid = self._world._arrays.uid[self._index]
        rows = np.flatnonzero(uid >= 0)
        return [int(row) for row in rows[np.argsort(uid[rows])]]

    def _add_new_agents(self, step: int) -> None:
        """Update all positions, and start the records of agents that were born in this step."""
        s, w = self._world._arrays, self._index
        for row in self._list_rows():
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
        """Add the events, positions and rewards of the step just made."""
        s, w = self._world._arrays, self._index
        step = int(s.tick[w]) - 1
        for row in self._list_rows():
            uid = int(s.uid[w, row])
            record = self.by_uid.get(uid)
            if record is not None:
                x, y = self._positions[uid]
                record.distance_traveled += hypot(int(s.x[w, row]) - x, int(s.y[w, row]) - y)
                record.avg_energy_sum += float(s.energy[w, row])
                record.avg_energy_steps += 1
        self._add_new_agents(step)
        for event in self._world.events():
            if event.world == w:
                self._handle_event(event, step)
        for row in self._list_rows():
            self._finish_step(row, step)

    def _finish_step(self, row: int, step: int) -> None:
        """Add the rest of an agent's reward of this step, and the end of the episode."""
        s, w = self._world._arrays, self._index
        record = self.by_uid[int(s.uid[w, row])]
        logged = 0.0
        for event in reversed(record.reward_events):
            if event["t"] != step:
                break
            logged += sum(event.get(name, 0.0) for name in _REWARD_FIELDS)
        # The reward paid is what counts: rewards of steps and meals are not events, and that
        # of a birth replaces them.
        rest = float(s.reward[w, row]) - logged
        if abs(rest) > _ROUNDING:
            record.cumulative_reward += rest
        if bool(s.truncated[w, row]) and int(s.tick[w]) >= self._world.settings.max_steps:
            record.death_step = step + 1 if record.death_step is None else record.death_step
            record.death_cause = "time_limit"

    def _handle_event(self, event: WorldEvent, step: int) -> None:
        """Add an event of the last step to the record of the agent that it happened to."""
        record, value = self.by_uid[event.uid], event.value
        if event.kind in _MEAL_EVENTS:
            record.times_ate += 1
            record.energy_gained += value
            record.eating_events.append(
                {"t": step, "other": event.other, "kind": event.kind, "bite_size": value}
            )
        elif event.kind == "failed_capture":
            record.failed_attacks += 1
        elif event.kind == "carcass":
            record.death_step = step
            self.carcass_makers[event.uid] = event.other
        elif event.kind == "death":
            record.death_step = step if record.death_step is None else record.death_step
            record.death_cause = event.note
            if record.death_cause == "max_age":
                record.age_expired_step = step
        elif event.kind == "birth":
            child = self.by_uid[event.uid].agent_id
            parent = self.by_uid[event.other]
            parent.offspring_ids.append(child)
            parent.reproduction_events.append({"t": step, "child_id": child})
        elif event.kind == "reproduction_reward":
            self._add_reward(record, step, value, "reproduction_reward")
        elif event.kind == "lineage_reward":
            record.lineage_reward_total += value
            self._add_reward(record, step, value, "lineage_reward")
        elif event.kind == "kick_back":
            record.kin_kickbacks += 1
            self._add_reward(record, step, value, "kickback_reward")
        else:
            self._handle_blocked_event(record, event, step)

    def _handle_blocked_event(
        self, record: SavannaAgentRecord, event: WorldEvent, step: int
    ) -> None:
        """Add an event of a blocked bite, a blocked birth or the end of fertility.

        Args:
            record: Record of the agent it happened to.
            event: Event of the last step.
            step: Number of the step.
        """
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
        """Add a reward to a record's sum and to its reward events.

        Args:
            record: Record of the agent that was paid.
            step: Number of the step.
            value: The reward.
            name: Field of the reward in the event log of PredPreyGrass.
        """
        record.cumulative_reward += value
        record.reward_events.append(
            {"t": step, name: value, "cumulative_reward": record.cumulative_reward}
        )
