"""The design note on evaluation, statement by statement.

The note describes evaluation with a subprocess per agent. Its headings are the comments below, its
statements the names of the tests, and its listings stand here as they stand there.
"""

import json
import os
import pickle
import time

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.errors import EngineError, PolicyFailedError
from kinfolk.core.events import TimingEvent
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation
from kinfolk.isolation import subprocess_policy
from kinfolk.isolation.worker_pool import close_pools
from kinfolk.jobs.evaluate import EpisodePlayed, Evaluate
from kinfolk.jobs.evaluate import evaluate as evaluation_job
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.testing.inspection import children_of, wait_for_exit

RULES = {"grazers": 3, "hunters": 2, "rows": 5, "max_ticks": 8, "max_age": 99, "start_energy": 99}
SPEC = WorldRef("probe", settings=RULES).spec
OBSERVATIONS = np.random.default_rng(5).integers(0, 255, (6, SPEC.row_bytes)).astype(np.uint8)
PROBE = {"world_settings": RULES, "slots": {"all": "class:agent_policies.Team"}, "episodes": 3}
wrap_agent_policy_in_subprocess = kf.wrap_agent_policy_in_subprocess


@pytest.fixture
def zoo_module(zoo):
    import agent_policies

    return agent_policies


@pytest.fixture
def policies(zoo_module):
    return zoo_module.Team(SPEC)


def acts(agent, observations=OBSERVATIONS):
    return [list(map(int, agent.step(seen))) for seen in observations]


def log_of(path):
    """Lines of a `RegisteringTeam`, as (pid, call, agent id)."""
    lines = [line.split() for line in path.read_text().splitlines()]
    return [(int(pid), call, int(agent)) for pid, call, agent in lines]


def descendants(pid):
    pids = set()
    for child in children_of(pid):
        pids |= {child} | descendants(child)
    return pids


def timings(**settings):
    """Timings of the only slot of an evaluation, and its results."""
    chosen = validate_settings(Evaluate, {"world": "probe", **PROBE, **settings})
    items = list(evaluation_job(chosen, LocalEngine()))
    [timing] = [item for item in items if isinstance(item, TimingEvent)]
    return timing.slots["all"], [item for item in items if isinstance(item, EpisodePlayed)]


# Systems design: architecture overview


def test_episode_level_parallelization_gives_the_results_of_one_job(zoo):
    settings = {**PROBE, "chunk_size": 1}
    serial = kf.evaluate("probe", **settings)
    assert kf.evaluate("probe", **settings, engine="processes", jobs=2) == serial


def test_agent_level_parallelization_gives_each_agent_its_own_persistent_process(zoo, tmp_path):
    slots = {"all": f"class:agent_policies.RegisteringTeam?log={tmp_path / 'log'}"}
    kf.evaluate("probe", **{**PROBE, "slots": slots}, parallel_policy=True)
    steps = {(pid, agent) for pid, call, agent in log_of(tmp_path / "log") if call == "step"}
    assert len(steps) == 5, "an agent stays in its process"
    assert len({pid for pid, _ in steps}) == 5, "no two agents share one"
    assert os.getpid() not in {pid for pid, _ in steps}


# Systems design: component hierarchy


def test_a_multi_agent_policy_makes_agents_that_are_wrapped_one_by_one(policies):
    agent = policies.agent_policy(2)
    with wrap_agent_policy_in_subprocess(agent, policies, 2) as wrapped:
        assert isinstance(policies, kf.MultiAgentPolicy)
        assert isinstance(wrapped, kf.PerAgentSubprocessPolicy)
        assert len(descendants(os.getpid())) >= 2, "a process with the agent, and its fork server"


# Systems design: communication pattern


def test_answers_match_requests_even_if_processing_order_varies(zoo):
    slots = {"all": resolve("class:bad_policies.RepliesToOldRequest", trusted=False)}
    sound = {"all": resolve("class:bad_policies.Bad", trusted=False)}
    ref, isolation = WorldRef("probe", settings=RULES), Isolation("agent")
    played = run_evaluation(evaluation_task(ref, slots, 5, range(1), isolation=isolation))
    expected = run_evaluation(evaluation_task(ref, sound, 5, range(1), isolation=isolation))
    assert played.episodes == expected.episodes
    # A host that is kept waiting for 50 ms reads stale and current answers of an agent at once.
    assert 0 < played.observed.slots["all"].stale_replies <= 5 * 5, (
        "five stale answers of each agent"
    )


