"""The training loop: collect experience, learn from it, and repeat; the training job is built on it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.random import fold_in, seed_key
from kinfolk.engines.base import Engine
from kinfolk.evaluation.statistics import win_shares
from kinfolk.jobs.train.reports import (
    EpisodesRestarted,
    TrainingDone,
    UpdateTimed,
    estimate_returns,
    evaluate_policies,
    mean_length,
    recent_score,
    record_score,
    report_update,
)
from kinfolk.jobs.train.settings import Train
from kinfolk.jobs.train.state import TrainingState, build_plan, initial_state
from kinfolk.jobs.train.workers import ChunkWorkers
from kinfolk.play.results import EpisodeResult
from kinfolk.play.slots import PolicySlot
from kinfolk.play.task import RolloutTask, run_task
from kinfolk.store.arrays import PolicyFile, iter_policy_chunks
from kinfolk.training.buffer import NO_SLOT, RolloutColumns, concat_blocks
from kinfolk.training.collect import Experience, collection_task
from kinfolk.training.learner import LossWeights
from kinfolk.training.losses import LOSSES
from kinfolk.training.opponents import OpponentPool
from kinfolk.training.profiles import LossProfiles

_UPDATE_BRANCH = 5  # the branch of the seed's key from which minibatches are shuffled


@dataclass(frozen=True, repr=False)
class Rollout:
    """Experience of all slots between two updates.

    Attributes:
        slots: Columns of the rows that each slot played, in the order of time; see
            `kinfolk.training.buffer`.
        episodes: The episodes that ended.
        n_restarted: Episodes that were given up and began anew; see `EpisodesRestarted`.
        seconds: Time that the collection took.
        opponents: Of each ended episode, the number of the pool's snapshot that played; 0 without one.
    """

    slots: dict[str, RolloutColumns]
    episodes: list[EpisodeResult]
    n_restarted: int
    seconds: float
    opponents: list[int] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Number of rows of trainable slots, the steps by which the training advances.

        If these slots play nobody and only watch their teachers, the rows that they learn from.
        """
        played = sum(int(rows["is_trainable_agent"].sum()) for rows in self.slots.values())
        watched = sum(int((rows["learner_slot"] != NO_SLOT).sum()) for rows in self.slots.values())
        return played or watched

    def __repr__(self) -> str:
        rows = ", ".join(f"{name}: {len(rows['slot_id'])}" for name, rows in self.slots.items())
        return f"Rollout(rows by slot: {rows}; episodes ended: {len(self.episodes)})"


