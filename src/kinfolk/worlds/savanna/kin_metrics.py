"""Metrics of how kin treat each other, from the records of all agents of an episode."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kinfolk.lineage.family import lineage_survival
from kinfolk.worlds.savanna.agent_log import SavannaAgentLog
from kinfolk.worlds.savanna.agent_record import SavannaAgentRecord
from kinfolk.worlds.savanna.world import SavannaWorld

_SAMPLE_EVERY = 10  # ticks between samples of the distances to kin


class KinLog(SavannaAgentLog):
    """Record all agents of one world, and how far they keep from their kin.

    Args:
        world: The batch; its events are recorded from `start` on.
        world_index: Which of its worlds to follow.
    """

    def __init__(self, world: SavannaWorld, world_index: int = 0) -> None:
        super().__init__(world, world_index)
        self._distances: dict[bool, list[int]] = {False: [], True: []}  # by end of fertility

    def start(self) -> None:
        """Start recording with the founders of a new episode."""
        super().start()
        self._distances = {False: [], True: []}

    def update(self) -> None:
        """Record the last step, and sample the distances to kin every few ticks."""
        super().update()
        if int(self._world.tick[self._index]) % _SAMPLE_EVERY == 0:
            for uid, distance in nearest_kin_distances(self._world, self, self._index).items():
                is_past_fertility = self.by_uid[uid].fertility_expired_step is not None
                self._distances[is_past_fertility].append(distance)

    def compute_metrics(self, late_age: int = 50) -> dict[str, float]:
        """Return the kin metrics of the steps recorded so far.

        Args:
            late_age: Age of a parent from which on its births count as late.

        Returns:
            Metrics by name; NaN where no event occurred that the metric counts.
        """
        count = len(self.by_uid)
        births = sum(agent.parent is not None for agent in self.by_uid.values())
        return {
            "ticks": float(self._world.tick[self._index]),
            "births_per_agent": births / count,
            "surviving_lineages": lineage_survival(self.build_family()),
            "late_birth_rate": late_birth_fraction(self, late_age),
            "kin_share_of_carcass_bites": kin_carcass_bite_fraction(self),
            "nearest_kin_distance_fertile": _mean_or_nan(self._distances[False]),
            "nearest_kin_distance_after_fertility": _mean_or_nan(self._distances[True]),
            "energy_to_kin_per_agent": energy_transferred_to_kin(self) / count,
        }


def _mean_or_nan(values: list[int]) -> float:
    """Return the mean of values; NaN if there are no values."""
    return float(np.mean(values)) if values else float("nan")


def find_founders(agent_log: SavannaAgentLog) -> dict[int, int]:
    """Return the founder of every agent's line, by uid; agents with the same founder are kin."""
    ids = {record.agent_id: record.uid for record in agent_log.by_uid.values()}
    founders: dict[int, int] = {}
    for uid, record in agent_log.by_uid.items():  # in order of birth: parents come first
        founders[uid] = uid if record.parent is None else founders[ids[record.parent]]
    return founders


def kin_carcass_bite_fraction(agent_log: SavannaAgentLog) -> float:
    """Return the fraction of bites into others' carcasses that kin of the killer took.

    It is NaN if nobody bit into another agent's carcass.
    """
    founders, records = find_founders(agent_log), agent_log.by_uid.values()
    bites = [
        bite for record in records for bite in _others_carcass_bites(agent_log, record, founders)
    ]
    return sum(by_kin for _, by_kin in bites) / len(bites) if bites else float("nan")


def _others_carcass_bites(
    agent_log: SavannaAgentLog, record: SavannaAgentRecord, founders: dict[int, int]
) -> Iterator[tuple[float, bool]]:
    """Yield for each bite into another agent's prey its size, and whether the killer was kin.

    Args:
        agent_log: Names the killer of each carcass.
        record: Record of the agent that bites.
        founders: Founder of each agent's line, by uid.
    """
    for event in record.eating_events:
        hunter = agent_log.carcass_makers.get(event["other"], record.uid)
        if event["kind"] == "carcass_bite" and hunter != record.uid:
            yield event["bite_size"], founders[hunter] == founders[record.uid]


def energy_transferred_to_kin(agent_log: SavannaAgentLog) -> float:
    """Return the energy that agents gave to kin: at birth, and by carcasses that kin ate."""
    founders, settings = find_founders(agent_log), agent_log.settings
    total = 0.0
    for record in agent_log.by_uid.values():
        initial_energy = settings.initial_energy_prey
        if "predator" in record.policy_group:
            initial_energy = settings.initial_energy_predator
        if record.parent is not None:
            total += initial_energy * settings.reproduction_energy_efficiency
        for size, by_kin in _others_carcass_bites(agent_log, record, founders):
            total += size if by_kin else 0.0
    return total


def late_birth_fraction(agent_log: SavannaAgentLog, min_age: int) -> float:
    """Return the fraction of births whose parent was at least `min_age` steps old; NaN without births."""
    ages = [
        event["t"] - record.birth_step
        for record in agent_log.by_uid.values()
        for event in record.reproduction_events
        if "grand_child_id" not in event
    ]
    return sum(age >= min_age for age in ages) / len(ages) if ages else float("nan")


def nearest_kin_distances(
    world: SavannaWorld, agent_log: SavannaAgentLog, world_index: int = 0
) -> dict[int, int]:
    """Return the Chebyshev distance of each living agent to its nearest living kin, by uid.

    Agents without living kin are left out.

    Args:
        world: Batch of savannas.
        agent_log: Log of the world `world_index`.
        world_index: Index of the world in the batch.
    """
    s, founder = world._arrays, find_founders(agent_log)
    rows = np.flatnonzero(s.alive[world_index] & ~s.carcass[world_index])
    uids, x, y = s.uid[world_index, rows], s.x[world_index, rows], s.y[world_index, rows]
    founders = np.array([founder[uid] for uid in uids.tolist()], dtype=np.int64)
    distances = np.maximum(abs(x[:, None] - x), abs(y[:, None] - y))
    distances[founders[:, None] != founders] = world.settings.grid_size  # larger than any distance
    np.fill_diagonal(distances, world.settings.grid_size)
    nearest = distances.min(axis=1, initial=world.settings.grid_size)
    pairs = zip(uids.tolist(), nearest.tolist(), strict=True)
    return {uid: distance for uid, distance in pairs if distance < world.settings.grid_size}
