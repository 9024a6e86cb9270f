"""Bad policies: each ends in a result that says who, when and what, and the game goes on."""

import os
from dataclasses import replace

import pytest

from kinfolk.core import temporary_folder
from kinfolk.core.errors import PolicyFailedError
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation
from kinfolk.isolation.settings import IsolationSettings
from kinfolk.isolation.shared_buffers import create_anonymous_memory
from kinfolk.isolation.worker_pool import _pools, close_pools
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.testing.processes import children_of, wait_for_exit

# Hunters are agents 3 and 4; nobody is born or dies early.
RULES = {"grazers": 3, "hunters": 2, "rows": 5, "max_ticks": 8, "max_age": 99, "start_energy": 99}
MAP = {"grazer": "good", "hunter": "bad"}
QUICK = {"step_timeout": 0.3, "start_timeout": 5.0}


def task(zoo, kind, isolate="agent", episodes=1, settings=None, **care):
    slots = {
        "good": resolve("kin://probe-python"),
        "bad": resolve(f"{zoo}{kind}", settings or {}, trusted=isolate == "none"),
    }
    isolation = Isolation(isolate, IsolationSettings(**{**QUICK, **care}))
    ref = WorldRef("probe", settings=RULES)
    return evaluation_task(ref, slots, 5, range(episodes), MAP, isolation)


def play(asked):
    return run_evaluation(asked).episodes


# What is told of agent 3; a start is told of tick 0, the third step is taken at tick 2.
FAILURES = [
    ("RaisesAtStart", {}, 0, "raised", "start raised ValueError: no weights"),
    ("HangsAtStart", {"start_timeout": 1.0}, 0, "timeout", "no answer to start in 1 s"),
    ("RaisesInBegin", {}, 0, "raised", "reset_agents raised KeyError: 'parents'"),
    ("Raises", {}, 2, "raised", "act_async raised ZeroDivisionError: boom"),
    ("Quits", {}, 2, "raised", "act_async raised SystemExit: bye"),
    ("Hangs", {}, 2, "timeout", "no answer to act_async in 0.3 s"),
    ("Exits", {}, 2, "exited", "its process died in act_async with exit code 3"),
    ("Segfaults", {}, 2, "exited", "its process died in act_async with exit code -11"),
    ("EatsMemory", {"memory_limit": 700, "step_timeout": 20.0}, 2, "raised",
     "act_async raised MemoryError"),
    ("BurnsTime", {"cpu_limit": 1, "step_timeout": 20.0}, 2, "exited",
     "its process died in act_async with exit code -9"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "care", "tick", "cause", "what"), FAILURES)
def test_a_failure_names_policy_agent_tick_and_cause(zoo, kind, care, tick, cause, what):
    [report] = play(task(zoo, kind, **care))
    assert [(f.agent, f.tick, f.cause) for f in report.failures] == [
        (3, tick, cause),
        (4, tick, cause),
    ]
    first = report.failures[0]
    assert first.sentence == f"Slot 'bad', agent 3, tick {tick}: {what}."
    assert first.policy == f"bad_policies.{kind}"
    if cause == "raised" and kind != "EatsMemory":
        assert "bad_policies.py:" in first.traceback
        assert "/" not in first.traceback, "no path of a machine"
    assert report.ticks == 8
    assert report.agents["ticks"] == [8] * 5, "all agents stay in the game"
    assert report.invalid_actions == {}


FAULTS = [
    ("NotANumber", {"not a number": 2}),
    ("NotNumbers", {"not numbers": 2}),
    ("WrongShape", {"wrong shape": 2}),
    ("OutOfRange", {"out of range": 2}),
]


@pytest.mark.parametrize(("kind", "counted"), FAULTS)
@pytest.mark.parametrize("isolate", ["none", "slot", "agent"])
def test_an_answer_that_is_no_action_is_counted_and_nothing_is_done(zoo, kind, counted, isolate):
    [report] = play(task(zoo, kind, isolate))
    if isolate != "agent" and kind != "OutOfRange":  # one answer of the slot for both of its agents
        counted = dict.fromkeys(counted, 1)
    assert report.invalid_actions == {"bad": counted}
    assert report.failures == ()
    assert report == play(task(zoo, "Bad", isolate))[0].__class__(
        **{**vars(play(task(zoo, "Bad", isolate))[0]), "invalid_actions": report.invalid_actions}
    ), "they stood still in that step, as the others always do"


def test_a_flood_of_words_is_counted_and_stops_nobody(zoo):
    played = run_evaluation(task(zoo, "Floods"))
    assert played.episodes[0].failures == ()
    assert played.observed.slots["bad"].printed_chars == 2 * 100 * 10_000


def test_a_late_answer_is_dropped_and_counted_and_the_right_one_is_taken(zoo):
    played = run_evaluation(task(zoo, "AnswersLate"))
    [sound] = play(task(zoo, "Bad"))
    assert played.observed.slots["bad"].stale_replies == 2 * 5
    assert list(played.episodes) == [sound]


def test_who_takes_its_answer_back_harms_itself_at_most(zoo):
    [report] = play(task(zoo, "TakesBack"))
    [sound] = play(task(zoo, "Bad"))
    assert report.ticks == 8
    assert {failure.agent for failure in report.failures} <= {3, 4}
    assert report.agents["ticks"] == sound.agents["ticks"]


def test_what_a_policy_forked_ends_with_it(zoo, tmp_path):
    where = tmp_path / "children"
    play(task(zoo, "Forks", settings={"where": str(where)}, step_timeout=5.0))
    forked = [int(line) for line in where.read_text().split()]
    assert len(forked) == 4
    close_pools()
    assert wait_for_exit(5, forked)


