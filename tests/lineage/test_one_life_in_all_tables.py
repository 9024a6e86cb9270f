"""An agent has one id, one birth and one death in all tables, logs and exports."""

import csv
import io
import re

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.settings import validate_settings
from kinfolk.evaluation.trajectory import replay_episode, trace_episode
from kinfolk.jobs.evaluate import Evaluate, evaluation_tasks
from kinfolk.lineage.family import to_csv, to_newick
from kinfolk.worlds.savanna.agent_log import SavannaAgentLog
from kinfolk.worlds.savanna.io.event_log import build_event_log


@pytest.fixture(scope="module", params=["lineage_documented", "lineage_published"])
def tables(request, tmp_path_factory):
    """One episode with carcasses and births in its last tick, in every form that it can be read in."""
    chosen = {
        "world": "savanna",
        "preset": request.param,
        "world_settings": {"max_steps": 128},
        "slots": {"hunters": "kin://hunter?desperate_energy=100", "herd": "kin://grazer"},
        "agent_slot_map": {"type_1_predator": "hunters", "type_1_prey": "herd"},
        "episodes": 1,
        "seed": 5,
    }
    out = tmp_path_factory.mktemp("runs") / request.param
    result = kf.evaluate(**chosen, out=out)
    task = next(evaluation_tasks(validate_settings(Evaluate, chosen)))
    trace = trace_episode(task, 0)
    _, log = replay_episode(task, 0, SavannaAgentLog)
    return result, kf.load_run(out).frame("agents"), trace, log


def test_tables_list_the_same_agents_under_the_same_ids(tables):
    _, frame, trace, log = tables
    rows = list(csv.DictReader(io.StringIO(to_csv(trace.family))))
    ids = {row["agent_id"]: int(row["id"]) for row in rows}
    assert dict(zip(frame["agent_id"], frame["uid"], strict=True)) == ids
    assert {record.agent_id: record.uid for record in log.by_uid.values()} == ids
    assert set(build_event_log(log)) == set(ids)
    newick = to_newick(trace.family, trace.report.ticks)
    named = set(re.findall(r"type_\d_\w+?_\d+", newick))
    assert named == set(ids)
    # Numbers count within the group, uids in the whole episode: the 11th prey is uid 20.
    assert ids["type_1_prey_10"] != 10


def test_a_killed_prey_died_at_its_kill_in_every_table(tables):
    _, frame, trace, log = tables
    events = build_event_log(log)
    ends = dict(zip(frame["uid"], frame["birth_tick"] + frame["ticks"], strict=True))
    carcasses = [record for record in log.by_uid.values() if record.became_carcass]
    assert len(carcasses) > 20
    for record in carcasses:
        kill = min(
            meal["t"]
            for entry in events.values()
            for meal in entry["eating_events"]
            if meal["id_eaten"] == record.agent_id
        )
        member = trace.family.members[record.uid]
        assert (member.destruction_time, member.cause) == (kill, "eaten")
        assert ends[record.uid] == kill
        assert events[record.agent_id]["death_step"] in (kill, None)


def test_births_and_deaths_have_the_same_times_in_every_table(tables):
    _, frame, trace, log = tables
    events = build_event_log(log)
    births = dict(zip(frame["uid"], frame["birth_tick"], strict=True))
    ends = dict(zip(frame["uid"], frame["birth_tick"] + frame["ticks"], strict=True))
    family = log.build_family()
    for uid, member in trace.family.members.items():
        entry = events[log.by_uid[uid].agent_id]
        assert births[uid] == member.origin_time == entry["birth_step"]
        assert family.members[uid] == member
        end = trace.report.ticks if member.destruction_time is None else member.destruction_time
        assert ends[uid] == end
    assert frame["ticks"].min() == 0, "nobody was born in the last tick"


def test_carcasses_are_not_counted_as_alive(tables):
    result, _, trace, log = tables
    ticks = trace.report.ticks
    lived = {"predator": 0, "prey": 0}
    for record in log.by_uid.values():
        end = ticks if record.death_tick is None else record.death_tick
        lived[record.policy_group.split("_")[2]] += end - record.birth_tick
    for name, total in lived.items():
        group = f"type_1_{name}"
        assert trace.report.mean_alive[group] == pytest.approx(total / ticks)
        column = trace.groups.index(group)
        assert trace.populations[:-1, column].sum() == total
    lives = trace.report.group_lives["type_1_prey"]
    assert result.metrics["mean_lifetime_prey"].mean == pytest.approx(lived["prey"] / lives)
    assert np.isclose(sum(trace.report.ticks_lived.values()), sum(lived.values()))