# Systems design: lifecycle


def test_initialization_builds_the_policy_and_resets_the_agent_in_the_process(zoo_module, tmp_path):
    policies = zoo_module.RegisteringTeam(SPEC, str(tmp_path / "log"))
    agent = policies.agent_policy(3)
    with wrap_agent_policy_in_subprocess(agent, policies, 3):
        [here, *there] = log_of(tmp_path / "log")
    assert here == (os.getpid(), "agent_policy", 3)
    assert [line[1:] for line in there] == [("agent_policy", 3), ("reset", 3)]
    assert {pid for pid, _, _ in there}.isdisjoint({os.getpid()})


def test_execution_forwards_steps_and_resets(zoo_module, tmp_path):
    policies = zoo_module.RegisteringTeam(SPEC, str(tmp_path / "log"))
    with wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0) as wrapped:
        wrapped.step(OBSERVATIONS[0])
        wrapped.reset(seed=3)
        wrapped.step(OBSERVATIONS[1])
    calls = [call for _, call, _ in log_of(tmp_path / "log")]
    assert calls == ["agent_policy", "agent_policy", "reset", "step", "reset", "step"]


def test_cleanup_shutdown_ends_the_process_after_the_policy_was_closed(zoo_module, tmp_path):
    policies = zoo_module.Team(SPEC, note=str(tmp_path / "note"))
    before = descendants(os.getpid())
    wrapped = wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0)
    started = descendants(os.getpid()) - before
    wrapped.shutdown()
    assert (tmp_path / "note").read_text() == "shut down"
    assert wait_for_exit(5, started)


def test_cleanup_joins_with_a_timeout_then_terminates(zoo_module):
    policies = zoo_module.StubbornTeam(SPEC)
    before, start = descendants(os.getpid()), time.monotonic()
    wrapped = wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0)
    started = descendants(os.getpid()) - before
    wrapped.shutdown()
    assert wait_for_exit(5, started)
    assert time.monotonic() - start < 30, "the policy would sleep for a minute"


def test_cleanup_falls_back_to_the_end_of_the_object(policies):
    before = descendants(os.getpid())
    wrapped = wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0)
    started = descendants(os.getpid()) - before
    assert len(started) == 2
    del wrapped
    assert wait_for_exit(5, started)
    assert not subprocess_policy._pools


# Cybernetics: determinism preservation


@pytest.mark.parametrize("parallel_policy", [True, False])
def test_determinism_same_seed_same_results(zoo, parallel_policy):
    result1 = kf.evaluate("probe", **PROBE, seed=42, parallel_policy=parallel_policy)
    result2 = kf.evaluate("probe", **PROBE, seed=42, parallel_policy=not parallel_policy)
    assert result1 == result2
    assert kf.evaluate("probe", **PROBE, seed=43, parallel_policy=parallel_policy) != result1


def test_determinism_each_episode_has_its_own_seed_which_follows_from_the_base_seed(zoo):
    seeds = [[e.seed for e in timings(seed=seed, episodes=4)[1]] for seed in (1, 1, 2)]
    assert seeds[0] == seeds[1]
    assert len({*seeds[0], *seeds[2]}) == 8
    first = [e.seed for e in timings(seed=1, episodes=2)[1]]
    assert first == seeds[0][:2], "the number of episodes has no effect on them"


def test_determinism_equal_observations_are_equal_bytes(policies):
    assert pickle.dumps(OBSERVATIONS[0]) == pickle.dumps(OBSERVATIONS[0].copy())
    with (
        wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0) as one,
        wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0) as two,
    ):
        assert acts(one) == acts(two)


# Cybernetics: state consistency


