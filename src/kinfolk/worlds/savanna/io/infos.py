"""Ids and infos of savanna agents for adapters, under the names of PredPreyGrass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.worlds.adapters.infos import AgentEntry, Infos, make_final_info
from kinfolk.worlds.base import World, WorldEvent
from kinfolk.worlds.savanna.codes import DEATH_CAUSES, EVENT_KINDS
from kinfolk.worlds.savanna.io.event_log import SavannaEpisodeLog
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.world import SavannaWorld

_FERTILITY = "reproduction_blocked_due_to_fertility"
_CAPACITY = "reproduction_blocked_due_to_capacity"
_DEATH_TICK = "death_tick"  # among the event counts of a prey that became a carcass
_INFO_EVENTS = ("death", "carcass", _FERTILITY, _CAPACITY, "carcass_only_block", "kick_back")

_SELECTED = np.array([kind in (*_INFO_EVENTS, "capture") for kind in EVENT_KINDS])


class SavannaInfoProvider:
    """Name agents like `type_1_prey_12`: the thirteenth of its type, founders first."""

    # As in PredPreyGrass. Energies are not capped by default, so observations can exceed it.
    observation_bounds = (0.0, 100.0)
    needs_events = True

    def make_name(self, group: str, number: int, uid: int) -> str:  # noqa: ARG002 - part of the contract
        """Return `group_number`; groups are already named by type and species."""
        return f"{group}_{number}"

    def world_info(self, world: World) -> dict[str, Any]:
        """Return the counters of the world, under the names of PredPreyGrass where it has any."""
        return {name: count[0].item() for name, count in world.counters().items()}

    def make_log(self, world: Any) -> SavannaEpisodeLog:
        """Return a log in the form of PredPreyGrass."""
        return SavannaEpisodeLog(world)

    def infos(self, world: World, agents: Mapping[int, AgentEntry]) -> Infos:
        """Return infos about team captures, blocked births, blocked bites and ends of lives."""
        infos: Infos = {}
        events = world.select_events(_SELECTED)  # type: ignore[attr-defined]
        if events:
            for event in events:
                if event.kind in _INFO_EVENTS:
                    _add_event_info(event, agents[event.uid], infos.setdefault(event.uid, {}))
            _add_team_capture_infos(events, world, agents, infos)
            _add_fertility_counts(events, world, agents, infos)
        columns = world.columns
        for row in (columns.terminated | columns.truncated).nonzero()[0].tolist():
            uid = int(columns.uid[row])
            if uid < 0:
                continue
            agent = agents[uid]
            final = make_final_info(world, agent) | {"species": _find_species(world, agent)}
            if _DEATH_TICK in agent.event_counts:
                final["lifetime_steps"] = agent.event_counts[_DEATH_TICK] - agent.birth_tick
            infos.setdefault(uid, {}).update(final)
        return {uid: info for uid, info in infos.items() if info}


def convert_lifetime(lifetime: int, world: SavannaWorld, agent: AgentEntry) -> int:
    """Return `lifetime_steps` as PredPreyGrass counts it.

    It subtracts the number of the step of birth, 0 for founders, from that of the last step, or from
    the number of all steps where the time limit ended the life.

    Args:
        lifetime: Steps that the agent lived.
        world: A batch of one world.
        agent: The agent.
    """
    time_is_up = int(world.tick[0]) >= world.settings.max_steps
    if not time_is_up or _DEATH_TICK in agent.event_counts:
        lifetime -= 1
    if agent.parents:
        lifetime += 1
    return max(lifetime, 0)


def _find_species(world: World, agent: AgentEntry) -> str:
    """Return the species of an agent: `predator` or `prey`."""
    return world.spec.groups[agent.group].name.rpartition("_")[2]


def _add_fertility_counts(
    events: list[WorldEvent], world: World, agents: Mapping[int, AgentEntry], infos: Infos
) -> None:
    """Add to the infos of agents too old for a birth how many births of their species that were.

    Args:
        events: Events of the last step.
        world: Batch of one world that the agents live in.
        agents: Agents by uid.
        infos: Infos by uid, extended.
    """
    blocked = [event.uid for event in events if event.kind == _FERTILITY]
    if not blocked:
        return
    counters = world.counters()
    for species in ("predator", "prey"):
        uids = [uid for uid in blocked if _find_species(world, agents[uid]) == species]
        before = int(counters[f"{_FERTILITY}_{species}"][0]) - len(uids)
        for i, uid in enumerate(uids, before + 1):
            infos[uid][f"{_FERTILITY}_count_{species}"] = i


def _add_team_capture_infos(
    events: list[WorldEvent], world: World, agents: Mapping[int, AgentEntry], infos: Infos
) -> None:
    """Add to the infos of the helpers of each capture their number, energy gain and reward.

    Args:
        events: Events of the last step.
        world: Batch of one world that the agents live in.
        agents: Agents by uid.
        infos: Infos by uid, extended.
    """
    rules: Savanna = world.settings  # type: ignore[attr-defined]
    teams: dict[int, list[WorldEvent]] = {}
    for event in events:
        if event.kind == "capture":
            teams.setdefault(event.other, []).append(event)
    for team in teams.values():
        groups = [world.spec.groups[agents[helper.uid].group].name for helper in team]
        rewards = [getattr(rules.reward_predator_catch_prey, group) for group in groups]
        for helper, reward in zip(team, rewards, strict=True):
            total = sum(rewards) if rules.quirks.mean_catch_reward else reward
            infos.setdefault(helper.uid, {}).update(
                {
                    "team_capture_helpers": len(team),
                    "team_capture_energy_gain": helper.value,
                    "team_capture_reward_share": total / len(team),
                }
            )


def _add_event_info(event: WorldEvent, agent: AgentEntry, info: dict[str, Any]) -> None:
    """Add the info of an event to the agent it happened to.

    Args:
        event: An event of the last step.
        agent: The agent; its event counts are updated.
        info: Its info, extended.
    """
    kind, counts = event.kind, agent.event_counts
    if kind == "carcass":
        counts[_DEATH_TICK] = event.tick
    elif kind == "death" and DEATH_CAUSES[int(event.value)] == "max_age":
        info["terminated_due_to_age"] = True
    elif kind == _FERTILITY:
        counts[kind] = counts.get(kind, 0) + 1
        info[kind] = True
        info["fertility_blocked_attempts"] = counts[kind]
    elif kind == _CAPACITY:
        info[kind] = True
    elif kind == "carcass_only_block":
        counts[kind] = counts.get(kind, 0) + 1
        info["carcass_only_live_prey_blocked"] = True
        info["carcass_only_block_count"] = counts[kind]
    elif kind == "kick_back":
        counts[kind] = counts.get(kind, 0) + 1
        info["kin_kickbacks"] = counts[kind]
