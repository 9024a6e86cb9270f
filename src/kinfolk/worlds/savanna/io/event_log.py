"""Event log and reward summary of an episode, in the formats of the PredPreyGrass repository."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinfolk.worlds.savanna.agent_log import SavannaAgentLog
from kinfolk.worlds.savanna.agent_record import TIME_LIMIT, SavannaAgentRecord
from kinfolk.worlds.savanna.rules import AGENT_TYPES, make_rules
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.world import SavannaWorld

_SUMMARY_COLUMNS = ("R", "Life", "Off", "Off/100", "Lineage", "FertCap", "FertExp", "FBlk")
FIRST_STEP = 1  # time of what happens in the first step: steps played when it is over
_MEAL_FIELDS = (
    *("t", "energy_resource", "position_resource", "position_consumer"),
    *("bite_size", "energy_after"),
)


def build_event_log(
    population: SavannaAgentLog, first_step: int = FIRST_STEP
) -> dict[str, dict[str, Any]]:
    """Return the events of all agents in the form of PredPreyGrass's `agent_event_log`.

    Meals have the form of shared_prey with team capture, and that of lineage_rewards without.

    Args:
        population: Log of the world.
        first_step: Number of the first step; PredPreyGrass counts from 0.

    Returns:
        By agent name, such as `type_1_prey_12`, the fields of PredPreyGrass's agent event log. Times
        are ticks, as in all tables of kinfolk: what happens in the first step has time 1, and
        founders are born at 0.
    """
    records, settings = population.by_uid.values(), population.settings
    names = {record.uid: record.agent_id for record in records}
    describe = _describe_shared_meal if settings.team_capture_enabled else _describe_solo_meal
    log = {}
    for record in records:
        life = _number_life(record, first_step)
        entry = _make_agent_entry(record, settings, life, lambda meal: describe(meal, names))
        for field, events in entry.items():
            if field.endswith("_events"):
                entry[field] = [event | {"t": event["t"] + first_step} for event in events]
        log[record.agent_id] = entry
    return log


def _number_life(agent: SavannaAgentRecord, first_step: int) -> tuple[int, int | None]:
    """Return the steps of an agent's birth and death, the first step of an episode being `first_step`."""
    earlier = FIRST_STEP - first_step
    birth, death = agent.birth_tick, agent.death_tick
    if agent.parent is not None:
        birth -= earlier
    survived = agent.death_cause == TIME_LIMIT and not agent.became_carcass
    if death is not None and not survived:
        death -= earlier
    return birth, death


