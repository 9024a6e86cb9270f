"""The figure that a table of runs quotes of each run, from hand-made events."""

from kinfolk.evaluation.run_summary import describe_headline

RETURNS = {"predators": [0.25, 0.0, 0.5, 4], "prey": [7.25, 7.0, 7.5, 4]}
TRAINED = {"kind": "training_done", "step": 9, "score": 3.75, "return_per_life": RETURNS}


def test_a_league_of_two_sides_has_no_score_that_mixes_them():
    by_side = "return per life predators 0.25 (0 to 0.5), prey 7.25 (7 to 7.5)"
    two = {"league": True, "slots": {"predators": {}, "prey": {}}}
    assert describe_headline(TRAINED, two) == by_side
    assert describe_headline(TRAINED, {"league": False}) == f"score 3.75, {by_side}"


def test_best_responses_are_quoted_with_the_rows_of_each():
    last = {"kind": "exploited", "step": 74_490, "rows": {"predators": 31_926, "prey": 42_564},
            "exploitability": RETURNS}  # fmt: skip
    assert describe_headline(last, {}) == (
        "best response: as predators, it leads by 0.25 (0 to 0.5) after 31,926 rows; as prey, it leads "
        "by 7.25 (7 to 7.5) after 42,564 rows"
    )
    teams = {"kind": "exploited", "rows": {"": 256}, "exploitability": {"": [1.0, 0.5, 1.5, 4]}}
    assert describe_headline(teams, {}) == (
        "best response: it leads by 1 (0.5 to 1.5) after 256 rows"
    )
