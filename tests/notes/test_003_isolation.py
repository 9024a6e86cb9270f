"""Design note 003, evaluation with a process per agent: each statement, run through the note's names."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cli.app import main
from kinfolk.core.errors import EngineError, PolicyFailedError
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation
from kinfolk.isolation.worker_pool import _pools, close_pools
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.testing.inspection import children_of, wait_for_exit

ZOO = Path(__file__).parent.parent / "isolation" / "zoo"
RULES = {"grazers": 3, "hunters": 2, "rows": 5, "max_ticks": 8, "max_age": 99, "start_energy": 99}
SPEC = WorldRef("probe", settings=RULES).spec
OBSERVATIONS = np.random.default_rng(5).integers(0, 255, (6, SPEC.row_bytes)).astype(np.uint8)


@pytest.fixture(autouse=True)
def zoo(monkeypatch):
    """Policies written per agent, in a module that other processes can import."""
    monkeypatch.syspath_prepend(str(ZOO))
    import agent_policies

    yield agent_policies
    close_pools()


def evaluate(policy="Team", episodes=3, **settings):
    """Evaluate a team of the zoo, which plays all agents of the probe world."""
    slots = {"all": f"class:agent_policies.{policy}"}
    return kf.evaluate("probe", slots=slots, world_settings=RULES, episodes=episodes, **settings)


def run_command(*words):
    """Run a command of kinfolk, which has to succeed."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code == 0


def acts(agent, observations=OBSERVATIONS):
    return [list(map(int, agent.step(seen))) for seen in observations]


def read_log(path):
    """Lines of a `RegisteringTeam`, as (pid, call, agent id)."""
    lines = [line.split() for line in path.read_text().splitlines()]
    return [(int(pid), call, int(agent)) for pid, call, agent in lines]


def descendants(pid):
    pids = set()
    for child in children_of(pid):
        pids |= {child} | descendants(child)
    return pids


def test_01_the_same_seed_gives_the_same_result():
    """result1 = evaluate(..., seed=42, parallel_policy=True); assert result1 == result2."""
    result1 = evaluate(seed=42, parallel_policy=True)
    result2 = evaluate(seed=42, parallel_policy=True)
    assert result1 == result2


def test_02_another_seed_gives_another_result():
    """Each episode uses its own seed, ensuring independent but reproducible randomness."""
    assert evaluate(seed=42, parallel_policy=True) != evaluate(seed=43, parallel_policy=True)


@pytest.mark.parametrize(
    "class_path",
    [
        "agent_policies.Team",
        pytest.param(
            "kinfolk.testing.probe.policies.neural.ProbeGruPolicy", marks=pytest.mark.train
        ),
    ],
)
def test_03_state_is_kept_across_steps_and_reset_is_forwarded(class_path):
    """Stateful policies (LSTMs, scripted agents with memory) maintain their internal state."""
    policies = kf.initialize_or_load_policy(SPEC, kf.PolicySpec(class_path))
    policy = policies.agent_policy(1)
    policy.reset()
    limits = {"step_timeout": 30.0}
    with kf.wrap_agent_policy_in_subprocess(policy, policies, 1, **limits) as wrapped:
        actions = acts(wrapped)
        assert actions == acts(policy)
        wrapped.reset()
        assert acts(wrapped) == actions, "a clean state"


def test_04_agents_are_isolated_from_each_other(zoo, tmp_path):
    """Each agent runs in its own separate process with its own memory space."""
    policies = zoo.SharingTeam(SPEC)
    zoo.SHARED.clear()
    together = [policies.agent_policy(i) for i in range(2)]
    assert [agent.step(OBSERVATIONS[0])[0] for agent in together] == [0, 1], (
        "they share a list here"
    )
    with (
        kf.wrap_agent_policy_in_subprocess(together[0], policies, 0) as agent0_policy,
        kf.wrap_agent_policy_in_subprocess(together[1], policies, 1) as agent1_policy,
    ):
        action0 = agent0_policy.step(OBSERVATIONS[0])
        action1 = agent1_policy.step(OBSERVATIONS[0])
    assert action0.tolist() == action1.tolist() == [0, 0]
    evaluate(f"RegisteringTeam?log={tmp_path / 'log'}", parallel_policy=True)
    steps = {(pid, agent) for pid, call, agent in read_log(tmp_path / "log") if call == "step"}
    assert len(steps) == len({pid for pid, _ in steps}) == 3 * 5, "a process per agent and episode"


