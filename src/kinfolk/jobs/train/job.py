"""Train: gather, learn, judge, and again. See `docs/training.md`."""

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
    """Yield every update, judgings, policies worth keeping, snapshots, and the end."""
    plan = build_plan(settings)
    policies = plan.resolved
    state = initial_state(settings, policies)
    if resume is not None:
        state.restore(resume)
    shared = replace(plan, policies=engine.share(policies))
    reason = _reason_to_stop(settings, state)
    while reason is None:
        yield from _update(settings, shared, state, engine)
        asked = settings.evaluation.every
        judged = asked and state.update % asked == 0
        if judged:
            yield evaluate_policies(settings, policies, state, engine)
        reason = _reason_to_stop(settings, state)
        if reason is not None or state.update % settings.checkpoint_every == 0:
            if not asked:
                _record_best(settings, state)
            yield from _policy_files(policies, state)
            yield state.snapshot()
        elif judged:
            yield from _policy_files(policies, state)
    yield _training_done(settings, policies, state, reason)


def _update(
    settings: Train, plan: RolloutTask[Experience], state: TrainingState, engine: Engine
) -> Iterator[Event]:
    """Gather and learn once."""
    start = time.perf_counter()
    weights = state.weights()
    tasks = [
        collection_task(plan, chunk, weights, standing, state.opponent_pool)
        for chunk, standing in enumerate(state.rollout_states)
    ]
    gathered = list(engine.map(run_task, tasks))
    state.rollout_states = [result.snapshot for result in gathered]
    between = time.perf_counter()
    blocks = _blocks([result.observed for result in gathered])
    rows = sum(int(block["is_trainable_agent"].sum()) for block in blocks)
    learnt = _learn(settings, state, blocks)
    state.update += 1
    state.steps += rows
    _record_episodes(settings, state, gathered)
    stop = time.perf_counter()
    yield _update_done(settings, state, blocks, learnt)
    yield UpdateTimed(
        step=state.steps, rows=rows, collect_seconds=between - start, learn_seconds=stop - between
    )


def _blocks(parts: list[Experience]) -> list[RolloutColumns]:
    """Join the rows of all chunks, slot by slot."""
    places = 1 + max(
        int(block["memory_index"].max(initial=0)) for part in parts for block in part.blocks
    )
    slots = zip(*(part.blocks for part in parts), strict=True)
    return [concat_blocks(list(blocks), places) for blocks in slots]


def _learn(
    settings: Train, state: TrainingState, blocks: list[RolloutColumns]
) -> dict[str, dict[str, float]]:
    """Every slot whose turn it is learns from the rows that are its own to learn from."""
    profiles = LossProfiles(settings.loss_profiles)
    key = fold_in(fold_in(seed_key(settings.seed), _UPDATE_BRANCH), state.update)
    found = {}
    for index, slot in enumerate(settings.slots):
        if not slot.trainable or not is_update_due(settings.slots, slot, state.update):
            continue
        mine = [b for b in blocks if len(b["learner_slot"]) and b["learner_slot"][0] == index]
        if not mine:
            continue
        rows = mine[0] if len(mine) == 1 else _concat_demonstrations(mine)
        weights = _loss_weights(settings, slot, state.steps)
        found[slot.id] = state.learners[slot.id].learn(rows, profiles, weights, key)
    return found


def _concat_demonstrations(blocks: list[RolloutColumns]) -> RolloutColumns:
    """Own rows and a teacher's, one after the other; columns that only one has are filled."""
    filled = []
    names = {name: block[name] for block in blocks for name in block}
    for block in blocks:
        count, whole = len(block["slot_id"]), dict(block)
        for name, like in names.items():
            if name not in whole:
                missing = -1 if like.dtype.kind == "i" else np.nan
                whole[name] = np.full((count, *like.shape[1:]), missing, like.dtype)
        filled.append(whole)
    places = 1 + max(int(block["memory_index"].max(initial=0)) for block in filled)
    return concat_blocks(filled, places)


def is_update_due(slots: tuple[PolicySlot, ...], slot: PolicySlot, update: int) -> bool:
    """Whether a slot learns in an update.

    It learns in `train_for` of every `train_every` updates; slots that take turns begin one after
    another, in their order.
    """
    taking_turns = [s.id for s in slots if s.trainable and s.train_every > 1]
    if slot.id not in taking_turns:
        return True
    for_so_many = slot.train_for or 1
    turn = update - taking_turns.index(slot.id) * for_so_many
    return turn % slot.train_every < for_so_many


def _loss_weights(settings: Train, slot: PolicySlot, steps: int) -> LossWeights:
    """What falls with time, as it is now."""
    rate = slot.learning_rate or settings.ppo.learning_rate
    if settings.ppo.anneal_lr:
        rate *= max(0.0, 1.0 - steps / settings.steps)
    known = settings.loss_settings()
    return LossWeights(rate, {name: LOSSES[name].weight(own, steps) for name, own in known.items()})


def _record_episodes(
    settings: Train, state: TrainingState, gathered: list[RolloutResult[Experience]]
) -> None:
    """Remember the last episodes, and let the pool know who won and who joins."""
    ended = [episode for result in gathered for episode in result.episodes]
    state.episodes += len(ended)
    state.recent_episodes = [*state.recent_episodes, *ended][-settings.stats_window :]
    pool, asked = state.opponent_pool, settings.opponent_pool
    if pool is None or asked is None:
        return
    rivals = [rival for result in gathered for rival in result.observed.opponents]
    for episode, rival in zip(ended, rivals, strict=True):
        earned = {s: np.array([episode.returns[s]]) for s in (asked.slot, asked.source_slot)}
        pool = pool.with_result(rival, float(win_shares(earned)[asked.slot][0]), asked)
    if state.update % asked.add_every == 0:
        pool = pool.with_snapshot(
            state.update, state.learners[asked.source_slot].policy.arrays(), asked
        )
    playing = [result.snapshot["worker/members"][:, 0].tolist() for result in gathered]
    state.opponent_pool = pool.without_unused([number for numbers in playing for number in numbers])


def _update_done(
    settings: Train,
    state: TrainingState,
    blocks: list[RolloutColumns],
    learnt: dict[str, dict[str, float]],
) -> UpdateDone:
    slots = slot_statistics(state.recent_episodes, settings)
    for name, block in zip(settings.slot_ids, blocks, strict=True):
        slots[name]["rows"] = float(len(block["slot_id"]))
        slots[name]["reward"] = float(block["reward"].mean()) if len(block["slot_id"]) else 0.0
        slots[name] |= learnt.get(name, {})
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
    whole = len(state.recent_episodes) == settings.stats_window
    if (
        settings.target_score is not None
        and whole
        and score is not None
        and score >= settings.target_score
    ):
        return "reached"
    if settings.patience is not None and state.evals_since_best >= settings.patience:
        return "patience"
    return None


def _record_best(settings: Train, state: TrainingState) -> None:
    """Without judging, the best is the best of the last episodes."""
    score = episode_score(state.recent_episodes, settings)
    if score is not None and (state.best is None or score > state.best):
        state.best, state.best_step = score, state.steps


def _policy_files(first: Policies, state: TrainingState) -> Iterator[FileChunk]:
    """The trained policies as files of the run."""
    now = state.policies(first)
    for name in state.learners:
        policy = PolicyFile(now[name].class_path, now[name].settings, now[name].arrays)
        best = state.best_step == state.steps
        yield from iter_policy_chunks(name, state.steps, policy, best)


def _training_done(
    settings: Train, first: Policies, state: TrainingState, reason: str
) -> TrainingDone:
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
