"""Policies as classes, functions and instances: they play here, and other processes say what to do."""

import pytest

import kinfolk as kf
from kinfolk.core.errors import SettingsError, UsageError, summarize_error

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
