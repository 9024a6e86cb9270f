import numpy as np

from kinfolk.worlds.savanna.measures import measures


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
    "group_lives/type_1_predator": column(20, 5),
    "group_lives/type_2_predator": column(4, 0),
    "group_lives/type_1_prey": column(90, 9),
    "mean_alive/type_1_predator": column(6.5, 2.0),
    "mean_alive/type_2_predator": column(1.0, 0.0),
    "mean_alive/type_1_prey": column(30.0, 8.0),
}


def found(**changed):
    return {name: values.tolist() for name, values in measures(FULL, VALUES | changed).items()}


def test_shares_are_of_full_length_episodes_only():
    table = found()
    assert table["full-length episodes"] == [1.0, 0.0]
    assert table["capture attempts that succeed"][0] == 0.25
    assert table["kills by more than one"][0] == 0.2
    assert table["co-operative share of meals"][0] == 5 / 13
    for name in ("capture attempts that succeed", "kills by more than one", "prey ever alive"):
        assert np.isnan(table[name][1])


def test_both_types_of_a_species_count_together():
    table = found()
    assert table["predator ever alive"][0] == 24.0
    assert table["predator alive on average"] == [7.5, 2.0]
    assert table["prey alive on average"] == [30.0, 8.0]


def test_an_episode_without_attempts_has_no_share():
    table = found(team_capture_successes=column(0, 0), team_capture_failures=column(0, 0))
    assert np.isnan(table["capture attempts that succeed"]).all()
