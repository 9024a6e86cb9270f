"""Agents of a user's own loop in processes: which can be wrapped, what they do, how they fail."""

import gc
import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.errors import ContractError, EngineError, PolicyFailedError, SettingsError
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation
from kinfolk.isolation import subprocess_policy
from kinfolk.isolation.subprocess_policy import wrap_agent_policy_in_subprocess as wrap
from kinfolk.play.task import WorldRef
from kinfolk.policies.base import single_agent_batch
from kinfolk.policies.resolve import resolve
from kinfolk.testing.inspection import children_of, wait_for_exit

SPEC = WorldRef("probe").spec
OBSERVATIONS = np.random.default_rng(3).integers(0, 255, (6, SPEC.row_bytes)).astype(np.uint8)


@pytest.fixture
def team(zoo):
    import agent_policies

    return lambda name, *args, **kwargs: getattr(agent_policies, name)(SPEC, *args, **kwargs)


def acts(agent):
    return [list(map(int, agent.step(seen))) for seen in OBSERVATIONS]


def processes():
    """Fork servers of this process, and the workers that they have."""
    servers = children_of(os.getpid())
    return servers + [worker for server in servers for worker in children_of(server)]


RESETS = [{}, {"seed": 5}, {"episode": 4}, {"uid": 2}, {"seed": 5, "episode": 4, "uid": 2}]


def test_a_wrapped_agent_gets_its_number_and_the_arguments_of_reset_as_they_are(team):
    policies, actions = team("Team", stride=3), []
    for agent_id in (0, 6):
        base = policies.agent_policy(agent_id)
        with kf.wrap_agent_policy_in_subprocess(base, policies, agent_id) as wrapped:
            base.reset()
            assert acts(wrapped) == acts(base), "the process resets its agent when it starts"
            for arguments in RESETS:
                base.reset(**arguments)
                wrapped.reset(**arguments)
                actions.append(acts(base))
                assert acts(wrapped) == actions[-1], arguments
    assert len({str(listed) for listed in actions}) == 2 * len(RESETS), "each of them matters"


def test_a_wrapped_agent_may_be_in_a_sandbox(team):
    policies = team("Team", stride=3)
    base, limits = policies.agent_policy(2), kf.IsolationSettings(sandbox=True, on_failure="abort")
    with kf.wrap_agent_policy_in_subprocess(base, policies, 2, isolation=limits) as wrapped:
        base.reset(seed=5)
        wrapped.reset(seed=5)
        assert acts(wrapped) == acts(base)
    assert not subprocess_policy._pools


def test_agents_without_arguments_of_reset_can_be_wrapped(team):
    policies = team("BareTeam")
    base = policies.agent_policy(0)
    base.reset()
    with wrap(base, policies, 0) as wrapped:
        wrapped.reset(seed=3, uid=1)
        assert acts(wrapped) == acts(base) == [[1, 0], [2, 0], [0, 0]] * 2


@pytest.mark.parametrize("group", [0, 1])
def test_batched_policies_have_agents_that_can_be_wrapped(group):
    spec = kf.PolicySpec("kinfolk.testing.probe.policies.scripted:PythonForager")
    policies = kf.initialize_or_load_policy(SPEC, spec)
    base = policies.agent_policy(2, group)
    with kf.wrap_agent_policy_in_subprocess(base, policies, 2) as wrapped:
        for seed in (0, 8):
            base.reset(seed, 1, 2)
            wrapped.reset(seed, 1, 2)
            assert acts(wrapped) == acts(base)
    assert wrapped.group == group


def test_every_kind_of_policy_is_loaded_under_the_name_of_the_note(team):
    here = kf.initialize_or_load_policy(
        SPEC, kf.PolicySpec("agent_policies.Team", None, {"stride": 3})
    )
    other = team("Team", stride=3)
    assert type(here) is type(other)
    one, two = here.agent_policy(4), other.agent_policy(4)
    one.reset()
    two.reset()
    assert acts(one) == acts(two)