class TrainingLoop:
    """A training that the caller drives: whole, by iteration, or rollout by rollout.

    Iterating yields the events of the whole training, `UpdateDone` after each update. `collect` and
    `learn` are its two halves, for a loop of your own.

    Args:
        settings: The world, its slots and how they learn.
        engine: Engine that collects experience and plays evaluations.
        resume: Snapshot to continue from; None starts anew.
        plans: Collection task of every chunk in turn, such as one for each side that a team plays, with
            equal policies; by default that of the settings for all chunks.

    Attributes:
        settings: Settings of the training.
        state: Learners, counts and the state of the worlds.
    """

    def __init__(
        self,
        settings: Train,
        engine: Engine,
        resume: Snapshot | None = None,
        plans: Sequence[RolloutTask[Experience]] = (),
    ) -> None:
        plans = plans or (build_plan(settings),)
        plan = plans[0]
        self.settings, self._engine = settings, engine
        self.state: TrainingState = initial_state(settings, plan.resolved)
        if resume is not None:
            self.state.restore(resume)
        self._workers = ChunkWorkers(engine, plan.world, settings.n_chunks)
        shared = self._workers.share(plan.resolved)
        self._plans = [replace(plan, policies=shared) for plan in plans]
        n_worlds = settings.worlds // settings.n_chunks
        self._n_memories = n_worlds * settings.world_ref.spec.rows  # of a chunk

    def collect(self, pool: OpponentPool | None = None, copy: bool = True) -> Rollout:
        """Play `rollout_length` ticks in every world with the current nets, and return the rows.

        Args:
            pool: Opponents to play against; None for those of the training, if it has any.
            copy: Whether the rows are yours to keep. Without a copy the next rollout may overwrite
                them.
        """
        state, start = self.state, time.perf_counter()
        weights, plans, pool = state.weights(), self._plans, pool or state.opponent_pool
        tasks = [
            collection_task(plans[chunk % len(plans)], chunk, weights, rollout_state, pool)
            for chunk, rollout_state in enumerate(state.rollout_states)
        ]
        results = list(self._workers.map(run_task, tasks))
        state.rollout_states = [result.snapshot for result in results]
        blocks = join_chunks([result.observed for result in results], self._n_memories)
        if copy:
            blocks = [{name: rows.copy() for name, rows in block.items()} for block in blocks]
        return Rollout(
            dict(zip(self.settings.slot_ids, blocks, strict=True)),
            [episode for result in results for episode in result.episodes],
            sum(result.observed.n_restarted for result in results),
            time.perf_counter() - start,
            [number for result in results for number in result.observed.opponents],
        )

    def learn(self, rollout: Rollout) -> dict[str, dict[str, float]]:
        """Update every slot whose turn it is, and return the statistics of its losses by slot."""
        blocks = list(rollout.slots.values())
        stats = update_learners(self.state, blocks)
        self.state.update += 1
        self.state.steps += rollout.n_rows
        _record_episodes(self.state, rollout)
        return stats

    def update(self, pool: OpponentPool | None = None) -> Iterator[Event]:
        """Collect and learn once, against `pool` if it is given; yield the events of this update."""
        rollout = self.collect(pool, copy=False)
        if rollout.n_restarted:
            yield EpisodesRestarted(step=self.state.steps, episodes=rollout.n_restarted)
        start = time.perf_counter()
        stats = self.learn(rollout)
        yield report_update(self.state, list(rollout.slots.values()), stats)
        yield UpdateTimed(
            step=self.state.steps,
            rows=rollout.n_rows,
            collect_seconds=rollout.seconds,
            learn_seconds=time.perf_counter() - start,
        )

    def run(self) -> Iterator[Event | Snapshot | FileChunk]:
        """Train to the end: yield events, policy files and snapshots, as a job does."""
        settings, state = self.settings, self.state
        every = settings.evaluation.every
        reason = _reason_to_stop(state)
        while reason is None:
            yield from self.update()
            is_evaluated = every > 0 and state.update % every == 0
            if is_evaluated:
                yield evaluate_policies(state, self._engine)
            reason = _reason_to_stop(state)
            is_checkpoint = reason is not None or state.update % settings.checkpoint_every == 0
            if is_checkpoint and not every:
                record_score(state, recent_score(state))
            if is_checkpoint or is_evaluated:
                yield from _policy_files(state)
            if is_checkpoint:
                yield state.snapshot()
        yield TrainingDone(
            step=state.steps,
            updates=state.update,
            episodes=state.episodes,
            reason=reason,
            score=recent_score(state),
            length=mean_length(state.recent_episodes),
            best=state.best,
            best_step=state.best_step,
            weights={name: policy.sha256 for name, policy in state.policies().items()},
            return_per_life=estimate_returns(state),
        )

    def __repr__(self) -> str:
        settings, steps = self.settings, self.state.steps
        slots = ", ".join(settings.slot_ids)
        kind = type(self).__name__
        return f"{kind}({settings.world}, slots: {slots}, step {steps:,} of {settings.steps:,})"

    def __iter__(self) -> Iterator[Event]:
        return (item for item in self.run() if isinstance(item, Event))

    def close(self) -> None:
        """Stop the workers that hold tasks alive; the engine stays open."""
        self._workers.close()


def join_chunks(parts: Sequence[Experience], n_memories: int) -> list[RolloutColumns]:
    """Join the rows of all chunks of worlds, slot by slot; a chunk has `n_memories` agent rows."""
    slots = zip(*(part.blocks for part in parts), strict=True)
    return [concat_blocks(list(blocks), n_memories) for blocks in slots]


def _count_memories(blocks: Sequence[RolloutColumns]) -> int:
    """Return the number of memory indices: one more than the largest index in all blocks."""
    return 1 + max(int(block["memory_index"].max(initial=0)) for block in blocks)


