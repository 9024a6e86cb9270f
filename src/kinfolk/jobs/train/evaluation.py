"""How good a training is: its last episodes, and games on seeds it does not train on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.engines.base import Engine
from kinfolk.evaluation.rollout import evaluation_task, run_evaluation
from kinfolk.evaluation.statistics import EvaluationSummary, summarize_episodes, win_shares
from kinfolk.jobs.train.events import EvaluationDone
from kinfolk.jobs.train.settings import Train
from kinfolk.jobs.train.state import TrainingState
from kinfolk.play.results import EpisodeResult, concatenate_columns
from kinfolk.play.task import Policies
from kinfolk.policies.neural.policy import NeuralPolicy
from kinfolk.policies.resolve import ResolvedPolicy, load_policy_class, resolve
from kinfolk.worlds import compute_world_metrics

_CHUNK_SIZE = 5  # episodes of a task; not the number of workers, so that it changes nothing


def episode_score(recent: list[EpisodeResult], settings: Train) -> float | None:
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


def slot_statistics(recent: list[EpisodeResult], settings: Train) -> dict[str, dict[str, float]]:
    """What every slot earned in the last episodes, and how often it earned most per life."""
    found: dict[str, dict[str, float]] = {name: {} for name in settings.slot_ids}
    if not recent:
        return found
    per_life = {
        s: np.array([r.returns[s] / r.lives[s] if r.lives[s] else np.nan for r in recent])
        for s in settings.slot_ids
    }
    won = win_shares(per_life)
    for name, values in found.items():
        lives = sum(r.lives[name] for r in recent)
        values["return"] = float(np.mean([r.returns[name] for r in recent]))
        if lives:
            values["return_per_life"] = sum(r.returns[name] for r in recent) / lives
            values["life_ticks"] = sum(r.ticks_lived[name] for r in recent) / lives
        if len(found) > 1:
            values["wins"] = float(np.nan_to_num(won[name]).mean())
    return found


def evaluate_policies(
    settings: Train, first: Policies, state: TrainingState, engine: Engine
) -> EvaluationDone:
    """Play the games, and the baselines' if they were not played yet; note a new best.

    Args:
        settings: Of the training.
        first: The policies that it began with.
        state: Where it stands.
        engine: Where the games are played.
    """
    asked = settings.evaluation
    policies = state.policies(first) | {name: resolve(uri) for name, uri in asked.slots.items()}
    found = _play(settings, policies, engine)
    for name, slots in asked.baselines.items():
        if name not in state.baselines:
            others = {slot: resolve(uri) for slot, uri in slots.items()}
            base = _play(settings, {**policies, **others}, engine)
            score = _summary_score(base, settings)
            state.baselines[name] = {
                "length": base.ticks, "returns": base.returns, "score": score,
                "metrics": base.metrics,
            }  # fmt: skip
    score = _summary_score(found, settings)
    best = state.best is None or score > state.best
    if best:
        state.best, state.best_step, state.evals_since_best = score, state.steps, 0
    else:
        state.evals_since_best += 1
    return EvaluationDone(
        step=state.steps,
        update=state.update,
        score=score,
        is_best=best,
        length=found.ticks,
        returns=found.returns,
        return_per_life=found.return_per_life,
        metrics=found.metrics,
        baselines=state.baselines,
    )


def _summary_score(found: EvaluationSummary, settings: Train) -> float:
    """Of a summary, as `score_of` has it of episodes."""
    if settings.score == "length":
        return found.ticks.mean
    earned = found.return_per_life
    known = [earned[slot.id] for slot in settings.slots if slot.trainable]
    return float(np.mean([one.mean for one in known if one is not None]))


def _play(
    settings: Train, policies: Mapping[str, ResolvedPolicy], engine: Engine
) -> EvaluationSummary:
    asked = settings.evaluation
    chosen = {n: _greedy(p) if asked.greedy else p for n, p in policies.items()}
    tasks = [
        evaluation_task(
            settings.world_ref, chosen, asked.seed,
            range(first, min(first + _CHUNK_SIZE, asked.episodes)),
            asked.agent_slot_map or settings.slot_map_for(settings.world), inherit_slot=settings.inherit_slot,
        )
        for first in range(0, asked.episodes, _CHUNK_SIZE)
    ]  # fmt: skip
    played = concatenate_columns(result.episodes for result in engine.map(run_evaluation, tasks))
    return summarize_episodes(
        played, list(policies), lambda *columns: compute_world_metrics(settings.world, *columns)
    )


def _greedy(policy: ResolvedPolicy) -> ResolvedPolicy:
    kind: Any = load_policy_class(policy)
    if not (isinstance(kind, type) and issubclass(kind, NeuralPolicy)):
        return policy
    return ResolvedPolicy(policy.class_path, {**policy.settings, "greedy": True}, policy.arrays)
