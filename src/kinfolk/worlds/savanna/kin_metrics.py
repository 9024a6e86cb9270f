"""Metrics of how kin treat each other, from the agent log of one world.

Agents are kin if they descend from the same founder.
"""

from __future__ import annotations

import numpy as np

from kinfolk.worlds.savanna.agent_log import SavannaAgentLog, SavannaAgentRecord
from kinfolk.worlds.savanna.world import SavannaWorld


def find_founders(agent_log: SavannaAgentLog) -> dict[int, int]:
    """Return the founder of every agent's line, by uid; agents with the same founder are kin."""
    ids = {record.agent_id: record.uid for record in agent_log.by_uid.values()}
    founders: dict[int, int] = {}
    for uid, record in agent_log.by_uid.items():  # in order of birth: parents come first
        founders[uid] = uid if record.parent is None else founders[ids[record.parent]]
    return founders


def kin_carcass_bite_fraction(agent_log: SavannaAgentLog) -> float:
    """Return which fraction of bites into others' carcasses kin of the killer took.

    NaN if there were no such bites.
    """
    founder = find_founders(agent_log)
    kin_bites, all_bites = 0, 0
    for record in agent_log.by_uid.values():
        for event in record.eating_events:
            hunter = agent_log.carcass_makers.get(event["other"])
            if event["kind"] == "carcass_bite" and hunter not in (None, record.uid):
                all_bites += 1
                kin_bites += founder[hunter] == founder[record.uid] if hunter is not None else 0
    return kin_bites / all_bites if all_bites else float("nan")


def energy_transferred_to_kin(agent_log: SavannaAgentLog) -> float:
    """Return the energy that agents gave to kin: at birth, and by carcasses that kin ate."""
    founder = find_founders(agent_log)
    settings = agent_log.settings
    total = 0.0
    for record in agent_log.by_uid.values():
        initial_energy = settings.initial_energy_prey
        if "predator" in record.policy_group:
            initial_energy = settings.initial_energy_predator
        if record.parent is not None:
            total += initial_energy * settings.reproduction_energy_efficiency
        for event in record.eating_events:
            hunter = agent_log.carcass_makers.get(event["other"])
            if event["kind"] == "carcass_bite" and hunter not in (None, record.uid):
                total += (
                    event["bite_size"] if founder.get(hunter or 0) == founder[record.uid] else 0.0
                )
    return total


def late_birth_fraction(agent_log: SavannaAgentLog, min_age: int) -> float:
    """Return the fraction of births whose parent was at least `min_age` steps old; NaN without births."""
    ages = [
        event["t"] - record.birth_step
        for record in agent_log.by_uid.values()
        for event in record.reproduction_events
    ]
    return sum(age >= min_age for age in ages) / len(ages) if ages else float("nan")


def nearest_kin_distances(
    world: SavannaWorld, agent_log: SavannaAgentLog, world_index: int = 0
) -> dict[int, int]:
    """Return the Chebyshev distance of each living agent to its nearest living kin, by uid.

    Agents without living kin are left out.

    Args:
        world: The batch.
        agent_log: Log of the world `world_index`.
        world_index: World of the batch.
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


def is_past_fertility(record: SavannaAgentRecord) -> bool:
    """Return whether an agent has passed its last fertile age."""
    return record.fertility_expired_step is not None