def test_05_the_state_of_agents_is_clean_between_episodes():
    """reset() operations are forwarded to subprocess, ensuring clean state between episodes."""
    first = evaluate(parallel_policy=True, chunk_size=3)
    assert evaluate(parallel_policy=True, chunk_size=1) == first, "whatever a process played before"


def test_06_agents_are_wrapped_with_the_policy_that_made_them(zoo):
    """wrap_agent_policy_in_subprocess(base_agent_policy, policies[policy_idx], agent_id)."""
    policies = zoo.Team(SPEC)
    base_agent_policy = policies.agent_policy(2)
    base_agent_policy.reset()
    with kf.wrap_agent_policy_in_subprocess(base_agent_policy, policies, 2) as wrapped:
        assert isinstance(wrapped, kf.PerAgentSubprocessPolicy)
        assert acts(wrapped) == acts(base_agent_policy)


def test_07_shutdown_ends_the_process_and_so_does_the_end_of_the_object(zoo, tmp_path):
    """Shutdown sends termination signal; joins with timeout, then terminates; __del__ as fallback."""
    before = descendants(os.getpid())
    policies = zoo.Team(SPEC, note=str(tmp_path / "note"))
    wrapped = kf.wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0)
    started = descendants(os.getpid()) - before
    assert started
    wrapped.shutdown()
    wrapped.shutdown()
    assert (tmp_path / "note").read_text() == "shut down"
    assert wait_for_exit(30, started)
    stubborn = zoo.StubbornTeam(SPEC)
    wrapped = kf.wrap_agent_policy_in_subprocess(stubborn.agent_policy(0), stubborn, 0)
    started = descendants(os.getpid()) - before
    del wrapped
    assert wait_for_exit(30, started), "the policy would sleep for a minute"


def test_08_a_policy_spec_is_loaded_with_its_weights(zoo, tmp_path):
    """PolicySpec(class_path, data_path); initialize_or_load_policy(env_info, policy_spec)."""
    from safetensors.numpy import save_file

    save_file({"w": np.arange(3.0)}, tmp_path / "weights.safetensors")
    spec = kf.PolicySpec(
        class_path="agent_policies.LoadedTeam", data_path=tmp_path / "weights.safetensors"
    )
    loaded = kf.initialize_or_load_policy(SPEC, spec)
    assert loaded.arrays["w"].tolist() == [0.0, 1.0, 2.0]
    with kf.PerAgentSubprocessPolicy(spec, SPEC) as wrapped:
        assert acts(wrapped)[:3] == [[1, 0], [2, 0], [0, 0]]
    by_uri = kf.initialize_or_load_policy(SPEC, kf.PolicySpec("kin://probe-python"))
    assert acts(by_uri.agent_policy(0)) == acts(by_uri.agent_policy(0))


def test_09_the_environment_info_is_built_from_a_dictionary():
    """env_info = PolicyEnvInterface(**env_info_dict)."""
    env_info_dict = json.loads(json.dumps(SPEC.to_dict()))
    assert kf.PolicyEnvInterface(**env_info_dict) == SPEC


