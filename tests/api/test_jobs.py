"""Jobs run from Python: what they store, and that a refused one leaves no run folder behind."""

import sys

import pytest

import kinfolk as kf
from kinfolk.core.errors import KinfolkError, SettingsError, UsageError

EVERYBODY = {"grazer": "candidate", "hunter": "candidate"}
STUDENT = {"a": "kin://gru", "b": {"policy_uri": "kin://nothing", "trainable": False}}
REFUSED = {
    "evaluate world": lambda out: kf.evaluate("savana", out=out),
    "evaluate policy": lambda out: kf.evaluate(slots={"a": "kin://nothing"}, out=out),
    "evaluate class": lambda out: kf.evaluate(slots={"a": "class:nix.Policy"}, out=out),
    "compare world": lambda out: kf.compare("kin://noop", "kin://noop", world="prob", out=out),
    "compare policy": lambda out: kf.compare(
        "kin://noop", "kin://nothing", agent_slot_map=EVERYBODY, out=out
    ),
    "compare metric": lambda out: kf.compare(
        "kin://noop", "kin://noop", agent_slot_map=EVERYBODY, metric="birth", out=out
    ),
    "round robin world": lambda out: kf.round_robin("kin://noop", "kin://noop", world="?", out=out),
    "round robin policy": lambda out: kf.round_robin("kin://noop", "kin://nop", out=out),
    "train world": lambda out: kf.train("savana", out=out),
    "train policy": lambda out: kf.train("probe", slots={"a": "kin://nothing"}, out=out),
    "train rival": lambda out: kf.train(
        "probe", slots=STUDENT, agent_slot_map={"grazer": "a", "hunter": "b"}, out=out
    ),
    "evolve roles": lambda out: kf.evolve_roles("cogsgard", out=out),
    "evolve nets": lambda out: kf.evolve_nets("savana", out=out),
    "evolve nets on a task": lambda out: kf.evolve_nets("gym:CartPol-v1", out=out),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_no_folder_is_left(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KinfolkError):
        REFUSED[case](tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_is_refused_before_the_work_and_kept(tmp_path, monkeypatch):
    job = sys.modules["kinfolk.jobs.evaluate"]
    monkeypatch.setattr(job, "run_matches", None)  # would fail if it were used
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="mine exists already"):
        kf.evaluate(episodes=2, out=tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_a_round_robin_refuses_slots_which_would_have_no_effect():
    with pytest.raises(SettingsError) as refused:
        kf.round_robin("kin://noop", "kin://random", slots={"a": "kin://noop"})
    assert str(refused.value) == (
        "A round robin takes no slots: its policies play all slots in turn. Leave it out."
    )
    with pytest.raises(UsageError) as refused:
        kf.round_robin(["kin://noop", "kin://random"])
    assert str(refused.value).startswith(
        "round_robin takes policies one by one, as in round_robin("
    )


@pytest.mark.more
def test_comparisons_from_python_take_isolation_replays_and_a_folder(tmp_path):
    shared = {"episodes": 2, "isolate": "slot", "replays": 1, "world_settings": {"max_ticks": 4}}
    compared = kf.compare(
        "kin://noop", "kin://random", agent_slot_map=EVERYBODY, out=tmp_path / "a", **shared
    )
    met = kf.round_robin("kin://noop", "kin://random", out=tmp_path / "b", **shared)
    assert (compared.failures, met.failures) == ([0, 0], [0, 0])
    for result, job, replays in (
        (compared, "compare", ["game-00000-0-noop.replay", "game-00000-1-random.replay"]),
        (
            met, "round_robin",
            ["game-00000-0-noop-vs-1-random.replay", "game-00000-1-random-vs-0-noop.replay"],
        ),
    ):  # fmt: skip
        assert (result.run.job, result.run.status) == (job, "done")
        files = (result.run.folder / "replays").iterdir()
        assert sorted(path.name for path in files) == replays
        slots = result.run.timings().lines[0]["slots"]
        assert {slot["processes"] for slot in slots.values()} == {2}, "a process per slot and game"


FAILING = """
from kinfolk.policies.base import NoopPolicy


class Failing(NoopPolicy):
    def act_async(self, observations, rows, memory, keys):
        raise ValueError("boom")
"""


def test_results_name_who_failed_where_when_they_are_printed(own_module):
    module = own_module(FAILING)
    uri, shared = f"class:{module}.Failing", {"episodes": 2, "world_settings": {"max_ticks": 4}}
    where = f'      {module}.py:7 in act_async: raise ValueError("boom")'
    result = kf.evaluate(slots={"a": uri}, **shared)
    assert repr(result).splitlines()[:4] == [
        "EvaluationResult",
        f"  Slot 'a', played by {module}.Failing, never acted: it failed in all of 2 episodes. The first "
        f"failure:",
        "    episode 0, tick 0: act_async raised ValueError: boom",
        where,
    ]
    assert result.failure_messages[0].startswith(f"Slot 'a', played by {module}.Failing, never")
    met = kf.round_robin("kin://noop", uri, **shared)
    assert repr(met).splitlines() == [
        "RoundRobinResult: rating, and share of games won with its 95 % interval",
        "  kin://noop: 25.0, won 0.5 (0.0945 to 0.905), n = 2 seeds",
        f"  {uri}: 25.0, won 0.5 (0.0945 to 0.905), n = 2 seeds, 4 failures",
        f"  {uri} never acted: it failed in all of 4 episodes. The first failure:",
        "    game 0 against kin://noop, tick 0: act_async raised ValueError: boom",
        where,
    ]
    assert kf.evaluate(**shared).failure_messages == ()
