"""The promises of evaluation: the same bytes, however it is run, on every world.

What crosses no contract here are clocks: they stand apart, in events that are not compared.
"""

import json
from functools import cache

import pytest

from kinfolk.core.events import Measured
from kinfolk.core.settings import read
from kinfolk.engines.local import Local
from kinfolk.engines.processes import Processes
from kinfolk.engines.ray_cluster import RayCluster
from kinfolk.jobs.evaluate import Evaluate, evaluate
from kinfolk.testing.job_contract import lines

pytestmark = pytest.mark.xdist_group("ray")

PROBE = {
    "world": "probe",
    "slots": {"g": "kin://probe-hoard", "h": "kin://random"},
    "agent_slot_map": {"grazer": "g", "hunter": "h"},
    "world_settings": {"max_ticks": 30, "grazers": 3, "hunters": 2, "rows": 8},
}
HEIRS = {  # what a child's net begins with comes from its parents' processes
    "world": "probe",
    "slots": {"main": "kin://probe-gru"},
    "world_settings": {"max_ticks": 20, "cells": 3, "growth": 1.0, "grazers": 3, "hunters": 1,
                       "rows": 7, "meal": 9, "birth_energy": 2, "birth_cost": 1},
}  # fmt: skip
SAVANNA = {
    "world": "savanna",
    "preset": "shared_prey_r2",
    "slots": {"pack": "kin://hunter", "herd": "kin://grazer"},
    "agent_slot_map": {"type_1_predator": "pack", "type_1_prey": "herd"},
    "world_settings": {
        "grid_size": 8, "manual_wall_positions": [[4, 4]], "initial_num_grass": 20,
        "n_initial_active_type_1_predator": 2, "n_initial_active_type_1_prey": 4,
        "prey_creation_energy_threshold": 4.5, "max_rows": 12, "max_steps": 40,
    },
}  # fmt: skip
COGSGUARD = {
    "world": "cogsguard",
    "preset": "tutorial",
    "slots": {"main": "kin://roles?miner=2&scout=1"},
    "world_settings": {"max_steps": 80},
}
ODD_NETS = {  # layer sizes at which rows are not aligned in memory
    **PROBE,
    "slots": {"g": "kin://mlp?hidden=[50]", "h": "kin://gru?hidden=[7]&state=13"},
}
LINE_UPS = {
    "probe": PROBE, "heirs": HEIRS, "savanna": SAVANNA, "cogsguard": COGSGUARD, "odd": ODD_NETS,
}  # fmt: skip
COMMON = {"episodes": 6, "chunk": 2, "step_timeout": 30.0, "seed": 11}


def told(settings, engine, **care):
    return lines(list(evaluate(read(Evaluate, {**settings, **COMMON, **care}), engine)))


@cache
def plain(name):
    """What plain play in this process gives."""
    return told(LINE_UPS[name], Local())


@pytest.mark.parametrize("name", list(LINE_UPS))
def test_the_games_are_worth_comparing(name):
    *episodes, summary = [json.loads(line) for line in plain(name)]
    assert summary["failures"] == summary["faults"] == 0
    assert len({episode["seed"] for episode in episodes}) == 6
    assert len({json.dumps([e["returns"], e["counters"]]) for e in episodes}) > 1


def test_children_are_born_in_them():
    heirs = [json.loads(line)["counters"]["births"] for line in plain("heirs")[:-1]]
    assert sum(heirs) > 10
    herd = [json.loads(line)["counters"]["spawned_prey"] for line in plain("savanna")[:-1]]
    assert sum(herd) > 3


@pytest.mark.parametrize("name", list(LINE_UPS))
@pytest.mark.parametrize("isolate", ["slot", "agent"])
def test_policies_apart_give_the_same_bytes(name, isolate):
    assert told(LINE_UPS[name], Local(), isolate=isolate) == plain(name)


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_worker_processes_give_the_same_bytes(jobs):
    engine = Processes(jobs)
    try:
        for name in LINE_UPS if jobs == 2 else ("probe",):
            assert told(LINE_UPS[name], engine) == plain(name), name
        if jobs == 2:
            for isolate in ("slot", "agent"):
                assert told(SAVANNA, engine, isolate=isolate) == plain("savanna")
    finally:
        engine.close()


@pytest.mark.parametrize("isolate", ["none", "slot", "agent"])
def test_a_cluster_gives_the_same_bytes(two_nodes, isolate):
    for name in ("savanna", "cogsguard"):
        assert told(LINE_UPS[name], RayCluster(2), isolate=isolate) == plain(name), name


def test_the_size_of_a_task_has_no_effect():
    for name, settings in LINE_UPS.items():
        assert told({**settings}, Local(), chunk=5) == plain(name)


def test_a_sandbox_has_no_effect_on_a_sound_policy():
    assert told(PROBE, Local(), isolate="agent", sandbox=True) == plain("probe")


def test_one_slot_may_be_kept_apart_alone():
    slots = {"pack": {"policy_uri": "kin://hunter", "isolate": "agent"}, "herd": "kin://grazer"}
    items = list(evaluate(read(Evaluate, {**SAVANNA, **COMMON, "slots": slots}), Local()))
    assert lines(items) == plain("savanna")
    timing = next(item for item in items if isinstance(item, Measured)).slots
    assert timing["pack"]["processes"] >= 2
    assert timing["herd"]["processes"] == 0


def test_newborns_may_take_their_parents_slot():
    mapping = ["a", "b", "a", "b", "a", "b", "a"]
    slots = {"a": "kin://probe-gru", "b": "kin://probe-gru?seed=1"}
    heirs = {**HEIRS, "slots": slots, "agent_slot_map": mapping, "inherit_slot": True}
    assert told(heirs, Local(), isolate="agent") == told(heirs, Local())
    assert told(heirs, Local()) != told({**heirs, "inherit_slot": False}, Local())


def test_two_slots_of_one_policy_take_each_its_own_answers():
    twins = {**PROBE, "slots": {"g": "kin://random", "h": "kin://random"}}
    assert told(twins, Local()) == told(twins, Local(), isolate="slot")