def update_learners(
    state: TrainingState, blocks: Sequence[RolloutColumns]
) -> dict[str, dict[str, float]]:
    """Update every slot whose turn it is from the rows that it learns from.

    Args:
        state: State of the training, whose learners are changed.
        blocks: The collected rows of each slot.

    Returns:
        Statistics of the update, by slot.
    """
    settings = state.settings
    profiles = LossProfiles(settings.loss_profiles)
    key = fold_in(fold_in(seed_key(settings.seed), _UPDATE_BRANCH), state.update)
    stats = {}
    for index, slot in enumerate(settings.slots):
        used = [b for b in blocks if len(b["learner_slot"]) and b["learner_slot"][0] == index]
        if slot.id in state.learners and used and is_update_due(settings.slots, slot, state.update):
            rows = used[0] if len(used) == 1 else _concat_demonstrations(used)
            weights = _loss_weights(settings, slot, state.steps)
            stats[slot.id] = state.learners[slot.id].learn(rows, profiles, weights, key)
    return stats


def _concat_demonstrations(blocks: list[RolloutColumns]) -> RolloutColumns:
    """Join a slot's own rows and those of its teacher; columns missing in one block are filled."""
    filled = []
    names = {name: block[name] for block in blocks for name in block}
    for block in blocks:
        count, whole = len(block["slot_id"]), dict(block)
        for name, like in names.items():
            if name not in whole:
                missing = -1 if like.dtype.kind == "i" else np.nan
                whole[name] = np.full((count, *like.shape[1:]), missing, like.dtype)
        filled.append(whole)
    return concat_blocks(filled, _count_memories(filled))


def is_update_due(slots: tuple[PolicySlot, ...], slot: PolicySlot, update: int) -> bool:
    """Return whether a slot learns in an update.

    It learns in `train_for` of every `train_every` updates; slots that take turns begin one after
    another, in their order.

    Args:
        slots: All slots.
        slot: Slot that may learn.
        update: Number of the update.
    """
    taking_turns = [s.id for s in slots if s.trainable and s.train_every > 1]
    if slot.id not in taking_turns:
        return True
    train_for = slot.train_for or 1
    turn = update - taking_turns.index(slot.id) * train_for
    return turn % slot.train_every < train_for


def _loss_weights(settings: Train, slot: PolicySlot, steps: int) -> LossWeights:
    """Return the learning rate and the weights of the losses after `steps` steps.

    Args:
        settings: Settings of the training.
        slot: The slot that learns.
        steps: Steps so far, which determine scheduled weights.
    """
    rate = slot.learning_rate or settings.ppo.learning_rate
    if settings.ppo.anneal_lr:
        rate *= max(0.0, 1.0 - steps / settings.steps)
    losses = settings.loss_settings()
    return LossWeights(rate, {name: LOSSES[name].weight(s, steps) for name, s in losses.items()})


def _record_episodes(state: TrainingState, rollout: Rollout) -> None:
    """Add ended episodes to the last episodes, and update the opponent pool with their results."""
    ended = rollout.episodes
    state.episodes += len(ended)
    state.recent_episodes = [*state.recent_episodes, *ended][-state.settings.stats_window :]
    pool, settings = state.opponent_pool, state.settings.opponent_pool
    if pool is None or settings is None:
        return
    slot, source = settings.slot, settings.source_slot
    for episode, rival in zip(ended, rollout.opponents, strict=True):
        earned = {name: np.array([episode.returns[name]]) for name in (slot, source)}
        pool = pool.with_result(rival, float(win_shares(earned)[slot][0]), settings)
    if state.update % settings.add_every == 0:
        pool = pool.with_snapshot(state.update, state.learners[source].policy.arrays(), settings)
    playing = [(chunk or {})["worker/members"][:, 0] for chunk in state.rollout_states]
    state.opponent_pool = pool.without_unused(np.concatenate(playing).tolist())


def _reason_to_stop(state: TrainingState) -> str | None:
    """Return why the training ends now: `steps`, `reached` or `patience`; None if it continues."""
    settings = state.settings
    if state.steps >= settings.steps:
        return "steps"
    if len(state.recent_episodes) == settings.stats_window and settings.target_score is not None:
        score = recent_score(state)
        if score is not None and score >= settings.target_score:
            return "reached"
    if settings.patience is not None and state.evals_since_best >= settings.patience:
        return "patience"
    return None


def _policy_files(state: TrainingState) -> Iterator[FileChunk]:
    """Yield the trained policies as files of the run."""
    policies = state.policies()
    for name in state.learners:
        policy = policies[name]
        file = PolicyFile(policy.class_path, policy.settings, policy.arrays)
        yield from iter_policy_chunks(name, state.steps, file, state.best_step == state.steps)