def test_10_observations_and_actions_have_types_that_can_be_pickled(zoo):
    """AgentObservation preserves agent-specific context; Action preserves type and parameters."""
    group = SPEC.groups[0]
    observation = kf.AgentObservation(OBSERVATIONS[0], 3, group)
    copied = pickle.loads(pickle.dumps(observation))
    assert (copied.agent_id, copied.group) == (3, group)
    assert copied.tobytes() == OBSERVATIONS[0].tobytes()
    assert copied.fields["body"].tolist() == observation.fields["body"].tolist()
    action = kf.Action({"move": "right"}, group)
    copied = pickle.loads(pickle.dumps(action))
    assert copied.tolist() == [group.heads[0].choices.index("right"), 0]
    assert (copied.name, copied.names) == ("right", {"move": "right", "voice": "quiet"})
    assert evaluate("TypedTeam").failures == 0
    policies = zoo.TypedTeam(SPEC)
    with kf.wrap_agent_policy_in_subprocess(policies.agent_policy(1), policies, 1) as wrapped:
        answer = wrapped.step(OBSERVATIONS[0])
    assert isinstance(answer, kf.Action)
    assert answer.name == "right"


def test_11_step_ids_match_requests_and_responses():
    """Step IDs ensure responses match requests even if processing order varies."""
    played, expected = (
        run_evaluation(
            evaluation_task(
                WorldRef("probe", settings=RULES),
                {"all": resolve(f"class:bad_policies.{name}", trusted=False)},
                5,
                range(1),
                isolation=Isolation("agent"),
            )
        )
        for name in ("RepliesToOldRequest", "Bad")
    )
    assert played.episodes == expected.episodes
    assert played.observed.slots["all"].stale_replies > 0, "they came, and were no actions"


def test_12_parallel_and_serial_execution_give_equal_results():
    """Parallel and serial execution produce equivalent results."""
    assert evaluate(parallel_policy=True) == evaluate()


@pytest.mark.parametrize("how", ["raise", "exit"])
def test_13_a_crash_is_an_error_and_the_episode_goes_on(zoo, how):
    """Subprocess crash: error propagated to main process; partial results are still returned."""
    result = evaluate(f"FailingTeam?how={how}", parallel_policy=True)
    assert (result.episodes, result.ticks.mean, result.failures) == (3, 8.0, 3 * 5)
    first = result.failed_slots["all"]["first"]
    assert (first["episode"], first["tick"], first["agent"]) == (0, 2, 0)
    policies = zoo.FailingTeam(SPEC, how=how)
    with kf.wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0) as wrapped:
        acts(wrapped, OBSERVATIONS[:2])
        with pytest.raises(PolicyFailedError):
            wrapped.step(OBSERVATIONS[2])


def test_14_a_hang_ends_with_a_timeout(zoo):
    """Deadlock: timeout on queue operations; process termination with timeout."""
    policies, before = zoo.FailingTeam(SPEC, how="hang"), descendants(os.getpid())
    agent = policies.agent_policy(0)
    with kf.wrap_agent_policy_in_subprocess(agent, policies, 0, step_timeout=0.5) as wrapped:
        acts(wrapped, OBSERVATIONS[:2])
        with pytest.raises(PolicyFailedError, match=r"act_async timed out after 0\.5 s"):
            wrapped.step(OBSERVATIONS[2])
        assert len(descendants(os.getpid()) - before) == 1, "only the fork server is left"
    result = evaluate("FailingTeam?how=hang", parallel_policy=True, step_timeout=0.5, episodes=1)
    assert result.failed_slots["all"]["causes"] == {"timeout": 5}


SCRIPT = """
import sys
sys.path.insert(0, {zoo!r})
import kinfolk as kf
slots = {{"all": "class:agent_policies.RegisteringTeam?log={log}&delay=0.05"}}
kf.evaluate("probe", slots=slots, world_settings={rules!r}, episodes=500, parallel_policy=True)
"""


def test_15_nothing_is_left_when_the_main_process_is_killed(tmp_path):
    """Cleanup is guaranteed."""
    log = tmp_path / "log"
    script = SCRIPT.format(zoo=str(ZOO), log=log, rules=RULES)
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        while not log.exists() or len(read_log(log)) < 20:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    workers = {pid for pid, _, _ in read_log(log)}
    assert len(workers) >= 5, "five agents, with new processes in every episode that was begun"
    assert wait_for_exit(30, workers)


