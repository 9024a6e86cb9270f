from math import isnan
from types import SimpleNamespace

import pytest

from kinfolk.policies.savanna.published_table import published_table


def outcome(ticks, predators, prey, alive, kills=0, joint=0, helpers=0, failures=0):
    """An episode; `alive` are the predators and prey alive on average."""
    return SimpleNamespace(
        ticks=ticks,
        lives={"predator": predators, "prey": prey},
        ticks_lived={"predator": alive[0] * ticks, "prey": alive[1] * ticks},
        counters={
            "team_capture_successes": kills,
            "team_capture_failures": failures,
            "team_capture_coop_successes": joint,
            "team_capture_helper_total": helpers,
        },
    )


LONG = outcome(1000, 200, 700, (12, 30), kills=60, joint=5, helpers=65, failures=40)
SHORT = outcome(500, 20, 50, (6, 15), kills=1, failures=99, helpers=1)


@pytest.fixture
def table():
    return {figure.name: figure for figure in published_table([LONG, SHORT])}


def test_length_and_numbers_alive_are_taken_over_all_episodes(table):
    assert table["mean episode length"].value == 750
    assert table["mean alive predators"].value == pytest.approx(10)
    assert table["mean alive prey"].value == pytest.approx(25)


def test_the_other_figures_are_taken_over_those_of_full_length(table):
    assert table["share of capture attempts that succeed"].value == pytest.approx(0.6)
    assert table["predators ever alive"].value == 200
    assert table["prey ever alive"].value == 700


def test_a_kill_by_two_is_two_cooperative_events(table):
    assert table["co-operative share of successful events"].value == pytest.approx(10 / 65)


def test_without_an_episode_of_full_length_its_figures_are_not_accepted():
    figures = {figure.name: figure for figure in published_table([SHORT])}
    assert isnan(figures["prey ever alive"].value)
    assert not figures["prey ever alive"].accepted
    assert not figures["mean episode length"].accepted
