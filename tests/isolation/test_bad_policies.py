"""Policies that fail: results name slot, agent, tick and cause, and the episode goes on."""

import os
import re
import time
from dataclasses import replace

import pytest

from kinfolk.core.errors import PolicyFailedError
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.isolation.shared_buffers import create_anonymous_memory
from kinfolk.isolation.worker_pool import _pools, close_pools
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.testing.inspection import children_of, wait_for_exit

# Hunters are agents 3 and 4; nobody is born or dies early.
RULES = {"grazers": 3, "hunters": 2, "rows": 5, "max_ticks": 8, "max_age": 99, "start_energy": 99}
MAP = {"grazer": "good", "hunter": "bad"}
QUICK = {"step_timeout": 1.0, "start_timeout": 20.0}  # those who do not hang may have to wait


def task(zoo, kind, isolate="agent", episodes=1, settings=None, **limits):
    slots = {
        "good": resolve("kin://probe-python"),
        "bad": resolve(f"{zoo}{kind}", settings or {}, trusted=isolate == "none"),
    }
    isolation = Isolation(isolate, IsolationSettings(**{**QUICK, **limits}))
    ref = WorldRef("probe", settings=RULES)
    return evaluation_task(ref, slots, 5, range(episodes), MAP, isolation)


def play(rollout_task):
    return run_evaluation(rollout_task).episodes


# The failure of agent 3; starting and resetting fail at tick 0, the third step at tick 2.
FAILURES = [
    ("RaisesAtStart", {}, 0, "raised", "start raised ValueError: no weights"),
    ("HangsAtStart", {"start_timeout": 3.0}, 0, "timeout", "start timed out after 3 s"),
    ("RaisesInReset", {}, 0, "raised", "reset_agents raised KeyError: 'parents'"),
    ("Raises", {}, 2, "raised", "act_async raised ZeroDivisionError: boom"),
    ("Quits", {}, 2, "raised", "act_async raised SystemExit: bye"),
    ("Hangs", {}, 2, "timeout", "act_async timed out after 1 s"),
    ("Exits", {}, 2, "exited", "its process exited in act_async with code 3"),
    ("Segfaults", {}, 2, "exited", "its process exited in act_async with code -11"),
    ("EatsMemory", {"memory_limit": 700, "step_timeout": 20.0}, 2, "raised",
     "act_async raised MemoryError"),
    ("BurnsTime", {"cpu_limit": 1, "step_timeout": 20.0}, 2, "limit",
     "act_async used 1.00 CPU s of its process, with a limit of 1"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "limits", "tick", "cause", "description"), FAILURES)
def test_a_failure_names_policy_agent_tick_and_cause(zoo, kind, limits, tick, cause, description):
    [report] = play(task(zoo, kind, **limits))
    assert [(f.agent, f.tick, f.cause) for f in report.failures] == [
        (3, tick, cause),
        (4, tick, cause),
    ]
    first = report.failures[0]
    message = re.sub(r"used 1\.\d\d", "used 1.00", first.message)  # it is looked at every 20 ms
    assert message == f"Slot 'bad', agent 3, tick {tick}: {description}."
    assert first.policy == f"bad_policies.{kind}"
    if cause == "raised" and kind != "EatsMemory":
        assert "bad_policies.py:" in first.traceback
        assert "/" not in first.traceback, "no path of a machine"
    assert report.ticks == 8
    assert report.agents["ticks"] == [8] * 5, "all agents stay in the game"
    assert report.invalid_actions == {}


@pytest.mark.parametrize(
    ("kind", "settings", "limits", "description"),
    [
        ("HangsAtStart", {}, {"start_timeout": 3.0}, "start timed out after 3 s"),
        (
            "FailsAt",
            {"agents": [3, 4], "tick": 0, "how": "hang"},
            {"start_timeout": 3.0, "step_timeout": 0.4},
            "act_async timed out in its first call",
        ),
    ],
)
def test_a_policy_that_hangs_costs_the_start_timeout_once(zoo, kind, settings, limits, description):
    close_pools()
    start = time.monotonic()
    reports = list(play(task(zoo, kind, episodes=4, settings=settings, **limits)))
    assert time.monotonic() - start < 3.0 + 4 * 1.5, "four times the start timeout would be 12 s"
    for report in reports:
        assert [f.message for f in report.failures] == [
            f"Slot 'bad', agent {agent}, tick 0: {description}." for agent in (3, 4)
        ]
    close_pools()
    again = task(zoo, kind, episodes=4, settings=settings, **limits)
    [last] = play(replace(again, episodes=(3,)))
    assert last == reports[3], "the same in a process that has not seen it hang"


