"""Measures of how kin treat each other, from the lives of one world.

Kin here are those of one line: one is an ancestor of the other, or both have a common one.
"""

from __future__ import annotations

import numpy as np

from kinfolk.worlds.savanna.lives import Life, Lives
from kinfolk.worlds.savanna.world import SavannaWorld


def founder_of(lives: Lives) -> dict[int, int]:
    """The founder of everybody's line, by uid; two are kin if it is the same."""
    ids = {life.agent_id: life.uid for life in lives.by_uid.values()}
    found: dict[int, int] = {}
    for uid, life in lives.by_uid.items():  # in order of birth: parents come first
        found[uid] = uid if life.parent is None else found[ids[life.parent]]
    return found


def kin_share_of_carcass_bites(lives: Lives) -> float:
    """Of bites into carcasses that somebody else brought down, the share taken by kin of that one.

    Not a number if there were none.
    """
    line = founder_of(lives)
    kin, all_bites = 0, 0
    for life in lives.by_uid.values():
        for event in life.eating_events:
            hunter = lives.brought_down.get(event["other"])
            if event["kind"] == "carcass_bite" and hunter not in (None, life.uid):
                all_bites += 1
                kin += line[hunter] == line[life.uid] if hunter is not None else 0
    return kin / all_bites if all_bites else float("nan")


def energy_passed_within_families(lives: Lives) -> float:
    """Energy that went from one to its kin: at birth, and by carcasses left to kin."""
    line = founder_of(lives)
    settings = lives.settings
    total = 0.0
    for life in lives.by_uid.values():
        start = settings.initial_energy_prey
        if "predator" in life.policy_group:
            start = settings.initial_energy_predator
        if life.parent is not None:
            total += start * settings.reproduction_energy_efficiency
        for event in life.eating_events:
            hunter = lives.brought_down.get(event["other"])
            if event["kind"] == "carcass_bite" and hunter not in (None, life.uid):
                total += event["bite_size"] if line.get(hunter or 0) == line[life.uid] else 0.0
    return total


def late_birth_rate(lives: Lives, age: int) -> float:
    """The share of births whose parent had lived at least `age` steps; not a number without births."""
    ages = [
        event["t"] - life.birth_step
        for life in lives.by_uid.values()
        for event in life.reproduction_events
    ]
    return sum(one >= age for one in ages) / len(ages) if ages else float("nan")


def nearest_kin(world: SavannaWorld, lives: Lives, index: int = 0) -> dict[int, int]:
    """Chebyshev distance from each living agent to its nearest living kin; lone ones are left out."""
    s, line = world._arrays, founder_of(lives)
    rows = np.flatnonzero(s.alive[index] & ~s.carcass[index])
    uids, x, y = s.uid[index, rows], s.x[index, rows], s.y[index, rows]
    lines = np.array([line[uid] for uid in uids.tolist()], dtype=np.int64)
    apart = np.maximum(abs(x[:, None] - x), abs(y[:, None] - y))
    apart[lines[:, None] != lines] = world.settings.grid_size  # further than anybody can be
    np.fill_diagonal(apart, world.settings.grid_size)
    nearest = apart.min(axis=1, initial=world.settings.grid_size)
    found = zip(uids.tolist(), nearest.tolist(), strict=True)
    return {uid: distance for uid, distance in found if distance < world.settings.grid_size}


def is_past_fertility(life: Life) -> bool:
    """Whether it can have no more children: for measures before and after."""
    return life.fertility_expired_step is not None
