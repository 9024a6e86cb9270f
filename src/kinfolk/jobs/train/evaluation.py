"""How good a training is: scores of its last episodes, and evaluation on held-out seeds."""

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
    """Return the mean score of episodes: their length, or the return per life of trained slots."""
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
    """Return every slot's returns over the last episodes, and how often it won them."""
    stats: dict[str, dict[str, float]] = {name: {} for name in settings.slot_ids}
    if not recent:
        return stats
    per_life = {
        s: np.array([r.returns[s] / r.lives[s] if r.lives[s] else np.nan for r in recent])
        for s in settings.slot_ids
    }
    won = win_shares(per_life)
    for name, values in stats.items():
        lives = sum(r.lives[name] for r in recent)
        values["return"] = float(np.mean([r.returns[name] for r in recent]))
        if lives:
            values["return_per_life"] = sum(r.returns[name] for r in recent) / lives
            values["life_ticks"] = sum(r.ticks_lived[name] for r in recent) / lives
        if len(stats) > 1:
            values["wins"] = float(np.nan_to_num(won[name]).mean())
    return stats


def evaluate_policies(
    settings: Train, first: Policies, state: TrainingState, engine: Engine
) -> EvaluationDone:
    """Evaluate the policies, and the baselines if they were not yet; record a new best.

    Args:
        settings: Settings of the training.
        first: Policies that the training began with.
        state: State of the training; its best score and baselines are changed.
        engine: Engine that plays the episodes.
    """
    overrides = settings.evaluation.slots
    policies = state.policies(first) | {name: resolve(uri) for name, uri in overrides.items()}
    summary = _play(settings, policies, engine)
    for name, slots in settings.evaluation.baselines.items():
        if name not in state.baselines:
            others = {slot: resolve(uri) for slot, uri in slots.items()}
            base = _play(settings, {**policies, **others}, engine)
            score = _summary_score(base, settings)
            state.baselines[name] = {
                "length": base.ticks, "returns": base.returns, "score": score,
                "metrics": base.metrics,
            }  # fmt: skip
    score = _summary_score(summary, settings)
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
        length=summary.ticks,
        returns=summary.returns,
        return_per_life=summary.return_per_life,
        metrics=summary.metrics,
        baselines=state.baselines,
    )


def _summary_score(summary: EvaluationSummary, settings: Train) -> float:
    """Return the score of a summary, as `episode_score` defines it of episodes."""
    if settings.score == "length":
        return summary.ticks.mean
    trained = [summary.return_per_life[slot.id] for slot in settings.slots if slot.trainable]
    return float(np.mean([estimate.mean for estimate in trained if estimate is not None]))


def _play(
    settings: Train, policies: Mapping[str, ResolvedPolicy], engine: Engine
) -> EvaluationSummary:
    """Play the evaluation episodes with a team and summarise them.

    Args:
        settings: Settings of the training.
        policies: The policy of each slot.
        engine: Engine that plays the episodes.
    """
    evaluation = settings.evaluation
    chosen = {n: _greedy(p) if evaluation.greedy else p for n, p in policies.items()}
    tasks = [
        evaluation_task(
            settings.world_ref, chosen, evaluation.seed,
            range(first, min(first + _CHUNK_SIZE, evaluation.episodes)),
            evaluation.agent_slot_map or settings.slot_map_for(settings.world), inherit_slot=settings.inherit_slot,
        )
        for first in range(0, evaluation.episodes, _CHUNK_SIZE)
    ]  # fmt: skip
    played = concatenate_columns(result.episodes for result in engine.map(run_evaluation, tasks))
    return summarize_episodes(
        played, list(policies), lambda *columns: compute_world_metrics(settings.world, *columns)
    )


def _greedy(policy: ResolvedPolicy) -> ResolvedPolicy:
    """Return a net that takes its most likely action; other policies are as they were."""
    kind: Any = load_policy_class(policy)
    if not (isinstance(kind, type) and issubclass(kind, NeuralPolicy)):
        return policy
    return ResolvedPolicy(policy.class_path, {**policy.settings, "greedy": True}, policy.arrays)
