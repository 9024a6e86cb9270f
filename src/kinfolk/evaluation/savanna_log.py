"""The savanna's own files: every life as its users read it, and what each group earned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kinfolk.evaluation.match import Match, line_up
from kinfolk.evaluation.results import EpisodeReport
from kinfolk.play.episode import EpisodeResult
from kinfolk.worlds.savanna.lives import Life, Lives
from kinfolk.worlds.savanna.world import SavannaWorld

_COLUMNS = ("R", "Life", "Off", "Off/100", "Lineage", "FertCap", "FertExp", "FBlk")


def savanna_lives(
    match: Match, episode: int, look: Callable[[SavannaWorld, Lives], None] | None = None
) -> tuple[EpisodeReport, Lives]:
    """Play one episode of a match again and write every life down. It is the same as it was.

    `look` is called after each step.
    """
    with line_up(replace(match, first=episode, last=episode + 1), 1) as game:
        play = game.loop(range(episode, episode + 1))
        play.begin()
        lives = Lives(game.world)  # type: ignore[arg-type]  # the caller asks for a savanna
        lives.begin()
        ended: list[EpisodeResult] = []
        while not ended:
            ended = play.tick()
            lives.update()
            if look is not None:
                look(game.world, lives)  # type: ignore[arg-type]
        return game.report(ended[0]), lives


def event_log(lives: Lives) -> dict[str, dict[str, Any]]:
    """Every life by its published name, with the events of its kind."""
    names = {life.uid: life.agent_id for life in lives.by_uid.values()}
    return {life.agent_id: _told(life, names) for life in lives.by_uid.values()}


def _told(life: Life, names: dict[int, str]) -> dict[str, Any]:
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
        "lifecycle_events": _lifecycle(life),
    }


def _lifecycle(life: Life) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"t": life.birth_step, "event": "birth"}]
    if life.fertility_expired_step is not None:
        events.append({"t": life.fertility_expired_step, "event": "fertility_expired"})
    if life.death_step is not None:
        events.append({"t": life.death_step, "event": "death", "cause": life.death_cause})
    return events


def reward_summary(lives: Lives, ticks: int) -> str:
    """Means per group, then a line per life, most rewarded first.

    R is the reward, Life the steps lived, Off the offspring and Off/100 per hundred steps, Lineage
    the lineage reward, FertCap the age at which fertility ends, FertExp the share (of a life: the
    step) in which it did, FBlk the births blocked by it.
    """
    cap = getattr(lives.settings, "max_fertility_age", None)
    groups: dict[str, list[Life]] = {}
    for life in lives.by_uid.values():
        groups.setdefault(life.policy_group, []).append(life)
    lines = [f"{'group':<24}{'lives':>7}" + "".join(f"{name:>10}" for name in _COLUMNS)]
    for group, members in sorted(groups.items()):
        rows = [_figures(life, ticks) for life in members]
        means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        expired = sum(life.fertility_expired_step is not None for life in members) / len(members)
        lines.append(
            _line(f"{group:<24}{len(members):>7}", means, _cap(cap, group), f"{expired:.2f}")
        )
    lines.append("")
    for life in sorted(lives.by_uid.values(), key=lambda one: -one.cumulative_reward):
        when = "-" if life.fertility_expired_step is None else str(life.fertility_expired_step)
        about = f"{life.agent_id:<31}"
        lines.append(_line(about, _figures(life, ticks), _cap(cap, life.policy_group), when))
    return "\n".join(lines) + "\n"


def _figures(life: Life, ticks: int) -> list[float]:
    """Reward, steps, offspring, offspring per hundred steps, lineage reward, births blocked."""
    steps = (ticks if life.death_step is None else life.death_step) - life.birth_step
    children = len(life.offspring_ids)
    per_hundred = 100.0 * children / max(1, steps)
    reward, lineage = life.cumulative_reward, life.lineage_reward_total
    return [reward, steps, children, per_hundred, lineage, life.fertility_blocked_attempts]


def _line(about: str, figures: list[float], cap: str, expired: str) -> str:
    *first, blocked = figures
    return about + "".join(f"{x:>10.2f}" for x in first) + f"{cap:>10}{expired:>10}{blocked:>10.2f}"


def _cap(cap: Any, group: str) -> str:
    value = getattr(cap, group, cap)
    return "-" if value is None else f"{value:g}"
