"""The pages of runs as data, from hand-made events."""

import pytest

from kinfolk.core.errors import DamagedRunError
from kinfolk.core.events import Event
from kinfolk.store.run import create_run
from kinfolk.viewer.reports.blocks import make_line, make_row
from kinfolk.viewer.reports.comparison import report_comparison, report_round_robin
from kinfolk.viewer.reports.evaluation import report_evaluation
from kinfolk.viewer.reports.evolution import report_nets
from kinfolk.viewer.reports.league import list_league, report_exploit
from kinfolk.viewer.reports.meetings import report_meetings
from kinfolk.viewer.reports.report import build_report
from kinfolk.viewer.reports.training import report_sweep, report_training


def titled(blocks, title):
    return next(block for block in blocks if block["title"] == title)


def test_a_running_evaluation_has_its_episodes_as_points_and_intervals_so_far():
    events = [{"kind": "episode_played", "step": i, "returns": {"a": value}, "ticks": 9}
              for i, value in enumerate((1.0, 3.0, 5.0))]  # fmt: skip
    blocks = report_evaluation({"episodes": 8}, events)
    assert blocks[0]["lines"] == ["3 of 8 episodes are played."]
    [row] = titled(blocks, "Return of each slot")["rows"]
    assert (row["name"], row["values"]) == ("a", [1.0, 3.0, 5.0])
    mean, low, high, n = row["estimate"]
    assert (mean, n) == (3.0, 3)
    assert (low, high) == pytest.approx((3 - 4.968, 3 + 4.968), abs=0.001)


def test_a_comparison_of_three_has_a_matrix_with_both_signs():
    played = [{"kind": "candidate_played", "step": 0, "policy": i, "value": v, "failures": []}
              for i, v in enumerate((3.0, 1.0, 0.0))]  # fmt: skip
    pairs = {"0 1": [[2.0, 1.0, 3.0, 4], 0.2, "neither", 4, 0.2, 0.5],
             "0 2": [[3.0, None, None, 4], 0.1, "neither", 4, 0.1, 0.3],
             "1 2": [[1.0, 0.5, 1.5, 4], 0.9, "neither", 4, 0.9, 0.9]}  # fmt: skip
    last = {"kind": "compared", "step": 1, "policies": ["a", "b", "a"], "metric": "return",
            "means": [[3.0, None, None, 1], None, None], "failures": [0, 0, 0], "pairs": pairs,
            "notes": ["A note."]}  # fmt: skip
    settings = {"policies": ["a", "b", "a"], "world": "probe", "seed": 0, "episodes": 1}
    blocks = report_comparison(settings, [*played, last])
    matrix = titled(blocks, "Every policy against every other")
    assert matrix["rows"] == ["a", "b", "a (2)"]
    assert matrix["cells"][0][1] == [2.0, 1.0, 3.0, 4.0]
    assert matrix["cells"][1][0] == [-2.0, -3.0, -1.0, 4.0]
    assert matrix["cells"][2][0] == [-3.0, None, None, 4.0]
    rows = titled(blocks, "Differences")["rows"]
    assert [(r["name"], r["note"]) for r in rows] == [
        ("a - b", "p = 0.5000"), ("a - a (2)", "p = 0.3000"), ("b - a (2)", "p = 0.9000"),
    ]  # fmt: skip
    assert len(titled(blocks, "Verdict")["lines"]) == 3
    assert blocks[-1]["lines"] == ["A note."]


def test_a_round_robin_of_an_earlier_version_has_ratings_without_shares_interval():
    games = [{"kind": "pair_played", "step": 0, "first": 0, "second": 1, "first_score": 2.0,
              "second_score": 1.0, "failures": []}]  # fmt: skip
    rated = {"kind": "rated", "step": 1, "policies": ["a", "b"],
             "ratings": [[10.0, 1.0, 7.0, 1, 1.0], [8.0, 1.0, 5.0, 1, 0.0]]}  # fmt: skip
    settings = {"policies": ["a", "b"], "world": "probe", "seed": 0, "episodes": 1}
    blocks = report_round_robin(settings, [*games, rated])
    assert titled(blocks, "Games won")["rows"][1]["estimate"] == [0.0, None, None, 1.0]
    assert titled(blocks, "Score of row against column")["cells"][0][1] == [2.0, None, None, 1.0]


