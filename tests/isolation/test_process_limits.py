"""Limits of the number of processes, and weaker isolation where none can be started."""

import mmap
import os
import subprocess
import sys

import pytest

from kinfolk.core.errors import EngineError
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.isolation.forkserver import ForkServerClient, ProcessLimitError
from kinfolk.isolation.forkserver_main import bound_preload
from kinfolk.isolation.worker_pool import close_pools, may_build_here
from kinfolk.play.task import WorldRef
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.policies.resolve import resolve

RULES = {"grazers": 3, "hunters": 2, "rows": 5, "max_ticks": 8, "max_age": 99, "start_energy": 99}


def task(isolate, **settings):
    ref, slots = WorldRef("probe", settings=RULES), {"main": resolve("kin://probe-python")}
    isolation = Isolation(isolate, IsolationSettings(step_timeout=20.0, **settings))
    return evaluation_task(ref, slots, 5, range(2), isolation=isolation)


@pytest.fixture(scope="module")
def plain():
    return run_evaluation(task("none")).episodes


def test_agents_share_a_process_if_the_limit_is_reached(plain):
    played = run_evaluation(task("agent", max_processes=3))
    assert played.episodes == plain
    assert played.observed.warnings == (
        "All 3 worker processes (--max-processes) are in use. Slot 'main' gets one process for the slot.",
    )
    assert played.observed.slots["main"].processes == 2, "one per game, side by side"


def test_policies_run_in_this_process_if_none_can_be_started(plain, monkeypatch):
    close_pools()

    def refuse(self):
        raise ProcessLimitError("No fork server could be started: no room.")

    monkeypatch.setattr(ForkServerClient, "_start", refuse)
    played = run_evaluation(task("slot"))
    assert played.episodes == plain
    assert played.observed.warnings == (
        "No fork server could be started: no room. Slot 'main' gets no process of its own.",
    )
    for settings in ({"strict": True}, {"sandbox": True}):
        with pytest.raises(EngineError) as refused:
            run_evaluation(task("slot", **settings))
        assert str(refused.value) == (
            "No fork server could be started: no room. --strict and --sandbox do not allow "
            "weaker isolation."
        )
    close_pools()


LIMITED = """
import os, resource
from kinfolk.isolation.forkserver import ForkServerClient, ProcessLimitError
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
os.setuid(65534)
try:
    ForkServerClient()._start()
except ProcessLimitError as error:
    print(error)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become nobody")
def test_the_process_limit_of_the_system_is_reported(tmp_path):
    env = {**os.environ, "KINFOLK_CACHE": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, env=env, cwd="/"
    )
    assert done.stdout == "No fork server could be started: Resource temporarily unavailable.\n", (
        done.stderr
    )


@pytest.mark.skipif(os.sysconf("SC_OPEN_MAX") < 1200, reason="so many files may not be opened")
def test_workers_start_in_a_host_with_more_than_a_thousand_open_files(plain):
    close_pools()
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        played = run_evaluation(task("slot"))
    finally:
        for handle in opened:
            os.close(handle)
        close_pools()
    assert played.episodes == plain
    assert played.observed.slots["main"].processes == 2, "one per game, side by side"


def test_limits_of_a_slot_without_a_process_are_said_not_to_hold(plain):
    played = run_evaluation(task("none", memory_limit=100, episode_timeout=2.0))
    assert played.episodes == plain
    [warning] = played.observed.warnings
    assert warning == (
        "Slot 'main' has no process of its own (--isolate), so these limits do not hold: "
        "--episode-timeout, --memory-limit."
    )
    with pytest.raises(EngineError) as refused:
        run_evaluation(task("none", memory_limit=100, strict=True))
    assert str(refused.value).endswith("do not hold: --memory-limit. --strict asks for them.")


@pytest.mark.parametrize(("memory_mb", "n_bytes"), [(None, 5 * 2**30), (700, 2**30)])
def test_what_is_preloaded_for_a_stranger_has_a_limit_of_memory(memory_mb, n_bytes):
    pid = os.fork()  # limits and alarms are of the whole process
    if pid == 0:
        code, private = 1, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        try:
            with bound_preload(memory_mb):
                try:
                    mmap.mmap(-1, n_bytes, flags=private)
                except OSError:
                    code = 2
            mmap.mmap(-1, n_bytes, flags=private | 0x4000)  # MAP_NORESERVE: no memory is touched
            code = 0 if code == 2 else 1
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_policy_from_a_file_is_not_built_outside_of_the_sandbox():
    net = "kinfolk.policies.neural.architectures:MlpPolicy"
    asks_for_much = ResolvedPolicy(net, {"hidden": [10**6, 10**6]}, source_file="a.safetensors")
    sandbox = IsolationSettings(sandbox=True)
    assert not may_build_here(asks_for_much, sandbox)
    assert may_build_here(asks_for_much, IsolationSettings()), "your own, without a sandbox"
    assert may_build_here(resolve("kin://noop"), sandbox), "you chose its settings"


def test_a_fork_server_imports_no_library_that_only_some_policies_need():
    code = "import sys, kinfolk.isolation.forkserver_main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numba", "pydantic", "torch", "rich", "typer"}  # each takes longer than all the rest
    assert heavy.isdisjoint(done.stdout.split())