def test_16_the_cost_of_processes_is_paid_once(zoo, tmp_path):
    """Process Pooling: reuse subprocesses across episodes to reduce creation overhead.

    An evaluation reuses the fork server, and forks new processes for each episode: a policy must not
    remember its last game. A loop of your own keeps the process of a wrapped agent.
    """
    close_pools()
    task = evaluation_task(
        WorldRef("probe", settings=RULES),
        {"all": resolve(f"class:agent_policies.RegisteringTeam?log={tmp_path / 'log'}")},
        5, range(4), isolation=Isolation("agent"),
    )  # fmt: skip
    run_evaluation(task)
    [pool] = _pools.values()
    assert len(pool.forkserver_pids) == 1
    lines = read_log(tmp_path / "log")
    assert len({pid for pid, _, _ in lines}) == 4 * 5
    policies = zoo.RegisteringTeam(SPEC, log=str(tmp_path / "wrapped"))
    with kf.wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0) as wrapped:
        for _ in range(4):
            wrapped.reset()
            wrapped.step(OBSERVATIONS[0])
    pids = {pid for pid, call, _ in read_log(tmp_path / "wrapped") if call == "step"}
    assert len(pids - {os.getpid()}) == 1


def test_17_requests_are_asynchronous(zoo):
    """Async Communication: non-blocking communication."""
    policies = zoo.SlowTeam(SPEC)
    agents = [
        kf.wrap_agent_policy_in_subprocess(policies.agent_policy(i), policies, i) for i in range(4)
    ]
    try:
        fastest = 1.0
        for _ in range(10):  # the machine may be busy
            start = time.monotonic()
            for agent in agents:
                agent.step_async(OBSERVATIONS[0])
            assert [agent.step_wait().tolist() for agent in agents] == [[1, 0]] * 4
            fastest = min(fastest, time.monotonic() - start)
    finally:
        for agent in agents:
            agent.shutdown()
    assert fastest < 0.7, "each takes 0.2 s, so one after another they would take 0.8 s"


def test_18_processes_memory_and_cpu_are_limited(zoo):
    """Resource Limits: limit number of concurrent subprocesses."""
    policies = zoo.Team(SPEC)
    one = kf.IsolationSettings(max_processes=1, strict=True)
    with (
        kf.wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0, isolation=one),
        pytest.raises(EngineError, match=r"^All 1 worker processes \(--max-processes\) are in use"),
    ):
        kf.wrap_agent_policy_in_subprocess(policies.agent_policy(1), policies, 1, isolation=one)
    slots = {"all": "class:bad_policies.EatsMemory"}
    base = {"slots": slots, "world_settings": RULES, "episodes": 1, "isolate": "slot"}
    eaten = kf.evaluate("probe", **base, memory_limit=700, step_timeout=20.0)
    assert "MemoryError" in eaten.failed_slots["all"]["first"]["message"]
    burnt = kf.evaluate(
        "probe",
        **{**base, "slots": {"all": "class:bad_policies.BurnsTime"}},
        episode_cpu_limit=0.3,
        step_timeout=20.0,
    )
    assert burnt.failed_slots["all"]["causes"] == {"limit": 1}


def test_19_degradation_warns_and_is_in_the_result():
    """Resource exhaustion: graceful degradation (fall back to in-process execution)."""
    with pytest.warns(
        kf.IsolationWarning, match="Slot 'all' gets one process for the slot"
    ) as said:
        result = evaluate(parallel_policy=True, max_processes=2)
    assert len(said) == 1
    assert result == evaluate(), "results do not depend on it"
    assert result.monitoring.warnings == (str(said[0].message),)
    assert result.monitoring.slots["all"].processes == 2, "one per episode, side by side"
    assert str(said[0].message) in repr(result)
    with pytest.raises(EngineError, match="do not allow weaker isolation"):
        evaluate(parallel_policy=True, max_processes=2, strict=True)


