"""Agents in worker processes, as the benchmarks of isolation play them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kinfolk.core.spaces import WorldSpec
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.isolation.proxy import IsolatedPolicy
from kinfolk.isolation.worker_pool import WorkerPool
from kinfolk.play.task import WorldRef
from kinfolk.policies.base import AgentBatch
from kinfolk.policies.build import ResolvedPolicy

NOOP = ResolvedPolicy("kinfolk.policies.base:NoopPolicy")
STEP_TIMEOUT = 30.0


def make_spec(agents: int) -> WorldSpec:
    """Return the spec of CogsGuard, whose observations have a typical size, for so many agents."""
    return replace(WorldRef("cogsguard", "arena", {"agents": 1}).spec, rows=agents)


def make_batch(agents: int) -> AgentBatch:
    """Return a batch of agents without parents, one in each memory row of a single world."""
    numbers = np.arange(agents, dtype=np.int64)
    zero, nobody = np.zeros(agents, dtype=np.int64), np.full((agents, 2), -1, dtype=np.int64)
    return AgentBatch(numbers, zero, numbers, numbers, zero, zero, nobody, nobody)


class IsolatedAgents:
    """Agents in worker processes of kinfolk, which are started and reset here.

    Args:
        agents: Number of agents.
        resolved: Their policy.
        settings: Limits of the workers; by default those of an evaluation with a long timeout.
        pool: Starts the workers and outlives this object; by default a new one that does not.
    """

    def __init__(
        self,
        agents: int,
        resolved: ResolvedPolicy = NOOP,
        settings: IsolationSettings | None = None,
        pool: WorkerPool | None = None,
    ) -> None:
        settings, spec = settings or IsolationSettings(step_timeout=STEP_TIMEOUT), make_spec(agents)
        self.pool = pool or WorkerPool(settings)
        self._owns_pool = pool is None
        self.slot = IsolatedPolicy(
            "bench", resolved, spec, self.pool, settings, lambda: 0,
            n_worlds=1, rows=agents, per_agent=True,
        )  # fmt: skip
        self.rows, self.keys = make_batch(agents), np.arange(agents, dtype=np.int64)
        self.seen = np.zeros((agents, spec.row_bytes), dtype=np.uint8)
        self.slot.reset_agents(self.rows, {}, self.keys)

    def step(self) -> None:
        """Let every agent act once, in its worker process."""
        self.slot.act_async(self.seen, self.rows, {}, self.keys)
        self.slot.act_wait()

    def close(self) -> None:
        """End all worker processes, and their pool unless it was given."""
        self.slot.close()
        if self._owns_pool:
            self.pool.close()


def us_per_step(step: Callable[[], None], agents: int, steps: int) -> float:
    """Return the microseconds that a step takes per agent.

    Args:
        step: Function that steps all agents once.
        agents: Number of agents.
        steps: Number of steps to time.
    """
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return 1e6 * (time.perf_counter() - start) / steps / agents
