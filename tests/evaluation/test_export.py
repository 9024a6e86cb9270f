import csv
import io
import json

import jsonschema
import pytest
from pyarrow import parquet

from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.evaluation.export import (
    COMPARISON_SCHEMA,
    RESULT_SCHEMA,
    build_failure_table,
    build_table,
    to_csv,
    to_parquet,
)
from kinfolk.evaluation.rollout import evaluation_task
from kinfolk.evaluation.trajectory import replay_episode
from kinfolk.jobs.evaluate import Evaluate, evaluate
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.worlds.savanna.agent_log import SavannaAgentLog
from kinfolk.worlds.savanna.io.event_log import (
    build_agent_stats,
    build_event_log,
    format_reward_summary,
)

SLOTS, SPEC = ["g", "h"], WorldRef("probe").spec


@pytest.fixture(scope="module")
def events():
    settings = {"slots": {"g": "kin://probe-python", "h": "kin://random"},
                "agent_slot_map": {"hunter": "h"}, "episodes": 3}  # fmt: skip
    items = evaluate(validate_settings(Evaluate, settings), LocalEngine())
    return [json.loads(item.to_json_line()) for item in items if hasattr(item, "kind")]


def test_a_row_per_episode_has_every_slot_group_and_counter(events):
    table = build_table("episodes", events, SLOTS, SPEC)
    assert table["episode"] == [0, 1, 2]
    assert table["returns.g"] == [
        event["returns"]["g"] for event in events if "returns" in event and "seed" in event
    ]
    assert {"ticks", "seed", "failures", "group_returns.hunter", "counters.births"} <= set(table)


def test_a_row_per_agent_adds_up_to_its_slot(events):
    table = build_table("agents", events, SLOTS, SPEC)
    first = next(event for event in events if event["kind"] == "episode_played")
    rows = zip(table["episode"], table["slot"], table["ticks"], table["return"], strict=True)
    mine = [
        earned for episode, slot, ticks, earned in rows if (episode, slot) == (0, "g") and ticks
    ]
    assert sum(mine) == pytest.approx(first["returns"]["g"])
    assert len(mine) == first["lives"]["g"]
    assert sum(first["group_returns"].values()) == pytest.approx(sum(first["returns"].values()))


def test_csv_and_parquet_hold_the_same(events):
    table = build_table("agents", events, SLOTS, SPEC)
    text = to_csv(table).decode().splitlines()
    assert text[0] == "episode,agent_id,uid,group,slot,birth_tick,ticks,return"
    assert len(text) == 1 + len(table["uid"])
    loaded = parquet.read_table(io.BytesIO(to_parquet(table))).to_pydict()
    assert loaded == table


def test_no_failures_are_an_empty_table(events):
    assert build_failure_table("evaluate", {"slots": {"g": "kin://noop"}}, events) == {}


def failure(slot, **more):
    message = f"Slot '{slot}', tick 3: act_wait raised KeyError: 'x'."
    record = {"slot": slot, "policy": "mine.P", "agent": -1, "tick": 3, "cause": "raised"}
    return record | {"message": message, "traceback": "", "restarted": False} | more


def test_a_row_per_failure_names_the_policy_as_it_was_asked_for():
    played = {"kind": "episode_played", "step": 4, "failures": [failure("pack", location="m.py:1")]}
    settings = {
        "slots": {"herd": "kin://noop", "pack": {"class_path": "mine.P", "isolate": "slot"}}
    }
    assert build_failure_table("evaluate", settings, [played]) == {
        "episode": [4], "uri": ["mine.P"], "slot": ["pack"], "policy": ["mine.P"], "agent": [-1],
        "tick": [3], "cause": ["raised"],
        "message": ["Slot 'pack', tick 3: act_wait raised KeyError: 'x'."], "traceback": [""],
        "restarted": [False], "location": ["m.py:1"],
    }  # fmt: skip
    summary = {"kind": "evaluated", "step": 5, "failures": 7}
    assert build_failure_table("evaluate", settings, [summary]) == {}