def test_state_consistency_a_stateful_policy_maintains_state_across_steps(policies):
    policy = policies.agent_policy(1)
    policy.reset()
    wrapped = wrap_agent_policy_in_subprocess(policy, policies, 1)
    with wrapped:
        same = np.repeat(OBSERVATIONS[:1], 8, axis=0)
        actions = acts(wrapped, same)
        assert actions == acts(policy, same)
        assert len({str(action) for action in actions}) > 1, "its state changes between them"
        wrapped.reset()
        assert acts(wrapped, same) == actions, "reset is forwarded, and gives a clean state"


@pytest.mark.more
def test_state_consistency_a_recurrent_net_maintains_its_state():
    pytest.importorskip("torch")
    spec = kf.PolicySpec("kinfolk.testing.probe.policies.neural:ProbeGruPolicy", None, {"seed": 3})
    policies = kf.initialize_or_load_policy(SPEC, spec)
    policy = policies.agent_policy(0)
    with wrap_agent_policy_in_subprocess(policy, policies, 0, step_timeout=30.0) as wrapped:
        assert acts(wrapped) == acts(policy)


# Cybernetics: isolation


def test_isolation_agents_do_not_interfere_with_each_other(zoo_module):
    policies = zoo_module.SharingTeam(SPEC)
    obs0, obs1 = OBSERVATIONS[:2]
    zoo_module.SHARED.clear()
    together = [policies.agent_policy(i) for i in range(2)]
    assert [together[0].step(obs0), together[1].step(obs1)] == [[0, 0], [1, 0]], "they do here"
    with (
        wrap_agent_policy_in_subprocess(together[0], policies, 0) as agent0_policy,
        wrap_agent_policy_in_subprocess(together[1], policies, 1) as agent1_policy,
    ):
        action0 = agent0_policy.step(obs0)
        action1 = agent1_policy.step(obs1)
    assert action0.tolist() == action1.tolist() == [0, 0]


def test_isolation_the_host_shares_no_state_with_a_wrapped_agent(zoo_module):
    policies = zoo_module.SharingTeam(SPEC)
    zoo_module.SHARED.clear()
    with wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0) as wrapped:
        acts(wrapped)
    assert zoo_module.SHARED == []


# Cybernetics: correctness


def test_correctness_actions_match_in_process_execution(zoo):
    plain = timings(isolate="none")[1]
    assert timings(isolate="agent")[1] == plain
    assert timings(isolate="slot")[1] == plain


def test_correctness_a_step_blocks_until_its_own_response(zoo_module):
    policies = zoo_module.SlowTeam(SPEC)
    with wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0) as wrapped:
        start = time.monotonic()
        assert wrapped.step(OBSERVATIONS[0]).tolist() == [1, 0]
        assert time.monotonic() - start >= 0.2


# Cybernetics: completeness


def test_completeness_cleanup_always_happens(policies):
    before = descendants(os.getpid())
    wrapped_policies = [
        wrap_agent_policy_in_subprocess(policies.agent_policy(i), policies, i) for i in range(3)
    ]
    started = descendants(os.getpid()) - before

    def run_episodes():
        raise KeyboardInterrupt

    def run_all():
        try:
            run_episodes()
        finally:
            for wrapped_policy in wrapped_policies:
                wrapped_policy.shutdown()  # Always called

    with pytest.raises(KeyboardInterrupt):
        run_all()
    assert len(started) == 4
    assert wait_for_exit(5, started)


@pytest.mark.parametrize("how", ["raise", "exit", "hang"])
def test_completeness_all_episodes_complete_and_partial_results_are_returned(zoo, how):
    slots = {"all": f"class:agent_policies.FailingTeam?how={how}"}
    result = kf.evaluate("probe", **{**PROBE, "slots": slots}, isolate="agent", step_timeout=0.5)
    assert result.episodes == 3
    assert result.ticks.mean == 8
    assert result.failures == 3 * 5
    assert result.failed_slots["all"]["first"]["tick"] == 2


# Architecture details


