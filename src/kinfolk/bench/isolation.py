"""Benchmarks of worker processes for agents, beside queues that pickle."""

from __future__ import annotations

import multiprocessing
import os
import time
from contextlib import closing
from typing import Any

import numpy as np

from kinfolk.bench.isolated_agents import (
    NOOP,
    IsolatedAgents,
    make_batch,
    make_spec,
    us_per_step,
)
from kinfolk.bench.isolation_scaling import measure_scaling, measure_slot_starts
from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.jit import kernel
from kinfolk.core.random import threefry_2x32
from kinfolk.core.spaces import WorldSpec
from kinfolk.engines.parent_death import exit_with_parent
from kinfolk.policies.base import AgentBatch, Memory, NoopPolicy, allocate_memory
from kinfolk.policies.build import ResolvedPolicy, build_policy

AGENT_COUNTS = (1, 4, 8, 16)
PARALLEL_AGENTS = 8
_STEPS, _ROUNDS = 300, 12
_QUEUE_STEPS = 60
_LOAD_STEPS, _LOAD_ROUNDS = 60, 5
_LOAD_MS = 1.0
_COMPUTE_LOAD = "kinfolk.bench.isolation:ComputeLoadPolicy"


def bench_isolation() -> dict[str, Any]:
    """Measure the cost of worker processes for agents, beside queues that pickle.

    Returns:
        `by_agents` of `_time_step`, `scaling` of `measure_scaling`, `slots` of `measure_slot_starts`
        and `busy` of `_time_parallelism`.
    """
    return {
        "by_agents": [_time_step(agents) for agents in AGENT_COUNTS],
        "scaling": measure_scaling(),
        "slots": measure_slot_starts(),
        "busy": _time_parallelism(PARALLEL_AGENTS),
    }


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
        self.seen = np.zeros((agents, make_spec(agents).row_bytes), dtype=np.uint8)
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
    policy, rows = build_policy(NOOP, make_spec(1)), make_batch(1)
    key = np.zeros(1, dtype=np.int64)
    while True:
        number, seen = requests.get()
        policy.act_async(seen[None], rows, {}, key)
        replies.put((number, policy.act_wait()[0]))


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
        closing(IsolatedAgents(agents)) as isolated,
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
                took = us_per_step(step, agents, steps)
                best[name] = min(took, best.get(name, took))
    ours, queue, queue_batched = best.values()
    times = {"times_one_by_one": queue / ours, "times_gathered": queue_batched / ours}
    return {"agents": agents, **best, **times}


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
    spec = make_spec(agents)
    policy, memory = build_policy(resolved, spec), allocate_memory({}, agents)
    rows, keys = make_batch(agents), np.arange(agents, dtype=np.int64)
    seen: AnyArray = np.zeros((agents, spec.row_bytes), dtype=np.uint8)

    def step_in_process() -> None:
        """Let all agents act once, one after another, in this process."""
        policy.act_async(seen, rows, memory, keys)
        policy.act_wait()

    pairs = []
    with closing(IsolatedAgents(agents, resolved)) as apart:
        for _ in range(3):
            here = min(
                us_per_step(step_in_process, agents, _LOAD_STEPS) for _ in range(_LOAD_ROUNDS)
            )
            there = min(us_per_step(apart.step, agents, _LOAD_STEPS) for _ in range(_LOAD_ROUNDS))
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
