"""Tests that the examples run and do what their docstrings say."""

import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture(autouse=True)
def examples_on_import_path(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))


@pytest.fixture
def own_behavior(monkeypatch):
    monkeypatch.delitem(sys.modules, "own_behavior", raising=False)
    import own_behavior

    return own_behavior


def test_a_behavior_of_your_own_plays_the_same_in_plain_python_and_compiled(own_behavior):
    short_games = {"episodes": 2, "ticks": 150}
    compiled = own_behavior.play("catalog", "Careful", **short_games)
    assert compiled == own_behavior.play("python_catalog", "Careful", **short_games)
    assert compiled["deposited"] > 0


def test_the_medic_behavior_keeps_agents_from_hp_0(own_behavior):
    games = {"episodes": 3, "ticks": 500}
    assert own_behavior.catalog().behaviors[-1].name == "medic"
    scouts = own_behavior.play("catalog", "BaseScout", **games)
    careful = own_behavior.play("catalog", "Careful", **games)
    assert careful["ticks_at_hp_0"] < scouts["ticks_at_hp_0"] / 10


@pytest.mark.more
def test_the_kin_study_compares_and_resumes_trainings_with_and_without_lineage_reward(tmp_path):
    from kin_study import study

    rows = study(steps=2000, seeds=2, episodes=1, out=tmp_path, jobs=1)
    assert [row[0] for row in rows][:3] == ["ticks", "births_per_agent", "surviving_lineages"]
    assert {run.name for run in tmp_path.iterdir()} == {
        "without-0", "with-0", "without-1", "with-1",
    }  # fmt: skip
    weights = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    assert study(steps=2000, seeds=2, episodes=1, out=tmp_path, jobs=1) == rows
    weights_after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    assert len(weights) >= 4
    assert weights_after == weights, "finished trainings must not be repeated"