@pytest.mark.parametrize("parallel_policy", [True, False])
def test_wrapping_at_the_level_of_agents_as_listed_in_the_note(policies, parallel_policy):
    num_agents, agent_policies = 3, []
    policies, policy_idx = [policies], 0
    try:
        for agent_id in range(num_agents):
            base_agent_policy = policies[policy_idx].agent_policy(agent_id)

            if parallel_policy:
                wrapped_policy = wrap_agent_policy_in_subprocess(
                    base_agent_policy,
                    policies[policy_idx],  # For extracting class/data path
                    agent_id,
                )
                agent_policies.append(wrapped_policy)
            else:
                agent_policies.append(base_agent_policy)
        for agent_id, agent in enumerate(agent_policies):
            agent.reset()
            base = policies[policy_idx].agent_policy(agent_id)
            base.reset()
            assert acts(agent) == acts(base)
    finally:
        for agent in agent_policies:
            if parallel_policy:
                agent.shutdown()


def test_the_worker_function_as_listed_in_the_note(zoo):
    agent_id, env_info_dict = 2, json.loads(json.dumps(SPEC.to_dict()))
    policy_class_path, policy_data_path = "agent_policies.Team", None

    env_info = kf.PolicyEnvInterface(**env_info_dict)
    policy_spec = kf.PolicySpec(class_path=policy_class_path, data_path=policy_data_path)
    multi_agent_policy = kf.initialize_or_load_policy(env_info, policy_spec)
    agent_policy = multi_agent_policy.agent_policy(agent_id)
    agent_policy.reset()

    assert env_info == SPEC
    with kf.PerAgentSubprocessPolicy(
        policy_spec, env_info, agent_id=agent_id, forward_reset=True
    ) as wrapped:
        assert acts(wrapped) == acts(agent_policy)


@pytest.mark.more
def test_serialization_weights_and_arguments_reach_the_process(tmp_path):
    pytest.importorskip("torch")
    from safetensors.numpy import save

    from kinfolk.testing.probe.policies.neural import ProbeGruPolicy

    weights = {name: 2 * w.detach().numpy() for name, w in ProbeGruPolicy(SPEC)._weights.items()}
    (tmp_path / "w.safetensors").write_bytes(save(weights))
    path = "kinfolk.testing.probe.policies.neural:ProbeGruPolicy"
    for data_path in (tmp_path / "w.safetensors", None):
        policies = kf.initialize_or_load_policy(SPEC, kf.PolicySpec(path, data_path, {"seed": 3}))
        policy = policies.agent_policy(0)
        with wrap_agent_policy_in_subprocess(policy, policies, 0, step_timeout=30.0) as wrapped:
            assert acts(wrapped) == acts(policy)


def test_serialization_observations_and_actions_can_be_pickled(policies):
    agent = policies.agent_policy(0)
    agent.reset()
    action = agent.step(pickle.loads(pickle.dumps(OBSERVATIONS[0])))
    assert pickle.loads(pickle.dumps(action)) == action


# Correctness guarantees: invariants


def test_state_invariant_state_in_the_subprocess_matches_that_in_this_process(policies):
    base = policies.agent_policy(4)
    with wrap_agent_policy_in_subprocess(base, policies, 4) as wrapped:
        for episode in range(3):
            base.reset(seed=9, episode=episode, uid=4)
            wrapped.reset(seed=9, episode=episode, uid=4)
            assert acts(wrapped) == acts(base)


def test_ordering_invariant_interleaved_agents_get_their_own_answers_in_order(policies):
    bases = [policies.agent_policy(i) for i in range(3)]
    wrapped = [wrap_agent_policy_in_subprocess(b, policies, i) for i, b in enumerate(bases)]
    try:
        for base in bases:
            base.reset()
        for step, seen in enumerate(OBSERVATIONS):
            order = np.random.default_rng(step).permutation(3).tolist()
            for i in order:
                wrapped[i].step_async(seen)
            for i in reversed(order):
                assert wrapped[i].step_wait().tolist() == bases[i].step(seen)
    finally:
        for agent in wrapped:
            agent.shutdown()


