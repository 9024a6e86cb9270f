"""One episode, watched: who lived when, whose child each was, and how many there were."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.evaluation.match import Match, line_up
from kinfolk.evaluation.results import EpisodeReport
from kinfolk.lineage.family import Family, Member
from kinfolk.play.episode import EpisodeResult, Play
from kinfolk.worlds.base import World


@dataclass(frozen=True)
class Watched:
    """What was seen of one episode."""

    result: EpisodeReport
    groups: tuple[str, ...]
    populations: Ints  # [ticks + 1, groups], from the founders on
    family: Family


def watch_episode(match: Match, episode: int) -> Watched:
    """Play one episode of a match again and look closely. It is the same as it was then."""
    alone = replace(match, first=episode, last=episode + 1)
    with line_up(alone, 1) as game:
        game.world.watch(True)
        play = game.loop(range(episode, episode + 1))
        members: dict[int, Member] = {}
        populations: list[Any] = []
        results: list[EpisodeResult] = []
        play.begin()
        _enter(members, play, 0)
        populations.append(_counted(play.world))
        while not results:
            results = play.tick()
            now = int(play.world.tick[0])
            _enter(members, play, now)
            _leave(members, play.world, now)
            populations.append(_counted(play.world))
        groups = tuple(group.name for group in play.world.spec.groups)
        report = game.report(results[0])
    family = Family.of(members.values())
    return Watched(report, groups, np.array(populations), family)


def _counted(world: World) -> list[int]:
    alive, group = world.columns.alive, world.columns.group
    counts: list[int] = np.bincount(group[alive], minlength=len(world.spec.groups)).tolist()
    return counts


def _enter(members: dict[int, Member], play: Play, tick: int) -> None:
    columns, groups = play.world.columns, play.world.spec.groups
    for place in np.flatnonzero(columns.uid >= 0):
        uid = int(columns.uid[place])
        if uid not in members:
            parents = tuple(int(parent) for parent in columns.parents[place] if parent >= 0)
            members[uid] = Member(uid, parents, groups[int(columns.group[place])].name, tick)


def _leave(members: dict[int, Member], world: World, tick: int) -> None:
    causes = {h.uid: h.note for h in world.happenings() if h.kind == "death"}
    for uid in world.columns.uid[world.columns.terminated].tolist():
        members[uid] = replace(members[uid], died=tick, cause=causes.get(uid) or "ended")
