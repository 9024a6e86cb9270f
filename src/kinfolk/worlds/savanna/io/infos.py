"""What the savanna tells of its agents: ids and infos under their published names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.worlds.adapters.infos import AgentEntry, Infos, make_final_info
from kinfolk.worlds.base import World, WorldEvent
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.state import DEATH_CAUSES

# Shared by all agents of a world; published since the cost of failure came in.
_TEAM_COUNTERS = (
    "team_capture_successes",
    "team_capture_failures",
    "team_capture_coop_successes",
    "team_capture_coop_failures",
    "team_capture_last_helpers",
)
_FERTILITY = "reproduction_blocked_due_to_fertility"
_CAPACITY = "reproduction_blocked_due_to_capacity"


class SavannaInfoProvider:
    """Agents are called `type_1_prey_12`: the thirteenth of its type, founders first."""

    # As published. Nothing caps an energy by default; a larger one is shown as it is.
    observation_bounds = (0.0, 100.0)
    needs_events = True

    def make_name(self, group: str, number: int, uid: int) -> str:  # noqa: ARG002 - of the contract
        """Groups are called by type and species already."""
        return f"{group}_{number}"

    def infos(self, world: World, agents: Mapping[int, AgentEntry]) -> Infos:
        """Team captures, blocked births and meals, ends of lives."""
        counters = {name: count[0].item() for name, count in world.counters().items()}
        happenings = world.events()
        rules: Savanna = world.settings  # type: ignore[attr-defined]
        shared = {name: counters[name] for name in _TEAM_COUNTERS if rules.team_capture_enabled}
        found: Infos = {uid: dict(shared) for uid in agents}
        for happening in happenings:
            _add_event_info(happening, agents[happening.uid], found[happening.uid])
        _add_team_capture_infos(happenings, world, agents, found)
        for uid, life in agents.items():
            species = world.spec.groups[life.group].name.rpartition("_")[2]
            if _FERTILITY in found[uid]:
                found[uid][f"{_FERTILITY}_count_{species}"] = counters[f"{_FERTILITY}_{species}"]
            ended = make_final_info(world, life)
            if ended:
                found[uid] |= ended | {"species": species}
        return found


def _add_team_capture_infos(
    events: list[WorldEvent], world: World, agents: Mapping[int, AgentEntry], infos: Infos
) -> None:
    """Tell the helpers of each capture how many they were, what they ate and were paid."""
    rules: Savanna = world.settings  # type: ignore[attr-defined]
    teams: dict[int, list[WorldEvent]] = {}
    for happening in events:
        if happening.kind == "capture":
            teams.setdefault(happening.other, []).append(happening)
    for team in teams.values():
        groups = [world.spec.groups[agents[helper.uid].group].name for helper in team]
        pay = [getattr(rules.reward_predator_catch_prey, group) for group in groups]
        for helper, own in zip(team, pay, strict=True):
            whole = sum(pay) if rules.quirks.mean_catch_reward else own
            infos[helper.uid] |= {
                "team_capture_helpers": len(team),
                "team_capture_energy_gain": helper.value,
                "team_capture_reward_share": whole / len(team),
            }


def _add_event_info(event: WorldEvent, agent: AgentEntry, info: dict[str, Any]) -> None:
    """Add what a happening means for the one it happened to."""
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