def test_failures_of_a_comparison_name_the_candidate_and_the_policy_that_failed():
    settings = {"policies": ["kin://noop", "class:mine.P"], "slots": {"others": "class:rival.R"}}
    played = {"kind": "candidate_played", "step": 0, "policy": 1, "value": 1.0}
    events = [
        {**played, "failures": [failure("candidate"), failure("others")]},
        {"kind": "compared", "step": 1, "failures": [0, 2]},
    ]
    table = build_failure_table("compare", settings, events)
    assert table["candidate"] == 2 * ["class:mine.P"]
    assert table["uri"] == ["class:mine.P", "class:rival.R"]
    assert table["location"] == ["", ""], "records of older runs have fewer fields"
    older = {**played, "failures": 2}
    assert build_failure_table("compare", settings, [older]) == {}, "they had no records at all"


def test_failures_of_a_round_robin_name_both_policies():
    settings = {"policies": ["a", "b", "c"]}
    game = {"kind": "pair_played", "step": 2, "first": 0, "second": 2, "failures": []}
    game["failures"] = [failure("first", mirrored=False), failure("second", mirrored=True)]
    table = build_failure_table("round_robin", settings, [game])
    assert (table["uri"], table["opponent"], table["mirrored"]) == (
        ["a", "c"],
        ["c", "a"],
        [False, True],
    )


@pytest.mark.parametrize("schema", [RESULT_SCHEMA, COMPARISON_SCHEMA])
def test_the_schema_is_one(schema):
    jsonschema.Draft202012Validator.check_schema(schema)


SMALL = {
    "grid_size": 10, "initial_num_grass": 30, "n_initial_active_type_1_predator": 2,
    "n_initial_active_type_1_prey": 6, "prey_creation_energy_threshold": 4.5,
    "manual_wall_positions": [], "max_rows": 32, "max_steps": 60,
}  # fmt: skip


def test_the_savannas_own_files_tell_every_life():
    slots = {"pack": resolve("kin://hunter"), "herd": resolve("kin://grazer")}
    slot_map = {"type_1_predator": "pack", "type_1_prey": "herd"}
    ref = WorldRef("savanna", "lineage_documented", SMALL)
    task = evaluation_task(ref, slots, 2, range(1), slot_map)
    report, lives = replay_episode(task, 0, SavannaAgentLog)
    log = build_event_log(lives)
    born = {name: record for name, record in log.items() if record["parent_id"]}
    assert len(log) >= sum(report.lives.values())
    assert len(born) == report.counters["spawned_prey"] + report.counters["spawned_predators"] > 0
    for name, record in born.items():
        parent = log[record["parent_id"]]
        assert {"t": record["birth_step"], "child_id": name} in parent["reproduction_events"]
    stats = build_agent_stats(lives)
    total = sum(record["cumulative_reward"] for record in stats.values())
    assert total == pytest.approx(sum(report.returns.values()))
    text = format_reward_summary(lives, report.ticks).splitlines()
    assert text[0].split() == [
        "group",
        "lives",
        "R",
        "Life",
        "Off",
        "Off/100",
        "Lineage",
        "FertCap",
        "FertExp",
        "FBlk",
    ]
    [prey] = [line.split() for line in text if line.startswith("type_1_prey ")]
    herd = [record for name, record in stats.items() if name.startswith("type_1_prey")]
    assert int(prey[1]) == len(herd)
    mean = sum(record["cumulative_reward"] for record in herd) / len(herd)
    assert float(prey[2]) == pytest.approx(mean, abs=0.005)


def test_a_cell_that_a_spreadsheet_would_compute_is_text():
    cells = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "-3.5", "+2e3", "a=b"]
    table = {"=name": cells, "score": [-0.5] * len(cells)}
    header, *rows = csv.reader(io.StringIO(to_csv(table).decode()))
    assert header == ["'=name", "score"]
    assert [row[0] for row in rows] == [
        "'=1+1", "'+1+1", "'-1+1", "'@SUM(A1)", "'\t=1", "-3.5", "+2e3", "a=b",
    ]  # fmt: skip
    assert {row[1] for row in rows} == {"-0.5"}
