"""Role policies fulfil the policy contract, on every engine, isolated, compiled or not."""

import json
import os
import subprocess
import sys

import pytest
from cogs_harness import SMALL_GAME

from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.play.task import WorldRef
from kinfolk.policies.build import build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.testing.contracts.policy import PolicyContract
from kinfolk.testing.inspection import digest_loop, episode_digests
from kinfolk.worlds import build_world as build_world

TEAM = "kin://roles?miner=2&scout=1&aligner=1&scrambler=1"  # and one smart agent
TWO_TEAMS = {
    "map": "tutorial",
    "teams": 2,
    "width": 40,
    "agents": 3,
    "max_steps": 25,
    "junctions": 12,
}


class TestRoles(PolicyContract):
    world, world_settings = "cogsguard", SMALL_GAME

    @pytest.fixture(params=[TEAM, "kin://smart"])
    def uri(self, request):
        return request.param


class TestRolesOfTwoTeamsOnDrawnMaps(PolicyContract):
    world = "cogsguard"
    world_settings = TWO_TEAMS

    @pytest.fixture
    def uri(self):
        return "kin://roles?miner=1&aligner=1&scrambler=1"


def play(slots=None, **options):
    return episode_digests("cogsguard", slots or {"cogs": TEAM}, **{**SMALL_GAME, **options})


def test_a_world_alone_equals_that_world_among_two_hundred():
    among = play(episodes=range(200), batch=200, max_steps=20)
    for episode in (0, 117, 199):
        alone = play(episodes=range(episode, episode + 1), batch=1, max_steps=20)
        assert alone[episode] == among[episode]


def _task(isolation=None):
    ref, slots = WorldRef("cogsguard", settings=SMALL_GAME), {"cogs": resolve(TEAM)}
    return evaluation_task(ref, slots, 3, range(4), isolation=isolation)


def test_isolated_policies_equal_policies_in_process():
    isolated = _task(Isolation("slot", IsolationSettings(step_timeout=60.0)))
    assert run_evaluation(isolated).episodes == run_evaluation(_task()).episodes


def test_the_local_engine_equals_the_process_engine():
    tasks = [_task()] * 2
    local, processes = LocalEngine(), ProcessEngine(2)
    try:
        played = [[r.episodes for r in e.map(run_evaluation, tasks)] for e in (local, processes)]
        assert played[0] == played[1]
    finally:
        processes.close()


def _loop(slots):
    world = build_world("cogsguard", SMALL_GAME, 3)
    loaded = [
        LoadedSlot(name, build_policy(resolve(uri), world.spec)) for name, uri in slots.items()
    ]
    return EpisodeLoop(world, loaded, build_slot_assignment(world.spec, list(slots)), 4, range(3))


def test_a_restored_snapshot_equals_continuing():
    first, other = _loop({"cogs": TEAM}), _loop({"cogs": TEAM})
    for _ in range(25):
        first.tick()
    other.start_episodes()
    other.restore(first.snapshot())
    assert digest_loop(other) == digest_loop(first)


def test_the_name_of_a_slot_changes_nothing():
    assert play({"others": TEAM}) == play({"cogs": TEAM})


@pytest.mark.parametrize(
    "uri",
    [TEAM, pytest.param("kin://mlp?transform=map_features&hidden=[16]", marks=pytest.mark.train)],
)
def test_compiled_kernels_equal_plain_python(uri):
    code = (
        "import json; from kinfolk.testing.inspection import episode_digests; "
        f"print(json.dumps(episode_digests('cogsguard', {{'cogs': {uri!r}}}, seed=1, "
        f"episodes=range(2), batch=2, **{SMALL_GAME | {'max_steps': 40}!r})))"
    )
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    plain = {int(episode): digest for episode, digest in json.loads(done.stdout).items()}
    assert plain == play({"cogs": uri}, seed=1, episodes=range(2), batch=2, max_steps=40)
