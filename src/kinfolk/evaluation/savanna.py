"""Savanna episodes played again: every agent's record in the published format, and kin metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kinfolk.lineage.metrics import lineage_survival
from kinfolk.play.results import EpisodeResult
from kinfolk.play.task import EpisodeRunner, RolloutTask
from kinfolk.worlds.savanna.agent_log import SavannaAgentLog, SavannaAgentRecord
from kinfolk.worlds.savanna.kin_metrics import (
    energy_transferred_to_kin,
    is_past_fertility,
    kin_carcass_bite_fraction,
    late_birth_fraction,
    nearest_kin_distances,
)
from kinfolk.worlds.savanna.world import SavannaWorld

_SUMMARY_COLUMNS = ("R", "Life", "Off", "Off/100", "Lineage", "FertCap", "FertExp", "FBlk")


def replay_savanna_agents(
    task: RolloutTask[Any],
    episode: int,
    on_step: Callable[[SavannaWorld, SavannaAgentLog], None] | None = None,
) -> tuple[EpisodeResult, SavannaAgentLog]:
    """Play one episode of a task again and write every life down. It is the same as it was.

    Args:
        task: A task in the savanna; its own range of episodes is not looked at.
        episode: Which episode of its seed.
        on_step: Called after each step.
    """
    with EpisodeRunner(replace(task, episodes=(episode,))) as runner:
        runner.loop.start_episodes()
        world: Any = runner.world  # the caller asks for a savanna
        lives = SavannaAgentLog(world)
        lives.start()
        ended: list[EpisodeResult] = []
        while not ended:
            ended = runner.tick()
            lives.update()
            if on_step is not None:
                on_step(world, lives)
        return ended[0], lives


def build_event_log(population: SavannaAgentLog) -> dict[str, dict[str, Any]]:
    """Every life by its published name, with the events of its kind."""
    names = {life.uid: life.agent_id for life in population.by_uid.values()}
    return {life.agent_id: _agent_entry(life, names) for life in population.by_uid.values()}


def _agent_entry(life: SavannaAgentRecord, names: dict[int, str]) -> dict[str, Any]:
    meals = [
        {
            "t": meal["t"],
            "id_eaten": f"grass_{meal['other']}" if meal["kind"] == "eat" else names[meal["other"]],
            "kind": meal["kind"],
            "bite_size": meal["bite_size"],
        }
        for meal in life.eating_events
    ]
    return {
        "agent_id": life.agent_id,
        "birth_step": life.birth_step,
        "death_step": life.death_step,
        "parent_id": life.parent,
        "death_cause": life.death_cause,
        "cumulative_reward": life.cumulative_reward,
        "eating_events": meals,
        "failed_eating_events": life.failed_attacks,
        "reproduction_events": life.reproduction_events,
        "reward_events": life.reward_events,
        "fertility_events": life.fertility_events,
        "diet_events": life.diet_events,
        "lifecycle_events": _lifecycle_events(life),
    }


def _lifecycle_events(life: SavannaAgentRecord) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"t": life.birth_step, "event": "birth"}]
    if life.fertility_expired_step is not None:
        events.append({"t": life.fertility_expired_step, "event": "fertility_expired"})
    if life.death_step is not None:
        events.append({"t": life.death_step, "event": "death", "cause": life.death_cause})
    return events


def format_reward_summary(population: SavannaAgentLog, ticks: int) -> str:
    """Means per group, then a line per life, most rewarded first.

    R is the reward, Life the steps lived, Off the offspring and Off/100 per hundred steps, Lineage
    the lineage reward, FertCap the age at which fertility ends, FertExp the share (of a life: the
    step) in which it did, FBlk the births blocked by it.
    """
    cap = getattr(population.settings, "max_fertility_age", None)
    groups: dict[str, list[SavannaAgentRecord]] = {}
    for life in population.by_uid.values():
        groups.setdefault(life.policy_group, []).append(life)
    lines = [f"{'group':<24}{'lives':>7}" + "".join(f"{name:>10}" for name in _SUMMARY_COLUMNS)]
    for group, members in sorted(groups.items()):
        rows = [_agent_statistics(life, ticks) for life in members]
        means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        expired = sum(life.fertility_expired_step is not None for life in members) / len(members)
        lines.append(
            _format_line(
                f"{group:<24}{len(members):>7}",
                means,
                _format_fertility_cap(cap, group),
                f"{expired:.2f}",
            )
        )
    lines.append("")
    for life in sorted(population.by_uid.values(), key=lambda one: -one.cumulative_reward):
        when = "-" if life.fertility_expired_step is None else str(life.fertility_expired_step)
        about = f"{life.agent_id:<31}"
        lines.append(
            _format_line(
                about,
                _agent_statistics(life, ticks),
                _format_fertility_cap(cap, life.policy_group),
                when,
            )
        )
    return "\n".join(lines) + "\n"


def _agent_statistics(life: SavannaAgentRecord, ticks: int) -> list[float]:
    """Reward, steps, offspring, offspring per hundred steps, lineage reward, births blocked."""
    steps = (ticks if life.death_step is None else life.death_step) - life.birth_step
    children = len(life.offspring_ids)
    per_hundred = 100.0 * children / max(1, steps)
    reward, lineage = life.cumulative_reward, life.lineage_reward_total
    return [reward, steps, children, per_hundred, lineage, life.fertility_blocked_attempts]


def _format_line(about: str, figures: list[float], cap: str, expired: str) -> str:
    *first, blocked = figures
    return about + "".join(f"{x:>10.2f}" for x in first) + f"{cap:>10}{expired:>10}{blocked:>10.2f}"


def _format_fertility_cap(cap: Any, group: str) -> str:
    value = getattr(cap, group, cap)
    return "-" if value is None else f"{value:g}"


_SAMPLE_EVERY = 10  # ticks between two looks at who stands near whom


def kin_metrics(task: RolloutTask[Any], episode: int, late_age: int = 50) -> dict[str, float]:
    """Kin measures of one episode, by name; not a number where nothing of the kind happened.

    Args:
        task: A task in the savanna.
        episode: Which one.
        late_age: The age from which on a parent's births count as late.
    """
    near: dict[bool, list[int]] = {False: [], True: []}  # by whether fertility has ended

    def look(world: SavannaWorld, lives: SavannaAgentLog) -> None:
        if int(world.tick[0]) % _SAMPLE_EVERY == 0:
            for uid, distance in nearest_kin_distances(world, lives).items():
                near[is_past_fertility(lives.by_uid[uid])].append(distance)

    report, lives = replay_savanna_agents(task, episode, look)
    count = len(lives.by_uid)
    births = sum(life.parent is not None for life in lives.by_uid.values())
    return {
        "ticks": float(report.ticks),
        "births_per_agent": births / count,
        "surviving_lineages": lineage_survival(lives.build_family()),
        "late_birth_rate": late_birth_fraction(lives, late_age),
        "kin_share_of_carcass_bites": kin_carcass_bite_fraction(lives),
        "nearest_kin_distance_fertile": _mean_or_nan(near[False]),
        "nearest_kin_distance_after_fertility": _mean_or_nan(near[True]),
        "energy_to_kin_per_agent": energy_transferred_to_kin(lives) / count,
    }


def _mean_or_nan(values: list[int]) -> float:
    return float(np.mean(values)) if values else float("nan")
