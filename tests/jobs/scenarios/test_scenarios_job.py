"""Evaluation in scenarios: scores by hand, the same on every engine, failures and policies left out."""

import numpy as np
import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.events import FileChunk
from kinfolk.core.settings import validate_settings
from kinfolk.engines import make_engine
from kinfolk.engines.base import LocalEngine
from kinfolk.evaluation.aggregates import estimate_stratified_mean
from kinfolk.evaluation.statistics import estimate_mean
from kinfolk.jobs.scenarios.job import ScenarioEpisodePlayed, evaluate_scenarios
from kinfolk.jobs.scenarios.settings import EvaluateScenarios
from kinfolk.testing.contracts.job import JobContract, event_lines

TABLE = """
[scenarios.grazers_stay]
about = "grazers before idle hunters"
world = "probe"
world_settings = { max_ticks = 20 }
mode = "resident"
players = { grazer = { focal = 5 }, hunter = { idle = 3 } }
seed = 3
floor = 0.0
ceiling = 2.0

[scenarios.hunters_join]
about = "a hunter among random hunters"
world = "probe"
world_settings = { max_ticks = 20 }
mode = "visitor"
players = { grazer = { random = 5 }, hunter = { focal = 1, random = 2 } }
seed = 4
held_out = true
floor = -1.0
ceiling = 1.0
"""


@pytest.fixture
def settings(tmp_path):
    """A function that returns settings of the table above."""
    (tmp_path / "own.toml").write_text(TABLE)
    base = {"policies": {"all": "kin://random"}, "episodes": 4, "chunk_size": 2}

    def make(**changes):
        table = {"scenario_file": str(tmp_path / "own.toml")}
        return validate_settings(EvaluateScenarios, {**table, **base, **changes})

    return make


class TestEvaluateScenarios(JobContract):
    @pytest.fixture
    def start(self, settings):
        return lambda resume: evaluate_scenarios(settings(), LocalEngine(), resume)


def run(settings, engine=None):
    return list(evaluate_scenarios(settings, engine or LocalEngine()))


def test_the_score_is_the_return_per_focal_agent_between_floor_and_ceiling(settings):
    items = run(settings())
    played = [item for item in items if isinstance(item, ScenarioEpisodePlayed)]
    assert len(played) == 8
    for event in played:
        by_hand = event.focal_return / 2 if event.scenario == "grazers_stay" else None
        by_hand = (event.focal_return + 1) / 2 if by_hand is None else by_hand
        assert event.score == pytest.approx(by_hand)
    last = items[-1]
    first = [event.score for event in played if event.scenario == "grazers_stay"]
    second = [event.score for event in played if event.scenario == "hunters_join"]
    assert last.scenarios[0].score == pytest.approx(estimate_mean(np.array(first)))
    assert last.means["development"].mean == pytest.approx(np.mean(first))
    assert last.means["held-out"].mean == pytest.approx(np.mean(second))
    assert last.means["all"].mean == pytest.approx((np.mean(first) + np.mean(second)) / 2)
    files = [item.path for item in items if isinstance(item, FileChunk)]
    assert files == ["scenarios.csv"]


def test_idle_focal_agents_differ_from_random_ones(settings):
    returns = [
        run(settings(policies={"all": uri}))[-1].scenarios[0].focal_return.mean
        for uri in ("kin://random", "kin://noop")
    ]
    assert returns[0] != returns[1]


@pytest.mark.more
@pytest.mark.parametrize("name", ["processes", "ray"])
def test_every_engine_gives_the_same_bytes(settings, name):
    engine = make_engine(name)
    try:
        assert event_lines(run(settings(), engine)) == event_lines(run(settings()))
    finally:
        engine.close()


def test_the_size_of_tasks_changes_no_result(settings):
    assert event_lines(run(settings(chunk_size=1))) == event_lines(run(settings(chunk_size=4)))


def test_failures_of_the_focal_policy_count_and_those_of_backgrounds_do_not(settings):
    failing = "class:kinfolk.policies.failing.FailingPolicy?after=5"
    last = run(settings(policies={"grazer": failing}))[-1]
    assert last.failures == last.scenarios[0].failures > 0
    assert last.first_failure["scenario"] == "grazers_stay"
    assert "This policy fails after 5 actions of an agent." in last.first_failure["message"]
    assert last.skipped == {"hunters_join": "no policy plays its focal agents"}
    assert last.notes == [
        "1 of the chosen scenarios are left out, such as hunters_join: no policy plays its focal agents."
    ]


def test_a_policy_for_another_world_is_an_error_that_names_policy_and_scenario(settings):
    with pytest.raises(SettingsError) as raised:
        run(settings(policies={"all": "kin://grazer"}, scenarios=["grazers_stay"]))
    assert str(raised.value).startswith("Policy 'all' cannot play scenario 'grazers_stay': ")


def test_a_policy_that_plays_nobody_is_an_error(settings):
    with pytest.raises(SettingsError) as raised:
        run(settings(policies={"grazr": "kin://noop"}))
    assert str(raised.value) == (
        "Policy 'grazr' plays no focal agent of the chosen scenarios. Did you mean 'grazer'? Known: all, "
        "probe, grazer, hunter."
    )


def test_the_mean_over_scenarios_has_an_interval_by_welch_and_satterthwaite():
    a, b = np.array([0.0, 2.0, 4.0]), np.array([10.0, 10.0])
    estimate = estimate_stratified_mean([a, b])
    alone = estimate_mean(a)
    assert estimate.mean == 6.0
    # All variance is that of `a`: half of its interval, around the mean of both.
    assert estimate.high - estimate.mean == pytest.approx((alone.high - alone.mean) / 2)
    assert estimate.n == 5