def play_loop(world, agents):
    """Step a world with one agent per row, as a user would, and return all actions."""
    spec, played = world.spec, []
    seen = np.zeros((spec.rows, spec.row_bytes), dtype=np.uint8)
    world.reset(np.array([3], dtype=np.int64))
    while not world.done.all():
        world.observe(seen)
        actions = np.ones((spec.rows, spec.n_heads), dtype=np.int64)
        for row in np.flatnonzero(world.columns.alive).tolist():
            actions[row] = agents[row].step(seen[row])
        played.append(actions.tolist())
        world.step(actions)
    return played


def test_some_agents_of_a_loop_may_be_wrapped_and_others_not(team):
    world = kf.make("probe", grazers=3, hunters=2, rows=5, max_ticks=12, birth_energy=99)
    policies, played = team("Team"), []
    for selected in ((), (1, 4), range(5)):
        agents = [policies.agent_policy(row) for row in range(5)]
        for row in selected:
            agents[row] = kf.wrap_agent_policy_in_subprocess(agents[row], policies, row)
        try:
            for row, agent in enumerate(agents):
                agent.reset(seed=7, uid=row)
            played.append(play_loop(world, agents))
        finally:
            for row in selected:
                agents[row].shutdown()
    assert played[1] == played[0]
    assert played[2] == played[0]
    assert len(played[0]) == 12


def test_wrapped_agents_share_a_fork_server_and_end_one_by_one(team):
    before, policies = set(processes()), team("Team")
    agents = [wrap(policies.agent_policy(row), policies, row) for row in range(4)]
    new = [set(processes()) - before]
    for agent in agents:
        agent.shutdown()
        agent.shutdown()
        new.append(set(processes()) - before)
    assert [len(pids) for pids in new] == [5, 4, 3, 2, 0]
    assert not subprocess_policy._pools


def test_the_policy_may_close_before_its_process_ends(team, tmp_path):
    policies = team("Team", note=str(tmp_path / "note"))
    wrap(policies.agent_policy(0), policies, 0).shutdown()
    assert (tmp_path / "note").read_text() == "shut down"


def test_an_agent_that_was_not_shut_down_ends_with_its_object(team):
    before, policies = set(processes()), team("BareTeam")
    agent = wrap(policies.agent_policy(0), policies, 0)
    left = set(processes()) - before
    assert len(left) == 2
    del agent
    gc.collect()
    assert wait_for_exit(30, left)


def test_after_shutdown_it_cannot_act(team):
    policies = team("BareTeam")
    agent = wrap(policies.agent_policy(0), policies, 0)
    agent.shutdown()
    for call in (lambda: agent.step(OBSERVATIONS[0]), agent.reset):
        with pytest.raises(PolicyFailedError) as refused:
            call()
        assert str(refused.value) == (
            "Slot 'agent_policies:BareTeam' was shut down, so it cannot act; wrap the policy again."
        )


FAILURES = {
    "raise": "act_async raised LookupError: no path",
    "hang": "act_async timed out after 1 s",
    "exit": "its process exited in act_async with code 3",
}


@pytest.mark.parametrize("how", list(FAILURES))
def test_a_failure_is_raised_until_the_agent_is_reset(team, how):
    policies = team("FailingTeam", how=how)
    with wrap(policies.agent_policy(0), policies, 0, step_timeout=1.0) as agent:
        for _ in range(2):
            agent.reset()
            assert [agent.step(seen).tolist() for seen in OBSERVATIONS[:2]] == [[2, 0]] * 2
            message = f"Slot 'agent_policies:FailingTeam', tick 2: {FAILURES[how]}"
            with pytest.raises(PolicyFailedError) as failed:
                agent.step(OBSERVATIONS[2])
            where = " (agent_policies.py:96 in stumble)" if how == "raise" else ""
            assert str(failed.value) == f"{message}{where}."
            with pytest.raises(PolicyFailedError) as failed:
                agent.step(OBSERVATIONS[2])
            assert str(failed.value) == f"{message}. Call reset to start it again."


