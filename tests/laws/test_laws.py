"""The laws of ARCHITECTURE.md, exact, over the probe world and its four policies."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from kinfolk.engines.local import Local
from kinfolk.engines.processes import Processes
from kinfolk.evaluation.match import Match, play_match
from kinfolk.evaluation.subprocess_policy import Isolated
from kinfolk.play.episode import Play
from kinfolk.play.slots import Slot, slot_table
from kinfolk.policies.resolve import build, resolve
from kinfolk.testing.transcript import transcribe, transcript
from kinfolk.worlds import build as build_world

FOUR = ["kin://probe-plain", "kin://probe-hoard", "kin://probe-gru", "kin://probe-members"]
every_policy = pytest.mark.parametrize("uri", FOUR)
ELSEWHERE = """
import json, sys
from kinfolk.testing.transcript import transcript
print(json.dumps(transcript("probe", {"all": sys.argv[1]}, episodes=range(2), batch=2, max_ticks=25)))
"""


@every_policy
def test_the_same_seed_gives_the_same_episodes_and_another_gives_others(uri):
    first = transcript("probe", {"all": uri}, seed=1)
    assert transcript("probe", {"all": uri}, seed=1) == first
    assert set(first.values()).isdisjoint(transcript("probe", {"all": uri}, seed=2).values())


@every_policy
@pytest.mark.parametrize("batch", [1, 2, 31])
def test_batched_equals_single(uri, batch):
    whole = transcript("probe", {"all": uri}, episodes=range(64), batch=64)
    assert transcript("probe", {"all": uri}, episodes=range(64), batch=batch) == whole


@every_policy
def test_one_world_alone_equals_that_world_among_a_thousand(uri):
    ticks = {"max_ticks": 20}
    among = transcript("probe", {"all": uri}, episodes=range(1000), batch=1000, **ticks)
    for episode in (0, 417, 999):
        alone = transcript(
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
            Isolated("guest", resolved, world.spec, places, 20.0)
            if isolated
            else build(resolved, world.spec)
        )
        try:
            return transcribe(
                Play(world, [Slot("all", policy)], slot_table(world.spec, ["all"]), 4, range(5))
            )
        finally:
            policy.close()

    assert play(isolated=True) == play(isolated=False)


def test_local_equals_processes():
    matches = [
        Match("probe", {}, {"all": resolve(uri)}, 9, first, first + 5)
        for uri in FOUR
        for first in (0, 5)
    ]
    here = list(Local().map(play_match, matches))
    engine = Processes(2)
    try:
        assert list(engine.map(play_match, matches)) == here
    finally:
        engine.close()


@every_policy
def test_restoring_a_snapshot_equals_going_on(uri):
    def make():
        world = build_world("probe", {}, 3)
        slots = [Slot("all", build(resolve(uri), world.spec))]
        return Play(world, slots, slot_table(world.spec, ["all"]), 2, range(5))

    play = make()
    for _ in range(33):
        play.tick()
    saved = play.snapshot()
    went_on = transcribe(play)
    other = make()
    other.restore(saved)
    assert transcribe(other) == went_on


def transcript_in_a_process(uri, **env):
    """The transcript of `uri` as a process with another environment makes it, and ours."""
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, uri],
        env={**os.environ, **env}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    ours = transcript("probe", {"all": uri}, episodes=range(2), batch=2, max_ticks=25)
    return {int(k): v for k, v in json.loads(done.stdout).items()}, ours


@every_policy
def test_compiled_equals_uncompiled(uri):
    uncompiled, compiled = transcript_in_a_process(uri, NUMBA_DISABLE_JIT="1")
    assert uncompiled == compiled


def test_no_kernel_reaches_outside_its_arrays():
    checked, unchecked = transcript_in_a_process("kin://probe-hoard", KINFOLK_BOUNDSCHECK="1")
    assert checked == unchecked


def test_renaming_and_reordering_slots_changes_no_result():
    herd, pack = "kin://probe-gru", "kin://probe-hoard"
    first = transcript("probe", {"a": herd, "b": pack}, slot_map={"grazer": "a", "hunter": "b"})
    renamed = transcript("probe", {"x": herd, "y": pack}, slot_map={"grazer": "x", "hunter": "y"})
    reordered = transcript("probe", {"b": pack, "a": herd}, slot_map={"grazer": "a", "hunter": "b"})
    assert first == renamed == reordered
    swapped = transcript("probe", {"a": herd, "b": pack}, slot_map={"grazer": "b", "hunter": "a"})
    assert swapped != first


def test_one_policy_in_two_slots_plays_as_in_one():
    uri = "kin://probe-gru"
    split = transcript("probe", {"a": uri, "b": uri}, slot_map={"grazer": "a", "hunter": "b"})
    assert split == transcript("probe", {"all": uri})


def test_a_members_seat_decides_who_plays():
    world = build_world("probe", {}, 1)
    policy = build(resolve("kin://probe-members"), world.spec)
    table = slot_table(world.spec, ["all"])

    def play(member):
        members = np.full((1, world.spec.rows), member, dtype=np.int64)
        return transcribe(Play(world, [Slot("all", policy)], table, 0, range(1), members))

    assert play(0) == play(0) == play(4)
    assert play(0) != play(1)
