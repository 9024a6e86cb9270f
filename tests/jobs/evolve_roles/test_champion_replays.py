"""Games of role evolution that are recorded to be watched."""

import numpy as np
import pytest

from kinfolk.core.events import FileChunk
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.evolve_roles.job import evolve_roles
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.replay.reader import Replay

SMALL = {
    "preset": "tutorial", "world_settings": {"max_steps": 60, "agents": 3}, "generations": 4,
    "racing": (1,), "n_teams": 3, "survivors": 1, "population": 4, "finalists": 1,
    "finalist_games": 1, "eval_games": 2, "replay_every": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def items():
    return list(evolve_roles(validate_settings(EvolveRoles, SMALL), LocalEngine()))


def replays(items):
    found = {}
    for item in items:
        if isinstance(item, FileChunk) and item.path.startswith("replays/"):
            assert item.append == (item.path in found)
            found[item.path] = found.get(item.path, b"") + item.data
    return found


def test_the_first_each_nth_and_the_last_generation_are_shown(items):
    names = [f"generation-{n:05d}" for n in (1, 2, 4)]
    assert list(replays(items)) == [f"replays/{n}.replay" for n in (*names, "champion", "seeded")]


def test_showcases_change_nothing_else(items):
    without = list(
        evolve_roles(validate_settings(EvolveRoles, SMALL | {"replay_every": 0}), LocalEngine())
    )
    assert replays(without) == {}
    lines = [
        [i.to_json_line() for i in these if hasattr(i, "to_json_line")]
        for these in (items, without)
    ]
    assert lines[0] == lines[1]


def test_a_showcase_names_its_roles(items, tmp_path):
    path = tmp_path / "game.replay"
    path.write_bytes(replays(items)["replays/generation-00004.replay"])
    replay = Replay(path)
    head = replay.head()
    assert (head["generation"], head["world"], replay.frames) == (4, "cogsguard", 61)
    assert head["names"]["role"][-1] == "nobody"
    assert len(head["names"]["role"]) >= 2
    assert np.array_equal(replay.columns(0)["state"][0], [1, 1, 1])


def test_the_champion_is_shown_with_the_names_of_its_roles(items, tmp_path):
    path = tmp_path / "champion.replay"
    path.write_bytes(replays(items)["replays/champion.replay"])
    replay = Replay(path)
    names, roles = replay.head()["names"]["role"], replay.columns(0)["why/0/role"][0]
    judged = next(item for item in items if getattr(item, "kind", "") == "champion_evaluated")
    played = {}
    for role in roles.tolist():
        played[names[role]] = played.get(names[role], 0) + 1
    assert played == judged.team