def test_a_running_tournament_has_the_scores_so_far():
    games = [{"kind": "game_played", "step": i, "pairing": 0, "policies": ["a", "b"],
              "scores": [1.0 + i, 0.0], "failures": []} for i in range(2)]  # fmt: skip
    text, matrix = report_meetings({"games": 5}, games)
    assert text["lines"] == ["No ranking yet: 2 games are played."]
    assert matrix["cells"][0][1][0] == 1.5
    assert report_meetings({"games": 5}, []) == [
        text | {"lines": ["No ranking yet: 0 games are played."]}
    ]


def test_a_leaderboard_says_how_it_is_ranked_and_has_points_only_where_there_are_some():
    """The page of a run has the sentence that the command prints below its table."""
    won, score = [1.0, 0.5, 1.0, 2], [3.0, 2.0, 4.0, 2]
    row = [1, "a", "", [10.0, 8.0, 12.0, 2], won, score, None, 0, 0, "0123456789abcdef"]
    done = {"kind": "tournament_done", "step": 1, "standings": [row], "payoffs": []}
    table, _, text = report_meetings({"format": "round-robin"}, [done])
    assert table["headings"] == [
        "", "policy", "rating", "won", "score", "games", "failures", "SHA-256",
    ]  # fmt: skip
    assert table["rows"][0][-3:] == ["2", "0", "0123456789ab"]
    assert text["lines"] == [
        "Ranked by rating (mu - 3 sigma). Equal scores and shares won share a rank."
    ], "a run of an earlier version, whose intervals took games as independent"
    row[6] = 1.5
    table, _, text = report_meetings({"format": "swiss"}, [done])
    assert (table["headings"][5], table["rows"][0][5]) == ("points", "1.5")
    assert text["lines"][0].startswith("Ranked by points, then by the rating (mu - 3 sigma)")


def test_the_fitness_of_nets_has_the_spread_of_its_members():
    events = [{"kind": "generation_scored", "step": i, "population": "agent", "best": 10.0,
               "median": 5.0, "mean": 5.0, "fitness": [float(v) for v in range(11)]}
              for i in range(2)]  # fmt: skip
    blocks = report_nets({"generations": 5}, events)
    assert blocks[0]["lines"] == ["2 of 5 generations."]
    best, median, _ = titled(blocks, "Fitness")["lines"]
    assert (best["low"], median["low"], median["high"]) == ([], [1.0, 1.0], [9.0, 9.0])


def test_a_training_has_a_curve_for_every_statistic_of_each_slot():
    events = [{"kind": "update_done", "step": s, "score": None, "alive": {"g": 1.0}, "births": {},
               "slots": {"a": {"value_loss": s / 10, "return_per_life": 1.0}, "b": {}}}
              for s in (10, 20)]  # fmt: skip
    blocks = report_training({"steps": 50}, events)
    assert [block["title"] for block in blocks] == [
        "", "return per life", "value loss", "Mean number alive",
    ]  # fmt: skip
    a, b = titled(blocks, "value loss")["lines"]
    assert (a["name"], a["x"], a["y"], b["y"]) == ("a", [10, 20], [1.0, 2.0], [None, None])


def test_a_sweep_over_a_number_is_a_curve_with_intervals():
    last = {"kind": "swept", "step": 3, "metric": "return", "seeds": [0, 1], "curves": {}, "best": None,
            "settings": [{"x": 4}, {"x": 1}, {"x": 2}], "notes": [],
            "estimates": [[4.0, 3.0, 5.0, 2], [1.0, 0.5, 1.5, 2], [2.0, 1.0, 3.0, 2]]}  # fmt: skip
    blocks = report_sweep({}, [last])
    [line] = titled(blocks, "return over x")["lines"]
    assert (line["x"], line["y"], line["low"]) == ([1, 2, 4], [1.0, 2.0, 4.0], [0.5, 1.0, 3.0])
    assert titled(blocks, "Settings")["rows"][0] == ["x = 4", "4 (3 to 5)", "2"]
    text, table = report_sweep(
        {}, [{"kind": "point_done", "step": 1, "values": {"x": 4}, "seed": 1}]
    )
    assert (text["lines"], table["rows"]) == (["1 runs are done."], [["x = 4", "1"]])


def test_values_that_cannot_be_drawn_become_gaps():
    line = make_line("a", [0, 1, 2], [1.0, float("nan"), "x"])
    assert line["y"] == [1.0, None, None]
    assert make_row("a", [None, None, None, 0])["estimate"] is None
    long = make_line("a", list(range(5000)), [0.0] * 5000)
    assert len(long["x"]) == len(long["y"]) <= 2000


