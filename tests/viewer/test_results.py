"""Result tables of comparisons and round robins, from hand-made events."""

import pytest

from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.viewer.results import build_results

SETTINGS = {"policies": ["a", "b"], "world": "probe", "seed": 3, "episodes": 2, "metric": "ticks"}


def played(policy, step, value, failures=0):
    return {"kind": "candidate_played", "step": step, "policy": policy, "value": value,
            "failures": failures}  # fmt: skip


EVENTS = [played(0, 0, 5.0), played(0, 1, 7.0), played(1, 0, 5.0, 2), played(1, 1, 1000.0)]


def test_a_running_comparison_has_means_and_no_verdict():
    assert build_results("compare", SETTINGS, EVENTS[:3]) == {
        "title": "probe, seed 3",
        "headings": ["policy", "mean ticks", "95 % confidence interval", "n", "wins", "failures"],
        "rows": [["a", "6", "-", "2", "0.5", "0"], ["b", "5", "-", "1", "0.5", "2"]],
        "verdict": ["No verdict yet: 3 of 4 episodes are played."],
    }
    assert build_results("compare", SETTINGS, [])["rows"] == [
        ["a", "-", "-", "0", "0", "0"], ["b", "-", "-", "0", "0", "0"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("means", "intervals"),
    [
        ([[6.0, 1.5, 9.25], [502.5, -100.0, 1100.0]], ["1.5 to 9.25", "-100 to 1,100"]),
        ([[6.0, None, None, 1], [502.5, None, None, 1]], ["-", "-"]),
    ],
)
def test_a_finished_comparison_has_intervals_if_its_estimates_do(means, intervals):
    difference = [-496.5, None, None, 2] if means[0][1] is None else [-496.5, -600.0, 7.0]
    last = {"kind": "compared", "step": 2, "policies": ["a", "b"], "metric": "ticks",
            "means": means, "failures": [0, 2], "pairs": {"0 1": [difference, 0.01, "second", 2]}}  # fmt: skip
    results = build_results("compare", SETTINGS, [*EVENTS, last])
    assert [row[2] for row in results["rows"]] == intervals
    assert [row[3] for row in results["rows"]] == (
        [str(m[3]) for m in means] if len(means[0]) > 3 else ["2", "2"]
    )
    assert [row[4] for row in results["rows"]] == ["0.5", "1.5"]
    interval = "no interval" if means[0][1] is None else "-7 to 600"
    assert results["verdict"] == [
        f"b is higher in ticks than a: by 496 ({interval}), p = 0.0100, 2 common episodes."
    ]


def test_shared_wins_are_rounded():
    settings = {**SETTINGS, "policies": ["a", "b", "c"]}
    results = build_results("compare", settings, [played(i, 0, 1.0) for i in range(3)])
    assert [row[4] for row in results["rows"]] == ["0.33", "0.33", "0.33"]


def test_a_round_robin_says_whether_the_best_can_be_told_from_the_second():
    games = [{"kind": "pair_played", "step": i, "first": 0, "second": 1, "first_score": a,
              "second_score": 1.0, "failures": 0} for i, a in enumerate((0.0, 1.0))]  # fmt: skip
    assert build_results("round_robin", SETTINGS, games[:1])["verdict"] == [
        "No ratings yet: 1 of 2 games are played."
    ]
    rated = {"kind": "rated", "step": 2, "policies": ["a", "b"],
             "ratings": [[24.0, 3.0, 15.0, 2, 0.25], [28.0, 4.0, 16.0, 2, 0.75]]}  # fmt: skip
    assert build_results("round_robin", SETTINGS, [*games, rated]) == {
        "title": "probe, seed 3",
        "headings": ["policy", "rating", "uncertainty", "games", "wins"],
        "rows": [["b", "28.0", "4.0", "2", "1.5"], ["a", "24.0", "3.0", "2", "0.5"]],
        "verdict": ["b is rated highest, before a; the difference is not significant (p = 1, shares "
                    "won on 2 common seeds)."],
    }  # fmt: skip


def test_other_jobs_have_no_table_and_damaged_events_are_refused():
    with pytest.raises(UsageError, match=r"^A run of evaluate has no table of policies\.$"):
        build_results("evaluate", SETTINGS, EVENTS)
    for event in (played(7, 0, 1.0), played("x", 0, 1.0), {"kind": "candidate_played", "step": 0}):
        with pytest.raises(DamagedRunError, match=r"^The events of this run are damaged \("):
            build_results("compare", SETTINGS, [event])
