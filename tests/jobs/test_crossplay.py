"""Cross-play: a planted rock-paper-scissors, self-play minus cross-play, the same on every engine."""

import json

import numpy as np
import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.events import FileChunk
from kinfolk.core.imports import RegistryEntry
from kinfolk.core.settings import validate_settings
from kinfolk.engines import make_engine
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.crossplay import CrossPlay, crossplay
from kinfolk.policies.base import StatelessPolicy
from kinfolk.testing.contracts.job import JobContract, event_lines
from kinfolk.testing.probe.world import ProbeWorld
from kinfolk.worlds import WORLDS

PROBE = {
    "policies": {"still": "kin://noop", "random": "kin://random"},
    "world_settings": {"max_ticks": 20},
    "chunk_size": 2,
    "games": 4,
}


class RockPaperScissorsWorld(ProbeWorld):
    """A grazer and a hunter whose actions 0, 1 and 2 are rock, paper and scissors."""

    def step(self, actions):
        super().step(actions)
        hands = actions[:, 0].reshape(-1, 2)
        lead = (hands[:, 0] - hands[:, 1]) % 3
        score = np.where(lead == 0, 0.0, np.where(lead == 1, 1.0, -1.0))
        self._state.reward[:] = np.stack([score, -score], axis=1)


class Hand(StatelessPolicy):
    """Always shows the same hand."""

    def __init__(self, spec, hand=0):
        self._spec, self._hand = spec, hand

    def act_async(self, observations, batch, memory, keys):
        self._actions = np.zeros((len(batch.group), self._spec.n_heads), dtype=np.int64)
        self._actions[:, 0] = self._hand

    def act_wait(self):
        return self._actions


@pytest.fixture
def rock_paper_scissors(monkeypatch):
    """Settings of three planted policies on each side, with a policy that gives up among them."""
    entry = RegistryEntry(f"{__name__}:RockPaperScissorsWorld", "planted")
    monkeypatch.setitem(WORLDS.entries, "rps", entry)
    hands = {"rock": 0, "paper": 1, "scissors": 2}
    policies = {name: f"class:{__name__}.Hand?hand={hand}" for name, hand in hands.items()}
    rules = {"grazers": 1, "hunters": 1, "rows": 2, "max_ticks": 5, "start_energy": 100}
    return {"world": "rps", "world_settings": rules, "policies": policies, "games": 3}


def run(engine=None, **settings):
    return list(crossplay(validate_settings(CrossPlay, settings), engine or LocalEngine()))


class TestCrossPlay(JobContract):
    @pytest.fixture
    def start(self):
        settings = validate_settings(CrossPlay, {**PROBE, "replays": 1})
        return lambda resume: crossplay(settings, LocalEngine(), resume)


def test_planted_rock_paper_scissors_is_mixed_in_equal_parts(rock_paper_scissors):
    last = run(**rock_paper_scissors)[-1]
    matrix = [[cell.mean for cell in row] for row in last.payoffs[0].cells]
    assert matrix == [[0, -5, 5], [5, 0, -5], [-5, 5, 0]], "five ticks of a life"
    thirds = [pytest.approx(1 / 3, abs=1e-9)] * 3
    for mixture in last.mixtures:
        assert mixture.policies == ["rock", "paper", "scissors"]
        assert (mixture.alpha_rank, mixture.nash) == (thirds, thirds)
    assert last.nash_regret == pytest.approx(0, abs=1e-9)
    assert [tuple(row.difference)[:3] for row in last.self_play] == [(0, 0, 0), (0, 0, 0)]


def test_self_play_is_compared_with_cross_play_of_the_same_names():
    items = run(**PROBE)
    last = items[-1]
    assert [row.side for row in last.self_play] == ["grazer", "hunter"]
    for row in last.self_play:
        assert row.difference.n == 4
        assert row.difference.mean == pytest.approx(row.self_play.mean - row.cross_play.mean)
    table = next(table for table in last.payoffs if table.side == "grazer")
    diagonal = np.mean([table.cells[i][i].mean for i in range(2)])
    assert last.self_play[0].self_play.mean == pytest.approx(diagonal)
    files = {item.path: item.data for item in items if isinstance(item, FileChunk)}
    assert list(files) == ["payoffs.csv", "mixtures.csv", "games.csv", "crossplay.json"]
    assert json.loads(files["crossplay.json"])["schema"] == "kinfolk.crossplay"


def test_without_common_names_there_is_no_self_play():
    policies = {"hunter": {"a": "kin://noop"}, "grazer": {"b": "kin://noop", "c": "kin://random"}}
    last = run(**{**PROBE, "policies": policies})[-1]
    assert [row.difference for row in last.self_play] == [None, None]
    assert last.notes == [
        "There is no self-play: no name occurs on every side. Give policies that belong together one "
        "name."
    ]


def test_team_mates_of_one_group_share_its_rows():
    settings = {"world": "cogsguard", "world_settings": {"max_steps": 10, "agents": 4}, "games": 2}
    last = run(**settings, policies=PROBE["policies"])[-1]
    assert last.pairings == [["still", "still"], ["still", "random"], ["random", "random"]]
    [mixture] = last.mixtures
    assert (mixture.side, sum(mixture.alpha_rank)) == ("", pytest.approx(1.0))


@pytest.mark.more
@pytest.mark.parametrize("engine", ["processes", "ray"])
def test_every_engine_gives_the_same_matrix(engine):
    if engine == "ray":
        pytest.importorskip("ray")
    lines = {}
    for name in ("local", engine):
        workers = make_engine(name)
        try:
            lines[name] = event_lines(run(workers, **PROBE))
        finally:
            workers.close()
    assert lines["local"] == lines[engine]


def test_a_single_policy_has_nobody_to_play_with():
    with pytest.raises(SettingsError) as refused:
        run(world="cogsguard", policies={"a": "kin://noop"})
    assert str(refused.value) == "Cross-play needs two policies or more; there is one."
