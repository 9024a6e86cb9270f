"""How good a training is: its last episodes, and games on seeds it does not train on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.engines.base import Engine
from kinfolk.evaluation.match import Match, play_match
from kinfolk.evaluation.results import EpisodeReport
from kinfolk.evaluation.summary import Summary, summarise, wins
from kinfolk.jobs.train_events import Judged
from kinfolk.jobs.train_settings import Train
from kinfolk.jobs.train_state import State
from kinfolk.play.episode import EpisodeResult
from kinfolk.policies.neural.policy import Neural
from kinfolk.policies.resolve import ResolvedPolicy, class_of, resolve
from kinfolk.training.rollout import Plan
from kinfolk.worlds import measures_of

_CHUNK = 5  # episodes of a task; not the number of workers, so that it changes nothing


def score_of(recent: list[EpisodeResult], settings: Train) -> float | None:
    """The score of episodes: their length, or the return per life of slots that are trained."""
    if not recent:
        return None
    if settings.score == "length":
        return float(np.mean([result.ticks for result in recent]))
    trained = [slot.id for slot in settings.slots if slot.trainable]
    earned = [
        sum(r.returns[s] for r in recent) / max(1, sum(r.lives[s] for r in recent)) for s in trained
    ]
    return float(np.mean(earned))


def slot_means(recent: list[EpisodeResult], settings: Train) -> dict[str, dict[str, float]]:
    """What every slot earned in the last episodes, and how often it earned most per life."""
    found: dict[str, dict[str, float]] = {name: {} for name in settings.slot_ids}
    if not recent:
        return found
    per_life = {
        s: np.array([r.returns[s] / r.lives[s] if r.lives[s] else np.nan for r in recent])
        for s in settings.slot_ids
    }
    won = wins(per_life)
    for name, values in found.items():
        lives = sum(r.lives[name] for r in recent)
        values["return"] = float(np.mean([r.returns[name] for r in recent]))
        if lives:
            values["return_per_life"] = sum(r.returns[name] for r in recent) / lives
            values["life_ticks"] = sum(r.ticks_lived[name] for r in recent) / lives
        if len(found) > 1:
            values["wins"] = float(np.nan_to_num(won[name]).mean())
    return found


def judge(settings: Train, plan: Plan, state: State, engine: Engine) -> Judged:
    """Play the games, and the baselines' if they were not played yet; note a new best."""
    asked = settings.judge
    policies = state.policies(plan) | {name: resolve(uri) for name, uri in asked.slots.items()}
    found = _play(settings, policies, engine)
    for name, slots in asked.baselines.items():
        if name not in state.baselines:
            others = {slot: resolve(uri) for slot, uri in slots.items()}
            base = _play(settings, {**policies, **others}, engine)
            score = _score(base, settings)
            state.baselines[name] = {
                "length": base.ticks, "returns": base.returns, "score": score,
                "measures": base.measures,
            }  # fmt: skip
    score = _score(found, settings)
    best = state.best is None or score > state.best
    if best:
        state.best, state.best_step, state.waited = score, state.steps, 0
    else:
        state.waited += 1
    return Judged(
        step=state.steps,
        update=state.update,
        score=score,
        best=best,
        length=found.ticks,
        returns=found.returns,
        return_per_life=found.return_per_life,
        measures=found.measures,
        baselines=state.baselines,
    )


def _score(found: Summary, settings: Train) -> float:
    """Of a summary, as `score_of` has it of episodes."""
    if settings.score == "length":
        return found.ticks.mean
    earned = found.return_per_life
    known = [earned[slot.id] for slot in settings.slots if slot.trainable]
    return float(np.mean([one.mean for one in known if one is not None]))


def _play(settings: Train, policies: Mapping[str, ResolvedPolicy], engine: Engine) -> Summary:
    asked = settings.judge
    chosen = {n: _greedy(p) if asked.greedy else p for n, p in policies.items()}
    tasks = [
        Match(
            settings.world, settings.world_settings, chosen, asked.seed,
            first, min(first + _CHUNK, asked.episodes), settings.preset,
            asked.agent_slot_map or settings.map_for(settings.world), inherit_slot=settings.inherit_slot,
        )
        for first in range(0, asked.episodes, _CHUNK)
    ]  # fmt: skip
    played: list[EpisodeReport] = [r for found in engine.map(play_match, tasks) for r in found]
    return summarise(played, list(policies), lambda *columns: measures_of(settings.world, *columns))


def _greedy(policy: ResolvedPolicy) -> ResolvedPolicy:
    kind: Any = class_of(policy)
    if not (isinstance(kind, type) and issubclass(kind, Neural)):
        return policy
    return ResolvedPolicy(policy.class_path, {**policy.settings, "greedy": True}, policy.arrays)
