"""One episode, watched: who lived when, whose child each was, and how many there were."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.evaluation.results import EpisodeReport
from kinfolk.evaluation.rollout import RolloutTask, build_runner
from kinfolk.lineage.family import Family, FamilyMember
from kinfolk.play.loop import EpisodeLoop, EpisodeResult
from kinfolk.worlds.base import World


@dataclass(frozen=True)
class EpisodeTrace:
    """What was seen of one episode."""

    report: EpisodeReport
    groups: tuple[str, ...]
    populations: Ints  # [ticks + 1, groups], from the founders on
    family: Family


def trace_episode(task: RolloutTask, episode: int) -> EpisodeTrace:
    """Play one episode of a match again and look closely. It is the same as it was then."""
    alone = replace(task, first_episode=episode, end_episode=episode + 1)
    with build_runner(alone, 1) as game:
        game.world.record_events(True)
        play = game.make_loop(range(episode, episode + 1))
        members: dict[int, FamilyMember] = {}
        populations: list[Any] = []
        results: list[EpisodeResult] = []
        play.start_episodes()
        _record_births(members, play, 0)
        populations.append(_count_population(play.world))
        while not results:
            results = play.tick()
            now = int(play.world.tick[0])
            _record_births(members, play, now)
            _record_deaths(members, play.world, now)
            populations.append(_count_population(play.world))
        groups = tuple(group.name for group in play.world.spec.groups)
        report = game.make_report(results[0])
    family = Family.from_members(members.values())
    return EpisodeTrace(report, groups, np.array(populations), family)


def _count_population(world: World) -> list[int]:
    alive, group = world.columns.alive, world.columns.group
    counts: list[int] = np.bincount(group[alive], minlength=len(world.spec.groups)).tolist()
    return counts


def _record_births(members: dict[int, FamilyMember], loop: EpisodeLoop, tick: int) -> None:
    columns, groups = loop.world.columns, loop.world.spec.groups
    for place in np.flatnonzero(columns.uid >= 0):
        uid = int(columns.uid[place])
        if uid not in members:
            parents = tuple(int(parent) for parent in columns.parents[place] if parent >= 0)
            members[uid] = FamilyMember(uid, parents, groups[int(columns.group[place])].name, tick)


def _record_deaths(members: dict[int, FamilyMember], world: World, tick: int) -> None:
    causes = {h.uid: h.note for h in world.events() if h.kind == "death"}
    for uid in world.columns.uid[world.columns.terminated].tolist():
        members[uid] = replace(
            members[uid], destruction_time=tick, cause=causes.get(uid) or "ended"
        )
