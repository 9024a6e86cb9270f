"""Small trainings for tests: a probe world with grazers and hunters, two slots, few ticks."""

import numpy as np

from kinfolk.core.settings import merged, read
from kinfolk.engines.local import Local
from kinfolk.jobs.train import _blocks
from kinfolk.jobs.train_plan import plan_of
from kinfolk.jobs.train_settings import Train
from kinfolk.jobs.train_state import begin
from kinfolk.training.rollout import Task, gather

TINY = {"world": "probe", "worlds": 4, "ticks": 16, "learning": {"minibatch": 64, "epochs": 2}}
TWO = {
    **TINY,
    "slots": {"herd": "kin://mlp?hidden=[16]", "pack": "kin://mlp?hidden=[16]"},
    "agent_slot_map": {"grazer": "herd", "hunter": "pack"},
}
SCRIPTED = merged(TWO, {"slots": {"pack": {"policy_uri": "kin://probe-plain", "trainable": False}}})


def settings_of(base, **changes):
    return read(Train, merged(base, changes))


def gathered(settings):
    """Blocks of one gathering, by slot, with the state they were gathered by."""
    plan, engine = plan_of(settings), Local()
    state = begin(settings, plan)
    shared = engine.share(plan)
    tasks = [Task(shared, c, state.weights(), None, state.pool) for c in range(settings.chunks)]
    found = list(engine.map(gather, tasks))
    blocks = _blocks(found, plan)
    return state, dict(zip(settings.slot_ids, blocks, strict=True))


def copied(rows):
    return {name: array.copy() for name, array in rows.items()}


def same(one, other):
    """Whether two tables of arrays are equal, bit by bit."""
    return one.keys() == other.keys() and all(
        np.array_equal(one[n], other[n], equal_nan=one[n].dtype.kind == "f") for n in one
    )
