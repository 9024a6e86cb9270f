"""Evaluation gives the same bytes on every engine and isolation, for every world.

Timing events, which hold clock times, are not compared.
"""

import json
from functools import cache

import pytest

from kinfolk.core.events import TimingEvent
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.engines.ray_cluster import RayEngine
from kinfolk.jobs.evaluate import Evaluate, evaluate
from kinfolk.testing.contracts.job import event_lines

pytestmark = pytest.mark.xdist_group("ray")

PROBE = {
    "world": "probe",
    "slots": {"g": "kin://probe-large-memory", "h": "kin://random"},
    "agent_slot_map": {"grazer": "g", "hunter": "h"},
    "world_settings": {"max_ticks": 30, "grazers": 3, "hunters": 2, "rows": 8},
}
CHILDREN = {  # children's memory comes from their parents' processes
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
    "slots": {"g": "kin://mlp?hidden=[50]", "h": "kin://gru?hidden=[7]&state_size=13"},
}
EVALUATIONS = {
    "probe": PROBE, "children": CHILDREN, "savanna": SAVANNA, "cogsguard": COGSGUARD, "odd": ODD_NETS,
}  # fmt: skip
COMMON = {"episodes": 6, "chunk_size": 2, "step_timeout": 30.0, "seed": 11}


def event_lines_of(settings, engine, **options):
    return event_lines(
        list(evaluate(validate_settings(Evaluate, {**settings, **COMMON, **options}), engine))
    )


@cache
def plain(name):
    """What plain play in this process gives."""
    return event_lines_of(EVALUATIONS[name], LocalEngine())


@pytest.mark.parametrize("name", list(EVALUATIONS))
def test_the_episodes_compared_are_not_trivial(name):
    *episodes, summary = [json.loads(line) for line in plain(name)]
    assert summary["failures"] == summary["invalid_actions"] == 0
    assert len({episode["seed"] for episode in episodes}) == 6
    assert len({json.dumps([e["returns"], e["counters"]]) for e in episodes}) > 1


def test_children_are_born_in_the_episodes_compared():
    births = [json.loads(line)["counters"]["births"] for line in plain("children")[:-1]]
    assert sum(births) > 10
    herd = [json.loads(line)["counters"]["spawned_prey"] for line in plain("savanna")[:-1]]
    assert sum(herd) > 3


# Other worlds than these two, and other engines, are compared by ./kin test --more.
QUICK = ("probe", "savanna")


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.more) for name in EVALUATIONS],
)
@pytest.mark.parametrize("isolate", ["slot", "agent"])
def test_isolated_policies_give_the_same_bytes(name, isolate):
    assert event_lines_of(EVALUATIONS[name], LocalEngine(), isolate=isolate) == plain(name)


@pytest.mark.more
@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_worker_processes_give_the_same_bytes(jobs):
    engine = ProcessEngine(jobs)
    try:
        for name in EVALUATIONS if jobs == 2 else ("probe",):
            assert event_lines_of(EVALUATIONS[name], engine) == plain(name), name
        if jobs == 2:
            for isolate in ("slot", "agent"):
                assert event_lines_of(SAVANNA, engine, isolate=isolate) == plain("savanna")
    finally:
        engine.close()


@pytest.mark.parametrize(
    "isolate", ["none", *(pytest.param(one, marks=pytest.mark.more) for one in ("slot", "agent"))]
)
def test_a_cluster_gives_the_same_bytes(two_nodes, isolate):
    for name in ("savanna", "cogsguard"):
        assert event_lines_of(EVALUATIONS[name], RayEngine(2), isolate=isolate) == plain(name), name


def test_the_size_of_a_task_has_no_effect():
    for name, settings in EVALUATIONS.items():
        assert event_lines_of({**settings}, LocalEngine(), chunk_size=5) == plain(name)


def test_a_sandbox_has_no_effect_on_a_valid_policy():
    assert event_lines_of(PROBE, LocalEngine(), isolate="agent", sandbox=True) == plain("probe")


@pytest.mark.more
@pytest.mark.parametrize(
    "world", ["savanna", "cogsguard", pytest.param("odd", marks=pytest.mark.train)]
)
@pytest.mark.parametrize("isolate", ["slot", "agent"])
def test_a_sandbox_has_no_effect_in_either_world_nor_on_nets(isolate, world):
    settings = EVALUATIONS[world]
    assert event_lines_of(settings, LocalEngine(), isolate=isolate, sandbox=True) == plain(world)


def test_a_single_slot_can_be_isolated():
    slots = {"pack": {"policy_uri": "kin://hunter", "isolate": "agent"}, "herd": "kin://grazer"}
    items = list(
        evaluate(validate_settings(Evaluate, {**SAVANNA, **COMMON, "slots": slots}), LocalEngine())
    )
    assert event_lines(items) == plain("savanna")
    timing = next(item for item in items if isinstance(item, TimingEvent)).slots
    assert timing["pack"].processes >= 2
    assert timing["herd"].processes == 0


def test_newborns_may_take_their_parents_slot():
    mapping = ["a", "b", "a", "b", "a", "b", "a"]
    slots = {"a": "kin://probe-gru", "b": "kin://probe-gru?seed=1"}
    settings = {**CHILDREN, "slots": slots, "agent_slot_map": mapping, "inherit_slot": True}
    assert event_lines_of(settings, LocalEngine(), isolate="agent") == event_lines_of(
        settings, LocalEngine()
    )
    assert event_lines_of(settings, LocalEngine()) != event_lines_of(
        {**settings, "inherit_slot": False}, LocalEngine()
    )


def test_two_slots_of_one_policy_get_their_own_actions():
    settings = {**PROBE, "slots": {"g": "kin://random", "h": "kin://random"}}
    assert event_lines_of(settings, LocalEngine()) == event_lines_of(
        settings, LocalEngine(), isolate="slot"
    )