def test_events_that_lack_a_field_are_reported_as_damage(tmp_path):
    run = create_run(tmp_path / "run", "evaluate", {"episodes": 1})
    run.open_for_writing()
    run.append(Event(step=1))
    run.finish()
    assert build_report(run)["blocks"][0]["lines"] == ["0 of 1 episodes are played."]
    run = create_run(tmp_path / "other", "compare", {})
    run.open_for_writing()
    run.finish()
    with pytest.raises(DamagedRunError, match=r"^The events of this run are damaged \(KeyError"):
        build_report(run)


def league_event(step, side="", **changes):
    """Return an event of a league of two members, of teams or of one side."""
    return {"kind": "league_updated", "step": step, "update": 1, "joined": {"a-1": "end"}, "games": 2,
            "members": ["a-0", "a-1"], "payoffs": [], "nash_regret": 0.25,
            "mixtures": [[side, ["a-0", "a-1"], [0.75, 0.25], [1.0, 0.0]]],
            "win_rates": [["a", "b-0", 0.5, 9], ["a", "b-1", 0.75, 3]]} | changes  # fmt: skip


def test_a_league_of_two_sides_has_its_own_win_rates_instead_of_returns_without_a_common_scale():
    update = {"kind": "update_done", "step": 10, "score": 3.75, "alive": {}, "births": {},
              "slots": {"a": {"wins": 0.0}, "b": {"wins": 1.0}}}  # fmt: skip
    divided = report_training({"steps": 50}, [league_event(0), update, league_event(10, "herd")])
    titles = [block["title"] for block in divided]
    assert not {"Score of recent episodes", "wins"} & {*titles}
    place = titles.index("win rate in the league")
    [line] = divided[place]["lines"]
    assert (line["name"], line["x"], line["y"]) == ("a", [0.0, 10.0], [0.625, 0.625])
    assert divided[place + 1]["lines"] == [
        "The win rate is the mean over opponents in the league; an episode counts as won by the share of "
        "the main agent's recent episodes in which its side earned less."
    ]
    teams = report_training({"steps": 50}, [update, league_event(10)])
    assert {"Score of recent episodes", "wins"} <= {block["title"] for block in teams}


def test_best_responses_of_sides_have_no_wins():
    def titles(slot):
        update = {"kind": "update_done", "step": 10, "slots": {slot: {"wins": 1.0}}}
        return [block["title"] for block in report_exploit({"steps": 50}, [update])]

    assert titles("response_prey") == ["", "return per life", "entropy"]
    assert titles("response") == ["", "return per life", "wins", "entropy"]


def test_the_mixtures_of_a_league_stand_beside_the_number_of_games_they_rest_on():
    blocks = list_league([league_event(10)])
    rank, nash = (
        titled(blocks, f"{name} of the league") for name in ("Alpha-rank", "Nash mixture")
    )
    assert [row["estimate"][0] for row in rank["rows"]] == [0.75, 0.25]
    assert [row["estimate"][0] for row in nash["rows"]] == [1.0, 0.0]
    assert nash["x_label"] == "probability, by payoffs of 2 games each"
    assert titled(blocks, "")["lines"] == [
        "In a Nash mixture no side gains by changing its own weights alone, here by at most 0.25; alpha-rank "
        "is the share of time that evolution under strong selection spends at a member.",
        "Both rest on 2 games of each two members. So few games make them unsteady: other games may give "
        "the weight to other members.",
    ]
    many = list_league([league_event(10, games=40)])
    assert titled(many, "")["lines"][1] == "Both rest on 40 games of each two members."
    large = list_league([league_event(10, mixtures=[["", ["a-0"], None, [1.0]]])])
    assert "Alpha-rank of the league" not in [block["title"] for block in large]


def test_the_budget_of_a_best_response_is_what_was_really_used():
    estimate = [1.0, 0.5, 1.5, 4]
    done = {"kind": "exploited", "step": 74_490, "rows": {"predators": 31_926, "prey": 42_564},
            "exploitability": {"prey": estimate}, "episodes": 4, "policies": {}}  # fmt: skip
    assert report_exploit({"steps": 30_000}, [done])[1]["lines"] == [
        "Budget of a best response: 31,926 rows as predators, 42,564 rows as prey. With more it may lead by "
        "more.",
        "Rollouts are whole: budgets are the rows really used, where --steps asks for 30,000.",
    ]
