"""Searches by Optuna: the same on every engine and after a resume, and better than chance."""

import json

import pytest

import kinfolk as kf
from kinfolk.core.errors import UsageError
from kinfolk.core.events import Snapshot
from kinfolk.core.settings import validate_settings
from kinfolk.engines import make_engine
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.sweeps.job import sweep
from kinfolk.jobs.sweeps.settings import Sweep
from kinfolk.testing.contracts.job import JobContract

pytest.importorskip("optuna", reason="the extra search is not installed")

ASKED = {
    "job": "eval",
    "settings": {"slots": {"all": "kin://noop"}, "episodes": 1},
    "search": {"max_ticks": "2:60", "growth": "0.01:1.0:log", "meal": (2, 4)},
    "trials": 7,
    "batch": 3,
    "seeds": (0, 1),
    "metric": "ticks",
}


def searched(engine=None, resume=None, **changed):
    settings = validate_settings(Sweep, {**ASKED, **changed})
    return list(sweep(settings, engine or LocalEngine(), resume))


class TestSearchContract(JobContract):
    @pytest.fixture
    def start(self):
        return lambda resume: iter(searched(resume=resume))


def test_a_search_tries_values_of_its_ranges_with_every_seed_and_names_the_best():
    last = searched()[-1]
    assert len(last.settings) == 7
    assert len(last.table["seed"]) == 14
    assert all(2 <= values["max_ticks"] <= 60 for values in last.settings)
    assert all(isinstance(values["max_ticks"], int) for values in last.settings)
    assert all(0.01 <= values["growth"] <= 1.0 for values in last.settings)
    assert {values["meal"] for values in last.settings} <= {2, 4}
    means = [estimate.mean for estimate in last.estimates]
    assert last.best == means.index(max(means))
    assert searched(direction="minimize")[-1].best != last.best


@pytest.mark.more
def test_processes_try_the_same_settings_as_one_process():
    engine = make_engine("processes", 2)
    try:
        assert searched(engine) == searched()
    finally:
        engine.close()


def test_a_search_learns_from_its_trials():
    asked = {"search": {"max_ticks": "2:36"}, "seeds": (0,), "metric": "ticks", "batch": 2}
    last = searched(**asked, trials=24, direction="minimize")[-1]
    ticks = last.table["ticks"]
    assert sum(ticks[14:]) / 10 < 0.5 * sum(ticks[:10]) / 10, "the first ten are random"


def test_the_best_settings_are_an_attribute_and_the_figure_has_a_panel_for_each():
    pytest.importorskip("matplotlib", reason="the extra plots is not installed")
    result = kf.sweep("eval", search={"max_ticks": "2:60"}, trials=3, metric="ticks", episodes=1)
    assert result.best_settings == result.settings[result.best]
    assert repr(result).count("the best") == 1
    figure = result.plot()
    assert [axes.get_xlabel() for axes in figure.axes] == ["trial", "max_ticks"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"search": {"max_tick": "1:9"}}, "Neither eval nor world probe has a setting 'max_tick'."),
        (
            {"search": {"max_ticks": "1-9"}},
            "A range is written LOW:HIGH or LOW:HIGH:log, not '1-9'; choices of max_ticks are written "
            "A,B,C, or as a list in Python.",
        ),
        ({"search": {"max_ticks": "9:1"}}, "The range of max_ticks is empty: 9 is not below 1."),
        (
            {"search": {"growth": "0:1:log"}},
            "A range with log begins above 0, not at 0 (growth).",
        ),
        ({"search": {"max_ticks": "0:9"}}, "Probe.max_ticks must be at least 1, not 0."),
        ({"search": {"meal": (2,)}}, "A search of meal needs two choices or more."),
        ({"vary": {"meal": (2, 3)}}, "A sweep takes vary or search, not both."),
    ],
)
def test_wrong_searches_are_refused_before_anything_is_run(changed, message):
    with pytest.raises(UsageError) as refused:
        next(iter(searched(**changed)))
    assert str(refused.value).startswith(message)


def test_a_search_without_optuna_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(UsageError) as refused:
        list(searched())
    assert str(refused.value) == (
        "A search needs the library optuna, which is not installed: pip install 'kinfolk[search]'"
    )


def test_snapshots_are_plain_values():
    snapshot = next(item for item in searched() if isinstance(item, Snapshot))
    assert json.loads(json.dumps(snapshot.notes)) == snapshot.notes


def test_a_list_of_settings_is_run_as_it_stands():
    cases = ({"max_ticks": 4, "meal": 2}, {"max_ticks": 8, "meal": 5})
    last = searched(search={}, cases=cases)[-1]
    assert last.settings == list(cases)
    assert [estimate.mean for estimate in last.estimates] == [4.0, 8.0]
    with pytest.raises(UsageError) as refused:
        searched(search={}, cases=({"meal": 2}, {"max_ticks": 3}))
    assert str(refused.value) == (
        "All cases must have the same settings; {'max_ticks': 3} and {'meal': 2} do not."
    )