def test_one_slot_in_one_process_fails_as_a_whole(zoo):
    [report] = play(task(zoo, "Raises", "slot"))
    [failure] = report.failures
    assert failure.sentence == "Slot 'bad', tick 2: act_async raised ZeroDivisionError: boom."
    assert failure.agent == -1


def test_in_this_process_a_policy_that_raises_fails_in_the_same_words(zoo):
    inside, apart = (play(task(zoo, "Raises", how))[0] for how in ("none", "slot"))
    assert inside == apart


@pytest.mark.parametrize("isolate", ["none", "slot"])
@pytest.mark.parametrize("kind", ["Raises", "OutOfRange"])
def test_what_fails_in_one_episode_reaches_no_other(zoo, isolate, kind):
    together = play(task(zoo, kind, isolate, episodes=3))
    alone = [
        report
        for number in range(3)
        for report in play(replace(task(zoo, kind, isolate), episodes=(number,)))
    ]
    assert list(together) == alone
    assert all(report.failures or report.invalid_actions for report in together)


def test_restarting_loses_the_state_and_says_so(zoo):
    apart = task(zoo, "Raises", on_failure="restart", max_restarts=1)
    [report] = play(apart)
    told = [(f.agent, f.tick, f.restarted) for f in report.failures]
    # Asked thrice again after the restart, it fails again, and that was its last chance.
    assert told == [(3, 2, True), (4, 2, True), (3, 5, False), (4, 5, False)]
    assert run_evaluation(apart).observed.slots["bad"].restarts == 2
    inside = play(task(zoo, "Raises", "none", on_failure="restart", max_restarts=1))[0]
    assert [(f.tick, f.restarted) for f in inside.failures] == [(2, True), (5, False)]


@pytest.mark.parametrize("isolate", ["none", "agent"])
def test_told_to_abort_it_stops_at_the_first_failure(zoo, isolate):
    with pytest.raises(PolicyFailedError) as failed:
        play(task(zoo, "Raises", isolate, on_failure="abort"))
    who = "Slot 'bad', agent 3" if isolate == "agent" else "Slot 'bad'"
    assert str(failed.value).startswith(
        f"{who}, tick 2: act_async raised ZeroDivisionError: boom (bad_policies.py:"
    )


SANDBOXED = [
    ("Connects", "act_async raised PermissionError: [Errno 1] Operation not permitted"),
    ("Deletes", "act_async raised PermissionError: [Errno 13] Permission denied: '{}'"),
    ("Writes", "act_async raised PermissionError: [Errno 13] Permission denied: '{}'"),
    ("Kills", "act_async raised PermissionError: [Errno 1] Operation not permitted"),
]


@pytest.mark.parametrize(("kind", "what"), SANDBOXED)
def test_in_a_sandbox_the_system_refuses(zoo, tmp_path, kind, what):
    mine = tmp_path / "mine.txt"
    mine.write_text("precious")
    settings = {"where": str(mine)}
    [report] = play(task(zoo, kind, settings=settings, sandbox=True))
    told = report.failures[0].sentence
    assert told == f"Slot 'bad', agent 3, tick 2: {what.format(mine)}."
    assert mine.read_text() == "precious"


def test_without_a_sandbox_files_are_not_safe(zoo, tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_text("precious")
    play(task(zoo, "Deletes", settings={"where": str(mine)}))
    assert not mine.exists()


def test_processes_are_reused_and_in_the_end_nothing_is_left(zoo):
    close_pools()
    sound = task(zoo, "Bad", episodes=4)
    play(sound)
    [pool] = _pools.values()
    assert pool.n_started == 5, "five agents, four episodes, five processes"
    nursery = pool.forkserver._process.pid
    guests = children_of(nursery)
    assert len(guests) == 5
    close_pools()
    assert wait_for_exit(5, [nursery, *guests])
    handle = create_anonymous_memory(8)
    assert os.fstat(handle).st_nlink == 0, "shared memory has no name that could be left"
    os.close(handle)


def test_the_scratch_folder_of_a_sandbox_goes_with_its_process(zoo, tmp_path, monkeypatch):
    close_pools()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(
        temporary_folder, "_process_folder", temporary_folder._ProcessFolder()
    )  # an earlier test's may still be in use
    play(task(zoo, "Bad", sandbox=True))
    assert len(list(tmp_path.glob("kin-*/guest-*"))) == 5
    close_pools()
    assert list(tmp_path.iterdir()) == []


def mixed(zoo, episodes):
    reports = play(task(zoo, "Mix", episodes=episodes, step_timeout=0.1))
    assert [report.episode for report in reports] == list(range(episodes))
    assert all(report.ticks == 8 and len(report.agents["uid"]) == 5 for report in reports)
    return reports


def test_every_episode_of_a_mix_of_them_has_a_result(zoo):
    reports = mixed(zoo, 20)
    assert {f.cause for report in reports for f in report.failures} == {
        "raised",
        "timeout",
        "exited",
    }
    assert {what for report in reports for f in report.invalid_actions.values() for what in f} == {
        "not a number", "wrong shape", "out of range",
    }  # fmt: skip


@pytest.mark.slow
def test_two_hundred_episodes_of_a_mix_have_results_and_leave_nothing(zoo):
    close_pools()
    mixed(zoo, 200)
    [pool] = _pools.values()
    nursery = pool.forkserver._process.pid
    guests = children_of(nursery)
    close_pools()
    assert wait_for_exit(5, [nursery, *guests])
