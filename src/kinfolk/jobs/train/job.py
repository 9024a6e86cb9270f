"""Train nets: collect experience, update, evaluate, and repeat. See `docs/training.md`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.random import fold_in, seed_key
from kinfolk.engines.base import Engine
from kinfolk.evaluation.statistics import win_shares
from kinfolk.jobs.train.evaluation import episode_score, evaluate_policies, slot_statistics
from kinfolk.jobs.train.events import TrainingDone, UpdateDone, UpdateTimed
from kinfolk.jobs.train.plan import build_plan
from kinfolk.jobs.train.settings import Train
from kinfolk.jobs.train.state import TrainingState, initial_state, mean_columns
from kinfolk.play.slots import PolicySlot
from kinfolk.play.task import Policies, RolloutResult, RolloutTask, run_task
from kinfolk.store.policy_file import PolicyFile, iter_policy_chunks
from kinfolk.training.buffer import RolloutColumns, concat_blocks
from kinfolk.training.collect import Experience, collection_task
from kinfolk.training.learner import LossWeights
from kinfolk.training.losses import LOSSES
from kinfolk.training.profiles import LossProfiles

_UPDATE_BRANCH = 5  # the branch of the seed's key from which minibatches are shuffled


def train(
    settings: Train, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield every update, evaluations, trained policies, snapshots, and the result at the end.

    Args:
        settings: The world, its slots and how they learn.
        engine: Engine that collects experience and plays evaluations.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    plan = build_plan(settings)
    policies = plan.resolved
    state = initial_state(settings, policies)
    if resume is not None:
        state.restore(resume)
    shared = replace(plan, policies=engine.share(policies))
    reason = _reason_to_stop(settings, state)
    while reason is None:
        yield from _update(settings, shared, state, engine)
        every = settings.evaluation.every
        evaluated = every and state.update % every == 0
        if evaluated:
            yield evaluate_policies(settings, policies, state, engine)
        reason = _reason_to_stop(settings, state)
        if reason is not None or state.update % settings.checkpoint_every == 0:
            if not every:
                _record_best(settings, state)
            yield from _policy_files(policies, state)
            yield state.snapshot()
        elif evaluated:
            yield from _policy_files(policies, state)
    yield _training_done(settings, policies, state, reason)


def _update(
    settings: Train, plan: RolloutTask[Experience], state: TrainingState, engine: Engine
) -> Iterator[Event]:
    """Collect experience and update every slot whose turn it is.

    Args:
        settings: Settings of the training.
        plan: The task of a chunk of worlds, without its weights and its state.
        state: State of the training; changed in place.
        engine: Engine that collects.
    """
    start = time.perf_counter()
    weights = state.weights()
    tasks = [
        collection_task(plan, chunk, weights, rollout_state, state.opponent_pool)
        for chunk, rollout_state in enumerate(state.rollout_states)
    ]
    results = list(engine.map(run_task, tasks))
    state.rollout_states = [result.snapshot for result in results]
    collected = time.perf_counter()
    blocks = _blocks([result.observed for result in results])
    rows = sum(int(block["is_trainable_agent"].sum()) for block in blocks)
    update_stats = _learn(settings, state, blocks)
    state.update += 1
    state.steps += rows
    _record_episodes(settings, state, results)
    stop = time.perf_counter()
    yield _update_done(settings, state, blocks, update_stats)
    yield UpdateTimed(
        step=state.steps,
        rows=rows,
        collect_seconds=collected - start,
        learn_seconds=stop - collected,
    )


def _blocks(parts: list[Experience]) -> list[RolloutColumns]:
    """Join the rows of all chunks of worlds, slot by slot."""
    n_memories = 1 + max(
        int(block["memory_index"].max(initial=0)) for part in parts for block in part.blocks
    )
    slots = zip(*(part.blocks for part in parts), strict=True)
    return [concat_blocks(list(blocks), n_memories) for blocks in slots]


def _learn(
    settings: Train, state: TrainingState, blocks: list[RolloutColumns]
) -> dict[str, dict[str, float]]:
    """Update every slot whose turn it is from the rows that it learns from.

    Args:
        settings: Settings of the training.
        state: State of the training, whose learners are changed.
        blocks: The collected rows of each slot.

    Returns:
        Statistics of the update, by slot.
    """
    profiles = LossProfiles(settings.loss_profiles)
    key = fold_in(fold_in(seed_key(settings.seed), _UPDATE_BRANCH), state.update)
    stats = {}
    for index, slot in enumerate(settings.slots):
        if not slot.trainable or not is_update_due(settings.slots, slot, state.update):
            continue
        own_blocks = [b for b in blocks if len(b["learner_slot"]) and b["learner_slot"][0] == index]
        if not own_blocks:
            continue
        rows = own_blocks[0] if len(own_blocks) == 1 else _concat_demonstrations(own_blocks)
        weights = _loss_weights(settings, slot, state.steps)
        stats[slot.id] = state.learners[slot.id].learn(rows, profiles, weights, key)
    return stats


def _concat_demonstrations(blocks: list[RolloutColumns]) -> RolloutColumns:
    """Join a slot's own rows and its teacher's; columns that only one has are filled."""
    filled = []
    names = {name: block[name] for block in blocks for name in block}
    for block in blocks:
        count, whole = len(block["slot_id"]), dict(block)
        for name, like in names.items():
            if name not in whole:
                missing = -1 if like.dtype.kind == "i" else np.nan
                whole[name] = np.full((count, *like.shape[1:]), missing, like.dtype)
        filled.append(whole)
    n_memories = 1 + max(int(block["memory_index"].max(initial=0)) for block in filled)
    return concat_blocks(filled, n_memories)


def is_update_due(slots: tuple[PolicySlot, ...], slot: PolicySlot, update: int) -> bool:
    """Return whether a slot learns in an update.

    It learns in `train_for` of every `train_every` updates; slots that take turns begin one after
    another, in their order.

    Args:
        slots: All slots.
        slot: The slot in question.
        update: Number of the update.
    """
    taking_turns = [s.id for s in slots if s.trainable and s.train_every > 1]
    if slot.id not in taking_turns:
        return True
    train_for = slot.train_for or 1
    turn = update - taking_turns.index(slot.id) * train_for
    return turn % slot.train_every < train_for


def _loss_weights(settings: Train, slot: PolicySlot, steps: int) -> LossWeights:
    """Return the learning rate and the weights of losses as they are now.

    Args:
        settings: Settings of the training.
        slot: The slot that learns.
        steps: Steps so far, by which schedules go.
    """
    rate = slot.learning_rate or settings.ppo.learning_rate
    if settings.ppo.anneal_lr:
        rate *= max(0.0, 1.0 - steps / settings.steps)
    losses = settings.loss_settings()
    return LossWeights(rate, {name: LOSSES[name].weight(s, steps) for name, s in losses.items()})


def _record_episodes(
    settings: Train, state: TrainingState, results: list[RolloutResult[Experience]]
) -> None:
    """Keep the last episodes, and update the opponent pool with their results.

    Args:
        settings: Settings of the training.
        state: State of the training; changed in place.
        results: Collected experience of every chunk of worlds.
    """
    ended = [episode for result in results for episode in result.episodes]
    state.episodes += len(ended)
    state.recent_episodes = [*state.recent_episodes, *ended][-settings.stats_window :]
    pool, pool_settings = state.opponent_pool, settings.opponent_pool
    if pool is None or pool_settings is None:
        return
    rivals = [rival for result in results for rival in result.observed.opponents]
    played = (pool_settings.slot, pool_settings.source_slot)
    for episode, rival in zip(ended, rivals, strict=True):
        earned = {s: np.array([episode.returns[s]]) for s in played}
        pool = pool.with_result(rival, float(win_shares(earned)[played[0]][0]), pool_settings)
    if state.update % pool_settings.add_every == 0:
        pool = pool.with_snapshot(
            state.update, state.learners[played[1]].policy.arrays(), pool_settings
        )
    playing = [result.snapshot["worker/members"][:, 0].tolist() for result in results]
    state.opponent_pool = pool.without_unused([number for numbers in playing for number in numbers])


def _update_done(
    settings: Train,
    state: TrainingState,
    blocks: list[RolloutColumns],
    update_stats: dict[str, dict[str, float]],
) -> UpdateDone:
    """Return the event of an update.

    Args:
        settings: Settings of the training.
        state: State of the training.
        blocks: The collected rows of each slot.
        update_stats: Statistics of the update, by slot.
    """
    slots = slot_statistics(state.recent_episodes, settings)
    for name, block in zip(settings.slot_ids, blocks, strict=True):
        slots[name]["rows"] = float(len(block["slot_id"]))
        slots[name]["reward"] = float(block["reward"].mean()) if len(block["slot_id"]) else 0.0
        slots[name] |= update_stats.get(name, {})
    recent = state.recent_episodes
    return UpdateDone(
        step=state.steps,
        update=state.update,
        episodes=state.episodes,
        length=float(np.mean([r.ticks for r in recent])) if recent else None,
        score=episode_score(recent, settings),
        slots=slots,
        alive=mean_columns(recent, "mean_alive"),
        births=mean_columns(recent, "group_lives"),
        counters=mean_columns(recent, "counters"),
    )


def _reason_to_stop(settings: Train, state: TrainingState) -> str | None:
    if state.steps >= settings.steps:
        return "steps"
    score = episode_score(state.recent_episodes, settings)
    is_window_full = len(state.recent_episodes) == settings.stats_window
    if (
        settings.target_score is not None
        and is_window_full
        and score is not None
        and score >= settings.target_score
    ):
        return "reached"
    if settings.patience is not None and state.evals_since_best >= settings.patience:
        return "patience"
    return None


def _record_best(settings: Train, state: TrainingState) -> None:
    """Without evaluations, the best checkpoint is that of the best last episodes."""
    score = episode_score(state.recent_episodes, settings)
    if score is not None and (state.best is None or score > state.best):
        state.best, state.best_step = score, state.steps


def _policy_files(first: Policies, state: TrainingState) -> Iterator[FileChunk]:
    """Yield the trained policies as files of the run."""
    policies = state.policies(first)
    for name in state.learners:
        policy = policies[name]
        file = PolicyFile(policy.class_path, policy.settings, policy.arrays)
        best = state.best_step == state.steps
        yield from iter_policy_chunks(name, state.steps, file, best)


def _training_done(
    settings: Train, first: Policies, state: TrainingState, reason: str
) -> TrainingDone:
    """Return the last event of a training.

    Args:
        settings: Settings of the training.
        first: Policies that the training began with.
        state: State of the training.
        reason: Why it ended: steps, reached or patience.
    """
    recent = state.recent_episodes
    return TrainingDone(
        step=state.steps,
        updates=state.update,
        episodes=state.episodes,
        reason=reason,
        score=episode_score(recent, settings),
        length=float(np.mean([r.ticks for r in recent])) if recent else None,
        best=state.best,
        best_step=state.best_step,
        weights={name: policy.sha256 for name, policy in state.policies(first).items()},
    )