def test_a_crashed_process_may_be_restarted_without_an_error(team):
    policies = team("FailingTeam", how="exit")
    limits = kf.IsolationSettings(on_failure="restart", max_restarts=1)
    with wrap(policies.agent_policy(0), policies, 0, isolation=limits) as agent:
        # Its state is lost in the third step, and it counts to three again.
        assert acts(agent) == [[2, 0], [2, 0], [1, 0], [2, 0], [2, 0], [1, 0]]
        assert [(f.tick, f.restarted) for f in agent.failures] == [(2, True), (5, False)]
        assert agent.metrics["restarts"] == 1
        agent.reset()
        assert agent.failures == ()
        assert agent.step(OBSERVATIONS[0]).tolist() == [2, 0]


ANSWERS = [[0.5], [1], "left", [[1, 2], [3]], None, [1, 0, 0]]


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_wrong_answer_names_class_method_file_and_line_of_its_author(team, answer):
    policy, batch = team("AnsweringTeam", answer=answer), single_agent_batch(0, 0)
    policy.reset_agents(batch, {}, np.zeros(1, dtype=np.int64))
    with pytest.raises(ContractError) as refused:
        policy.act_async(OBSERVATIONS[:1], batch, {}, np.zeros(1, dtype=np.int64))
    assert str(refused.value) == (
        f"Answering.step returned {answer!r}; an action is one integer for each of 2 heads "
        f"(agent_policies.py:112 in step)."
    )


