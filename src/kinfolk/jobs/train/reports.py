"""What a training reports: its events, scores of its last episodes, evaluation on held-out seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.events import Event, TimingEvent
from kinfolk.engines.base import Engine
from kinfolk.evaluation.metrics import metric_values
from kinfolk.evaluation.rollout import evaluation_task, run_evaluation
from kinfolk.evaluation.statistics import (
    Estimate,
    EvaluationSummary,
    estimate_finite,
    summarize_episodes,
    win_shares,
)
from kinfolk.jobs.train.settings import Train
from kinfolk.jobs.train.state import TrainingState
from kinfolk.play.results import EpisodeResult, concatenate_columns
from kinfolk.play.task import Policies
from kinfolk.policies.build import ResolvedPolicy, load_policy_class
from kinfolk.policies.neural.policy import NeuralPolicy
from kinfolk.policies.resolve import resolve
from kinfolk.training.buffer import RolloutColumns
from kinfolk.worlds import compute_world_metrics

_CHUNK_SIZE = 5  # episodes of a task; not the number of workers, so that it changes nothing


@dataclass(frozen=True, kw_only=True)
class UpdateDone(Event):
    """An update; `step` counts rows of trained slots. Means are over the last episodes.

    `slots` has the returns of each slot and, if it learnt, the statistics of its losses.
    """

    kind: ClassVar[str] = "update_done"
    update: int
    episodes: int  # ended so far
    length: float | None
    score: float | None
    slots: dict[str, dict[str, float]]
    alive: dict[str, float]
    births: dict[str, float]
    counters: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class EvaluationDone(Event):
    """An evaluation on held-out seeds: means with 95 % intervals, the same of baselines."""

    kind: ClassVar[str] = "evaluation_done"
    update: int
    score: float | None  # None if the metric of the evaluation applies to no episode
    is_best: bool
    length: Any
    returns: dict[str, Any]
    return_per_life: dict[str, Any]
    metrics: dict[str, Any]
    baselines: dict[str, dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class TrainingDone(Event):
    """The end of a training; `reason` is steps, reached or patience."""

    kind: ClassVar[str] = "training_done"
    updates: int  # of the nets
    episodes: int  # that have ended
    reason: str  # why it ended: steps, reached (the target score) or patience
    score: float | None  # mean over the last episodes
    length: float | None  # mean length of the last episodes
    best: float | None  # score of the best evaluation
    best_step: int | None  # step of the best evaluation
    weights: dict[str, str]  # the hash of every slot's weights
    # By slot, over the last episodes of this one training; other seeds may end elsewhere.
    return_per_life: dict[str, Estimate | None]


@dataclass(frozen=True, kw_only=True)
class EpisodesRestarted(Event):
    """Episodes that were given up and began anew, after a resume or a lost worker.

    Their tasks cannot be copied, so they ended with the process in which they lived.
    """

    kind: ClassVar[str] = "episodes_restarted"
    episodes: int


@dataclass(frozen=True, kw_only=True)
class UpdateTimed(TimingEvent):
    """The time that an update took, by phase."""

    kind: ClassVar[str] = "update_timed"
    rows: int
    collect_seconds: float
    learn_seconds: float


def mean_length(episodes: Sequence[EpisodeResult]) -> float | None:
    """Return the mean number of ticks of episodes; None if there are no episodes."""
    return float(np.mean([result.ticks for result in episodes])) if episodes else None


def recent_score(state: TrainingState) -> float | None:
    """Return the score of the last episodes; None if no episode has ended.

    It is their mean length, or the return per life of the trained slots, as the settings say.
    """
    settings, recent = state.settings, state.recent_episodes
    if settings.score == "length" or not recent:
        return mean_length(recent)
    stats, trained = _slot_statistics(state), [s.id for s in settings.slots if s.trainable]
    return float(np.mean([stats[slot].get("return_per_life", 0.0) for slot in trained]))


def report_update(
    state: TrainingState, blocks: Sequence[RolloutColumns], losses: dict[str, dict[str, float]]
) -> UpdateDone:
    """Return the event of an update.

    Args:
        state: State of the training.
        blocks: The collected rows of each slot.
        losses: Statistics of the update's losses, by slot.
    """
    slots, recent = _slot_statistics(state), state.recent_episodes
    for (name, stats), block in zip(slots.items(), blocks, strict=True):
        stats["rows"] = float(len(block["slot_id"]))
        stats["reward"] = float(block["reward"].mean()) if len(block["slot_id"]) else 0.0
        stats |= losses.get(name, {})
    return UpdateDone(
        step=state.steps,
        update=state.update,
        episodes=state.episodes,
        length=mean_length(recent),
        score=recent_score(state),
        slots=slots,
        alive=_mean_columns([result.mean_alive for result in recent]),
        births=_mean_columns([result.group_lives for result in recent]),
        counters=_mean_columns([result.counters for result in recent]),
    )


def _mean_columns(tables: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each column over tables, with the names of the last table."""
    names = tables[-1] if tables else ()
    return {name: float(np.mean([table[name] for table in tables])) for name in names}


def _returns_per_life(state: TrainingState) -> dict[str, Floats]:
    """Return the return per life in each of the last episodes, by slot; NaN where a slot had no life."""
    return {
        slot: np.array(
            [
                r.returns[slot] / r.lives[slot] if r.lives[slot] else np.nan
                for r in state.recent_episodes
            ]
        )
        for slot in state.settings.slot_ids
    }


