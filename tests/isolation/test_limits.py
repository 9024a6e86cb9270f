"""Limits of time, memory, processes and disk: measured from outside, and only the greedy pay."""

import os
import re
import time

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.bench.isolated_agents import IsolatedAgents
from kinfolk.core.errors import PolicyFailedError
from kinfolk.engines.base import LocalEngine
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation, run_matches
from kinfolk.isolation.cgroups import worker_cgroups
from kinfolk.isolation.cgroups.hierarchy import explain_no_cgroups
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.isolation.limits import (
    read_cpu_clock,
    read_memory_mb,
    read_peak_kb,
)
from kinfolk.isolation.sandbox.bubblewrap import explain_unusable
from kinfolk.isolation.worker_pool import _pools, close_pools
from kinfolk.play.task import WorldRef
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.policies.resolve import resolve
from kinfolk.testing.inspection import children_of, wait_for_exit

RULES = {"grazers": 3, "hunters": 2, "rows": 5, "max_ticks": 8, "max_age": 99, "start_energy": 99}
MAP = {"grazer": "good", "hunter": "greedy"}
needs_sandbox = pytest.mark.skipif(bool(explain_unusable()), reason=explain_unusable())


@pytest.fixture(autouse=True)
def _zoo(zoo):
    """Let policies be imported from the zoo."""


def task(kind, isolate="agent", episodes=1, **limits):
    slots = {
        "good": resolve("kin://probe-python"),
        "greedy": resolve(f"class:greedy_policies.{kind}", trusted=False),
    }
    settings = IsolationSettings(**{"step_timeout": 20.0, **limits})
    ref = WorldRef("probe", settings=RULES)
    isolation = Isolation(isolate, settings)
    return evaluation_task(ref, slots, 5, range(episodes), MAP, isolation)


def failures(kind, isolate="agent", **limits):
    [report] = run_evaluation(task(kind, isolate, **limits)).episodes
    assert report.ticks == 8
    assert {failure.slot for failure in report.failures} <= {"greedy"}
    return report.failures


def test_an_episode_has_a_limit_of_time_that_small_steps_add_up_to():
    found = failures("Sleeps", episode_timeout=0.35)
    assert [(f.agent, f.cause) for f in found] == [(3, "limit"), (4, "limit")]
    for failure in found:
        assert 1 <= failure.tick <= 3, "no step takes less than 0.1 s, and on a busy machine more"
        start, used, end = re.split(r"(?<=used )([\d.]+)", failure.message)
        assert (
            start == f"Slot 'greedy', agent {failure.agent}, tick {failure.tick}: act_async used "
        )
        assert end == " s in the episode, with a limit of 0.35."
        assert float(used) >= 0.35


def test_an_agent_is_not_charged_for_the_time_of_others():
    fast = resolve("kin://probe-python")
    slots = {"good": fast, "greedy": resolve("class:greedy_policies.Sleeps", trusted=False)}
    settings = IsolationSettings(episode_timeout=0.35, step_timeout=20.0)
    ref = WorldRef("probe", settings=RULES)
    rows = ["greedy", "good", "good", "good", "greedy"]
    [report] = run_evaluation(
        evaluation_task(ref, slots, 5, [0], rows, Isolation("agent", settings))
    ).episodes
    assert {failure.slot for failure in report.failures} == {"greedy"}
    assert len(report.failures) == 2


def test_the_time_of_a_reset_counts_for_the_episode():
    found = failures("SleepsInReset", episode_timeout=0.2)
    assert [(f.agent, f.tick, f.cause) for f in found] == [(3, 0, "limit"), (4, 0, "limit")]
    [used] = re.findall(r"reset_agents used ([\d.]+) s in the episode", found[0].message)
    assert float(used) >= 0.2


def test_a_match_has_a_limit_for_all_agents_and_episodes_together():
    [first, second] = run_evaluation(task("Sleeps", episodes=2, match_timeout=1.0)).episodes
    assert {f.agent for f in first.failures} == {3, 4}
    assert all("s in the match, with a limit of 1." in f.message for f in first.failures)
    assert [(f.agent, f.tick) for f in second.failures] == [(3, 0), (4, 0)], "it is used up"


@pytest.mark.parametrize(
    "limits",
    [
        {"episode_timeout": 0.5},
        {"episode_cpu_limit": 0.3},
        {"match_timeout": 0.5},
        {"match_cpu_limit": 0.3},
    ],
)
def test_a_step_without_end_is_ended_by_limits_of_episode_and_match(limits):
    reports = run_evaluation(task("BurnsForEver", episodes=2, **limits)).episodes
    for report in reports:
        assert {f.agent for f in report.failures} == {3, 4}
        assert {f.cause for f in report.failures} == {"limit"}
    [name] = limits
    ticks = {(f.tick, "reset_agents" in f.message) for f in reports[1].failures}
    assert ticks == {(0, name.startswith("match"))}, "a match is used up before it begins"


