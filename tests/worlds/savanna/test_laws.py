"""Laws: the same key gives the same episode, alone or among many, compiled or not."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from savanna_rule_sets import BITING, LIVELY, VARIED, play
from savanna_scenes import random_actions

from kinfolk.core.errors import ContractError
from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.world import SavannaWorld


def digest(world, out):
    world.observe(out)
    sums = hashlib.sha256(out.tobytes())
    for name, array in sorted(world.snapshot().items()):
        if name not in ("parent", "living", "live_descendants", "prev_live_descendants"):
            sums.update(np.ascontiguousarray(array).tobytes())
    return sums.hexdigest()


@pytest.mark.parametrize("rules", [LIVELY, BITING, VARIED], ids=["teams", "bites", "variants"])
def test_a_world_alone_equals_that_world_among_many_with_any_threads(rules):
    many, world = play(rules, [3, 8, 11, 4, 9], threads=2)
    assert int(world.counters()["spawned_prey"].sum()) > 0
    alone, _ = play(rules, [11])
    assert [step[2] for step in many] == [step[0] for step in alone]


def test_the_same_key_gives_the_same_episode_and_another_key_another():
    first, _ = play(LIVELY, [3, 5])
    again, _ = play(LIVELY, [3, 5])
    assert first == again
    assert first[0][0] != first[0][1]


def test_a_restored_world_goes_on_as_if_nothing_had_been():
    world = SavannaWorld(validate_settings(Savanna, VARIED), 2)
    world.reset(np.array([1, 2]))
    out = np.zeros((2 * world.spec.rows, world.spec.row_bytes), dtype=np.uint8)
    rng = np.random.default_rng(0)
    for _ in range(10):
        world.step(random_actions(world, rng))
    saved = world.snapshot()
    plans = []
    for _ in range(15):
        plans.append(random_actions(world, rng))
        world.step(plans[-1])
    ended = digest(world, out)
    world.restore(saved)
    for plan in plans:
        world.step(plan)
    assert digest(world, out) == ended
    world.restore(saved, source=np.array([1, 1]))
    assert (world.columns.uid[: world.spec.rows] == world.columns.uid[world.spec.rows :]).all()


def test_more_lives_than_there_was_room_for_are_kept_and_can_be_restored():
    rules = LIVELY | {"max_rows": 600, "prey_creation_energy_threshold": 3.5, "max_steps": 200}
    world = SavannaWorld(validate_settings(Savanna, rules), 1)
    world.reset(np.array([1]))
    saved = world.snapshot()
    first_room = world._arrays.parent.shape[1]
    rng = np.random.default_rng(0)
    for _ in range(40):
        world._arrays.energy[0, world._arrays.alive[0]] += 2.0
        world.step(random_actions(world, rng))
    assert world._arrays.parent.shape[1] > first_room
    late = world.snapshot()
    world.restore(saved)
    assert world.tick[0] == 0
    fresh = SavannaWorld(validate_settings(Savanna, rules), 1)
    fresh.restore(late)
    assert (fresh.columns.uid == late["uid"].reshape(-1)).all()


def test_a_snapshot_of_another_world_is_refused():
    world = SavannaWorld(validate_settings(Savanna, LIVELY), 1)
    other = SavannaWorld(validate_settings(Savanna, LIVELY | {"grid_size": 20}), 1)
    with pytest.raises(ContractError, match="has shape"):
        world.restore(other.snapshot())


def test_a_done_world_stands_still_until_it_is_reset():
    world = SavannaWorld(validate_settings(Savanna, LIVELY | {"max_steps": 2}), 1)
    world.reset(np.array([1]))
    out = np.zeros((world.spec.rows, world.spec.row_bytes), dtype=np.uint8)
    rng = np.random.default_rng(0)
    for _ in range(2):
        world.step(random_actions(world, rng))
    assert world.done[0]
    assert (world.columns.truncated == world.columns.alive).all()
    before = digest(world, out)
    world.step(random_actions(world, rng))
    assert digest(world, out) == before
    world.reset(np.array([2]), np.array([0]))
    assert not world.done[0]


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from savanna_rule_sets import BITING, LIVELY, VARIED, play
small = dict(grid_size=9, initial_num_grass=20, max_rows=32, predator_obs_range=3, prey_obs_range=5)
for rules in (LIVELY, BITING, VARIED):
    for form in ("float32", "compact"):
        both = rules.get("separate_prey_channels", False) and form == "float32"
        shown = dict(observation=form, separate_prey_channels=both)
        trail, world = play(dict(rules, **small) | shown, [4, 6], steps=12)
        print(trail, {{k: v.tolist() for k, v in world.counters().items()}})
"""


@pytest.mark.more  # all rules as plain Python take ten seconds
def test_compiled_equals_uncompiled():
    script = SCRIPT.format(folder=str(Path(__file__).parent))
    outputs = []
    for disabled in ("0", "1"):
        environment = os.environ | {"NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 1000
