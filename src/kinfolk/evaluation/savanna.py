"""Replay savanna episodes: records of all agents in the format of PredPreyGrass, kin metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from kinfolk.lineage.family import lineage_survival
from kinfolk.play.results import EpisodeResult
from kinfolk.play.task import EpisodeRunner, RolloutTask
from kinfolk.worlds.savanna.agent_log import SavannaAgentLog, SavannaAgentRecord
from kinfolk.worlds.savanna.world import SavannaWorld

_SUMMARY_COLUMNS = ("R", "Life", "Off", "Off/100", "Lineage", "FertCap", "FertExp", "FBlk")


def replay_savanna_agents(
    task: RolloutTask[Any],
    episode: int,
    on_step: Callable[[SavannaWorld, SavannaAgentLog], None] | None = None,
) -> tuple[EpisodeResult, SavannaAgentLog]:
    """Play one episode of a task again, with the same result, and record every agent.

    Args:
        task: A task on the savanna; its own episodes are ignored.
        episode: Number of the episode.
        on_step: Called after each step with the world and the log.

    Returns:
        The episode's result and the log of its agents.
    """
    with EpisodeRunner(replace(task, episodes=(episode,))) as runner:
        runner.loop.start_episodes()
        world: Any = runner.world  # a SavannaWorld
        log = SavannaAgentLog(world)
        log.start()
        ended: list[EpisodeResult] = []
        while not ended:
            ended = runner.tick()
            log.update()
            if on_step is not None:
                on_step(world, log)
        return ended[0], log


def build_event_log(population: SavannaAgentLog) -> dict[str, dict[str, Any]]:
    """Return the records and events of all agents in the format of the PredPreyGrass repository.

    Returns:
        By agent name, such as `type_1_prey_12`, the fields of PredPreyGrass's agent event log.
    """
    names = {agent.uid: agent.agent_id for agent in population.by_uid.values()}
    return {agent.agent_id: _make_agent_entry(agent, names) for agent in population.by_uid.values()}


def _make_agent_entry(agent: SavannaAgentRecord, names: dict[int, str]) -> dict[str, Any]:
    """Return the entry of one agent in the event log.

    Args:
        agent: Record of the agent.
        names: Names of all agents by uid, for the agents it has eaten.
    """
    meals = [
        {
            "t": meal["t"],
            "id_eaten": f"grass_{meal['other']}" if meal["kind"] == "eat" else names[meal["other"]],
            "kind": meal["kind"],
            "bite_size": meal["bite_size"],
        }
        for meal in agent.eating_events
    ]
    return {
        "agent_id": agent.agent_id,
        "birth_step": agent.birth_step,
        "death_step": agent.death_step,
        "parent_id": agent.parent,
        "death_cause": agent.death_cause,
        "cumulative_reward": agent.cumulative_reward,
        "eating_events": meals,
        "failed_eating_events": agent.failed_attacks,
        "reproduction_events": agent.reproduction_events,
        "reward_events": agent.reward_events,
        "fertility_events": agent.fertility_events,
        "diet_events": agent.diet_events,
        "lifecycle_events": _list_lifecycle_events(agent),
    }


def _list_lifecycle_events(agent: SavannaAgentRecord) -> list[dict[str, Any]]:
    """Return birth, end of fertility and death of an agent, as far as they happened."""
    events: list[dict[str, Any]] = [{"t": agent.birth_step, "event": "birth"}]
    if agent.fertility_expired_step is not None:
        events.append({"t": agent.fertility_expired_step, "event": "fertility_expired"})
    if agent.death_step is not None:
        events.append({"t": agent.death_step, "event": "death", "cause": agent.death_cause})
    return events


def format_reward_summary(population: SavannaAgentLog, ticks: int) -> str:
    """Format a table of means per group, then of all agents in order of reward.

    R is the reward, Life the steps lived, Off the offspring and Off/100 per hundred steps, Lineage
    the lineage reward, FertCap the age at which fertility ends, FertExp the share of agents (of an
    agent: the step) whose fertility ended, FBlk the births blocked by it.
    """
    cap = getattr(population.settings, "max_fertility_age", None)
    groups: dict[str, list[SavannaAgentRecord]] = {}
    for agent in population.by_uid.values():
        groups.setdefault(agent.policy_group, []).append(agent)
    lines = [f"{'group':<24}{'lives':>7}" + "".join(f"{name:>10}" for name in _SUMMARY_COLUMNS)]
    for group, members in sorted(groups.items()):
        rows = [_compute_statistics(agent, ticks) for agent in members]
        means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        expired = sum(agent.fertility_expired_step is not None for agent in members) / len(members)
        label, group_cap = f"{group:<24}{len(members):>7}", _format_fertility_cap(cap, group)
        lines.append(_format_line(label, means, group_cap, f"{expired:.2f}"))
    lines.append("")
    for agent in sorted(population.by_uid.values(), key=lambda agent: -agent.cumulative_reward):
        expiry = "-" if agent.fertility_expired_step is None else str(agent.fertility_expired_step)
        label, agent_cap = f"{agent.agent_id:<31}", _format_fertility_cap(cap, agent.policy_group)
        lines.append(_format_line(label, _compute_statistics(agent, ticks), agent_cap, expiry))
    return "\n".join(lines) + "\n"


def _compute_statistics(agent: SavannaAgentRecord, ticks: int) -> list[float]:
    """Return the statistics of an agent, in the order of the table's columns.

    Args:
        agent: Record of the agent.
        ticks: Length of the episode, at which surviving agents' lives are counted as ended.

    Returns:
        Reward, steps lived, offspring, offspring per 100 steps, lineage reward, blocked births.
    """
    steps = (ticks if agent.death_step is None else agent.death_step) - agent.birth_step
    children = len(agent.offspring_ids)
    per_hundred = 100.0 * children / max(1, steps)
    reward, lineage = agent.cumulative_reward, agent.lineage_reward_total
    return [reward, steps, children, per_hundred, lineage, agent.fertility_blocked_attempts]


def _format_line(label: str, statistics: list[float], cap: str, expired: str) -> str:
    """Return a row of the reward summary: a group's means, or the values of one agent.

    Args:
        label: Text of the first columns: the group's name and size, or the agent's name.
        statistics: Values of `_compute_statistics`, or their means.
        cap: Age at which fertility ends, "-" if it never ends.
        expired: Share of the group's agents whose fertility ended, or the step in which the agent's
            fertility ended.
    """
    *first, blocked = statistics
    return label + "".join(f"{x:>10.2f}" for x in first) + f"{cap:>10}{expired:>10}{blocked:>10.2f}"


def _format_fertility_cap(cap: Any, group: str) -> str:
    """Return the age at which a group's fertility ends as text; "-" if it never ends."""
    value = getattr(cap, group, cap)
    return "-" if value is None else f"{value:g}"


