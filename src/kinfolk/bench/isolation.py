"""Benchmarks of worker processes for agents, beside queues that pickle."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.jit import kernel
from kinfolk.core.random import threefry_2x32
from kinfolk.core.spaces import WorldSpec
from kinfolk.engines.parent_death import exit_with_parent
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.isolation.proxy import IsolatedPolicy
from kinfolk.isolation.worker_main import private_memory_mb
from kinfolk.isolation.worker_pool import WorkerPool
from kinfolk.play.task import WorldRef
from kinfolk.policies.base import AgentBatch, Memory, NoopPolicy, allocate_memory
from kinfolk.policies.build import ResolvedPolicy, build_policy

AGENT_COUNTS = (1, 4, 8, 16)
PARALLEL_AGENTS = 8
_STEPS, _ROUNDS = 300, 12
_QUEUE_STEPS = 60
_LOAD_STEPS, _LOAD_ROUNDS = 60, 5
_LOAD_MS = 1.0
_NOOP = ResolvedPolicy("kinfolk.policies.base:NoopPolicy")
_COMPUTE_LOAD = "kinfolk.bench.isolation:ComputeLoadPolicy"


def bench_isolation() -> dict[str, Any]:
    """Measure the cost of worker processes for agents, beside queues that pickle.

    Returns:
        `by_agents` of `_time_step`, `life` of `_time_lifecycle` and `busy` of `_time_parallelism`.
    """
    by_agents = [_time_step(agents) for agents in AGENT_COUNTS]
    life, busy = _time_lifecycle(max(AGENT_COUNTS)), _time_parallelism(PARALLEL_AGENTS)
    return {"by_agents": by_agents, "life": life, "busy": busy}


def _make_spec(agents: int) -> WorldSpec:
    """Return the spec of CogsGuard, whose observations have a typical size."""
    return WorldRef("cogsguard", "arena", {"agents": agents}).spec


def _make_batch(agents: int) -> AgentBatch:
    """Return a batch of agents without parents, one in each memory row of a single world."""
    numbers = np.arange(agents, dtype=np.int64)
    zero, nobody = np.zeros(agents, dtype=np.int64), np.full((agents, 2), -1, dtype=np.int64)
    return AgentBatch(numbers, zero, numbers, numbers, zero, zero, nobody, nobody)


class _IsolatedAgents:
    """Agents in worker processes of kinfolk."""

    def __init__(self, agents: int, resolved: ResolvedPolicy = _NOOP) -> None:
        settings, spec = IsolationSettings(step_timeout=30.0), _make_spec(agents)
        self.pool = WorkerPool(settings)
        self.slot = IsolatedPolicy(
            "bench", resolved, spec, self.pool, settings, lambda: 0, agents,
            per_agent=True, single_episode=True,
        )  # fmt: skip
        self.rows, self.keys = _make_batch(agents), np.arange(agents, dtype=np.int64)
        self.seen = np.zeros((agents, spec.row_bytes), dtype=np.uint8)
        self.slot.reset_agents(self.rows, {}, self.keys)

    def step(self) -> None:
        """Let every agent act once, in its worker process."""
        self.slot.act_async(self.seen, self.rows, {}, self.keys)
        self.slot.act_wait()

    def close(self) -> None:
        """End all worker processes and their pool."""
        self.slot.close()
        self.pool.close()


class _QueueAgents:
    """The reference: a process per agent with two queues, which pickle their messages.

    Args:
        agents: Number of agents.
        batched: Whether all requests are sent before the first reply is awaited.
    """

    def __init__(self, agents: int, batched: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self.batched = batched
        self.requests = [context.Queue() for _ in range(agents)]
        self.replies = [context.Queue() for _ in range(agents)]
        self.processes = [
            context.Process(target=_queue_worker, args=pair, daemon=True)
            for pair in zip(self.requests, self.replies, strict=True)
        ]
        for process in self.processes:
            process.start()
        self.seen = np.zeros((agents, _make_spec(agents).row_bytes), dtype=np.uint8)
        self.number = 0
        self.step()

    def step(self) -> None:
        """Let every agent act once, in its own process."""
        self.number += 1
        if self.batched:
            for queue, seen in zip(self.requests, self.seen, strict=True):
                queue.put((self.number, seen))
        for queue, answers, seen in zip(self.requests, self.replies, self.seen, strict=True):
            if not self.batched:
                queue.put((self.number, seen))
            answers.get()

    def close(self) -> None:
        """Kill the processes of all agents."""
        for process in self.processes:
            process.kill()
            process.join()


def _queue_worker(requests: Any, replies: Any) -> None:
    """Serve requests for actions from one queue, and put the replies into another."""
    exit_with_parent(use_death_signal=True)
    policy, rows = build_policy(_NOOP, _make_spec(1)), _make_batch(1)
    key = np.zeros(1, dtype=np.int64)
    while True:
        number, seen = requests.get()
        policy.act_async(seen[None], rows, {}, key)
        replies.put((number, policy.act_wait()[0]))


def _us_per_step(step: Callable[[], None], agents: int, steps: int) -> float:
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


def _time_step(agents: int) -> dict[str, float]:
    """Measure a step of agents in worker processes, and in processes with queues.

    They are timed in turn, so that all have the same load of the machine, and the best round of
    each counts, because other programs only slow it.

    Args:
        agents: Number of agents.

    Returns:
        `agents`; microseconds per agent and step of workers (`gathered_us`) and of queues served
        one by one or at once (`queue_one_by_one_us`, `queue_gathered_us`); and the ratios of queues
        to workers (`times_one_by_one`, `times_gathered`).
    """
    best: dict[str, float] = {}
    with (
        closing(_IsolatedAgents(agents)) as isolated,
        closing(_QueueAgents(agents, batched=False)) as one_by_one,
        closing(_QueueAgents(agents, batched=True)) as batched,
    ):
        timed = {
            "gathered_us": (isolated.step, _STEPS),
            "queue_one_by_one_us": (one_by_one.step, _QUEUE_STEPS),
            "queue_gathered_us": (batched.step, _QUEUE_STEPS),
        }
        for _ in range(_ROUNDS):
            for name, (step, steps) in timed.items():
                step()  # back into the cache
                took = _us_per_step(step, agents, steps)
                best[name] = min(took, best.get(name, took))
    ours, queue, queue_batched = best.values()
    times = {"times_one_by_one": queue / ours, "times_gathered": queue_batched / ours}
    return {"agents": agents, **best, **times}


def _time_lifecycle(agents: int) -> dict[str, float]:
    """Measure start, initialisation, memory and end of worker processes.

    Args:
        agents: Number of workers.

    Returns:
        Milliseconds until the first worker runs (`first_ms`), and per worker to start, load its
        policy and end (`start_ms`, `initialise_ms`, `clean_up_ms`); memory of a worker that no
        other process shares (`own_megabytes`).
    """
    start = time.perf_counter()
    with closing(_IsolatedAgents(1)):
        opened = time.perf_counter()
    with closing(_IsolatedAgents(1)) as whole:
        pool, begun = whole.pool, time.perf_counter()
        started = [
            pool.acquire("bench", _NOOP, _make_spec(1), 1, inherits_memory=False)
            for _ in range(agents)
        ]
        forked = time.perf_counter()
        workers = [worker for worker, _ in started]
        for worker in workers:
            while worker.poll() != "":
                pass
        ready = time.perf_counter()
        memory = [private_memory_mb(worker.pid) for worker in workers]
        ending = time.perf_counter()
        for worker in workers:
            pool.release(worker, reusable=False)
        ended = time.perf_counter()
    return {
        "first_ms": 1e3 * (opened - start),  # with the process that starts the others
        "start_ms": 1e3 * (forked - begun) / agents,
        "initialise_ms": 1e3 * (ready - forked) / agents,
        "clean_up_ms": 1e3 * (ended - ending) / agents,
        "own_megabytes": statistics.median(memory),
    }


def _time_parallelism(agents: int) -> dict[str, float]:
    """Compare agents that compute for a millisecond per step in one process and in a process each.

    Args:
        agents: Number of agents.

    Returns:
        `agents`, `cores`, microseconds per agent and step in one process (`in_process_us`) and in
        worker processes (`isolated_us`), and their ratio (`times_faster`); the median of three
        rounds.
    """
    resolved = ResolvedPolicy(_COMPUTE_LOAD, {"n_hashes": int(_hashes_per_ms() * _LOAD_MS)})
    spec = _make_spec(agents)
    policy, memory = build_policy(resolved, spec), allocate_memory({}, agents)
    rows, keys = _make_batch(agents), np.arange(agents, dtype=np.int64)
    seen: AnyArray = np.zeros((agents, spec.row_bytes), dtype=np.uint8)

    def step_in_process() -> None:
        """Let all agents act once, one after another, in this process."""
        policy.act_async(seen, rows, memory, keys)
        policy.act_wait()

    pairs = []
    with closing(_IsolatedAgents(agents, resolved)) as apart:
        for _ in range(3):
            here = min(
                _us_per_step(step_in_process, agents, _LOAD_STEPS) for _ in range(_LOAD_ROUNDS)
            )
            there = min(_us_per_step(apart.step, agents, _LOAD_STEPS) for _ in range(_LOAD_ROUNDS))
            pairs.append((here / there, here, there))
    ratio, here, there = sorted(pairs)[1]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    rates = {"in_process_us": here, "isolated_us": there, "times_faster": ratio}
    return {"agents": agents, "cores": cores, **rates}


def _hashes_per_ms() -> float:
    """Return how many hashes of a chain this machine computes in a millisecond."""
    hash_chain(1, 1000)
    start = time.perf_counter()
    hash_chain(1, 200_000)
    return 200_000 / (1e3 * (time.perf_counter() - start))


class ComputeLoadPolicy(NoopPolicy):
    """Compute a chain of hashes for every agent, one after another, and do nothing.

    Args:
        spec: Spec of the world.
        n_hashes: Hashes per agent and step.
    """

    def __init__(self, spec: WorldSpec, n_hashes: int = 1000) -> None:
        super().__init__(spec)
        self._n_hashes = n_hashes

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Compute the hashes, and ignore the observations."""
        for key in keys.tolist():
            hash_chain(key & 0xFFFF, self._n_hashes)
        super().act_async(observations, batch, memory, keys)


@kernel
def hash_chain(start: int, n_hashes: int) -> int:
    """Compute a chain of `n_hashes` hashes, a load that does not depend on the data."""
    word = start
    for i in range(n_hashes):
        word = threefry_2x32(word, i, 0, 0)[0]
    return int(word)
