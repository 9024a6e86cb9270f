"""Hunters and grazers in whole games, in both observation formats."""

import numpy as np
import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.jit import COMPILED
from kinfolk.core.settings import validate_settings
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.policies.base import AgentBatch
from kinfolk.policies.build import build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.policies.scripted.savanna import grazer, hunter
from kinfolk.policies.scripted.savanna.grazer import Grazer
from kinfolk.policies.scripted.savanna.hunter import Hunter
from kinfolk.worlds.savanna.presets import PRESETS
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.spec import make_spec
from kinfolk.worlds.savanna.world import SavannaWorld

HUNTER, GRAZER, RANDOM = (resolve(f"kin://{name}") for name in ("hunter", "grazer", "random"))
SHORT = {"max_steps": 150}


@pytest.mark.parametrize("settings", [{}, PRESETS["shared_prey_r2"]], ids=["default", "r2"])
def test_hunters_and_grazers_coexist(play, settings):
    results = play(settings, HUNTER, GRAZER, episodes=8)
    assert np.mean([result.ticks for result in results]) > 800
    helped = sum(result.counters["team_capture_coop_successes"] for result in results)
    kills = sum(result.counters["team_capture_successes"] for result in results)
    assert 0.05 < helped / kills < 0.5


def test_hunters_catch_more_than_random_predators(play):
    def kills(policy):
        results = play(SHORT, policy, RANDOM, episodes=8)
        return sum(result.counters["team_capture_successes"] for result in results)

    assert kills(HUNTER) > 2 * kills(RANDOM)


def test_grazers_have_more_children_than_random_prey(play):
    def children(policy):
        results = play(SHORT, RANDOM, policy, episodes=8)
        return sum(result.counters["spawned_prey"] for result in results)

    assert children(GRAZER) > 2 * children(RANDOM)


@pytest.mark.parametrize("preset", [{}, PRESETS["lineage_documented"]], ids=["default", "lineage"])
def test_hunters_play_the_same_game_in_both_observation_formats(play, preset):
    settings = preset | SHORT
    planes = play(settings | {"observation": "float32"}, HUNTER, RANDOM, episodes=3)
    assert planes == play(settings | {"observation": "compact"}, HUNTER, RANDOM, episodes=3)


def test_grazers_act_alike_in_both_observation_formats_except_where_grass_is_nearly_equal():
    forms = {}
    for form in ("float32", "compact"):
        world = SavannaWorld(validate_settings(Savanna, {"observation": form}), 4)
        forms[form] = (
            world,
            Grazer(world.spec),
            np.zeros((4 * world.spec.rows, world.spec.row_bytes), np.uint8),
        )
    world, policy, _ = forms["float32"]
    loop = EpisodeLoop(
        world, [LoadedSlot("all", policy)], build_slot_assignment(world.spec, ["all"]), 1, range(4)
    )
    compact_world, compact_policy, compact = forms["compact"]
    same = total = 0
    for _ in range(100):
        loop.tick()
        compact_world.restore(world.snapshot())
        compact_world.observe(compact)
        alive = np.flatnonzero(world.columns.alive)
        batch, walk = _batch(alive, world), loop.memory[0]["walk"]
        actions = []
        for player, observed in ((policy, loop.observations), (compact_policy, compact)):
            player.act_async(observed[alive], batch, {"walk": walk.copy()}, batch.uid)
            actions.append(player.act_wait()[:, 0].copy())
        same += int((actions[0] == actions[1]).sum())
        total += len(alive)
    assert same / total > 0.995


def _batch(rows, world):
    columns = world.columns
    group, uid = (np.ascontiguousarray(c[rows]) for c in (columns.group, columns.uid))
    no_parents = np.full((len(rows), 2), -1, dtype=np.int64)
    return AgentBatch(rows, rows, rows, uid, group, uid, no_parents, no_parents)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize("form", ["float32", "compact"])
@pytest.mark.parametrize("reach", [3, 5])
@pytest.mark.parametrize(
    ("policy_class", "kernel"),
    [(Hunter, hunter._hunt), (Grazer, grazer._graze)],
    ids=["hunter", "grazer"],
)
def test_compiled_kernels_equal_plain_python(form, reach, policy_class, kernel):
    settings = validate_settings(
        Savanna, {"observation": form, "type_1_action_range": reach, "prey_obs_range": 7}
    )
    world = SavannaWorld(settings, 1)
    policy = policy_class(world.spec)
    loop = EpisodeLoop(
        world, [LoadedSlot("all", policy)], build_slot_assignment(world.spec, ["all"]), 2, range(1)
    )
    for _ in range(6):
        loop.tick()
        alive = np.flatnonzero(world.columns.alive)
        batch = _batch(alive, world)
        results = []
        for run in (kernel, kernel.py_func):
            walk = loop.memory[0]["walk"].copy()
            inputs = policy.kernel_inputs(loop.observations[alive], batch, walk, batch.uid)
            run(inputs, policy._params)
            results.append((inputs.out, walk))
        assert np.array_equal(results[0][0], results[1][0])
        assert np.array_equal(results[0][1], results[1][1])


def test_every_preset_can_be_played():
    for settings in PRESETS.values():
        spec = make_spec(validate_settings(Savanna, settings))
        Hunter(spec), Grazer(spec)


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        (
            "kin://hunter?rest_energy=-1",
            "Hunter.rest_energy must be a number from 0 to 1000000, not -1.",
        ),
        (
            "kin://hunter?hunt_cost=much",
            "Hunter.hunt_cost must be a number from 0 to 1000000, not 'much'.",
        ),
        (
            "kin://grazer?flee_distance_weak=NaN",
            "Grazer.flee_distance_weak must be a number from 0 to 1000000, not nan.",
        ),
    ],
)
def test_a_parameter_out_of_range_is_refused(uri, message):
    with pytest.raises(SettingsError) as refused:
        build_policy(resolve(uri), make_spec(validate_settings(Savanna, {})))
    assert str(refused.value) == message
