"""Trace an episode: births, deaths and parents of all agents, and population sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.lineage.family import Family, FamilyMember
from kinfolk.play.results import BirthDeathLog, EpisodeResult
from kinfolk.play.task import EpisodeRunner, RolloutTask
from kinfolk.worlds.adapters.infos import name_agents
from kinfolk.worlds.base import World


@dataclass(frozen=True)
class EpisodeTrace:
    """One episode with its population sizes and family tree."""

    report: EpisodeResult
    groups: tuple[str, ...]  # names
    populations: Ints  # [ticks + 1, groups], live agents from the initial state on
    family: Family  # all agents with their parents


class EpisodeLog(Protocol):
    """A record of one episode that is kept step by step, such as `SavannaAgentLog`."""

    def start(self) -> None:
        """Start with the agents of a new episode."""

    def update(self) -> None:
        """Record what happened in the last step."""


Log = TypeVar("Log", bound=EpisodeLog)


def replay_episode(
    task: RolloutTask[Any], episode: int, make_log: Callable[[Any], Log]
) -> tuple[EpisodeResult, Log]:
    """Play one episode of a task again, with the same result, and keep a log of it.

    Args:
        task: The task; its own list of episodes is ignored.
        episode: Number of the episode.
        make_log: Makes the log from the world, for example the class `SavannaAgentLog`.

    Returns:
        The episode's result and its log.
    """
    with EpisodeRunner(replace(task, episodes=(episode,))) as runner:
        runner.loop.start_episodes()
        log = make_log(runner.world)
        log.start()
        results: list[EpisodeResult] = []
        while not results:
            results = runner.tick()
            log.update()
        return results[0], log


def trace_episode(task: RolloutTask[Any], episode: int) -> EpisodeTrace:
    """Play one episode of a task again, with the same result, and record its agents."""
    log, populations = BirthDeathLog(), []
    results: list[EpisodeResult] = []
    with EpisodeRunner(replace(task, episodes=(episode,))) as runner:
        world = runner.world
        world.record_events(True)
        runner.loop.start_episodes()
        log.add_births(world)
        populations.append(_count_population(world))
        while not results:
            results = runner.tick()
            log.add_births(world)
            log.add_deaths(world, world.events())
            populations.append(_count_population(world))
    groups = tuple(group.name for group in world.spec.groups)
    family = _build_family(log, groups, world.spec.world)
    return EpisodeTrace(results[0], groups, np.array(populations), family)


def _count_population(world: World) -> list[int]:
    """Return the number of live agents of each group in a single world."""
    group = world.columns.group
    counts: list[int] = np.bincount(group[world.living], minlength=len(world.spec.groups)).tolist()
    return counts


def _build_family(log: BirthDeathLog, groups: Sequence[str], world: str) -> Family:
    """Return the family tree of all agents of a log.

    Args:
        log: Births and deaths of the episode.
        groups: Names of the groups.
        world: Name of the world in its spec.
    """
    deaths = {death.uid: death for death in log.deaths}
    births = sorted(log.births)
    names = name_agents(world, {birth.uid: groups[birth.group] for birth in births})
    members = []
    for birth in births:
        parents = tuple(parent for parent in birth.parents if parent >= 0)
        group, name = groups[birth.group], names[birth.uid]
        member = FamilyMember(birth.uid, parents, group, birth.tick, name=name)
        if (death := deaths.get(birth.uid)) is not None:
            member = replace(member, destruction_time=death.tick, cause=death.cause)
        members.append(member)
    return Family.from_members(members)
