"""Train: gather, learn, judge, and again. See `docs/training.md`."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from kinfolk.core.events import Artefact, Event, Snapshot
from kinfolk.core.keys import fold, root
from kinfolk.engines.base import Engine, Handle
from kinfolk.evaluation.summary import wins
from kinfolk.jobs.train_events import Trained, Updated, UpdateTimed
from kinfolk.jobs.train_judging import judge, score_of, slot_means
from kinfolk.jobs.train_plan import plan_of
from kinfolk.jobs.train_settings import Train
from kinfolk.jobs.train_state import State, begin, means
from kinfolk.play.episode import EpisodeResult
from kinfolk.play.slots import PolicySlot
from kinfolk.store.policy_file import PolicyFile, policy_artefacts
from kinfolk.training.experience import Rows, joined
from kinfolk.training.losses import LOSSES
from kinfolk.training.profiles import LossProfiles
from kinfolk.training.rollout import Gathered, Plan, Task, gather
from kinfolk.training.update import Weights

_UPDATES = 5  # the branch of the seed's key from which minibatches are shuffled


def train(
    settings: Train, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | Artefact]:
    """Yield every update, judgings, policies worth keeping, snapshots, and the end."""
    plan = plan_of(settings)
    state = begin(settings, plan)
    if resume is not None:
        state.restore(resume)
    shared = engine.share(plan)
    reason = _reason_to_stop(settings, state)
    while reason is None:
        yield from _update(settings, shared, state, engine)
        asked = settings.judge.every
        judged = asked and state.update % asked == 0
        if judged:
            yield judge(settings, plan, state, engine)
        reason = _reason_to_stop(settings, state)
        if reason is not None or state.update % settings.checkpoint_every == 0:
            if not asked:
                _note_best(settings, state)
            yield from _policies(plan, state)
            yield state.snapshot()
        elif judged:
            yield from _policies(plan, state)
    yield _trained(settings, plan, state, reason)


def _update(settings: Train, plan: Handle[Plan], state: State, engine: Engine) -> Iterator[Event]:
    """Gather and learn once."""
    start = time.perf_counter()
    weights = state.weights()
    tasks = [
        Task(plan, chunk, weights, standing, state.pool)
        for chunk, standing in enumerate(state.standings)
    ]
    gathered = list(engine.map(gather, tasks))
    state.standings = [found.standing for found in gathered]
    between = time.perf_counter()
    blocks = _blocks(gathered, plan.get())
    rows = sum(int(block["is_trainable_agent"].sum()) for block in blocks)
    learnt = _learn(settings, state, blocks)
    state.update += 1
    state.steps += rows
    _take_episodes(settings, state, gathered)
    stop = time.perf_counter()
    yield _updated(settings, state, blocks, learnt)
    yield UpdateTimed(
        step=state.steps, rows=rows, gather_seconds=between - start, learn_seconds=stop - between
    )


def _blocks(gathered: list[Gathered], plan: Plan) -> list[Rows]:
    places = 1 + max(
        int(block["place"].max(initial=0)) for found in gathered for block in found.blocks
    )
    return [
        joined([found.blocks[index] for found in gathered], places)
        for index in range(len(plan.slots))
    ]


def _learn(settings: Train, state: State, blocks: list[Rows]) -> dict[str, dict[str, float]]:
    """Every slot whose turn it is learns from the rows that are its own to learn from."""
    profiles = LossProfiles(settings.loss_profiles)
    key = fold(fold(root(settings.seed), _UPDATES), state.update)
    found = {}
    for index, slot in enumerate(settings.slots):
        if not slot.trainable or not is_due(settings.slots, slot, state.update):
            continue
        mine = [b for b in blocks if len(b["learner_slot"]) and b["learner_slot"][0] == index]
        if not mine:
            continue
        rows = mine[0] if len(mine) == 1 else _lessons(mine)
        weights = _weights(settings, slot, state.steps)
        found[slot.id] = state.learners[slot.id].learn(rows, profiles, weights, key)
    return found


def _lessons(blocks: list[Rows]) -> Rows:
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
    places = 1 + max(int(block["place"].max(initial=0)) for block in filled)
    return joined(filled, places)


def is_due(slots: tuple[PolicySlot, ...], slot: PolicySlot, update: int) -> bool:
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


def _weights(settings: Train, slot: PolicySlot, steps: int) -> Weights:
    """What falls with time, as it is now."""
    rate = slot.learning_rate or settings.learning.learning_rate
    if settings.learning.anneal:
        rate *= max(0.0, 1.0 - steps / settings.steps)
    known = settings.loss_settings()
    return Weights(rate, {name: LOSSES[name].weight(own, steps) for name, own in known.items()})


def _take_episodes(settings: Train, state: State, gathered: list[Gathered]) -> None:
    """Remember the last episodes, and let the pool know who won and who joins."""
    ended: list[EpisodeResult] = [r for found in gathered for r in found.episodes]
    state.episodes += len(ended)
    state.recent = [*state.recent, *ended][-settings.window :]
    pool, asked = state.pool, settings.pool
    if pool is None or asked is None:
        return
    for found in gathered:
        for result, rival in zip(found.episodes, found.rivals, strict=True):
            earned = {s: np.array([result.returns[s]]) for s in (asked.slot, asked.of)}
            pool = pool.scored(rival, float(wins(earned)[asked.slot][0]), asked)
    if state.update % asked.every == 0:
        pool = pool.joined(state.update, state.learners[asked.of].policy.arrays(), asked)
    playing = [found.standing["stage/members"][:, 0].tolist() for found in gathered]
    state.pool = pool.without_idle([number for numbers in playing for number in numbers])


def _updated(
    settings: Train, state: State, blocks: list[Rows], learnt: dict[str, dict[str, float]]
) -> Updated:
    slots = slot_means(state.recent, settings)
    for name, block in zip(settings.slot_ids, blocks, strict=True):
        slots[name]["rows"] = float(len(block["slot_id"]))
        slots[name]["reward"] = float(block["reward"].mean()) if len(block["slot_id"]) else 0.0
        slots[name] |= learnt.get(name, {})
    recent = state.recent
    return Updated(
        step=state.steps,
        update=state.update,
        episodes=state.episodes,
        length=float(np.mean([r.ticks for r in recent])) if recent else None,
        score=score_of(recent, settings),
        slots=slots,
        alive=means(recent, "mean_alive"),
        births=means(recent, "group_lives"),
        counters=means(recent, "counters"),
    )


def _reason_to_stop(settings: Train, state: State) -> str | None:
    if state.steps >= settings.steps:
        return "steps"
    score = score_of(state.recent, settings)
    whole = len(state.recent) == settings.window
    if settings.stop_at is not None and whole and score is not None and score >= settings.stop_at:
        return "reached"
    if settings.patience is not None and state.waited >= settings.patience:
        return "patience"
    return None


def _note_best(settings: Train, state: State) -> None:
    """Without judging, the best is the best of the last episodes."""
    score = score_of(state.recent, settings)
    if score is not None and (state.best is None or score > state.best):
        state.best, state.best_step = score, state.steps


def _policies(plan: Plan, state: State) -> Iterator[Artefact]:
    """The trained policies as files of the run."""
    now = state.policies(plan)
    for name in state.learners:
        policy = PolicyFile(now[name].class_path, now[name].settings, now[name].arrays)
        best = state.best_step == state.steps
        yield from policy_artefacts(name, state.steps, policy, best)


def _trained(settings: Train, plan: Plan, state: State, reason: str) -> Trained:
    recent = state.recent
    return Trained(
        step=state.steps,
        updates=state.update,
        episodes=state.episodes,
        reason=reason,
        score=score_of(recent, settings),
        length=float(np.mean([r.ticks for r in recent])) if recent else None,
        best=state.best,
        best_step=state.best_step,
        weights={name: policy.sha256 for name, policy in state.policies(plan).items()},
    )
