"""Role policies keep the promises of every policy: batches, memory, one agent at a time."""

import json
import os
import subprocess
import sys

import pytest

from kinfolk.engines.local import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation
from kinfolk.isolation.settings import IsolationSettings
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import build_policy, resolve
from kinfolk.testing.contracts.policy import PolicyContract
from kinfolk.testing.episode_digest import digest_loop, episode_digests
from kinfolk.worlds import build_world as build_world

LINEUP = "kin://roles?miner=2&scout=1&aligner=1&scrambler=1"
# Small, with all there is to do nearby; clips seed at once. Six agents, one of them smart.
MAP = """
J.....o.....
.A.R.M.T....
..@@@.....J.
c.@H@.C...g.
..@....#....
...s...#..J.
"""
SMALL = {
    "map_text": MAP,
    "agents": 6,
    "max_steps": 60,
    "window_radius": 3,
    "area_radius": 3,
    "clips_seed_at": 1,
    "clips_align_from": 5,
    "clips_align_every": 10,
}


TWO_TEAMS = {
    "map": "tutorial",
    "teams": 2,
    "width": 40,
    "agents": 3,
    "max_steps": 25,
    "junctions": [4, 6],
}


class TestRoles(PolicyContract):
    world, world_settings = "cogsguard", SMALL

    @pytest.fixture(params=[LINEUP, "kin://smart"])
    def uri(self, request):
        return request.param


class TestRolesOfTwoTeamsOnDrawnMaps(PolicyContract):
    world = "cogsguard"
    world_settings = TWO_TEAMS

    @pytest.fixture
    def uri(self):
        return "kin://roles?miner=1&aligner=1&scrambler=1"


def play(slots=None, **options):
    return episode_digests("cogsguard", slots or {"cogs": LINEUP}, **{**SMALL, **options})


def test_one_world_alone_equals_that_world_among_two_hundred():
    among = play(episodes=range(200), batch=200, max_steps=20)
    for episode in (0, 117, 199):
        alone = play(episodes=range(episode, episode + 1), batch=1, max_steps=20)
        assert alone[episode] == among[episode]


def _task(isolation=None):
    ref, slots = WorldRef("cogsguard", settings=SMALL), {"cogs": resolve(LINEUP)}
    return evaluation_task(ref, slots, 3, range(4), isolation=isolation)


def test_isolated_equals_plain():
    apart = _task(Isolation("slot", IsolationSettings(step_timeout=60.0)))
    assert run_evaluation(apart).episodes == run_evaluation(_task()).episodes


def test_local_equals_processes():
    tasks = [_task()] * 2
    here, there = LocalEngine(), ProcessEngine(2)
    try:
        played = [[r.episodes for r in e.map(run_evaluation, tasks)] for e in (here, there)]
        assert played[0] == played[1]
    finally:
        there.close()


def _loop(slots):
    game = build_world("cogsguard", SMALL, 3)
    seats = [LoadedSlot(name, build_policy(resolve(uri), game.spec)) for name, uri in slots.items()]
    return EpisodeLoop(game, seats, build_slot_assignment(game.spec, list(slots)), 4, range(3))


def test_a_snapshot_restored_equals_going_on():
    first, other = _loop({"cogs": LINEUP}), _loop({"cogs": LINEUP})
    for _ in range(25):
        first.tick()
    other.begin()
    other.restore(first.snapshot())
    assert digest_loop(other) == digest_loop(first)


def test_the_name_of_a_slot_changes_nothing():
    assert play({"others": LINEUP}) == play({"cogs": LINEUP})


@pytest.mark.parametrize(
    "uri",
    [LINEUP, pytest.param("kin://mlp?transform=map_features&hidden=[16]", marks=pytest.mark.train)],
)
def test_compiled_equals_uncompiled(uri):
    code = (
        "import json; from kinfolk.testing.episode_digest import episode_digests; "
        f"print(json.dumps(episode_digests('cogsguard', {{'cogs': {uri!r}}}, seed=1, "
        f"episodes=range(2), batch=2, **{SMALL | {'max_steps': 40}!r})))"
    )
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    plain = {int(episode): digest for episode, digest in json.loads(done.stdout).items()}
    assert plain == play({"cogs": uri}, seed=1, episodes=range(2), batch=2, max_steps=40)
