"""Ids and infos of savanna agents for adapters, under the names of PredPreyGrass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.worlds.adapters.infos import AgentEntry, Infos, make_final_info
from kinfolk.worlds.base import World, WorldEvent
from kinfolk.worlds.savanna.codes import DEATH_CAUSES
from kinfolk.worlds.savanna.settings import Savanna

# Shared by all agents of a world; PredPreyGrass has them since it has a cost of failure.
_TEAM_COUNTERS = (
    *("team_capture_successes", "team_capture_failures", "team_capture_coop_successes"),
    *("team_capture_coop_failures", "team_capture_last_helpers"),
)
_FERTILITY = "reproduction_blocked_due_to_fertility"
_CAPACITY = "reproduction_blocked_due_to_capacity"


class SavannaInfoProvider:
    """Name agents like `type_1_prey_12`: the thirteenth of its type, founders first."""

    # As in PredPreyGrass. Energies are not capped by default, so observations can exceed it.
    observation_bounds = (0.0, 100.0)
    needs_events = True

    def make_name(self, group: str, number: int, uid: int) -> str:  # noqa: ARG002 - part of the contract
        """Return `group_number`; groups are already named by type and species."""
        return f"{group}_{number}"

    def infos(self, world: World, agents: Mapping[int, AgentEntry]) -> Infos:
        """Return infos about team captures, blocked births, blocked bites and ends of lives."""
        counters = {name: count[0].item() for name, count in world.counters().items()}
        events = world.events()
        rules: Savanna = world.settings  # type: ignore[attr-defined]
        shared = {name: counters[name] for name in _TEAM_COUNTERS if rules.team_capture_enabled}
        infos: Infos = {uid: dict(shared) for uid in agents}
        for event in events:
            _add_event_info(event, agents[event.uid], infos[event.uid])
        _add_team_capture_infos(events, world, agents, infos)
        for uid, agent in agents.items():
            species = world.spec.groups[agent.group].name.rpartition("_")[2]
            if _FERTILITY in infos[uid]:
                infos[uid][f"{_FERTILITY}_count_{species}"] = counters[f"{_FERTILITY}_{species}"]
            final_info = make_final_info(world, agent)
            if final_info:
                infos[uid] |= final_info | {"species": species}
        return infos


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
            infos[helper.uid] |= {
                "team_capture_helpers": len(team),
                "team_capture_energy_gain": helper.value,
                "team_capture_reward_share": total / len(team),
            }


def _add_event_info(event: WorldEvent, agent: AgentEntry, info: dict[str, Any]) -> None:
    """Add the info of an event to the agent it happened to.

    Args:
        event: An event of the last step.
        agent: The agent; its event counts are updated.
        info: Its info, extended.
    """
    kind, counts = event.kind, agent.event_counts
    if kind == "death" and DEATH_CAUSES[int(event.value)] == "max_age":
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
