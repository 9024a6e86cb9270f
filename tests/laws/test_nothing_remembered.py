"""What a policy keeps beside its memory does not reach its next game, however games are run."""

import json
from contextlib import closing

import pytest

from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.isolation.sandbox.bubblewrap import explain_unusable
from kinfolk.isolation.worker_pool import close_pools
from kinfolk.jobs.evaluate import Evaluate, evaluate
from kinfolk.testing.contracts.job import event_lines

# Each of them acts otherwise once its process has seen another game.
POLICIES = """
import threading
from pathlib import Path

import numpy as np

from kinfolk.policies.base import StatelessPolicy

resets = []


class Remembering(StatelessPolicy):
    def __init__(self, spec):
        self.limits = spec.action_limits.astype(np.int64)

    def act_async(self, observations, batch, memory, keys):
        limits = self.limits[batch.group % len(self.limits)]
        self._actions = ((keys[:, None] >> 8) + 7 * self.count()) % limits


class InModule(Remembering):
    def reset_agents(self, batch, memory, keys):
        resets.append(1)

    def count(self):
        return len(resets)


class InClass(Remembering):
    n_resets = 0

    def reset_agents(self, batch, memory, keys):
        InClass.n_resets += 1

    def count(self):
        return InClass.n_resets


class InFile(Remembering):
    path = Path("seen.txt")

    def reset_agents(self, batch, memory, keys):
        with self.path.open("a") as file:
            file.write("x")

    def count(self):
        return self.path.stat().st_size


class InThread(Remembering):
    def reset_agents(self, batch, memory, keys):
        threading.Thread(target=threading.Event().wait, daemon=True).start()

    def count(self):
        return threading.active_count()
"""
WORLDS = {
    "savanna": {"max_steps": 12},
    "cogsguard": {"max_steps": 40},
}
ORDERS = ((1, 1), (3, 1), (3, 2), (10, 1))  # games per task, and processes that play them


def play(world, policy, chunk_size, jobs, **options):
    """The events of four games."""
    close_pools()
    settings = {
        "world": world, "slots": {"all": policy}, "world_settings": WORLDS[world], "episodes": 4,
        "seed": 3, "step_timeout": 30.0, "chunk_size": chunk_size, **options,
    }  # fmt: skip
    with closing(LocalEngine() if jobs == 1 else ProcessEngine(jobs)) as engine:
        return event_lines(list(evaluate(validate_settings(Evaluate, settings), engine)))


def check_all_orders(world, policy, **options):
    first, *others = (play(world, policy, *order, **options) for order in ORDERS)
    *episodes, summary = [json.loads(line) for line in first]
    assert summary["failures"] == 0
    assert len({json.dumps([e["returns"], e["counters"]]) for e in episodes}) > 1
    for other in others:
        assert other == first


@pytest.mark.parametrize("world", list(WORLDS))
@pytest.mark.parametrize("keeper", ["InModule", "InClass", "InThread"])
@pytest.mark.parametrize("isolate", ["slot", pytest.param("agent", marks=pytest.mark.more)])
def test_games_are_the_same_in_every_order_and_number_of_jobs(own_module, world, keeper, isolate):
    check_all_orders(world, f"class:{own_module(POLICIES)}.{keeper}", isolate=isolate)


@pytest.mark.parametrize("world", list(WORLDS))
@pytest.mark.skipif(bool(explain_unusable()), reason=explain_unusable())
def test_nothing_is_left_in_the_scratch_folder_of_a_sandbox(own_module, world):
    policy = f"class:{own_module(POLICIES)}.InFile"
    check_all_orders(world, policy, isolate="slot", sandbox=True)
