"""Policies as classes, functions and instances: they play here, and other processes say what to do."""

from contextlib import closing

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.errors import KinfolkError, SettingsError, UsageError, summarize_error

EVERYBODY = {"grazer": "candidate", "hunter": "candidate"}
SHORT = {"world_settings": {"max_ticks": 6}, "episodes": 3}


class Still(kf.AgentPolicy):
    def __init__(self, heads):
        self.action = [
            head.choices.index("stay") if "stay" in head.choices else 0 for head in heads
        ]

    def reset(self):
        pass

    def step(self, observation):
        return self.action


class StillTeam(kf.MultiAgentPolicy):
    def agent_policy(self, agent_id):
        return Still(self.policy_env_info.groups[0].heads)


def make_local_class():
    class Local(StillTeam):
        pass

    return Local


def test_a_class_a_function_and_an_instance_play_like_the_noop_policy():
    expected = kf.evaluate(slots={"all": "kin://noop"}, **SHORT)
    spec = kf.make("probe", max_ticks=6).spec
    local = make_local_class()
    for policy in (StillTeam, local, lambda spec: StillTeam(spec), StillTeam(spec)):
        found = kf.evaluate(slots={"all": policy}, **SHORT)
        assert found.returns == expected.returns
        assert found.failures == 0


def test_what_can_be_imported_is_named_by_its_path_and_other_objects_by_a_local_name():
    from kinfolk.testing.probe.policies.scripted import PythonForager

    assert kf.register_policy(PythonForager) == (
        "class:kinfolk.testing.probe.policies.scripted:PythonForager"
    )
    local = make_local_class()
    uri = kf.register_policy(local)
    assert uri.startswith("object:local/Local-")
    assert kf.register_policy(local) == uri, "the same object has the same name"
    assert kf.register_policy(make_local_class()) != uri


def test_policies_are_compared_and_rated_as_objects():
    compared = kf.compare(make_local_class(), "kin://noop", agent_slot_map=EVERYBODY, **SHORT)
    assert compared.means[0] == compared.means[1]
    rated = kf.round_robin(make_local_class(), "kin://noop", **SHORT)
    assert [rating.win_rate for rating in rated.ratings] == [0.5, 0.5]


@pytest.mark.parametrize("options", [{"engine": "processes"}, {"jobs": 2}, {"isolate": "slot"}])
def test_other_processes_do_not_have_the_object_and_say_what_to_do(options, tmp_path):
    uri = kf.register_policy(local := make_local_class())
    with pytest.raises(UsageError) as refused:
        kf.evaluate(slots={"all": local}, **SHORT, **options, out=tmp_path / "run")
    assert str(refused.value) == (
        f"The policy {uri} is an object of one process: a class of a notebook's cell, a function or an "
        "instance. It plays with engine='local' and without isolation. For other engines, for isolate, "
        "and to run it again later, put its class into a file and import it."
    )
    assert not (tmp_path / "run").exists()


