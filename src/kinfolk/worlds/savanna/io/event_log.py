"""Event log and reward summary of an episode, in the formats of the PredPreyGrass repository."""

from __future__ import annotations

from typing import Any

from kinfolk.worlds.savanna.agent_log import SavannaAgentLog, SavannaAgentRecord

_SUMMARY_COLUMNS = ("R", "Life", "Off", "Off/100", "Lineage", "FertCap", "FertExp", "FBlk")


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
