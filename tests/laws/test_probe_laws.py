"""The laws of ARCHITECTURE.md, exact, over the probe world and its four policies."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.evaluation.rollout import evaluation_task, run_evaluation
from kinfolk.isolation.subprocess_policy import SubprocessPolicy
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.play.task import WorldRef
from kinfolk.policies.build import build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.testing.inspection import digest_loop, episode_digests
from kinfolk.worlds import build_world as build_world

FOUR = [
    "kin://probe-python",
    "kin://probe-large-memory",
    "kin://probe-gru",
    "kin://probe-population",
]
every_policy = pytest.mark.parametrize(
    "uri", [*FOUR[:2], *(pytest.param(uri, marks=pytest.mark.train) for uri in FOUR[2:])]
)
ELSEWHERE = """
import json, sys
from kinfolk.testing.inspection import episode_digests
print(json.dumps(episode_digests("probe", {"all": sys.argv[1]}, episodes=range(2), batch=2, max_ticks=25)))
"""


@every_policy
def test_the_same_seed_gives_the_same_episodes_and_another_gives_others(uri):
    first = episode_digests("probe", {"all": uri}, seed=1)
    assert episode_digests("probe", {"all": uri}, seed=1) == first
    assert set(first.values()).isdisjoint(episode_digests("probe", {"all": uri}, seed=2).values())


@every_policy
@pytest.mark.parametrize("batch", [1, 2, 31])
def test_batched_equals_single(uri, batch):
    whole = episode_digests("probe", {"all": uri}, episodes=range(64), batch=64)
    assert episode_digests("probe", {"all": uri}, episodes=range(64), batch=batch) == whole


@every_policy
def test_one_world_alone_equals_that_world_among_a_thousand(uri):
    ticks = {"max_ticks": 20}
    among = episode_digests("probe", {"all": uri}, episodes=range(1000), batch=1000, **ticks)
    for episode in (0, 417, 999):
        alone = episode_digests(
            "probe", {"all": uri}, episodes=range(episode, episode + 1), batch=1, **ticks
        )
        assert alone[episode] == among[episode]


@every_policy
def test_isolated_equals_plain(uri):
    def play(isolated):
        world = build_world("probe", {}, 3)
        resolved = resolve(uri)
        places = 3 * world.spec.rows
        policy = (
            SubprocessPolicy("guest", resolved, world.spec, places, 20.0)
            if isolated
            else build_policy(resolved, world.spec)
        )
        try:
            return digest_loop(
                EpisodeLoop(
                    world,
                    [LoadedSlot("all", policy)],
                    build_slot_assignment(world.spec, ["all"]),
                    4,
                    range(5),
                )
            )
        finally:
            policy.close()

    assert play(isolated=True) == play(isolated=False)


@pytest.mark.more
def test_local_equals_processes():
    tasks = [
        evaluation_task(WorldRef("probe"), {"all": resolve(uri)}, 9, range(first, first + 5))
        for uri in FOUR
        for first in (0, 5)
    ]
    here = [result.episodes for result in LocalEngine().map(run_evaluation, tasks)]
    engine = ProcessEngine(2)
    try:
        assert [result.episodes for result in engine.map(run_evaluation, tasks)] == here
    finally:
        engine.close()


@every_policy
def test_restoring_a_snapshot_equals_going_on(uri):
    def make():
        world = build_world("probe", {}, 3)
        slots = [LoadedSlot("all", build_policy(resolve(uri), world.spec))]
        return EpisodeLoop(world, slots, build_slot_assignment(world.spec, ["all"]), 2, range(5))

    play = make()
    for _ in range(33):
        play.tick()
    saved = play.snapshot()
    went_on = digest_loop(play)
    other = make()
    other.restore(saved)
    assert digest_loop(other) == went_on


def transcript_in_a_process(uri, **env):
    """The transcript of `uri` as a process with another environment makes it, and ours."""
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, uri],
        env={**os.environ, **env}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    ours = episode_digests("probe", {"all": uri}, episodes=range(2), batch=2, max_ticks=25)
    return {int(k): v for k, v in json.loads(done.stdout).items()}, ours


@every_policy
def test_compiled_equals_uncompiled(uri):
    uncompiled, compiled = transcript_in_a_process(uri, NUMBA_DISABLE_JIT="1")
    assert uncompiled == compiled


@pytest.mark.more
def test_no_kernel_reaches_outside_its_arrays():
    checked, unchecked = transcript_in_a_process(
        "kin://probe-large-memory", KINFOLK_BOUNDSCHECK="1"
    )
    assert checked == unchecked


def test_renaming_and_reordering_slots_changes_no_result():
    herd, pack = "kin://probe-gru", "kin://probe-large-memory"
    first = episode_digests(
        "probe", {"a": herd, "b": pack}, slot_map={"grazer": "a", "hunter": "b"}
    )
    renamed = episode_digests(
        "probe", {"x": herd, "y": pack}, slot_map={"grazer": "x", "hunter": "y"}
    )
    reordered = episode_digests(
        "probe", {"b": pack, "a": herd}, slot_map={"grazer": "a", "hunter": "b"}
    )
    assert first == renamed == reordered
    swapped = episode_digests(
        "probe", {"a": herd, "b": pack}, slot_map={"grazer": "b", "hunter": "a"}
    )
    assert swapped != first


def test_one_policy_in_two_slots_plays_as_in_one():
    uri = "kin://probe-gru"
    split = episode_digests("probe", {"a": uri, "b": uri}, slot_map={"grazer": "a", "hunter": "b"})
    assert split == episode_digests("probe", {"all": uri})


def test_the_slot_of_a_member_decides_which_member_plays():
    world = build_world("probe", {}, 1)
    policy = build_policy(resolve("kin://probe-population"), world.spec)
    table = build_slot_assignment(world.spec, ["all"])

    def play(member):
        members = np.full((1, world.spec.rows), member, dtype=np.int64)
        return digest_loop(
            EpisodeLoop(world, [LoadedSlot("all", policy)], table, 0, range(1), members)
        )

    assert play(0) == play(0) == play(4)
    assert play(0) != play(1)