def test_20_results_have_metrics_of_health_and_performance(zoo):
    """Monitoring: add metrics for subprocess health and performance."""
    result = evaluate(parallel_policy=True)
    slot = result.monitoring.slots["all"]
    assert (slot.agent_steps, slot.processes, slot.restarts) == (3 * 8 * 5, 5, 0)
    assert 0 < slot.latency_us_mean <= slot.latency_us_p99
    assert slot.peak_megabytes > 10
    assert (result.monitoring.episodes, result.monitoring.ticks) == (3, 24)
    assert "monitoring" not in result.to_dict()
    assert kf.EvaluationResult.from_dict(result.to_dict()) == result
    policies = zoo.Team(SPEC)
    with kf.wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0) as wrapped:
        acts(wrapped)
        assert (wrapped.metrics["steps"], wrapped.metrics["restarts"]) == (6, 0)


def test_21_crashed_processes_are_restarted(zoo):
    """Error Recovery: automatically restart crashed subprocesses."""
    limits = kf.IsolationSettings(on_failure="restart", max_restarts=5)
    policies = zoo.FailingTeam(SPEC, how="exit")
    agent = policies.agent_policy(0)
    with kf.wrap_agent_policy_in_subprocess(agent, policies, 0, isolation=limits) as wrapped:
        assert acts(wrapped) == [[2, 0], [2, 0], [1, 0]] * 2, "noop in the step of a crash"
        assert wrapped.metrics["restarts"] == 2
    result = evaluate("FailingTeam?how=exit", parallel_policy=True, on_failure="restart")
    assert result.monitoring.slots["all"].restarts == result.failures == 3 * 5 * 2


@pytest.mark.parametrize("way", ["python", pytest.param("command", marks=pytest.mark.more)])
def test_22_episodes_run_side_by_side(way, tmp_path):
    """--jobs: multiple episodes run concurrently."""
    policy = f"RegisteringTeam?log={tmp_path / 'log'}&delay=0.2"
    if way == "python":
        result = evaluate(policy, episodes=6, chunk_size=1, jobs=2)
        assert result == evaluate(episodes=6)
    else:
        words = ["eval", "--slot", f"all=class:agent_policies.{policy}", "--episodes", "6"]
        words += ["--chunk-size", "1", "--jobs", "2", "--out", str(tmp_path / "run")]
        run_command(*words)
    pids = {pid for pid, _, _ in read_log(tmp_path / "log")} - {os.getpid()}
    assert len(pids) == 2


def test_23_parallel_policy_is_an_option_of_the_command(tmp_path):
    """--parallel-policy: each agent's policy runs in its own persistent subprocess."""
    slot = f"all=class:agent_policies.RegisteringTeam?log={tmp_path / 'log'}"
    words = ["eval", "--slot", slot, "--episodes", "1", "--parallel-policy"]
    for name, value in RULES.items():
        words += ["--set", f"{name}={value}"]
    run_command(*words, "--out", str(tmp_path / "run"))
    steps = {(pid, agent) for pid, call, agent in read_log(tmp_path / "log") if call == "step"}
    assert len({pid for pid, _ in steps}) == 5


def test_24_the_overhead_is_as_described(zoo):
    """~0.1-1.2ms per step per agent; subprocess creation: ~10-100ms per agent."""
    policies = zoo.BareTeam(SPEC)
    with kf.wrap_agent_policy_in_subprocess(policies.agent_policy(0), policies, 0) as first:
        start = time.monotonic()
        second = kf.wrap_agent_policy_in_subprocess(policies.agent_policy(1), policies, 1)
        created = time.monotonic() - start
        second.shutdown()
        seconds = []
        for _ in range(200):
            start = time.monotonic()
            first.step(OBSERVATIONS[0])
            seconds.append(time.monotonic() - start)
    assert np.median(seconds) < 0.005, "milliseconds even on a busy machine"
    assert created < 2.0


def test_25_agents_are_wrapped_selectively(zoo):
    """Flexibility: can wrap individual agents selectively."""
    policies, policy_idx, agent_policies = [zoo.Team(SPEC)], 0, []
    try:
        for agent_id in range(3):
            base_agent_policy = policies[policy_idx].agent_policy(agent_id)
            parallel_policy = agent_id == 1
            if parallel_policy:
                wrapped_policy = kf.wrap_agent_policy_in_subprocess(
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
        agent_policies[1].shutdown()  # Always called
