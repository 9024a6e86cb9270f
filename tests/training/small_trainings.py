"""Small trainings for tests: a probe world with grazers and hunters, two slots, few ticks."""

from dataclasses import replace

import numpy as np

from kinfolk.core.settings import merge_settings, validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.train.settings import Train
from kinfolk.jobs.train.state import build_plan, initial_state
from kinfolk.jobs.train.trainer import join_chunks
from kinfolk.play.task import run_task
from kinfolk.training.collect import collection_task

TINY = {
    "world": "probe",
    "worlds": 4,
    "rollout_length": 16,
    "ppo": {"minibatch_size": 64, "n_epochs": 2},
}
TWO = {
    **TINY,
    "slots": {"herd": "kin://mlp?hidden=[16]", "pack": "kin://mlp?hidden=[16]"},
    "agent_slot_map": {"grazer": "herd", "hunter": "pack"},
}
SCRIPTED = merge_settings(
    TWO, {"slots": {"pack": {"policy_uri": "kin://probe-python", "trainable": False}}}
)


def settings_of(base, **changes):
    return validate_settings(Train, merge_settings(base, changes))


def collected(settings):
    """Return the state of a new training, and the blocks of its first rollout by slot."""
    plan, engine = build_plan(settings), LocalEngine()
    state = initial_state(settings, plan.resolved)
    shared = replace(plan, policies=engine.share(plan.resolved))
    weights, chunks = state.weights(), range(settings.n_chunks)
    tasks = [collection_task(shared, chunk, weights, None, state.opponent_pool) for chunk in chunks]
    n_memories = settings.worlds // settings.n_chunks * settings.world_ref.spec.rows
    blocks = join_chunks([result.observed for result in engine.map(run_task, tasks)], n_memories)
    return state, dict(zip(settings.slot_ids, blocks, strict=True))


def copied(rows):
    return {name: array.copy() for name, array in rows.items()}


def same(one, other):
    """Whether two tables of arrays are equal, bit by bit."""
    return one.keys() == other.keys() and all(
        np.array_equal(one[n], other[n], equal_nan=one[n].dtype.kind == "f") for n in one
    )