def _make_agent_entry(
    agent: SavannaAgentRecord,
    settings: Savanna,
    life: tuple[int, int | None],
    describe_meal: Callable[[dict[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """Return the entry of one agent in the event log, with the times of events as in its record.

    Args:
        agent: Record of the agent.
        settings: Settings of the world, which decide what is logged.
        life: Steps of its birth and death.
        describe_meal: Returns a meal in the form of PredPreyGrass.
    """
    birth, death = life
    ended = agent.death_cause is not None  # with the quirk `carcasses_live`, a carcass has not
    entry: dict[str, Any] = {
        "agent_id": agent.agent_id,
        "birth_step": birth,
        "death_step": death if ended else None,
        "parent_id": None if settings.quirks.parents_not_logged else agent.parent,
        "death_cause": agent.death_cause,
        "eating_events": [describe_meal(meal) for meal in agent.eating_events],
        "reproduction_events": agent.reproduction_events,
        "reward_events": _list_reward_events(agent, settings),
        "diet_events": agent.diet_events,
        "fertility_events": agent.fertility_events,
        "lifecycle_events": agent.lifecycle_events,
    }
    if settings.team_capture_enabled:
        failures = agent.failed_eating_events
        entry["failed_eating_events"] = [
            describe_meal(meal) | {"energy_before": meal["energy_before"]} for meal in failures
        ]
    return entry


def _list_reward_events(agent: SavannaAgentRecord, settings: Savanna) -> list[dict[str, Any]]:
    """Return the reward events of an agent, each with all fields that its rule set has.

    Events of a lineage reward of 0 are left out, as in PredPreyGrass.
    """
    kick_back = any(
        any(values.model_dump().values())
        for values in (
            settings.kin_kick_back_reward_predator,
            settings.kin_kick_back_reward_prey,
        )
    )
    fields = ["reproduction_reward"]
    if kick_back:
        fields.append("kickback_reward")
    elif settings.has_lineage_rewards or not settings.team_capture_enabled:
        fields.append("lineage_reward")
    events = []
    for event in agent.reward_events:
        if event.get("lineage_reward") != 0.0:
            zeros = dict.fromkeys(fields, 0.0)
            events.append(zeros | event)
    return events


def _describe_solo_meal(meal: dict[str, Any], names: dict[int, str]) -> dict[str, Any]:
    """Return a meal in the form of lineage_rewards; `names` are those of agents by uid."""
    other = meal["other"]
    return {
        "t": meal["t"],
        "id_eaten": f"grass_{other}" if meal["kind"] == "eat" else names[other],
        "alive_before_bite": meal["kind"] != "carcass_bite",
        "bite_size": meal["bite_size"],
        "energy_after": meal["energy_after"],
    }


def _describe_shared_meal(meal: dict[str, Any], names: dict[int, str]) -> dict[str, Any]:
    """Return a meal in the form of shared_prey; `names` are those of agents by uid."""
    other, is_grass = meal["other"], meal["kind"] == "eat"
    described = {field: meal[field] for field in _MEAL_FIELDS}
    described["id_resource"] = f"grass_{other}" if is_grass else names[other]
    if not is_grass:
        described["team_capture"] = len(meal["predators"]) > 1
        described["predator_list"] = [names[uid] for uid in meal["predators"]]
    return described


def build_agent_stats(
    population: SavannaAgentLog, first_step: int = FIRST_STEP
) -> dict[str, dict[str, Any]]:
    """Return statistics of all agents in the form of PredPreyGrass's `get_all_agent_stats`.

    Rewards are counted once; PredPreyGrass counts those of the step of the time limit twice.

    Args:
        population: Log of the world.
        first_step: Number of the first step; PredPreyGrass counts from 0.

    Returns:
        By agent name, such as `type_1_prey_12`, the fields of PredPreyGrass's statistics.
    """
    settings = population.settings
    rules = make_rules(settings)
    stats = {}
    for agent in population.by_uid.values():
        kind = AGENT_TYPES.index(agent.policy_group)
        caps = (rules.max_fertility_age[kind], rules.max_age[kind])
        fertility_cap, age_cap = (None if cap < 0 else int(cap) for cap in caps)
        birth, death = _number_life(agent, first_step)
        expired_steps = (agent.fertility_expired_step, agent.age_expired_step)
        fertility_expired, age_expired = (
            None if step is None else step + first_step for step in expired_steps
        )
        entry = {
            "agent_id": agent.agent_id,
            "birth_step": birth,
            "parent": None if settings.quirks.parents_not_logged else agent.parent,
            "offspring_count": len(agent.offspring_ids),
            "offspring_ids": agent.offspring_ids,
            "distance_traveled": agent.distance_traveled,
            "times_ate": agent.times_ate,
            "energy_gained": agent.energy_gained,
            "avg_energy_sum": agent.avg_energy_sum,
            "avg_energy_steps": agent.avg_energy_steps,
            "avg_energy": agent.avg_energy if agent.death_cause is not None else 0.0,
            "cumulative_reward": agent.cumulative_reward,
            "policy_group": agent.policy_group,
            "death_step": death,
            "death_cause": agent.death_cause,
            "lineage_reward_total": agent.lineage_reward_total,
            "max_fertility_age": fertility_cap,
            "fertility_expired_step": fertility_expired,
            "fertility_blocked_attempts": agent.fertility_blocked_attempts,
            "max_age": age_cap,
            "age_expired_step": age_expired,
            "carcass_only_blocks": agent.carcass_only_blocks,
        }
        if agent.kin_kickbacks:
            entry["kin_kickbacks"] = agent.kin_kickbacks
        stats[agent.agent_id] = entry
    return stats


def build_lineage_tracker(
    population: SavannaAgentLog, world: SavannaWorld, world_index: int = 0
) -> dict[str, dict[str, Any]]:
    """Return the ancestry and live descendants of all agents, as PredPreyGrass's `lineage_tracker`.

    Args:
        population: Log of the world.
        world: Batch that the world is in.
        world_index: Index of the world in the batch.

    Returns:
        By agent name: `parent_id`, `children_ids` (sorted), `live_descendants`,
        `prev_live_descendants` (at the last reward) and `is_alive_descendant`.
    """
    s, w = world._arrays, world_index
    return {
        agent.agent_id: {
            "parent_id": agent.parent,
            "children_ids": sorted(agent.offspring_ids),
            "live_descendants": int(s.live_descendants[w, uid]),
            "prev_live_descendants": int(s.prev_live_descendants[w, uid]),
            "is_alive_descendant": bool(s.living[w, uid]),
        }
        for uid, agent in population.by_uid.items()
    }


class SavannaEpisodeLog:
    """What adapters give of an episode: event log, statistics and lineages.

    Args:
        world: A batch of one world.
    """

    def __init__(self, world: SavannaWorld) -> None:
        self._world = world
        self._agents = SavannaAgentLog(world)

    def start(self) -> None:
        """Start with the founders of a new episode."""
        self._agents.start()

    def update(self) -> None:
        """Add the step just made."""
        self._agents.update()

    def attach(self, world: SavannaWorld) -> None:
        """Go on with a copy of the world, after the log itself was copied."""
        self._world = world
        self._agents.attach(world)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the world, which is copied by its owner."""
        return {"_agents": self._agents}

    def event_log(self) -> dict[str, dict[str, Any]]:
        """Return the events of all agents, see `build_event_log`."""
        return build_event_log(self._agents)

    def agent_stats(self) -> dict[str, dict[str, Any]]:
        """Return the statistics of all agents, see `build_agent_stats`."""
        return build_agent_stats(self._agents)

    def lineage_tracker(self) -> dict[str, dict[str, Any]]:
        """Return the lineages of all agents, see `build_lineage_tracker`."""
        return build_lineage_tracker(self._agents, self._world)


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
    steps = (ticks if agent.death_tick is None else agent.death_tick) - agent.birth_tick
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