TEAMS = {
    "EmptyTeam": (
        "EmptyTeam.agent_policy returned None, which has no reset and no step; an agent has reset() "
        "and step(observation)", "agent_policies.py:128 in agent_policy",
    ),
    "SimulatedTeam": (
        "Simulated.reset cannot be called: missing a required argument: 'simulation'. It may take "
        "seed, episode and uid, and nothing else", "agent_policies.py:133 in reset",
    ),
    "BlindTeam": (
        "Blind.step cannot be called: too many positional arguments. It takes observation",
        "agent_policies.py:143 in step",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(TEAMS))
@pytest.mark.parametrize("isolate", ["none", "slot"])
def test_a_failure_of_an_evaluation_names_the_line_of_an_agent_that_cannot_be_called(
    zoo, name, isolate
):
    slots = {"all": resolve(f"class:agent_policies.{name}", trusted=isolate == "none")}
    ref = WorldRef("probe", settings={"max_ticks": 3})
    task = evaluation_task(ref, slots, 0, range(1), isolation=Isolation(isolate))
    [failure] = run_evaluation(task).episodes[0].failures
    message, location = TEAMS[name]
    assert failure.message == f"Slot 'all', tick 0: reset_agents raised ContractError: {message}."
    assert failure.location == location


def test_agents_of_reused_processes_have_their_own_numbers(zoo):
    """A process that has played row 3 may play row 5 in the next episode."""
    rules = {"max_ticks": 20, "cells": 3, "growth": 1.0, "grazers": 3, "hunters": 1, "rows": 7,
             "meal": 9, "birth_energy": 2, "birth_cost": 1}  # fmt: skip
    settings = {
        "slots": {"all": "class:agent_policies.Team"},
        "episodes": 3,
        "world_settings": rules,
    }
    plain = kf.evaluate("probe", **settings)
    assert plain.lives["all"].mean > 5, "some are born"
    assert kf.evaluate("probe", **settings, parallel_policy=True) == plain


def refusal(call):
    with pytest.raises(SettingsError) as refused:
        call()
    return str(refused.value)


def test_what_cannot_be_wrapped_is_refused(team):
    class Local(kf.MultiAgentPolicy):
        pass

    agent, policies = team("BareTeam").agent_policy(0), team("BareTeam")
    assert refusal(lambda: wrap(agent, agent, 0)) == (
        "The second argument must be the MultiAgentPolicy that made the agent, or the spec of the "
        "world, not Bare."
    )
    assert refusal(lambda: wrap(policies, policies, 0)) == (
        "The first argument must be an agent with reset and step, as agent_policy(agent_id) returns "
        "it, not BareTeam."
    )
    assert refusal(lambda: wrap(agent, Local(SPEC), 0)) == (
        "Another process cannot import test_what_cannot_be_wrapped_is_refused.<locals>.Local. Define "
        "it at the top level of a module."
    )
    assert refusal(lambda: wrap(agent, team("Team", note=os), 0)).startswith(
        "Team was built with note=<module 'os'"
    )
    assert refusal(lambda: wrap(agent, team("LoadedTeam"), 0)) == (
        "LoadedTeam has a method load, and was not built by kinfolk, so its weights are unknown. Build "
        "it by initialize_or_load_policy(env_info, PolicySpec(class_path, data_path))."
    )


def test_without_processes_an_agent_plays_in_this_one_with_a_warning(team):
    policies = team("Team")
    agent_ids = range(2)
    limits = kf.IsolationSettings(max_processes=1)
    with wrap(policies.agent_policy(0), policies, 0, isolation=limits) as first:
        with pytest.warns(
            UserWarning,
            match=r"^All 1 worker processes \(--max-processes\) are in use\. agent_policies:Team gets "
            r"no process of its own\.$",
        ):
            second = wrap(policies.agent_policy(1), policies, 1, isolation=limits)
        for agent, agent_id in zip((first, second), agent_ids, strict=True):
            base = policies.agent_policy(agent_id)
            base.reset(seed=4)
            agent.reset(seed=4)
            assert acts(agent) == acts(base)
        second.shutdown()
    strict = limits.model_copy(update={"strict": True})
    with (
        wrap(policies.agent_policy(0), policies, 0, isolation=strict),
        pytest.raises(EngineError) as refused,
    ):
        wrap(policies.agent_policy(1), policies, 1, isolation=strict)
    assert str(refused.value) == (
        "All 1 worker processes (--max-processes) are in use. strict and sandbox do not allow weaker "
        "isolation."
    )
    assert not subprocess_policy._pools


def test_threads_may_play_with_agents_of_their_own_and_of_others(team):
    policies, results = team("Team"), {}
    shared = [wrap(policies.agent_policy(i), policies, i, step_timeout=20.0) for i in range(2)]

    def play(number):
        agent = wrap(policies.agent_policy(number), policies, number, step_timeout=20.0)
        results[number] = acts(agent), acts(shared[number])
        agent.shutdown()

    threads = [threading.Thread(target=play, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for agent in shared:
        agent.shutdown()
    for number in range(2):
        base = policies.agent_policy(number)
        base.reset()
        expected = acts(base)
        assert results[number] == (expected, expected)


SCRIPT = """
import numpy as np
import kinfolk as kf

class Walker:
    def reset(self):
        pass
    def step(self, observation):
        return [2, 0]

class Walkers(kf.MultiAgentPolicy):
    def agent_policy(self, agent_id):
        return Walker()

def main():
    policies = Walkers(kf.make("probe").spec)
    with kf.wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0) as agent:
        print(agent.step(np.zeros(policies.policy_env_info.row_bytes, dtype=np.uint8)).tolist())
"""


@pytest.mark.parametrize("guard", ["if __name__ == '__main__':\n    main()", "main()"])
@pytest.mark.more
def test_a_policy_of_a_script_can_be_wrapped_if_the_script_can_be_imported(tmp_path, guard):
    (tmp_path / "script.py").write_text(f"{SCRIPT}\n{guard}\n")
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    if guard.startswith("if"):
        assert done.stdout == "[2, 0]\n", done.stderr
    else:
        assert done.stderr.splitlines()[-1].startswith(
            "kinfolk.core.errors.PolicyFailedError: Slot 'script:Walkers', tick 0: start raised "
            "UsageError: 'script:Walkers' cannot be imported: SettingsError: The script of a policy "
            "wraps agents when it is imported. Put that code below `if __name__ == '__main__':`."
        )


def test_no_warning_is_given_if_there_is_a_process(team):
    policies = team("BareTeam")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrap(policies.agent_policy(0), policies, 0).shutdown()
