"""Per-agent records of one savanna world, built from its events.

The fields are those of the statistics and event logs of PredPreyGrass, each counted once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.lineage.family import Family, FamilyMember
from kinfolk.worlds.savanna import codes
from kinfolk.worlds.savanna.agent_record import TIME_LIMIT, SavannaAgentRecord
from kinfolk.worlds.savanna.codes import DEATH_CAUSES, EVENT_KINDS
from kinfolk.worlds.savanna.world import SavannaWorld

_REWARD_FIELDS = {
    codes.REPRODUCTION_REWARD: "reproduction_reward",
    codes.LINEAGE_REWARD: "lineage_reward",
    codes.KICK_BACK: "kickback_reward",
}
_ROUNDING = 1e-12
_MEALS = (codes.EAT, codes.BITE, codes.CARCASS_BITE, codes.CAPTURE, codes.SCAVENGE)


class SavannaAgentLog:
    """Record all agents of one world of a batch.

    Call `start` after a reset and `update` after each step. `update` only copies the events of the
    step; records are built from them when they are read.

    Args:
        world: The batch; its events are recorded from `start` on.
        world_index: Which of its worlds to follow.
        counts_overwritten: Count all rewards that have events, as PredPreyGrass does, although a
            birth in the same step replaced them or they were not delivered.
    """

    def __init__(
        self, world: SavannaWorld, world_index: int = 0, counts_overwritten: bool = False
    ) -> None:
        self._world = world
        self._index = world_index
        self._counts_overwritten = counts_overwritten
        self._records: dict[int, SavannaAgentRecord] = {}
        self._steps: list[tuple[int, Floats, bool]] = []  # step, events, whether time was up
        self._logged: dict[int, float] = {}  # rewards of this step that have events, by uid
        self.carcass_makers: dict[int, int] = {}  # uid of a carcass -> uid of its killer
        self.settings = world.settings
        self._traits = tuple(world.settings.traits)
        self._traits_of: dict[int, dict[str, float]] = {}  # by uid

    @property
    def by_uid(self) -> dict[int, SavannaAgentRecord]:
        """Records of all agents by uid, in order of birth."""
        steps, self._steps = self._steps, []
        for step, events, time_is_up in steps:
            self._add_step(step, events.tolist(), time_is_up)
        return self._records

    @property
    def by_id(self) -> dict[str, SavannaAgentRecord]:
        """Records by PredPreyGrass id, such as `type_1_prey_12`, in order of birth."""
        return {record.agent_id: record for record in self.by_uid.values()}

    def build_family(self) -> Family:
        """Return the ancestry of all agents, for metrics and export; a carcass counts as dead."""
        ids = {record.agent_id: record.uid for record in self.by_uid.values()}
        members = []
        for record in self.by_uid.values():
            parents = () if record.parent is None else (ids[record.parent],)
            death, cause = record.death_tick, record.death_cause
            if record.became_carcass:
                cause = DEATH_CAUSES[codes.EATEN]
            elif cause in (None, TIME_LIMIT):
                death, cause = None, None
            members.append(
                FamilyMember(
                    record.uid,
                    parents,
                    record.policy_group,
                    record.birth_tick,
                    death,
                    cause,
                    record.agent_id,
                )
            )
        return Family.from_members(members)

    def attach(self, world: SavannaWorld) -> None:
        """Go on with a copy of the world, after the log itself was copied."""
        self._world = world

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the world, which is copied by its owner."""
        return {name: value for name, value in self.__dict__.items() if name != "_world"}

    def start(self) -> None:
        """Start recording with the founders of a new episode."""
        self._world.record_events(True)
        self._records, self._steps, self.carcass_makers, self._traits_of = {}, [], {}, {}
        s, w = self._world._arrays, self._index
        rows = np.flatnonzero(s.uid[w] >= 0)
        if self._traits:
            self._keep_traits(s.uid[w, rows])
        for row in rows[np.argsort(s.uid[w, rows])].tolist():
            self._add_agent(
                int(s.uid[w, row]), int(s.group[w, row]), int(s.number[w, row]), 0, None
            )

    def update(self) -> None:
        """Keep the events of the step just made."""
        tick = int(self._world.tick[self._index])
        time_is_up = tick >= self._world.settings.max_steps
        events = self._world.event_entries(self._index)
        self._steps.append((tick - 1, events, time_is_up))
        if self._traits:
            self._keep_traits(events[events[:, 0] == codes.BIRTH, 1])

    def _keep_traits(self, uids: Floats) -> None:
        """Keep the traits of newborns, because events do not hold them."""
        s, w = self._world._arrays, self._index
        for row in np.flatnonzero(np.isin(s.uid[w], uids)).tolist():
            values = s.traits[w, row].tolist()
            self._traits_of[int(s.uid[w, row])] = dict(zip(self._traits, values, strict=True))

    def _add_agent(
        self, uid: int, group: int, number: int, step: int, parent: SavannaAgentRecord | None
    ) -> None:
        """Start the record of an agent.

        Args:
            uid: The agent's uid.
            group: Index of its group in the spec.
            number: Its number within the group.
            step: Step of its birth.
            parent: Record of its parent, None for founders.
        """
        name = self._world.spec.groups[group].name
        agent_id = f"{name}_{number}"
        self._records[uid] = SavannaAgentRecord(
            agent_id,
            uid,
            name,
            step,
            parent.agent_id if parent else None,
            traits=self._traits_of.get(uid, {}),
        )

    def _add_step(self, step: int, events: list[list[float]], time_is_up: bool) -> None:
        """Add the events of a step to the records.

        Args:
            step: Number of the step, from 0.
            events: Its events, `EVENT_COLUMNS` each.
            time_is_up: Whether the episode ended with this step at its time limit.
        """
        self._logged = {}
        paid: dict[int, float] = {}
        predators: dict[tuple[int, int], list[int]] = {}  # by kind and prey
        for event in events:
            if event[0] == codes.MOVE:
                record = self._records[int(event[1])]
                record.distance_traveled += event[4]
                record.avg_energy_sum += event[3]
                record.avg_energy_steps += 1
                record.move_energy += event[5] - event[3]
            elif event[0] == codes.REWARD:
                paid[int(event[1])] = event[3]
            else:
                self._add_event(step, event, predators)
        # Rewards of steps and meals are not events, and that of a birth replaces them.
        for uid in {**paid, **self._logged}:
            rest = paid.get(uid, 0.0) - self._logged.get(uid, 0.0)
            is_counted = self._counts_overwritten and uid in self._logged
            if abs(rest) > _ROUNDING and not is_counted:
                self._records[uid].cumulative_reward += rest
        if time_is_up:
            for record in self._records.values():
                if record.death_cause is None:
                    record.death_step = step + 1 if record.death_step is None else record.death_step
                    record.death_cause = TIME_LIMIT

    def _add_event(
        self, step: int, event: list[float], predators: dict[tuple[int, int], list[int]]
    ) -> None:
        """Add an event to the record of the agent that it happened to.

        Args:
            step: Number of the step.
            event: The event, `EVENT_COLUMNS`.
            predators: Uids of the predators of each capture of this step, extended.
        """
        kind, uid, other, value = int(event[0]), int(event[1]), int(event[2]), event[3]
        if kind == codes.BIRTH:
            parent = self._records[other]
            self._add_agent(uid, int(event[4]), int(event[5]), step, parent)
            child = self._records[uid].agent_id
            parent.offspring_ids.append(child)
            parent.reproduction_events.append({"t": step, "child_id": child})
            return
        record = self._records[uid]
        if kind in _MEALS:
            record.times_ate += 1
            record.energy_gained += value
            meal = self._describe_meal(step, event, predators.setdefault((kind, other), []))
            # Events of one capture share these lists, which later events extend.
            meal["joiners"] = predators.setdefault((codes.CAPTURE, other), [])
            meal["riders"] = predators.setdefault((codes.SCAVENGE, other), [])
            record.eating_events.append(meal)
        elif kind == codes.FREE_RIDE:
            predators.setdefault((codes.SCAVENGE, other), []).append(uid)
        elif kind == codes.FAILED_CAPTURE:
            meal = self._describe_meal(step, event, predators.setdefault((kind, other), []))
            record.failed_eating_events.append(meal | {"bite_size": 0.0})
        elif kind == codes.CARCASS:
            record.death_step = step
            record.became_carcass = True
            self.carcass_makers[uid] = other
            if not self.settings.quirks.carcasses_live:
                record.death_cause = DEATH_CAUSES[codes.EATEN]
        elif kind == codes.DEATH:
            record.death_step = step if record.death_step is None else record.death_step
            record.death_cause = DEATH_CAUSES[int(value)]
            if event[5] != 0.0:  # the reward of a death
                record.cumulative_reward += event[5]
                self._logged[uid] = self._logged.get(uid, 0.0) + event[5]
            if record.death_cause == "max_age":
                record.age_expired_step = step
                age = int(event[4])
                record.lifecycle_events.append({"t": step, "event": "max_age_reached", "age": age})
        elif kind in _REWARD_FIELDS:
            self._add_reward(record, step, value, kind, other)
        else:
            self._add_blocked_event(record, step, kind, other, int(value))

    def _describe_meal(self, step: int, event: list[float], predators: list[int]) -> dict[str, Any]:
        """Return a meal or a failed capture as a dictionary.

        Args:
            step: Number of the step.
            event: The event, `EVENT_COLUMNS`.
            predators: Uids of all predators of the capture, extended.
        """
        size = self.settings.grid_size
        predators.append(int(event[1]))
        return {
            "t": step,
            "other": int(event[2]),
            "kind": EVENT_KINDS[int(event[0])],
            "bite_size": event[3],
            "energy_after": event[4],
            "energy_before": event[5],
            "position_consumer": list(divmod(int(event[6]), size)),
            "position_resource": list(divmod(int(event[7]), size)),
            "energy_resource": event[8],
            "predators": predators,
        }

    def _add_blocked_event(
        self, record: SavannaAgentRecord, step: int, kind: int, other: int, age: int
    ) -> None:
        """Add an event of a blocked bite, a blocked birth or the end of fertility.

        Args:
            record: Record of the agent it happened to.
            step: Number of the step.
            kind: Index into `EVENT_KINDS`.
            other: Uid of the prey that was not bitten.
            age: The agent's age.
        """
        if kind == codes.CARCASS_ONLY_BLOCK:
            record.carcass_only_blocks += 1
            prey = self._records[other].agent_id
            record.diet_events.append(
                {"t": step, "event": EVENT_KINDS[kind], "prey_id": prey, "age": age}
            )
        elif kind == codes.FERTILITY_EXPIRED:
            record.fertility_expired_step = step
            record.fertility_events.append({"t": step, "event": EVENT_KINDS[kind], "age": age})
        elif kind == codes.FERTILITY_BLOCK:
            record.fertility_blocked_attempts += 1
            record.fertility_events.append(
                {"t": step, "event": "reproduction_blocked", "reason": "fertility_cap"}
            )

    def _add_reward(
        self, record: SavannaAgentRecord, step: int, value: float, kind: int, other: int
    ) -> None:
        """Add a reward to a record's sum and to its reward events.

        Args:
            record: Record of the agent that was paid.
            step: Number of the step.
            value: The reward.
            kind: Index into `EVENT_KINDS`.
            other: Uid of the newborn that it was paid for, -1 if none.
        """
        if kind == codes.LINEAGE_REWARD:
            record.lineage_reward_total += value
        elif kind == codes.KICK_BACK:
            record.kin_kickbacks += 1
            grandchild = self._records[other]
            record.reproduction_events.append(
                {"t": step, "child_id": grandchild.parent, "grand_child_id": grandchild.agent_id}
            )
        self._logged[record.uid] = self._logged.get(record.uid, 0.0) + value
        record.cumulative_reward += value
        record.reward_events.append(
            {
                "t": step,
                _REWARD_FIELDS[kind]: value,
                "cumulative_reward": record.cumulative_reward,
            }
        )