def make_net(shape):
    """A torch module of constant weights, which need no seed."""
    from torch import nn

    class Net(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.out = nn.Linear(inputs, outputs + 1)
            nn.init.ones_(self.out.weight)
            nn.init.zeros_(self.out.bias)

        def forward(self, x):
            out = self.out(x)
            return out[:, 1:], out[:, 0]

    return Net(shape.inputs, shape.outputs)


def test_a_torch_module_plays_as_a_slot_as_in_training():
    from kinfolk.policies.neural.own_modules import register_module

    shapes, short = [], {"episodes": 3}

    def remember_shape(shape):
        shapes.append(shape)
        return make_net(shape)

    named = {
        "policy_uri": "kin://net",
        "policy_kwargs": {"module": register_module(remember_shape)},
    }
    expected = kf.evaluate("gym:CartPole-v1", slots={"main": named}, **short)
    module = make_net(shapes[0])
    for slots in ({"main": module}, module):
        assert kf.evaluate("gym:CartPole-v1", slots=slots, **short).returns == expected.returns
    compared = kf.compare(module, module, world="gym:CartPole-v1", episodes=3)
    assert compared.means[0].mean == expected.returns["main"].mean
    for options in ({"jobs": 2}, {"isolate": "slot"}):
        with pytest.raises(SettingsError, match=r"local/Net-\d+ is an object of one process"):
            kf.evaluate("gym:CartPole-v1", slots={"main": module}, **short, **options)


def test_engines_that_the_caller_made_run_every_job():
    with closing(kf.make_engine("processes", 2)) as engine:
        expected = kf.evaluate(slots={"all": "kin://random"}, **SHORT)
        for _ in range(2):
            result = kf.evaluate(
                slots={"all": "kin://random"}, chunk_size=1, **SHORT, engine=engine
            )
            assert result == expected
        compared = kf.compare(
            "kin://noop", "kin://random", agent_slot_map=EVERYBODY, **SHORT, engine=engine
        )
        assert compared.means[1].n == 3
    with pytest.raises(SettingsError, match="An engine is local, processes, ray or what"):
        kf.evaluate(slots={"all": "kin://noop"}, **SHORT, engine=3)


@pytest.mark.parametrize("function", [kf.make, kf.pettingzoo])
def test_functions_that_make_worlds_say_what_they_take(function):
    with pytest.raises(SettingsError) as refused:
        function(3)
    assert str(refused.value) == (
        "An environment is a gymnasium.Env, its class or a function that makes one, not 3."
    )


def test_a_policy_by_uri_is_called_from_python_with_the_actions_of_the_game(tmp_path):
    env = kf.pettingzoo("probe", seed=3, max_ticks=6)
    policy = kf.load_policy("kin://probe-python", env)
    observations, _ = env.reset()
    agents = {}
    for row, name in enumerate(env.agents):
        agents[name] = policy.agent_policy(row, name.rpartition("_")[0])
        agents[name].reset(seed=3, episode=0, uid=row)
    total = 0.0
    while env.agents:
        actions = {name: agents[name].step(observations[name]) for name in env.agents}
        assert all(isinstance(action, kf.Action) for action in actions.values())
        observations, rewards, *_ = env.step(actions)
        total += sum(rewards.values())
        if set(env.agents) - set(agents):
            break  # newborns have parents, which an agent of its own does not know
    else:
        played = kf.evaluate(
            slots={"all": "kin://probe-python"}, seed=3, episodes=1, world_settings={"max_ticks": 6}
        )
        assert total == played.returns["all"].mean


@pytest.mark.parametrize("uri", ["kin://random", "class:kinfolk.policies.base.RandomPolicy"])
def test_a_policy_spec_takes_uris(uri):
    spec = kf.make("probe").spec
    row = np.zeros(spec.row_bytes, np.uint8)
    by_path = kf.PolicySpec("kinfolk.policies.base:RandomPolicy")
    actions = []
    for named in (kf.PolicySpec(uri), by_path):
        agent = kf.initialize_or_load_policy(spec, named).agent_policy(0)
        agent.reset(seed=5)
        actions.append([agent.step(row).tolist() for _ in range(8)])
    assert actions[0] == actions[1]
    assert len({str(action) for action in actions[0]}) > 1


def test_an_observation_that_does_not_fit_is_named():
    agent = kf.load_policy("kin://random", "probe").agent_policy(0, "grazer")
    sound = {"window": np.zeros((5, 3)), "body": np.zeros(4)}
    for wrong, problem in [
        ({"window": sound["window"]}, "The observation of a grazer has no field 'body'."),
        ({**sound, "body": np.zeros(3)}, "Field 'body' of a grazer has shape (4,), not (3,)."),
        ({**sound, "bodi": 1}, "Group grazer has no field 'bodi'. Did you mean 'body'?"),
    ]:
        with pytest.raises(KinfolkError) as refused:
            agent.step(wrong)
        assert str(refused.value).startswith(problem)


def test_something_else_is_no_policy():
    with pytest.raises(SettingsError) as refused:
        kf.compare(7, "kin://noop")
    assert str(refused.value) == (
        "A policy is a URI, a class, a function that makes a policy, or an instance of a policy class, "
        "not 7."
    )


def test_a_failure_in_a_cell_shows_the_cell_and_its_line(monkeypatch):
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell.instance()
    try:
        shell.run_cell("def fail():\n    x = 1\n    return x / 0", store_history=True)
        with pytest.raises(ZeroDivisionError) as raised:
            shell.user_ns["fail"]()
        summary = summarize_error(raised.value)
    finally:
        interactive.InteractiveShell.clear_instance()
    assert summary.location == "Cell In[1]:3 in fail"
    assert "Cell In[1]:3 in fail: return x / 0" in summary.traceback


class NoPolicy:
    """An object with none of a policy's methods, as a bare torch module is."""

    def __init__(self, spec):
        self.spec = spec


def test_an_object_that_is_no_policy_is_refused_with_what_to_do():
    with pytest.raises(SettingsError) as refused:
        kf.evaluate("probe", slots={"all": NoPolicy}, episodes=1)
    assert str(refused.value).endswith(
        ":NoPolicy is no policy: it has no method act_async and no act_wait and no close. Derive it from "
        "kinfolk.DictPolicy or kinfolk.BatchDictPolicy; a torch module becomes a policy as an attribute of "
        "such a class, or by kin://net?module=."
    )