def test_isolation_invariant_agents_cannot_observe_or_modify_each_others_state(zoo, tmp_path):
    slots = {"all": "class:agent_policies.SharingTeam"}
    apart = timings(slots=slots, isolate="agent")[1]
    still = {"all": "class:bad_policies.Counting"}
    assert timings(slots=slots, isolate="slot")[1] != apart, "in one process they do"
    assert timings(slots=still, isolate="agent")[1] != apart


def test_determinism_invariant_same_inputs_produce_same_outputs_on_every_way(zoo):
    results = [
        kf.evaluate("probe", **PROBE, isolate=isolate, chunk_size=chunk)
        for isolate in ("none", "slot", "agent")
        for chunk in (1, 3)
    ]
    assert all(result == results[0] for result in results)


# Failure modes and mitigations


def test_subprocess_crash_is_detected_named_and_recovered_from(zoo):
    slots = {"all": "class:agent_policies.FailingTeam?how=exit"}
    timing, episodes = timings(slots=slots, isolate="agent", on_failure="restart", max_restarts=1)
    for episode in episodes:
        crashes = [(f.agent, f.tick, f.cause, f.restarted) for f in episode.failures]
        expected = [(uid, tick, "exited", tick == 2) for tick in (2, 5) for uid in range(5)]
        assert crashes == expected
    assert timing.restarts == 3 * 5


def test_subprocess_crash_is_propagated_to_the_main_process(zoo_module):
    policies = zoo_module.FailingTeam(SPEC, how="exit")
    with wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0) as wrapped:
        acts(wrapped, OBSERVATIONS[:2])
        with pytest.raises(PolicyFailedError, match="its process exited in act_async with code 3"):
            wrapped.step(OBSERVATIONS[2])
        wrapped.reset()
        assert acts(wrapped, OBSERVATIONS[:2]) == [[2, 0]] * 2, "a new process was started"


def test_deadlock_is_detected_by_a_timeout_and_the_process_is_terminated(zoo_module):
    policies, before = zoo_module.FailingTeam(SPEC, how="hang"), descendants(os.getpid())
    agent = policies.agent_policy(0)
    with wrap_agent_policy_in_subprocess(agent, policies, 0, step_timeout=0.5) as wrapped:
        acts(wrapped, OBSERVATIONS[:2])
        with pytest.raises(PolicyFailedError, match=r"act_async timed out after 0\.5 s"):
            wrapped.step(OBSERVATIONS[2])
        assert len(descendants(os.getpid()) - before) == 1, "only the fork server is left"


def test_state_corruption_stays_in_the_process_of_its_agent(zoo):
    slots = {"good": "class:agent_policies.Team", "bad": "class:agent_policies.SharingTeam"}
    still = {**slots, "bad": "class:agent_policies.Team"}
    mapping = {"grazer": "good", "hunter": "bad"}
    far = {**RULES, "cells": 4000}
    corrupt = evaluate_slots(slots, mapping, far)
    sound = evaluate_slots(still, mapping, far)
    for a, b in zip(corrupt, sound, strict=True):
        assert a.returns["good"] == b.returns["good"]


def evaluate_slots(slots, mapping, rules):
    settings = {"slots": slots, "agent_slot_map": mapping, "world_settings": rules}
    chosen = {"world": "probe", **settings, "episodes": 3, "isolate": "agent"}
    items = evaluation_job(validate_settings(Evaluate, chosen), LocalEngine())
    return [item for item in items if isinstance(item, EpisodePlayed)]


def test_resource_exhaustion_falls_back_to_weaker_isolation_or_is_refused(zoo):
    plain = timings(isolate="none")[1]
    timing, episodes = timings(isolate="agent", max_processes=2)
    assert episodes == plain
    assert timing.processes == 1, "one for all agents of the slot"
    with pytest.raises(EngineError, match="--strict and --sandbox do not allow weaker isolation"):
        timings(isolate="agent", max_processes=2, strict=True)


# Performance characteristics


