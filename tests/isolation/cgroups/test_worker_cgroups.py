"""Groups of workers: they hold what they limit, name who exceeded it, and leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kinfolk.bench.isolated_agents import IsolatedAgents
from kinfolk.core.errors import EngineError
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation
from kinfolk.isolation import worker_pool
from kinfolk.isolation.cgroups import worker_cgroups
from kinfolk.isolation.cgroups.hierarchy import explain_no_cgroups, find_cgroup_parents
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.isolation.sandbox.bubblewrap import explain_unusable
from kinfolk.isolation.worker_pool import close_pools
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve

RULES = {"grazers": 2, "hunters": 1, "rows": 3, "max_ticks": 4, "max_age": 99, "start_energy": 99}
needs_cgroups = pytest.mark.skipif(bool(explain_no_cgroups()), reason=explain_no_cgroups())
needs_sandbox = pytest.mark.skipif(bool(explain_unusable()), reason=explain_unusable())


N_FOLDERS = 2 * len(set((find_cgroup_parents() or ())[1:]))  # of a host with one group


@pytest.fixture(autouse=True)
def _zoo(zoo):
    """Let policies be imported from the zoo, and start without workers."""
    close_pools()
    yield
    close_pools()


def groups_of(pid):
    """Return the folders of groups that a process has made, by controller."""
    parents = find_cgroup_parents()
    return [
        folder
        for parent in dict.fromkeys((parents.memory, parents.pids))
        for host in parent.glob(f"kinfolk-*-{pid}-*")
        for folder in [host, *(entry for entry in host.iterdir() if entry.is_dir())]
    ]


def play(kind, **limits):
    slots = {
        "good": resolve("kin://probe-python"),
        "greedy": resolve(f"class:greedy_policies.{kind}", trusted=False),
    }
    isolation = Isolation("agent", IsolationSettings(**{"step_timeout": 20.0, **limits}))
    task = evaluation_task(
        WorldRef("probe", settings=RULES), slots, 5, [0], {"grazer": "good", "hunter": "greedy"},
        isolation,
    )  # fmt: skip
    [report] = run_evaluation(task).episodes
    return report


@needs_cgroups
@needs_sandbox
def test_every_worker_has_a_group_with_its_limits_and_only_itself_in_it():
    settings = IsolationSettings(sandbox=True, memory_limit=300, process_limit=3)
    agents = IsolatedAgents(3, resolve("kin://noop"), settings)
    pids = sorted(worker.meter.host_pid for worker in agents.pool._in_use)
    version, memory, _ = find_cgroup_parents()
    members, limits, tasks = [], set(), set()
    for folder in groups_of(os.getpid()):
        if folder.parent.name.startswith("kinfolk-"):
            inside = [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]
            assert len(inside) == 2, "the worker and the process that waits for it"
            members += [max(inside)]
            if memory in folder.parents:
                name = "memory.limit_in_bytes" if version == 1 else "memory.max"
                limits.add((folder / name).read_text().strip())
            if (folder / "pids.max").exists():
                tasks.add((folder / "pids.max").read_text().strip())
    assert sorted(set(members)) == pids
    assert len(pids) == 3
    assert (limits, tasks) == ({str(300 * 2**20)}, {"133"})
    agents.close()
    assert groups_of(os.getpid()) == []


@needs_cgroups
def test_without_a_limit_there_are_no_groups():
    play("Greedy", memory_limit=None)
    assert groups_of(os.getpid()) == []


@needs_cgroups
@needs_sandbox
@pytest.mark.parametrize("kind", ["HidesSharedMemory", "FillsScratch", "FillsChildren"])
def test_memory_of_every_kind_counts_and_only_its_agent_fails(kind):
    limits = {"memory_limit": 200, "disk_limit": 400, "file_size_limit": 400, "process_limit": 8}
    report = play(kind, sandbox=True, **limits)
    [failure] = report.failures
    assert (failure.slot, failure.agent, failure.cause) == ("greedy", 2, "limit")
    assert failure.message == (
        "Slot 'greedy', agent 2, tick 0: act_async used more than 200 MB of memory, with a limit of 200 MB."
    )
    close_pools()
    assert groups_of(os.getpid()) == []


def test_without_groups_the_host_looks_and_counts_hidden_memory_too(monkeypatch):
    monkeypatch.setattr(worker_cgroups, "find_cgroup_parents", lambda: None)
    report = play("HidesSharedMemory", memory_limit=200)
    [failure] = report.failures
    assert (failure.slot, failure.agent, failure.cause) == ("greedy", 2, "limit")
    assert failure.message.endswith(" MB of memory, with a limit of 200 MB.")
    assert "more than" not in failure.message


@needs_sandbox
def test_a_group_that_the_kernel_refuses_ends_an_evaluation_that_needs_it(monkeypatch):
    def refuse(settings):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(worker_pool, "open_pool_cgroups", refuse)
    with pytest.raises(EngineError) as refused:
        play("Greedy", sandbox=True)
    assert str(refused.value) == (
        "No control group could be made: Permission denied. --strict and --sandbox do not allow "
        "weaker isolation."
    )


HOST = """
import sys, time
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.isolation.cgroups.worker_cgroups import open_pool_cgroups
groups = open_pool_cgroups(IsolationSettings(memory_limit=100, sandbox=True))
group = groups.create()
import os, subprocess
entries = group.open_entries()
child = subprocess.Popen(["sleep", "60"], preexec_fn=lambda: [os.write(fd, b"0") for fd in entries])
print(child.pid, groups._watcher._process.pid, flush=True)
time.sleep(60)
"""


def start_host():
    """Start a process with a group that has a process in it; return it, its child and its watcher."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    host = subprocess.Popen(
        [sys.executable, "-c", HOST], stdout=subprocess.PIPE, text=True, env=env
    )
    child, watcher = map(int, host.stdout.readline().split())
    return host, child, watcher


def wait_until(is_true, seconds=20.0):
    end = time.monotonic() + seconds
    while not is_true() and time.monotonic() < end:
        time.sleep(0.02)
    return is_true()


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@needs_cgroups
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_groups_of_a_killed_host_are_removed_with_what_is_in_them(number):
    host, child, watcher = start_host()
    assert len(groups_of(host.pid)) == N_FOLDERS, "those of the host, and a group in each"
    os.kill(host.pid, number)
    host.wait()
    host.stdout.close()
    assert wait_until(lambda: groups_of(host.pid) == [])
    assert wait_until(lambda: not is_running(child) and not is_running(watcher))


@needs_cgroups
def test_groups_of_a_host_that_was_killed_with_its_watcher_are_removed_by_the_next():
    host, child, watcher = start_host()
    for pid in (watcher, host.pid):
        os.kill(pid, signal.SIGKILL)
    host.wait()
    host.stdout.close()
    worker_cgroups.remove_stale_cgroups(find_cgroup_parents())
    assert len(groups_of(host.pid)) == N_FOLDERS, "a process lives in them"
    os.kill(child, signal.SIGKILL)

    def is_removed():
        worker_cgroups.remove_stale_cgroups(find_cgroup_parents())
        return groups_of(host.pid) == []

    assert wait_until(is_removed)
