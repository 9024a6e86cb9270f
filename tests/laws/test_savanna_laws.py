"""The laws on the savanna: hunters and grazers, births and deaths, whole episodes."""

import json
import os
import subprocess
import sys

import pytest

from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.testing.inspection import episode_digests

SLOTS = {"pack": "kin://hunter", "herd": "kin://grazer"}
MAP = {"type_1_predator": "pack", "type_1_prey": "herd"}
SMALL = {
    "grid_size": 12,
    "manual_wall_positions": [[4, 4], [4, 5], [4, 6], [7, 2]],
    "initial_num_grass": 30,
    "n_initial_active_type_1_predator": 4,
    "n_initial_active_type_1_prey": 8,
    "prey_creation_energy_threshold": 4.5,
    "predator_creation_energy_threshold": 7.0,
    "max_rows": 48,
    "max_steps": 60,
}
PRESETS = [None, "shared_prey_r2", "lineage_documented"]
every_preset = pytest.mark.parametrize("preset", PRESETS)


def play(preset, slots=SLOTS, slot_map=MAP, **options):
    return episode_digests(
        "savanna", slots, preset=preset, slot_map=slot_map, **{**SMALL, **options}
    )


@every_preset
def test_the_same_seed_gives_the_same_episodes_and_another_gives_others(preset):
    first = play(preset, seed=1)
    assert play(preset, seed=1) == first
    assert set(first.values()).isdisjoint(play(preset, seed=2).values())


@every_preset
@pytest.mark.parametrize("batch", [1, 2, 31])
def test_batched_equals_single(preset, batch):
    whole = play(preset, episodes=range(31), batch=64)
    assert play(preset, episodes=range(31), batch=batch) == whole


def test_one_world_alone_equals_that_world_among_a_thousand():
    among = play(None, episodes=range(1000), batch=1000, max_steps=15)
    for episode in (0, 417, 999):
        alone = play(None, episodes=range(episode, episode + 1), batch=1, max_steps=15)
        assert alone[episode] == among[episode]


def test_the_observation_format_changes_nothing_but_observations():
    chance = {"all": resolve("kin://random")}  # draws from keys, whatever it sees
    played = [
        run_evaluation(
            evaluation_task(
                WorldRef("savanna", settings=SMALL | {"observation": form}), chance, 5, range(4)
            )
        ).episodes
        for form in ("float32", "compact")
    ]
    assert played[0] == played[1]


@pytest.mark.parametrize("isolate", ["none", pytest.param("slot", marks=pytest.mark.more)])
def test_local_equals_processes_and_isolated_equals_plain(isolate):
    policies = {name: resolve(uri) for name, uri in SLOTS.items()}

    def tasks(isolation):
        return [
            evaluation_task(
                WorldRef("savanna", "shared_prey_r2", SMALL),
                policies,
                9,
                range(first, first + 3),
                MAP,
                Isolation(isolation, IsolationSettings(step_timeout=30.0)),
            )
            for first in (0, 3)
        ]

    here = [result.episodes for result in LocalEngine().map(run_evaluation, tasks("none"))]
    engine = ProcessEngine(2)
    try:
        there = [result.episodes for result in engine.map(run_evaluation, tasks(isolate))]
        assert there == here
    finally:
        engine.close()
    assert sum(result.counters["spawned_prey"] for part in here for result in part) > 5


ELSEWHERE = """
import json, sys
from kinfolk.testing.inspection import episode_digests
slots, slot_map, settings = json.loads(sys.argv[1])
found = episode_digests("savanna", slots, slot_map=slot_map, episodes=range(1), batch=1, **settings)
print(json.dumps(found))
"""


@pytest.mark.more
@every_preset
def test_compiled_equals_uncompiled(preset):
    settings = {**SMALL, "max_steps": 25, "preset": preset}
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, json.dumps([SLOTS, MAP, settings])],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    compiled = play(preset, episodes=range(1), batch=1, max_steps=25)
    assert {int(k): v for k, v in json.loads(done.stdout).items()} == compiled


def test_renaming_and_reordering_slots_changes_no_result():
    first = play("shared_prey_r2")
    renamed = play("shared_prey_r2", {"a": "kin://hunter", "b": "kin://grazer"},
                   {"type_1_predator": "a", "type_1_prey": "b"})  # fmt: skip
    reordered = play("shared_prey_r2", dict(reversed(SLOTS.items())))
    assert first == renamed == reordered
