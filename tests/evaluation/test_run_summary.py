"""The figure that a table of runs quotes of each run, from hand-made events."""

import gzip
import json

import pytest

from kinfolk.evaluation.run_summary import describe_headline, select_runs, summarize_run
from kinfolk.store.event_log import COMPRESSED_EVENTS_FILE
from kinfolk.store.integrity import seal_line
from kinfolk.store.run import create_run
from kinfolk.store.run_list import list_runs

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


@pytest.mark.parametrize(
    ("job", "settings", "last"),
    [("evaluate", {}, {"kind": "evaluated", "returns": None, "episodes": 1}),
     ("compare", {}, {"kind": "compared", "pairs": "forged"}),
     ("evaluate", {"seed": "forged"}, {"kind": "evaluated", "returns": [1], "episodes": 1}),
     ("sweep", {"settings": "forged"}, {"kind": "swept", "estimates": 1})],
)  # fmt: skip
def test_a_forged_run_is_listed_as_damaged_beside_the_others(tmp_path, job, settings, last):
    create_run(tmp_path / "intact", "evaluate", {"seed": 3}).close()
    forged = create_run(tmp_path / "forged", job, settings)
    line, _ = seal_line(json.dumps({**last, "step": 1}, sort_keys=True))
    (forged.folder / COMPRESSED_EVENTS_FILE).write_bytes(gzip.compress(line))
    listed = select_runs(map(summarize_run, list_runs(tmp_path)), {}, "seed")
    assert [(run.name, run.state) for run in listed] == [
        ("intact", "stopped"),
        ("forged", "damaged"),
    ]