def test_the_time_of_a_step_that_timed_out_counts_for_the_match():
    limits = {"match_timeout": 0.6, "step_timeout": 0.4, "start_timeout": 5.0}
    first, second = run_evaluation(task("HangsLater", episodes=2, **limits)).episodes
    assert {f.cause for f in first.failures} <= {"timeout", "limit"}
    assert [(f.cause, f.tick) for f in second.failures] == [("limit", 0)] * 2


def test_later_tasks_of_a_match_know_what_was_used_before():
    tasks = [("one", task("Sleeps", match_timeout=1.0)) for _ in range(2)]
    tasks.append(("another", task("Sleeps", match_timeout=1.0)))
    reports = [
        r for result in run_matches(LocalEngine(), tasks, run_evaluation) for r in result.episodes
    ]
    assert min(f.tick for f in reports[0].failures) >= 3
    assert [(f.agent, f.tick) for f in reports[1].failures] == [(3, 0), (4, 0)]
    assert min(f.tick for f in reports[2].failures) >= 3, "each match has its own time"


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"step_cpu_limit": 0.05}, " CPU s in one step, with a limit of 0.05."),
        ({"episode_cpu_limit": 0.25}, " CPU s in the episode, with a limit of 0.25."),
        ({"match_cpu_limit": 0.35}, " CPU s in the match, with a limit of 0.35."),
        ({"cpu_limit": 0.25}, " CPU s of its process, with a limit of 0.25."),
    ],
)
def test_processor_time_is_limited_by_step_episode_match_and_process(limits, text):
    found = failures("Burns", **limits)
    assert {failure.agent for failure in found} == {3, 4}
    assert all(failure.message.endswith(text) for failure in found)


@pytest.mark.parametrize("kind", ["BurnsForEver", "BurnsInThread", "BurnsInChild"])
def test_processor_time_of_hanging_policies_threads_and_children_counts(kind):
    found = failures(kind, episode_cpu_limit=0.2, step_cpu_limit=0.2)
    assert {failure.agent for failure in found} == {3, 4}
    assert all("CPU s in " in failure.message for failure in found), "not a timeout"


def test_an_evaluation_that_a_failure_aborts_leaves_nothing_for_the_next_one_to_trip_over():
    limits = {"episode_cpu_limit": 0.2, "step_cpu_limit": 0.2}
    with pytest.raises(PolicyFailedError):
        failures("BurnsForEver", on_failure="abort", **limits)
    assert {failure.agent for failure in failures("BurnsForEver", **limits)} == {3, 4}


def test_processor_time_between_steps_counts_for_the_next_step():
    close_pools()
    before = set(children_of(os.getpid()))
    spec = kf.PolicySpec("greedy_policies.Ponders")
    limits = IsolationSettings(step_timeout=20.0, episode_cpu_limit=0.3)
    world_spec = WorldRef("probe").spec
    observation = np.zeros(world_spec.row_bytes, dtype=np.uint8)
    with kf.PerAgentSubprocessPolicy(spec, world_spec, isolation=limits) as agent:
        agent.step(observation)
        # One of the new children is the fork server; the other may watch control groups.
        new = set(children_of(os.getpid())) - before
        [worker] = [worker for child in new for worker in children_of(child)]
        used, end = read_cpu_clock(worker), time.monotonic() + 60.0
        while read_cpu_clock(worker) < used + 0.5 and time.monotonic() < end:
            time.sleep(0.02)
        with pytest.raises(PolicyFailedError) as failed:
            agent.step(observation)
    assert str(failed.value).endswith(" CPU s in the episode, with a limit of 0.3.")


@needs_sandbox
def test_processor_time_of_children_that_have_ended_counts():
    found = failures("BurnsInShortChildren", episode_cpu_limit=0.3, sandbox=True, process_limit=4)
    assert {failure.agent for failure in found} == {3, 4}
    assert all("CPU s in the episode, with a limit of 0.3." in f.message for f in found)


def test_memory_that_children_inherit_is_limited():
    found = failures("BequeathsMuch")
    assert [f.message for f in found] == [
        f"Slot 'greedy', agent {agent}, tick 0: start used 70 MB of memory for a child to inherit, with a "
        "limit of 64 MB."
        for agent in (3, 4)
    ]
    assert failures("BequeathsMuch", isolate="slot") == (), "in one process nothing is copied"


def test_a_fork_server_does_not_spin_when_a_policy_closes_its_output():
    close_pools()
    assert failures("ClosesItsOutput") == ()
    [pool] = _pools.values()
    [server] = pool.forkserver_pids
    before = read_cpu_clock(server)
    time.sleep(0.5)
    assert read_cpu_clock(server) - before < 0.2, "not all of the time"


def test_an_exceeded_limit_of_the_episode_is_no_reason_to_restart():
    found = failures("Sleeps", episode_timeout=0.35, on_failure="restart")
    assert [(f.agent, f.restarted) for f in found] == [(3, False), (4, False)]


