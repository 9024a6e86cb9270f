"""Hunters and grazers in whole games: both forms of observation, and lives that go on."""

import numpy as np
import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.jit import COMPILED
from kinfolk.core.settings import validate_settings
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.policies.resolve import build_policy, resolve
from kinfolk.policies.scripted.savanna import grazer, hunter
from kinfolk.policies.scripted.savanna.grazer import Grazer
from kinfolk.policies.scripted.savanna.hunter import Hunter
from kinfolk.policies.scripted.savanna.window_decoder import as_words
from kinfolk.worlds.savanna.presets import PRESETS
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.spec import make_spec
from kinfolk.worlds.savanna.world import SavannaWorld

HUNTER, GRAZER, RANDOM = (resolve(f"kin://{name}") for name in ("hunter", "grazer", "random"))
SHORT = {"max_steps": 150}


@pytest.mark.parametrize("settings", [{}, PRESETS["shared_prey_r2"]], ids=["default", "r2"])
def test_hunters_and_grazers_live_together(play, settings):
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
def test_hunters_play_the_same_game_in_both_forms_of_observation(play, preset):
    settings = preset | SHORT
    planes = play(settings | {"observation": "float32"}, HUNTER, RANDOM, episodes=3)
    assert planes == play(settings | {"observation": "compact"}, HUNTER, RANDOM, episodes=3)


def test_grazers_act_alike_in_both_forms_but_for_grass_that_is_nearly_equal():
    forms = {}
    for form in ("float32", "compact"):
        world = SavannaWorld(validate_settings(Savanna, {"observation": form}), 4)
        forms[form] = (
            world,
            Grazer(world.spec),
            np.zeros((4 * world.spec.rows, world.spec.row_bytes), np.uint8),
        )
    game, policy, _ = forms["float32"]
    play = EpisodeLoop(
        game, [LoadedSlot("all", policy)], build_slot_assignment(game.spec, ["all"]), 1, range(4)
    )
    other, twin, seen = forms["compact"]
    same = asked = 0
    for _ in range(100):
        play.tick()
        other.restore(game.snapshot())
        other.observe(seen)
        place = np.flatnonzero(game.columns.alive)
        rows = _rows(place, game)
        answers = []
        for mind, shown in ((policy, play.observations), (twin, seen)):
            mind.act_async(shown[place], rows, {"walk": play.memory[0]["walk"].copy()}, rows.uid)
            answers.append(mind.act_wait()[:, 0].copy())
        same += int((answers[0] == answers[1]).sum())
        asked += len(place)
    assert same / asked > 0.995


def _rows(place, world):
    from kinfolk.policies.base import AgentBatch

    columns = world.columns
    group, uid = (np.ascontiguousarray(c[place]) for c in (columns.group, columns.uid))
    nobody = np.full((len(place), 2), -1, dtype=np.int64)
    return AgentBatch(place, place, place, uid, group, uid, nobody, nobody)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize("form", ["float32", "compact"])
@pytest.mark.parametrize("reach", [3, 5])
@pytest.mark.parametrize(
    ("kind", "kernel"), [(Hunter, hunter._hunt), (Grazer, grazer._graze)], ids=["hunter", "grazer"]
)
def test_compiled_and_plain_kernels_decide_alike(form, reach, kind, kernel):
    settings = validate_settings(
        Savanna, {"observation": form, "type_1_action_range": reach, "prey_obs_range": 7}
    )
    world = SavannaWorld(settings, 1)
    policy = kind(world.spec)
    play = EpisodeLoop(
        world, [LoadedSlot("all", policy)], build_slot_assignment(world.spec, ["all"]), 2, range(1)
    )
    for _ in range(6):
        play.tick()
        place = np.flatnonzero(world.columns.alive)
        rows = _rows(place, world)
        words, floats = as_words(play.observations[place])
        found = []
        for run in (kernel, kernel.py_func):
            walk = play.memory[0]["walk"].copy()
            out = np.zeros((len(place), 1), dtype=np.int64)
            desk, mood = policy._scratch, policy._params
            run(words, floats, place, rows.group, rows.uid, walk, *desk, mood, out)
            found.append((out, walk))
        assert np.array_equal(found[0][0], found[1][0])
        assert np.array_equal(found[0][1], found[1][1])


def test_the_face_of_every_preset_can_be_played():
    for settings in PRESETS.values():
        spec = make_spec(validate_settings(Savanna, settings))
        Hunter(spec), Grazer(spec)


@pytest.mark.parametrize(
    ("uri", "what"),
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
def test_a_setting_that_makes_no_sense_is_refused(uri, what):
    with pytest.raises(SettingsError) as refused:
        build_policy(resolve(uri), make_spec(validate_settings(Savanna, {})))
    assert str(refused.value) == what