def estimate_returns(state: TrainingState) -> dict[str, Estimate | None]:
    """Return the return per life of each slot over the last episodes; None without a life."""
    return {slot: estimate_finite(values) for slot, values in _returns_per_life(state).items()}


def _slot_statistics(state: TrainingState) -> dict[str, dict[str, float]]:
    """Return statistics of each slot over the last episodes, empty if there are none.

    Returns:
        By slot: `return` per episode, `return_per_life`, `life_ticks` (mean ticks of a life), and
        `wins` (share of episodes won) if there are several slots.
    """
    recent, names = state.recent_episodes, state.settings.slot_ids
    stats: dict[str, dict[str, float]] = {name: {} for name in names}
    if not recent:
        return stats
    won = win_shares(_returns_per_life(state))
    for name, values in stats.items():
        lives = sum(r.lives[name] for r in recent)
        values["return"] = float(np.mean([r.returns[name] for r in recent]))
        if lives:
            values["return_per_life"] = sum(r.returns[name] for r in recent) / lives
            values["life_ticks"] = sum(r.ticks_lived[name] for r in recent) / lives
        if len(stats) > 1:
            values["wins"] = float(np.nan_to_num(won[name]).mean())
    return stats


def evaluate_policies(state: TrainingState, engine: Engine) -> EvaluationDone:
    """Evaluate the policies, and the baselines the first time; record a new best score.

    Args:
        state: State of the training; its best score and baselines are changed.
        engine: Engine that plays the episodes.
    """
    evaluation = state.settings.evaluation
    policies = state.policies() | _resolve_all(evaluation.slots)
    summary, score = _play_evaluation(state.settings, policies, engine)
    for name, slots in evaluation.baselines.items():
        if name not in state.baselines:
            team = policies | _resolve_all(slots)
            base, base_score = _play_evaluation(state.settings, team, engine)
            state.baselines[name] = {
                "length": base.ticks,
                "returns": base.returns,
                "return_per_life": base.return_per_life,
                "score": base_score,
                "metrics": base.metrics,
            }
    is_best = record_score(state, score)
    state.evals_since_best = 0 if is_best else state.evals_since_best + 1
    return EvaluationDone(
        step=state.steps,
        update=state.update,
        score=score,
        is_best=is_best,
        length=summary.ticks,
        returns=summary.returns,
        return_per_life=summary.return_per_life,
        metrics=summary.metrics,
        baselines=state.baselines,
    )


def record_score(state: TrainingState, score: float | None) -> bool:
    """Record a score if it is the best so far, and return whether it is.

    It is not if scores of this training cannot be compared; see `Train.has_comparable_score`.
    """
    if score is None or not state.settings.has_comparable_score:
        return False
    if state.best is not None and score <= state.best:
        return False
    state.best, state.best_step = score, state.steps
    return True


def _resolve_all(uris: Mapping[str, str]) -> dict[str, ResolvedPolicy]:
    """Resolve the policy URI of each slot."""
    return {slot: resolve(uri) for slot, uri in uris.items()}


def _summary_score(summary: EvaluationSummary, settings: Train) -> float:
    """Return the score of an evaluation, as `recent_score` defines it, of slots that are not replaced."""
    if settings.score == "length":
        return summary.ticks.mean
    trained = [summary.return_per_life[slot] for slot in settings.scored_slots]
    return float(np.mean([estimate.mean for estimate in trained if estimate is not None]))


def _play_evaluation(
    settings: Train, policies: Policies, engine: Engine
) -> tuple[EvaluationSummary, float | None]:
    """Play the evaluation episodes with a team, summarise them and score the team.

    Args:
        settings: Settings of the training.
        policies: The policy of each slot.
        engine: Engine that plays the episodes.
    """
    evaluation, world = settings.evaluation, settings.world
    if evaluation.greedy:
        policies = {name: _make_greedy(policy) for name, policy in policies.items()}
    ref, seed, inherit = settings.world_ref, evaluation.seed, settings.inherit_slot
    slot_map, world_slot_maps = settings.slot_map_for(world), settings.environment_slot_maps
    if evaluation.agent_slot_map is not None:
        slot_map, world_slot_maps = evaluation.agent_slot_map, {}
    episodes = range(evaluation.episodes)
    chunks = (episodes[i : i + _CHUNK_SIZE] for i in range(0, len(episodes), _CHUNK_SIZE))
    tasks = (
        evaluation_task(
            ref,
            policies,
            seed,
            chunk,
            slot_map,
            inherit_slot=inherit,
            world_slot_maps=world_slot_maps,
        )
        for chunk in chunks
    )
    played = concatenate_columns(result.episodes for result in engine.map(run_evaluation, tasks))
    summary = summarize_episodes(played, list(policies), partial(compute_world_metrics, world))
    if evaluation.metric is None:
        return summary, _summary_score(summary, settings)
    values = metric_values(evaluation.metric, world, played, settings.scored_slots)
    estimate = estimate_finite(values)
    return summary, None if estimate is None else estimate.mean


def _make_greedy(policy: ResolvedPolicy) -> ResolvedPolicy:
    """Return a net that takes its most likely action; other policies are returned unchanged."""
    kind: Any = load_policy_class(policy)
    if not (isinstance(kind, type) and issubclass(kind, NeuralPolicy)):
        return policy
    return ResolvedPolicy(policy.class_path, {**policy.settings, "greedy": True}, policy.arrays)
