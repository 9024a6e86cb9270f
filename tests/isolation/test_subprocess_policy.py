"""Policies of single agents in subprocesses, under the names that users of mettagrid know."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import save

import kinfolk as kf
from kinfolk.core.errors import PolicyFailedError, SettingsError
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.policies.base import NoopPolicy, single_agent_batch
from kinfolk.policies.build import build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.policies.single_agent import SingleAgentPolicy
from kinfolk.testing.inspection import children_of, play_to_end, wait_for_exit
from kinfolk.testing.probe.state import Probe
from kinfolk.testing.probe.world import ProbeWorld

SPEC = ProbeWorld(Probe()).spec


def observations(count=6):
    drawn = np.random.default_rng(3).integers(0, 255, (count, SPEC.row_bytes))
    return drawn.astype(np.uint8)


def test_an_agent_in_a_subprocess_acts_as_in_this_process(tmp_path):
    from kinfolk.testing.probe.policies.neural import ProbeGruPolicy

    weights = {name: w.detach().numpy() * 2 for name, w in ProbeGruPolicy(SPEC)._weights.items()}
    (tmp_path / "w.safetensors").write_bytes(save(weights))
    spec = kf.PolicySpec(
        "kinfolk.testing.probe.policies.neural:ProbeGruPolicy",
        tmp_path / "w.safetensors",
        {"seed": 3},
    )
    here = SingleAgentPolicy(build_policy(spec.resolve(), SPEC), SPEC)
    with kf.wrap_agent_policy_in_subprocess(
        build_policy(spec.resolve(), SPEC), SPEC, step_timeout=30.0
    ) as there:
        for episode in (0, 1):
            here.reset(5, episode, 7)
            there.reset(5, episode, 7)
            for seen in observations():
                assert there.step(seen).tolist() == here.step(seen).tolist()
    plain = SingleAgentPolicy(build_policy(resolve("kin://probe-gru?seed=3"), SPEC), SPEC)
    plain.reset(5, 0, 7)
    here.reset(5, 0, 7)
    both = [(plain.step(seen).tolist(), here.step(seen).tolist()) for seen in observations(20)]
    assert any(a != b for a, b in both), "weights and arguments reached the process"


def test_a_failure_raises_an_error_that_names_the_policy(zoo):
    spec = kf.PolicySpec("bad_policies.Raises", None, {"after": 1})
    with (
        kf.PerAgentSubprocessPolicy(spec, SPEC) as agent,
        pytest.raises(PolicyFailedError) as failed,
    ):
        agent.step(observations(1)[0])
    assert str(failed.value) == (
        "Slot 'bad_policies.Raises', tick 0: act_async raised ZeroDivisionError: boom "
        "(bad_policies.py:52 in misbehave)."
    )


def test_a_policy_not_built_by_kinfolk_cannot_be_wrapped():
    with pytest.raises(SettingsError) as refused:
        kf.wrap_agent_policy_in_subprocess(NoopPolicy(SPEC), SPEC)
    assert str(refused.value) == (
        "NoopPolicy was not built by kinfolk, so its settings and weights are unknown. Pass a PolicySpec "
        "with class path, weights and arguments instead."
    )


class Walker:
    """Counts its steps and walks to the right on every third."""

    def reset(self, seed=0, episode=0, uid=0):
        self.steps, self.luck = 0, seed % 3

    def step(self, observation):
        self.steps += 1
        return [2 if self.steps % 3 == self.luck else 1, 0]


class Walkers(kf.MultiAgentPolicy):
    def agent_policy(self, agent_id):
        return Walker()


def play(kind, worlds):
    world = ProbeWorld(Probe(), worlds)
    policy = kind(world.spec)
    loop = EpisodeLoop(
        world, [LoadedSlot("all", policy)], build_slot_assignment(world.spec, ["all"]), 0, range(4)
    )
    return play_to_end(loop)


def test_a_policy_written_per_agent_plays_like_any_other():
    assert play(Walkers, 1) == play(Walkers, 4)


def test_a_team_without_agents_says_what_is_missing():
    with pytest.raises(
        NotImplementedError, match=r"^MultiAgentPolicy must define agent_policy\(agent_id\)\.$"
    ):
        kf.MultiAgentPolicy(SPEC).reset_agents(
            single_agent_batch(0, 0), {}, np.zeros(1, dtype=np.int64)
        )


def test_every_public_name_can_be_imported():
    for name in kf.__all__:
        assert getattr(kf, name) is not None
    assert kf.PolicyEnvInterface is type(SPEC)


@pytest.mark.more
def test_an_evaluation_that_is_killed_leaves_no_process(tmp_path, zoo):
    folder = zoo and os.path.join(os.path.dirname(__file__), "zoo")
    words = [
        sys.executable, "-m", "kinfolk", "eval", "--slot", "g=kin://probe-python",
        "--slot", "h=class:bad_policies.Hangs", "--map", "hunter=h", "--episodes", "50",
        "--engine", "processes", "--isolate", "agent", "--step-timeout", "60", "--out", "mine",
    ]  # fmt: skip
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])}
    main = subprocess.Popen(
        words, cwd=tmp_path, env=env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    end, family = time.monotonic() + 240, set()
    while (
        time.monotonic() < end and len(family) < 15
    ):  # engine workers, fork servers, policy workers
        family = descendants(main.pid)
        time.sleep(0.1)
    os.kill(main.pid, signal.SIGKILL)
    main.wait()
    assert len(family) >= 15
    assert wait_for_exit(30, family)


def descendants(pid):
    pids = set()
    for child in children_of(pid):
        pids |= {child} | descendants(child)
    return pids
