import numpy as np
import pytest

from kinfolk.evaluation.statistics import Estimate, summarize_episodes
from kinfolk.play.results import EpisodeColumns, EpisodeResult
from kinfolk.worlds.savanna.metrics import compute_metrics


def column(*values):
    return np.array(values, dtype=np.float64)


# Episode 0 is of full length; episode 1 died early, after three successes of four.
FULL = np.array([True, False])
VALUES = {
    "team_capture_successes": column(10, 3),
    "team_capture_failures": column(30, 1),
    "team_capture_coop_successes": column(2, 1),
    "team_capture_helper_total": column(13, 4),
    "team_capture_coop_helper_total": column(5, 2),
    "team_capture_failed_helper_total": column(39, 1),
    "ticks": column(1000, 90),
    "max_ticks": column(1000, 1000),
    "active_num_predators": column(6, 0),
    "active_num_prey": column(20, 3),
    "group_lives/type_1_predator": column(20, 5),
    "group_lives/type_2_predator": column(4, 0),
    "group_lives/type_1_prey": column(90, 9),
    "mean_alive/type_1_predator": column(6.5, 2.0),
    "mean_alive/type_2_predator": column(1.0, 0.0),
    "mean_alive/type_1_prey": column(30.0, 8.0),
}


def found(**changed):
    return {
        name: values.tolist() for name, values in compute_metrics(FULL, VALUES | changed).items()
    }


GIVEN_TWICE = {
    "capture_success_rate": [0.25, 0.75],
    "cooperative_kill_fraction": [0.2, 1 / 3],
    "cooperative_meal_fraction": [5 / 13, 0.5],
    "predator_event_success_rate": [0.25, 0.8],
    "total_predator": [24.0, 5.0],
    "total_prey": [90.0, 9.0],
}


@pytest.mark.parametrize("name", GIVEN_TWICE)
def test_shares_are_of_full_length_episodes_and_of_all(name):
    table = found()
    assert table[f"{name}_all_episodes"] == GIVEN_TWICE[name]
    full, short = table[f"{name}_full_length_episodes"]
    assert full == GIVEN_TWICE[name][0]
    assert np.isnan(short)


def test_full_length_episodes_are_counted_as_a_share():
    assert found()["full_length_episodes"] == [True, False]


def test_when_no_episode_is_of_full_length_the_summary_says_none_and_knows_the_others():
    names = ["group_lives/", "mean_alive/"]
    tables = {
        name: {k.removeprefix(f"{name}/"): float(v[1]) for k, v in VALUES.items() if name in k}
        for name in ("group_lives", "mean_alive")
    }
    other = ("ticks", "max_ticks", *names)
    counters = {k: float(v[1]) for k, v in VALUES.items() if not k.startswith(other)}
    short = {"ticks": 9, "max_ticks": 10, "full_length": False, "returns": {"all": 0.0}, "lives": {"all": 14},
             "ticks_lived": {"all": 50}, "counters": counters, **tables}  # fmt: skip
    played = EpisodeColumns.from_results([EpisodeResult(episode=i, **short) for i in range(2)])
    summary = summarize_episodes(played, ["all"], compute_metrics).metrics
    assert summary["cooperative_meal_fraction_full_length_episodes"] is None
    assert summary["cooperative_meal_fraction_all_episodes"] == Estimate(0.5, 0.5, 0.5, 2)
    # None of two: Wilson's upper end is z^2 / (2 + z^2), with z = 1.96.
    assert summary["full_length_episodes"] == pytest.approx((0.0, 0.0, 0.657620, 2), abs=1e-6)


def test_both_types_of_a_species_count_together():
    table = found()
    assert table["mean_predator_alive"][0] == 7.5
    assert table["mean_prey_alive"][0] == 30.0


def test_an_extinct_species_counts_as_zero_to_the_end_and_survivors_of_a_short_episode_are_unknown():
    table = found()
    # Two predators over 90 of 1000 ticks, then none; how many of the prey would have lived on?
    assert table["mean_predator_alive"][1] == 2.0 * 90 / 1000
    assert np.isnan(table["mean_prey_alive"][1])


def test_a_lifetime_is_the_ticks_lived_by_a_species_per_life():
    table = found()
    # 7.5 predators alive over 1000 ticks are 7500 ticks of 24 lives.
    assert table["mean_lifetime_predator"] == [7500 / 24, 180 / 5]
    assert table["mean_lifetime_prey"] == [30_000 / 90, 720 / 9]


def test_a_species_without_lives_has_no_lifetime():
    none = {name: column(0, 0) for name in VALUES if name.endswith("_predator")}
    assert np.isnan(found(**none)["mean_lifetime_predator"]).all()


def test_an_episode_without_attempts_has_no_share():
    table = found(team_capture_successes=column(0, 0), team_capture_failures=column(0, 0))
    assert np.isnan(table["capture_success_rate_all_episodes"]).all()
