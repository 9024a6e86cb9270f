"""Measures of how kin treat each other, from the lives of one world.

Kin here are those of one line: one is an ancestor of the other, or both have a common one.
"""

from __future__ import annotations

import numpy as np

from kinfolk.worlds.savanna.agent_log import SavannaAgentLog, SavannaAgentRecord
from kinfolk.worlds.savanna.world import SavannaWorld


def find_founders(agent_log: SavannaAgentLog) -> dict[int, int]:
    """The founder of everybody's line, by uid; two are kin if it is the same."""
    ids = {life.agent_id: life.uid for life in agent_log.by_uid.values()}
    found: dict[int, int] = {}
    for uid, life in agent_log.by_uid.items():  # in order of birth: parents come first
        found[uid] = uid if life.parent is None else found[ids[life.parent]]
    return found


def kin_carcass_bite_fraction(agent_log: SavannaAgentLog) -> float:
    """Of bites into carcasses that somebody else brought down, the share taken by kin of that one.

    Not a number if there were none.
    """
    line = find_founders(agent_log)
    kin, all_bites = 0, 0
    for life in agent_log.by_uid.values():
        for event in life.eating_events:
            hunter = agent_log.carcass_makers.get(event["other"])
            if event["kind"] == "carcass_bite" and hunter not in (None, life.uid):
                all_bites += 1
                kin += line[hunter] == line[life.uid] if hunter is not None else 0
    return kin / all_bites if all_bites else float("nan")


def energy_transferred_to_kin(agent_log: SavannaAgentLog) -> float:
    """Energy that went from one to its kin: at birth, and by carcasses left to kin."""
    line = find_founders(agent_log)
    settings = agent_log.settings
    total = 0.0
    for life in agent_log.by_uid.values():
        start = settings.initial_energy_prey
        if "predator" in life.policy_group:
            start = settings.initial_energy_predator
        if life.parent is not None:
            total += start * settings.reproduction_energy_efficiency
        for event in life.eating_events:
            hunter = agent_log.carcass_makers.get(event["other"])
            if event["kind"] == "carcass_bite" and hunter not in (None, life.uid):
                total += event["bite_size"] if line.get(hunter or 0) == line[life.uid] else 0.0
    return total


def late_birth_fraction(agent_log: SavannaAgentLog, min_age: int) -> float:
    """The share of births whose parent had lived at least `min_age` steps; not a number without births."""
    ages = [
        event["t"] - life.birth_step
        for life in agent_log.by_uid.values()
        for event in life.reproduction_events
    ]
    return sum(one >= min_age for one in ages) / len(ages) if ages else float("nan")


def nearest_kin_distances(
    world: SavannaWorld, agent_log: SavannaAgentLog, world_index: int = 0
) -> dict[int, int]:
    """Chebyshev distance from each living agent to its nearest living kin; lone ones are left out."""
    s, line = world._arrays, find_founders(agent_log)
    rows = np.flatnonzero(s.alive[world_index] & ~s.carcass[world_index])
    uids, x, y = s.uid[world_index, rows], s.x[world_index, rows], s.y[world_index, rows]
    lines = np.array([line[uid] for uid in uids.tolist()], dtype=np.int64)
    apart = np.maximum(abs(x[:, None] - x), abs(y[:, None] - y))
    apart[lines[:, None] != lines] = world.settings.grid_size  # further than anybody can be
    np.fill_diagonal(apart, world.settings.grid_size)
    nearest = apart.min(axis=1, initial=world.settings.grid_size)
    found = zip(uids.tolist(), nearest.tolist(), strict=True)
    return {uid: distance for uid, distance in found if distance < world.settings.grid_size}


def is_past_fertility(record: SavannaAgentRecord) -> bool:
    """Whether it can have no more children: for measures before and after."""
    return record.fertility_expired_step is not None