def test_true_parallelism_agents_compute_at_the_same_time(zoo_module):
    policies = zoo_module.SlowTeam(SPEC)
    agents = [
        wrap_agent_policy_in_subprocess(policies.agent_policy(i), policies, i) for i in range(4)
    ]
    try:
        for _ in range(2):  # the first step of a process takes longer
            start = time.monotonic()
            for agent in agents:
                agent.step_async(OBSERVATIONS[0])
            for agent in agents:
                assert agent.step_wait().tolist() == [1, 0]
            took = time.monotonic() - start
    finally:
        for agent in agents:
            agent.shutdown()
    assert took < 0.6, "one after another they would take 0.8 s"


def test_when_to_use_makes_no_difference_to_results(zoo):
    """CPU-bound or fast, stateful or stateless: the choice is one of cost."""
    for uri in ("class:agent_policies.BareTeam", "kin://random"):
        settings = {**PROBE, "slots": {"all": uri}}
        plain = kf.evaluate("probe", **settings)
        assert kf.evaluate("probe", **settings, parallel_policy=True) == plain, uri


# Future improvements of the note, all of which exist here


def test_process_pooling_reuses_processes_across_episodes(zoo, tmp_path):
    slots = {"all": f"class:agent_policies.RegisteringTeam?log={tmp_path / 'log'}"}
    timings(slots=slots, isolate="agent", episodes=4)
    lines = log_of(tmp_path / "log")
    assert len({pid for pid, _, _ in lines}) == 5, "five agents, four episodes, five processes"
    assert len([call for _, call, _ in lines if call == "reset"]) == 4 * 5


def test_async_communication_requests_are_sent_before_the_first_answer_is_awaited(zoo_module):
    policies = zoo_module.SlowTeam(SPEC)
    with wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0) as wrapped:
        wrapped.step(OBSERVATIONS[0])
        start = time.monotonic()
        wrapped.step_async(OBSERVATIONS[0])
        assert time.monotonic() - start < 0.2, "it does not wait for the answer"
        assert wrapped.step_wait().tolist() == [1, 0]


def test_timeout_handling_detects_hangs_in_an_evaluation(zoo):
    slots = {"all": "class:agent_policies.FailingTeam?how=hang"}
    _, episodes = timings(slots=slots, isolate="agent", episodes=1, step_timeout=0.5)
    causes = [(f.agent, f.tick, f.cause) for f in episodes[0].failures]
    assert causes == [(uid, 2, "timeout") for uid in range(5)]


def test_resource_limits_bound_the_number_of_concurrent_processes(policies):
    limits = kf.IsolationSettings(max_processes=2, strict=True)
    with (
        wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0, isolation=limits),
        wrap_agent_policy_in_subprocess(policies.agent_policy(1), policies, 1, isolation=limits),
        pytest.raises(
            EngineError, match=r"^All 2 worker processes \(--max-processes\) are in use\."
        ),
    ):
        wrap_agent_policy_in_subprocess(policies.agent_policy(2), policies, 2, isolation=limits)


def test_monitoring_reports_health_and_performance_of_processes(zoo, policies):
    timing, _ = timings(isolate="agent")
    assert timing.agent_steps == 3 * 8 * 5
    assert timing.processes == 5
    assert timing.restarts == timing.stale_replies == 0
    assert 0 < timing.latency_us_mean <= timing.latency_us_p99
    assert timing.peak_megabytes > 10
    with wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0) as wrapped:
        acts(wrapped)
        wrapped.reset()
        metrics = wrapped.metrics
    assert metrics["steps"] == 6
    assert metrics["restarts"] == metrics["stale_replies"] == 0
    assert 0 < metrics["latency_us_mean"] <= metrics["latency_us_p99"]
    assert metrics["peak_megabytes"] > 10


def test_error_recovery_restarts_crashed_processes(zoo_module):
    policies = zoo_module.FailingTeam(SPEC, how="exit")
    limits = kf.IsolationSettings(on_failure="restart", max_restarts=5)
    agent = policies.agent_policy(0)
    with wrap_agent_policy_in_subprocess(agent, policies, 0, isolation=limits) as wrapped:
        assert acts(wrapped) == [[2, 0], [2, 0], [1, 0]] * 2, "noop in the step of a crash"
        assert wrapped.metrics["restarts"] == 2


def test_nothing_is_left_after_all_of_this():
    close_pools()
    assert not subprocess_policy._pools