_SAMPLE_EVERY = 10  # ticks between samples of the distances to kin


def kin_metrics(task: RolloutTask[Any], episode: int, late_age: int = 50) -> dict[str, float]:
    """Play one episode again and return its kin metrics by name.

    Args:
        task: A task on the savanna.
        episode: Number of the episode.
        late_age: Age of a parent from which on its births count as late.

    Returns:
        Metrics by name; NaN where no event occurred that the metric counts.
    """
    distances: dict[bool, list[int]] = {False: [], True: []}  # by whether fertility has ended

    def sample_distances(world: SavannaWorld, log: SavannaAgentLog) -> None:
        """Add the distances of agents to their kin every `_SAMPLE_EVERY` ticks."""
        if int(world.tick[0]) % _SAMPLE_EVERY == 0:
            for uid, distance in nearest_kin_distances(world, log).items():
                is_past_fertility = log.by_uid[uid].fertility_expired_step is not None
                distances[is_past_fertility].append(distance)

    result, log = replay_savanna_agents(task, episode, sample_distances)
    count = len(log.by_uid)
    births = sum(agent.parent is not None for agent in log.by_uid.values())
    return {
        "ticks": float(result.ticks),
        "births_per_agent": births / count,
        "surviving_lineages": lineage_survival(log.build_family()),
        "late_birth_rate": late_birth_fraction(log, late_age),
        "kin_share_of_carcass_bites": kin_carcass_bite_fraction(log),
        "nearest_kin_distance_fertile": _mean_or_nan(distances[False]),
        "nearest_kin_distance_after_fertility": _mean_or_nan(distances[True]),
        "energy_to_kin_per_agent": energy_transferred_to_kin(log) / count,
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
