"""Results of episodes as columns: equality, also through JSON, and how they print."""

import json
from dataclasses import replace

import numpy as np
import pytest

from kinfolk.play.results import EpisodeColumns, EpisodeResult, Failure

FAILURE = Failure("pack", "mine.Hunter", 3, 7, "raised", "Slot 'pack': boom.", "mine.py:3 in step")


def result(episode, **changes):
    by_slot = {"pack": 1.5, "herd": -2.0}
    counts = {"pack": 2, "herd": 4}
    return EpisodeResult(
        episode, 40, 40, True, by_slot, counts, counts, {"cog": 6}, {"cog": 5.5}, {"births": 2.0}, 9,
        {"cog": -0.5}, {"uid": [0, 1], "group": [0, 0], "slot": [0, 1], "birth_tick": [0, 3],
                        "ticks": [40, 37], "total_reward": [1.5, -2.0]}, **changes,
    )  # fmt: skip


RESULTS = [result(0), result(1, failures=(FAILURE,), never_acted=("pack",),
                             invalid_actions={"herd": {"out of range": 2}})]  # fmt: skip
COLUMNS = EpisodeColumns.from_results(RESULTS)


def test_columns_give_back_equal_results():
    assert list(COLUMNS) == RESULTS
    assert EpisodeColumns.from_results(RESULTS) == COLUMNS
    assert COLUMNS != RESULTS, "a list is no column"


def test_columns_are_equal_after_json():
    plain = {name: array.tolist() for name, array in COLUMNS.arrays.items()}
    arrays = {name: np.array(values) for name, values in json.loads(json.dumps(plain)).items()}
    assert EpisodeColumns(arrays, json.loads(json.dumps(COLUMNS.notes))) == COLUMNS


@pytest.mark.parametrize(
    "changes",
    [
        {"ticks": 41},
        {"seed": 8},
        {"returns": {"pack": 1.5, "herd": -2.0 + 1e-12}},
        {"failures": ()},
        {"failures": (replace(FAILURE, agent=4),)},
        {"never_acted": ()},
        {"invalid_actions": {}},
        {"agents": {**RESULTS[1].agents, "ticks": [40, 36]}},
    ],
)
def test_a_difference_of_any_kind_is_one(changes):
    other = EpisodeColumns.from_results([RESULTS[0], replace(RESULTS[1], **changes)])
    assert other != COLUMNS
    assert other[0] == COLUMNS[0]


def test_columns_print_their_size_slots_and_failures():
    assert repr(COLUMNS) == "EpisodeColumns(2 episodes, slots pack, herd, 1 with failures)"
    assert repr(EpisodeColumns.from_results(())) == "EpisodeColumns(0 episodes)"
