"""The examples run."""

import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture(autouse=True)
def examples_on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))


@pytest.fixture
def own_behavior(monkeypatch):
    monkeypatch.delitem(sys.modules, "own_behavior", raising=False)
    import own_behavior

    return own_behavior


def test_a_behaviour_of_ones_own_is_played_the_same_in_plain_python_and_compiled(own_behavior):
    short = {"episodes": 2, "ticks": 150}
    fast = own_behavior.play("catalog", "Careful", **short)
    assert fast == own_behavior.play("plain_catalog", "Careful", **short)
    assert fast["deposited"] > 0


def test_it_does_what_it_is_for(own_behavior):
    settings = {"episodes": 3, "ticks": 500}
    careless = own_behavior.play("catalog", "BaseScout", **settings)
    catalog = own_behavior.catalog()
    assert catalog.behaviors[-1].name == "medic"
    careful = own_behavior.play("catalog", "Careful", **settings)
    assert careful["ticks_at_hp_0"] < careless["ticks_at_hp_0"] / 10


@pytest.mark.more
def test_a_kin_study_compares_trainings_with_and_without_pay(tmp_path):
    from kin_study import study

    rows = study(steps=2000, seeds=2, episodes=1, out=tmp_path, jobs=1)
    assert [row[0] for row in rows][:3] == ["ticks", "births_per_agent", "surviving_lineages"]
    assert {run.name for run in tmp_path.iterdir()} == {"unpaid-0", "paid-0", "unpaid-1", "paid-1"}
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    assert study(steps=2000, seeds=2, episodes=1, out=tmp_path, jobs=1) == rows
    now = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    assert len(kept) >= 4
    assert now == kept, "what was trained is not trained again"
