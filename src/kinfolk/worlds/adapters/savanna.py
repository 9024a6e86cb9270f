"""What the savanna tells of its agents: ids and infos under their published names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.worlds.adapters.lives import Life
from kinfolk.worlds.adapters.telling import Infos, at_the_end
from kinfolk.worlds.base import Happening, World
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.state import CAUSES

# Shared by all agents of a world; published since the cost of failure came in.
_TEAM = (
    "team_capture_successes",
    "team_capture_failures",
    "team_capture_coop_successes",
    "team_capture_coop_failures",
    "team_capture_last_helpers",
)
_FERTILITY = "reproduction_blocked_due_to_fertility"
_CAPACITY = "reproduction_blocked_due_to_capacity"


class SavannaTeller:
    """Agents are called `type_1_prey_12`: the thirteenth of its type, founders first."""

    # As published. Nothing caps an energy by default; a larger one is shown as it is.
    bounds = (0.0, 100.0)
    watches = True

    def name(self, group: str, number: int, uid: int) -> str:  # noqa: ARG002 - of the contract
        """Groups are called by type and species already."""
        return f"{group}_{number}"

    def infos(self, world: World, lives: Mapping[int, Life]) -> Infos:
        """Team captures, blocked births and meals, ends of lives."""
        counters = {name: count[0].item() for name, count in world.counters().items()}
        happenings = world.happenings()
        rules: Savanna = world.settings  # type: ignore[attr-defined]
        shared = {name: counters[name] for name in _TEAM if rules.team_capture_enabled}
        found: Infos = {uid: dict(shared) for uid in lives}
        for happening in happenings:
            _tell(happening, lives[happening.uid], found[happening.uid])
        _tell_teams(happenings, world, lives, found)
        for uid, life in lives.items():
            species = world.spec.groups[life.group].name.rpartition("_")[2]
            if _FERTILITY in found[uid]:
                found[uid][f"{_FERTILITY}_count_{species}"] = counters[f"{_FERTILITY}_{species}"]
            ended = at_the_end(world, life)
            if ended:
                found[uid] |= ended | {"species": species}
        return found


def _tell_teams(
    happenings: list[Happening], world: World, lives: Mapping[int, Life], found: Infos
) -> None:
    """Tell the helpers of each capture how many they were, what they ate and were paid."""
    rules: Savanna = world.settings  # type: ignore[attr-defined]
    teams: dict[int, list[Happening]] = {}
    for happening in happenings:
        if happening.kind == "capture":
            teams.setdefault(happening.other, []).append(happening)
    for team in teams.values():
        groups = [world.spec.groups[lives[helper.uid].group].name for helper in team]
        pay = [getattr(rules.reward_predator_catch_prey, group) for group in groups]
        for helper, own in zip(team, pay, strict=True):
            whole = sum(pay) if rules.quirks.mean_catch_reward else own
            found[helper.uid] |= {
                "team_capture_helpers": len(team),
                "team_capture_energy_gain": helper.value,
                "team_capture_reward_share": whole / len(team),
            }


def _tell(happening: Happening, life: Life, info: dict[str, Any]) -> None:
    """Add what a happening means for the one it happened to."""
    kind, counts = happening.kind, life.counts
    if kind == "death" and CAUSES[int(happening.value)] == "max_age":
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
