"""How kin live together in an episode of the savanna: the measures of a kin study."""

from __future__ import annotations

import numpy as np

from kinfolk.evaluation.match import Match
from kinfolk.evaluation.savanna_log import savanna_lives
from kinfolk.lineage.measures import lineage_survival
from kinfolk.worlds.savanna.kinship import (
    energy_passed_within_families,
    is_past_fertility,
    kin_share_of_carcass_bites,
    late_birth_rate,
    nearest_kin,
)
from kinfolk.worlds.savanna.lives import Lives
from kinfolk.worlds.savanna.world import SavannaWorld

_EVERY = 10  # ticks between two looks at who stands near whom


def kin_measures(match: Match, episode: int, late: int = 50) -> dict[str, float]:
    """Kin measures of one episode, by name; not a number where nothing of the kind happened.

    Args:
        match: Whose episode it is.
        episode: Which one.
        late: The age from which on a parent's births count as late.
    """
    near: dict[bool, list[int]] = {False: [], True: []}  # by whether fertility has ended

    def look(world: SavannaWorld, lives: Lives) -> None:
        if int(world.tick[0]) % _EVERY == 0:
            for uid, distance in nearest_kin(world, lives).items():
                near[is_past_fertility(lives.by_uid[uid])].append(distance)

    report, lives = savanna_lives(match, episode, look)
    count = len(lives.by_uid)
    births = sum(life.parent is not None for life in lives.by_uid.values())
    return {
        "ticks": float(report.ticks),
        "births per life": births / count,
        "lineages that survive": lineage_survival(lives.family()),
        "late births": late_birth_rate(lives, late),
        "kin share of carcass bites": kin_share_of_carcass_bites(lives),
        "cells to nearest kin, fertile": _mean(near[False]),
        "cells to nearest kin, after": _mean(near[True]),
        "energy to kin per life": energy_passed_within_families(lives) / count,
    }


def _mean(values: list[int]) -> float:
    return float(np.mean(values)) if values else float("nan")