INVALID_ACTIONS = [
    ("NotANumber", {"not a number": 2}),
    ("NotNumbers", {"not numbers": 2}),
    ("WrongShape", {"wrong shape": 2}),
    ("OutOfRange", {"out of range": 2}),
]


@pytest.mark.parametrize(("kind", "counted"), INVALID_ACTIONS)
@pytest.mark.parametrize("isolate", ["none", "slot", "agent"])
def test_invalid_actions_are_counted_and_replaced_by_noop(zoo, kind, counted, isolate):
    [report] = play(task(zoo, kind, isolate))
    if (
        isolate != "agent" and kind != "OutOfRange"
    ):  # one array of actions for both agents of the slot
        counted = dict.fromkeys(counted, 1)
    assert report.invalid_actions == {"bad": counted}
    assert report.failures == ()
    assert report == play(task(zoo, "Bad", isolate))[0].__class__(
        **{**vars(play(task(zoo, "Bad", isolate))[0]), "invalid_actions": report.invalid_actions}
    ), "in that step they acted as noop, which is what Bad always does"


def test_printed_bytes_are_counted_outside_of_the_policy_and_discarded(zoo):
    played = run_evaluation(task(zoo, "Floods"))
    assert played.episodes[0].failures == ()
    assert played.observed.slots["bad"].printed_bytes == 2 * 100 * (10_000 + 100_000)


def test_stale_replies_are_counted_and_the_current_one_is_used(zoo):
    played = run_evaluation(task(zoo, "RepliesToOldRequest"))
    [sound] = play(task(zoo, "Bad"))
    # A wake-up that the host asked for and no longer needed may be taken for the first of them.
    assert 2 * 3 <= played.observed.slots["bad"].stale_replies <= 2 * 5
    assert list(played.episodes) == [sound]


def test_a_policy_that_retracts_its_reply_harms_only_itself(zoo):
    [report] = play(task(zoo, "RetractsReply"))
    [sound] = play(task(zoo, "Bad"))
    assert report.ticks == 8
    assert {failure.agent for failure in report.failures} <= {3, 4}
    assert report.agents["ticks"] == sound.agents["ticks"]


def test_processes_that_a_policy_forked_are_killed_with_it(zoo, tmp_path):
    pid_file = tmp_path / "children"
    play(task(zoo, "Forks", settings={"path": str(pid_file)}, step_timeout=5.0))
    forked = [int(line) for line in pid_file.read_text().split()]
    assert len(forked) == 4
    close_pools()
    assert wait_for_exit(30, forked)


def test_a_slot_in_one_process_fails_as_a_whole(zoo):
    [report] = play(task(zoo, "Raises", "slot"))
    [failure] = report.failures
    assert failure.message == "Slot 'bad', tick 2: act_async raised ZeroDivisionError: boom."
    assert failure.agent == -1


def test_a_policy_in_this_process_fails_with_the_same_message(zoo):
    inside, apart = (play(task(zoo, "Raises", how))[0] for how in ("none", "slot"))
    assert inside == apart


@pytest.mark.parametrize("isolate", ["none", "slot"])
@pytest.mark.parametrize("kind", ["Raises", "OutOfRange"])
def test_a_failure_in_one_episode_does_not_affect_others(zoo, isolate, kind):
    together = play(task(zoo, kind, isolate, episodes=3))
    alone = [
        report
        for number in range(3)
        for report in play(replace(task(zoo, kind, isolate), episodes=(number,)))
    ]
    assert list(together) == alone
    assert all(report.failures or report.invalid_actions for report in together)