@pytest.fixture(params=["groups", "looks"])
def way(request, monkeypatch):
    """How memory and processes are limited: by control groups, or by looks from outside."""
    if request.param == "groups" and explain_no_cgroups():
        pytest.skip(explain_no_cgroups())
    if request.param == "looks":
        monkeypatch.setattr(worker_cgroups, "find_cgroup_parents", lambda: None)
    close_pools()
    yield request.param
    close_pools()


def test_memory_counts_shared_memory(way):
    found = failures("SharesMemory", memory_limit=300)
    assert {failure.agent for failure in found} == {3, 4}
    assert found[0].message.endswith(" MB of memory, with a limit of 300 MB.")


@needs_sandbox
def test_memory_counts_children(way):
    found = failures("FillsChildren", memory_limit=200, sandbox=True, process_limit=8)
    assert {failure.agent for failure in found} == {3, 4}
    assert found[0].message.endswith(" MB of memory, with a limit of 200 MB.")


@needs_sandbox
def test_threads_are_counted(way):
    found = failures("StartsThreads", sandbox=True, memory_limit=None)  # of their stacks
    assert {failure.agent for failure in found} == {3, 4}
    refused, ended = "RuntimeError: can't start new thread.", " threads, with a limit of 128."
    assert all(f.message.endswith(refused if way == "groups" else ended) for f in found)


@needs_sandbox
@pytest.mark.more
def test_processes_are_counted(way):
    found = failures("ForksMore", sandbox=True, process_limit=4)
    assert {failure.agent for failure in found} == {3, 4}
    assert found[0].message.endswith(" processes of its own, with a limit of 4.")
    assert failures("ForksMore", sandbox=True, process_limit=200) == ()


@needs_sandbox
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("WritesLargeFile", "OSError: [Errno 27] File too large"),
        ("FillsDisk", "OSError: [Errno 28] No space left on device"),
        ("BurnsInChild", "PermissionError: [Errno 1] Operation not permitted"),
    ],
)
def test_files_disk_and_processes_are_limited_in_the_sandbox(kind, error):
    found = failures(kind, sandbox=True, file_size_limit=8, disk_limit=16)
    assert [f.message for f in found] == [
        f"Slot 'greedy', agent {agent}, tick 0: act_async raised {error}." for agent in (3, 4)
    ]


@needs_sandbox
def test_daemons_that_fork_themselves_anew_end_with_their_sandbox():
    settings = IsolationSettings(sandbox=True, process_limit=400, step_timeout=20.0)
    policy = resolve("class:greedy_policies.LeavesDaemons", trusted=False)
    agents = IsolatedAgents(2, policy, settings)
    for _ in range(8):
        agents.step()
    pool = agents.pool
    workers = {worker.meter.host_pid for worker in pool._in_use}
    end = time.monotonic() + 20.0
    while True:  # a daemon that has just ended in its child may be missed
        running = list_descendants(pool.forkserver_pids)
        n_daemons = len(list_descendants(workers) - workers)
        if n_daemons >= 16 or time.monotonic() > end:
            break
    assert n_daemons >= 16, "one for each of 8 steps of two agents"
    agents.close()
    assert wait_for_exit(30, running)
    assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and parent_of(pid) in running]


def list_descendants(pids):
    """Return processes and all below them, by one look at all processes of the machine."""
    parents = {int(pid): parent_of(pid) for pid in os.listdir("/proc") if pid.isdigit()}
    found, layer = set(pids), set(pids)
    while layer:
        layer = {pid for pid, parent in parents.items() if parent in layer} - found
        found |= layer
    return found


def parent_of(pid):
    """Return the parent's id, 0 if the process has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def test_what_the_kernel_knows_of_a_process():
    assert read_cpu_clock(os.getpid()) == pytest.approx(time.process_time(), abs=0.1)
    assert 1 < read_memory_mb(os.getpid()) < read_peak_kb(os.getpid()) / 1024 + 1
    gone = 2**22 + 12345
    assert (read_cpu_clock(gone), read_memory_mb(gone), read_peak_kb(gone)) == (0.0, 0.0, 0)


@needs_sandbox
def test_building_a_large_net_is_limited_in_the_fork_server_too():
    pytest.importorskip("torch")
    close_pools()
    large = ResolvedPolicy(
        "kinfolk.policies.neural.architectures:MlpPolicy", {"hidden": [16000, 16000]}
    )  # a gigabyte of weights
    settings = IsolationSettings(sandbox=True, memory_limit=400)
    ref = WorldRef("probe", settings=RULES)
    isolation = Isolation("slot", settings)
    [report] = run_evaluation(
        evaluation_task(ref, {"all": large}, 5, [0], isolation=isolation)
    ).episodes
    [pool] = _pools.values()
    peaks = [read_peak_kb(pid) for pid in list_descendants(pool.forkserver_pids)]
    close_pools()
    assert [failure.cause for failure in report.failures] == ["raised"]
    assert max(peaks) < 600 * 1024
