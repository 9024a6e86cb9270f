"""How the cost of isolation grows with the number of agents, and what a sandbox adds to the start."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from kinfolk.bench.isolated_agents import (
    NOOP,
    STEP_TIMEOUT,
    IsolatedAgents,
    make_spec,
    us_per_step,
)
from kinfolk.core.errors import KinfolkError, PolicyFailedError
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.isolation.worker_main import private_memory_mb
from kinfolk.isolation.worker_pool import WorkerPool
from kinfolk.policies.build import ResolvedPolicy

SCALING_COUNTS = (1, 2, 4, 8, 16, 32, 64)
_AGENT_STEPS, _ROUNDS = 2000, 5  # per round and number of agents
_MLP = ResolvedPolicy("kinfolk.policies.neural.architectures:MlpPolicy")
_SLOT_POLICIES = {"numpy": NOOP, "torch": _MLP}
_SLOT_AGENTS, _SLOT_ROUNDS = 8, 3
_ECHO = "import os\nwhile os.read(0, 1): os.write(1, b'.')"


class BareProcesses:
    """The reference of scaling: processes that are woken by a pipe and reply, and do nothing else.

    Args:
        count: Number of processes.
    """

    def __init__(self, count: int) -> None:
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _ECHO],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
            )
            for _ in range(count)
        ]
        self._fds = [(p.stdin.fileno(), p.stdout.fileno()) for p in self._processes]  # type: ignore[union-attr]
        self.step()

    def step(self) -> None:
        """Wake all processes, then wait for the reply of each."""
        for request_fd, _ in self._fds:
            os.write(request_fd, b".")
        for _, reply_fd in self._fds:
            os.read(reply_fd, 1)

    def close(self) -> None:
        """Kill all processes and wait for them."""
        for process in self._processes:
            process.kill()
            process.communicate()


def measure_scaling(counts: Sequence[int] = SCALING_COUNTS) -> list[dict[str, float]]:
    """Measure steps, starts and memory of agents in worker processes, by their number.

    Args:
        counts: Numbers of agents.

    Returns:
        For each count, `agents`; microseconds per agent and step of workers and of bare processes
        (`us`, `bare_us`), and their ratio (`times_bare`); and the values of `measure_lifecycle`.
    """
    rows = []
    for agents in counts:
        steps, best = max(30, _AGENT_STEPS // agents), dict[str, float]()
        with closing(IsolatedAgents(agents)) as isolated, closing(BareProcesses(agents)) as bare:
            for _ in range(_ROUNDS):  # in turn, so that all have the same load of the machine
                for name, step in (("us", isolated.step), ("bare_us", bare.step)):
                    step()
                    took = us_per_step(step, agents, steps)
                    best[name] = min(took, best.get(name, took))
        times = best["us"] / best["bare_us"]
        rows.append({"agents": agents, **best, "times_bare": times, **measure_lifecycle(agents)})
    return rows


def measure_lifecycle(agents: int) -> dict[str, float]:
    """Measure start, initialisation, memory and end of worker processes.

    Args:
        agents: Number of workers.

    Returns:
        Milliseconds until the first worker runs (`first_ms`), and per worker to start, load its
        policy and end (`start_ms`, `initialise_ms`, `clean_up_ms`); memory of a worker that no
        other process shares (`own_megabytes`), and that of all workers (`all_megabytes`).
    """
    settings = IsolationSettings(step_timeout=STEP_TIMEOUT, max_processes=agents + 1)
    start = time.perf_counter()
    with closing(IsolatedAgents(1, settings=settings)) as first:
        pool, begun = first.pool, time.perf_counter()
        workers = [
            pool.acquire("bench", NOOP, make_spec(1), 1, inherits_memory=False)
            for _ in range(agents)
        ]
        forked = time.perf_counter()
        for worker in workers:
            reply = worker.wait(STEP_TIMEOUT, time.monotonic() + STEP_TIMEOUT)
            if reply:
                raise PolicyFailedError(f"A worker did not start: {reply}.")
        ready = time.perf_counter()
        memory = [private_memory_mb(worker.meter.host_pid) for worker in workers]
        ending = time.perf_counter()
        for worker in workers:
            pool.release(worker)
        ended = time.perf_counter()
    return {
        "first_ms": 1e3 * (begun - start),  # with the process that starts the others
        "start_ms": 1e3 * (forked - begun) / agents,
        "initialise_ms": 1e3 * (ready - forked) / agents,
        "clean_up_ms": 1e3 * (ended - ending) / agents,
        "own_megabytes": statistics.median(memory),
        "all_megabytes": sum(memory),
    }


def measure_slot_starts() -> list[dict[str, Any]]:
    """Measure the start of a slot and of its agents, with and without a sandbox.

    Returns:
        For a numpy and a torch policy, `policy` and either `skipped`, why it could not be measured,
        or milliseconds until a slot's first agent can act (`slot_ms`), and per further agent of the
        slot (`agent_ms`), in a sandbox; the same without one (`plain_slot_ms`, `plain_agent_ms`);
        and the ratios (`slot_times`, `agent_times`).
    """
    rows: list[dict[str, Any]] = []
    for name, resolved in _SLOT_POLICIES.items():
        try:
            rows.append({"policy": name, **_time_slot_starts(resolved)})
        except KinfolkError as error:
            rows.append({"policy": name, "skipped": str(error)})
    return rows


def _time_slot_starts(resolved: ResolvedPolicy) -> dict[str, float]:
    """Time the start of a slot in turn with and without a sandbox, and return the best of each."""
    best: dict[str, float] = {}
    for _ in range(_SLOT_ROUNDS):
        for prefix, sandbox in (("", True), ("plain_", False)):
            settings = IsolationSettings(
                sandbox=sandbox, step_timeout=STEP_TIMEOUT, on_failure="abort"
            )
            slot_ms, agent_ms = _time_slot_start(resolved, settings)
            for key, took in ((f"{prefix}slot_ms", slot_ms), (f"{prefix}agent_ms", agent_ms)):
                best[key] = min(took, best.get(key, took))
    ratios = {f"{n}_times": best[f"{n}_ms"] / best[f"plain_{n}_ms"] for n in ("slot", "agent")}
    return {**best, **ratios}


def _time_slot_start(resolved: ResolvedPolicy, settings: IsolationSettings) -> tuple[float, float]:
    """Return the milliseconds until the first agent of a slot can act, and per further agent."""
    start = time.perf_counter()
    pool = WorkerPool(settings)
    with closing(pool), closing(IsolatedAgents(1, resolved, settings, pool)):
        first = time.perf_counter()
        with closing(IsolatedAgents(_SLOT_AGENTS, resolved, settings, pool)):
            ended = time.perf_counter()
    return 1e3 * (first - start), 1e3 * (ended - first) / _SLOT_AGENTS