def test_a_restart_loses_the_memory_and_is_recorded(zoo):
    apart = task(zoo, "Raises", on_failure="restart", max_restarts=1)
    [report] = play(apart)
    failures = [(f.agent, f.tick, f.restarted) for f in report.failures]
    # It fails again at its third action after the only restart.
    assert failures == [(3, 2, True), (4, 2, True), (3, 5, False), (4, 5, False)]
    assert run_evaluation(apart).observed.slots["bad"].restarts == 2
    inside = play(task(zoo, "Raises", "none", on_failure="restart", max_restarts=1))[0]
    assert [(f.tick, f.restarted) for f in inside.failures] == [(2, True), (5, False)]


@pytest.mark.parametrize("isolate", ["none", "agent"])
def test_on_failure_abort_raises_at_the_first_failure(zoo, isolate):
    with pytest.raises(PolicyFailedError) as failed:
        play(task(zoo, "Raises", isolate, on_failure="abort"))
    subject = "Slot 'bad', agent 3" if isolate == "agent" else "Slot 'bad'"
    assert str(failed.value).startswith(
        f"{subject}, tick 2: act_async raised ZeroDivisionError: boom (bad_policies.py:"
    )


HINT = "in the sandbox a policy sees its own module or package, and what --sandbox-read names"
SANDBOXED = [
    ("Connects", "act_async raised PermissionError: [Errno 1] Operation not permitted"),
    (
        "Deletes",
        "act_async raised FileNotFoundError: [Errno 2] No such file or directory: '{}'; " + HINT,
    ),
    (
        "Writes",
        "act_async raised FileNotFoundError: [Errno 2] No such file or directory: '{}'; " + HINT,
    ),
    ("Kills", "act_async raised PermissionError: [Errno 1] Operation not permitted"),
]


@pytest.mark.parametrize(("kind", "description"), SANDBOXED)
def test_the_sandbox_denies_network_files_and_signals(zoo, tmp_path, kind, description):
    mine = tmp_path / "mine.txt"
    mine.write_text("precious")
    settings = {"path": str(mine)}
    [report] = play(task(zoo, kind, settings=settings, sandbox=True))
    assert report.failures[0].message == f"Slot 'bad', agent 3, tick 2: {description.format(mine)}."
    assert mine.read_text() == "precious"


def test_without_a_sandbox_a_policy_can_delete_files(zoo, tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_text("precious")
    play(task(zoo, "Deletes", settings={"path": str(mine)}))
    assert not mine.exists()


def test_every_agent_of_every_game_has_a_process_that_ends_with_it(zoo):
    close_pools()
    sound = task(zoo, "Bad", episodes=4)
    play(sound)
    [pool] = _pools.values()
    assert pool.n_started == 20, "five agents, four episodes"
    [forkserver_pid] = pool.forkserver_pids
    assert children_of(forkserver_pid) == []
    close_pools()
    assert wait_for_exit(30, [forkserver_pid])
    handle = create_anonymous_memory(8)
    assert os.fstat(handle).st_nlink == 0, "shared memory has no name that could be left"
    os.close(handle)


def test_a_sandbox_uses_no_folder_of_the_machine(zoo, tmp_path, monkeypatch):
    close_pools()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    play(task(zoo, "Bad", sandbox=True))
    assert list(tmp_path.iterdir()) == []
    close_pools()


def mixed(zoo, episodes):
    reports = play(task(zoo, "Mix", episodes=episodes, step_timeout=0.1))
    assert [report.episode for report in reports] == list(range(episodes))
    assert all(report.ticks == 8 and len(report.agents["uid"]) == 5 for report in reports)
    return reports


def test_every_episode_with_mixed_failures_has_a_result(zoo):
    reports = mixed(zoo, 20)
    assert {f.cause for report in reports for f in report.failures} == {
        "raised",
        "timeout",
        "exited",
    }
    assert {reason for r in reports for counts in r.invalid_actions.values() for reason in counts} == {
        "not a number", "wrong shape", "out of range",
    }  # fmt: skip


@pytest.mark.slow
def test_two_hundred_episodes_with_mixed_failures_leave_no_process(zoo):
    close_pools()
    mixed(zoo, 200)
    [pool] = _pools.values()
    [forkserver_pid] = pool.forkserver_pids
    worker_pids = children_of(forkserver_pid)
    close_pools()
    assert wait_for_exit(30, [forkserver_pid, *worker_pids])
