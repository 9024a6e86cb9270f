"""What it costs to keep agents in processes of their own, beside queues and pickles."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.spaces import WorldSpec
from kinfolk.engines.lifeline import tie_to_parent
from kinfolk.evaluation.apart import Apart
from kinfolk.evaluation.care import Care
from kinfolk.evaluation.memory_use import own_megabytes
from kinfolk.evaluation.pool import Pool
from kinfolk.policies.base import Rows, allocate
from kinfolk.policies.resolve import ResolvedPolicy, build
from kinfolk.worlds import build as build_world

AGENTS = (1, 4, 8, 16)
BUSY_AGENTS = 8
_STEPS, _ROUNDS = 300, 12
_QUEUE_STEPS = 60
_BUSY_STEPS, _BUSY_ROUNDS = 60, 5
_BUSY_MS = 1.0
_STILL = ResolvedPolicy("kinfolk.policies.simple:Noop")
_BUSY = "kinfolk.policies.busy:Busy"


def bench_isolation() -> dict[str, Any]:
    """Microseconds per agent-step of ours and of queues, start and memory, and real parallelism."""
    by_agents = [_point(agents) for agents in AGENTS]
    return {"by_agents": by_agents, "life": _life(max(AGENTS)), "busy": _busy(BUSY_AGENTS)}


def _spec(agents: int) -> WorldSpec:
    """What agents of CogsGuard see: an observation of a size that people have."""
    spec: WorldSpec = build_world("cogsguard", {"agents": agents}, 1, "arena").spec
    return spec


def _rows(agents: int) -> Rows:
    numbers = np.arange(agents, dtype=np.int64)
    zero, nobody = np.zeros(agents, dtype=np.int64), np.full((agents, 2), -1, dtype=np.int64)
    return Rows(numbers, zero, numbers, numbers, zero, zero, nobody, nobody)


class _Apart:
    """Agents in our processes."""

    def __init__(self, agents: int, resolved: ResolvedPolicy = _STILL) -> None:
        self.pool = Pool(Care(step_timeout=30.0))
        spec = _spec(agents)
        self.slot = Apart(
            "bench", resolved, spec, self.pool, Care(step_timeout=30.0), lambda: 0, agents,
            by_agent=True, alone=True,
        )  # fmt: skip
        self.rows, self.keys = _rows(agents), np.arange(agents, dtype=np.int64)
        self.seen = np.zeros((agents, spec.row_bytes), dtype=np.uint8)
        self.slot.begin(self.rows, {}, self.keys)

    def step(self) -> None:
        self.slot.ask(self.seen, self.rows, {}, self.keys)
        self.slot.answer()

    def close(self) -> None:
        self.slot.close()
        self.pool.close()


class _Queues:
    """The reference: a process per agent, two queues each, which pickle what crosses."""

    def __init__(self, agents: int, gathered: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self.gathered = gathered
        self.asked = [context.Queue() for _ in range(agents)]
        self.answered = [context.Queue() for _ in range(agents)]
        self.processes = [
            context.Process(target=_answer_from_queue, args=pair, daemon=True)
            for pair in zip(self.asked, self.answered, strict=True)
        ]
        for process in self.processes:
            process.start()
        self.seen = np.zeros((agents, _spec(agents).row_bytes), dtype=np.uint8)
        self.number = 0
        self.step()

    def step(self) -> None:
        self.number += 1
        if self.gathered:
            for queue, seen in zip(self.asked, self.seen, strict=True):
                queue.put((self.number, seen))
        for queue, answers, seen in zip(self.asked, self.answered, self.seen, strict=True):
            if not self.gathered:
                queue.put((self.number, seen))
            answers.get()

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()


def _answer_from_queue(asked: Any, answered: Any) -> None:
    """The far end of the reference."""
    tie_to_parent(at_once=True)
    policy, rows = build(_STILL, _spec(1)), _rows(1)
    key = np.zeros(1, dtype=np.int64)
    while True:
        number, seen = asked.get()
        policy.ask(seen[None], rows, {}, key)
        answered.put((number, policy.answer()[0]))


def _us_per_step(step: Callable[[], None], agents: int, steps: int) -> float:
    """Microseconds per agent and step."""
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return 1e6 * (time.perf_counter() - start) / steps / agents


def _point(agents: int) -> dict[str, float]:
    """Ours and the queues in turn, again and again, so that all meet the same moments.

    The best round of each counts: other programs on the machine only add to it.
    """
    started: dict[str, tuple[_Apart | _Queues, int]] = {}
    best: dict[str, float] = {}
    try:
        started["gathered_us"] = _Apart(agents), _STEPS
        started["queue_one_by_one_us"] = _Queues(agents, gathered=False), _QUEUE_STEPS
        started["queue_gathered_us"] = _Queues(agents, gathered=True), _QUEUE_STEPS
        for _ in range(_ROUNDS):
            for name, (players, steps) in started.items():
                players.step()  # back into the cache
                took = _us_per_step(players.step, agents, steps)
                best[name] = min(took, best.get(name, took))
    finally:
        for players, _ in started.values():
            players.close()
    return {
        "agents": agents,
        **best,
        "times_one_by_one": best["queue_one_by_one_us"] / best["gathered_us"],
        "times_gathered": best["queue_gathered_us"] / best["gathered_us"],
    }


def _life(agents: int) -> dict[str, float]:
    """What a process costs before, while and after it plays."""
    start = time.perf_counter()
    first = _Apart(1)
    opened = time.perf_counter()
    first.close()
    whole = _Apart(1)
    pids = []
    try:
        begun = time.perf_counter()
        for _ in range(agents):
            guest, _ = whole.pool.take(_STILL, _spec(1), 1, heirs=False)
            pids.append(guest)
        forked = time.perf_counter()
        for guest in pids:
            while guest.listen() != "":
                pass
        ready = time.perf_counter()
        memory = [own_megabytes(guest.pid) for guest in pids]
        closing = time.perf_counter()
        for guest in pids:
            whole.pool.give_back(guest, sound=False)
        closed = time.perf_counter()
    finally:
        whole.close()
    return {
        "first_ms": 1e3 * (opened - start),  # with the process that starts the others
        "start_ms": 1e3 * (forked - begun) / agents,
        "initialise_ms": 1e3 * (ready - forked) / agents,
        "clean_up_ms": 1e3 * (closed - closing) / agents,
        "own_megabytes": statistics.median(memory),
    }


def _busy(agents: int) -> dict[str, float]:
    """A policy that counts for about a millisecond per agent and step: in turn, and side by side."""
    rounds = _rounds_per_ms()
    resolved = ResolvedPolicy(_BUSY, {"rounds": int(rounds * _BUSY_MS)})
    spec = _spec(agents)
    policy, memory = build(resolved, spec), allocate({}, agents)
    rows, keys = _rows(agents), np.arange(agents, dtype=np.int64)
    seen: AnyArray = np.zeros((agents, spec.row_bytes), dtype=np.uint8)

    def in_turn() -> None:
        policy.ask(seen, rows, memory, keys)
        policy.answer()

    apart = _Apart(agents, resolved)
    try:
        pairs = []
        for _ in range(3):
            here = min(_us_per_step(in_turn, agents, _BUSY_STEPS) for _ in range(_BUSY_ROUNDS))
            there = min(_us_per_step(apart.step, agents, _BUSY_STEPS) for _ in range(_BUSY_ROUNDS))
            pairs.append((here / there, here, there))
    finally:
        apart.close()
    ratio, here, there = sorted(pairs)[1]
    return {
        "agents": agents,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1,
        "in_process_us": here,
        "apart_us": there,
        "times_faster": ratio,
    }


def _rounds_per_ms() -> float:
    from kinfolk.policies.busy import count

    count(1, 1000)
    start = time.perf_counter()
    count(1, 200_000)
    return 200_000 / (1e3 * (time.perf_counter() - start))
