"""The design note on dual and NPC policies, statement by statement, through its own names."""

import json

import numpy as np
import pytest
from small_trainings import TINY, collected, same, settings_of

import kinfolk as kf
from kinfolk.cli.app import main
from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.evaluate import Evaluate
from kinfolk.jobs.train.job import train
from kinfolk.jobs.train.trainer import update_learners

NET = "kin://mlp?hidden=[16]"
# The note's short example: student trainable, teacher scripted, a map of four agents.
EXAMPLE = """
world = "cogsguard"
world_settings = { agents = 4, max_steps = 40 }
agent_slot_map = ["teacher", "teacher", "student", "student"]
worlds = 2
rollout_length = 8
steps = 32

[[policy_slots]]
id = "student"
policy_uri = "kin://mlp?hidden=[16]"
trainable = true

[[policy_slots]]
id = "teacher"
class_path = "kinfolk.policies.base.RandomPolicy"
trainable = false
"""
PROBE = {
    **TINY,
    "policy_slots": [
        {"id": "student", "policy_uri": NET, "loss_profile": "ppo"},
        {"id": "teacher", "policy_uri": "kin://probe-python", "trainable": False},
    ],
    "agent_slot_map": {"grazer": "student", "hunter": "teacher"},
    "loss_profiles": {"ppo": ["ppo_actor", "ppo_critic"], "supervised": ["ppo_critic"]},
}


def refused(**changes):
    with pytest.raises(UsageError) as caught:
        settings_of({**PROBE, **changes})
    return str(caught.value)


def test_the_example_of_the_note_trains_from_its_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "note.toml").write_text(EXAMPLE)
    with pytest.raises(SystemExit) as left:
        main(["train", "note.toml", "--out", "run", "--json"])
    out, err = capsys.readouterr()
    assert left.value.code == 0, err
    document = json.loads(out)
    assert list(document["settings"]["slots"]) == ["student", "teacher"]
    assert document["result"]["step"] == 32  # rows of the student alone


def test_ids_are_unique_a_slot_is_trainable_and_the_map_names_slots_that_exist():
    student, teacher = PROBE["policy_slots"]
    twice = refused(policy_slots=[student, {**teacher, "id": "student"}])
    assert twice == "Two slots have the id 'student'. Give each slot its own id."
    frozen = refused(policy_slots=[{**student, "trainable": False}, teacher])
    assert frozen.startswith("No slot is trainable, so there is nothing to train.")
    settings = settings_of({**PROBE, "agent_slot_map": {"grazer": "pupil"}})
    with pytest.raises(SettingsError, match=r"^The slot map names no known slot 'pupil'\."):
        collected(settings)


def test_the_map_has_a_slot_by_id_or_number_for_every_agent_and_may_differ_per_world():
    base = {**PROBE, "agent_slot_map": None}
    rows = settings_of(base).world_ref.spec.rows
    mixed = settings_of({**base, "agent_slot_map": ["teacher", 0] * (rows // 2)})
    assert mixed.build_assignment(mixed.world_ref.spec)[0].tolist() == [1, 0] * (rows // 2)
    other = settings_of({**base, "world_slot_maps": {"probe": {"hunter": "teacher"}}})
    assert other.build_assignment(other.world_ref.spec)[:, 0].tolist() == [0, 1]
    with pytest.raises(SettingsError, match="The slot map has 2 entries"):
        collected(settings_of({**base, "agent_slot_map": ["teacher", "student"]}))


def test_without_a_map_all_agents_go_to_the_first_slot_and_without_slots_there_is_main():
    settings = settings_of({**PROBE, "agent_slot_map": None})
    assert not settings.build_assignment(settings.world_ref.spec).any()
    assert [slot.id for slot in settings_of(TINY).slots] == ["main"]


def test_rows_carry_slot_profile_and_whether_their_agent_is_trained():
    state, blocks = collected(settings_of(PROBE))
    for number, (name, rows) in enumerate(blocks.items()):
        assert set(rows["slot_id"].tolist()) == {number}
        assert set(rows["loss_profile_id"].tolist()) == {0}
        assert set(rows["is_trainable_agent"].tolist()) == {name == "student"}
    assert list(state.learners) == ["student"]


def test_the_registry_loads_scripts_and_nets_and_caches_by_content():
    spec = kf.make("probe").spec
    registry = kf.SlotRegistry()
    one, two = (registry.get(kf.PolicySlot(id=name, policy_uri=NET), spec) for name in ("a", "b"))
    assert one is two
    script = kf.PolicySlot(id="c", class_path="kinfolk.policies.base.NoopPolicy")
    assert type(registry.get(script, spec, "cpu")).__name__ == "NoopPolicy"


def test_a_device_that_is_not_there_is_refused_by_name_in_training_and_evaluation(tmp_path):
    slots = [{"id": "student", "policy_uri": NET, "device": "cuda:7"}]
    for run in (kf.train, kf.evaluate):
        with pytest.raises(SettingsError) as caught:
            run("probe", policy_slots=slots, out=tmp_path / run.__name__)
        assert str(caught.value) == (
            "Slot 'student' asks for the device 'cuda:7', which is not available: policies play and "
            "learn on the CPU. Set device = 'cpu'."
        )


def test_a_loss_runs_only_on_rows_whose_profile_lists_it():
    start, blocks = collected(settings_of(PROBE))
    critic_only = settings_of(
        {**PROBE, "policy_slots": [{**PROBE["policy_slots"][0], "loss_profile": "supervised"},
                                   PROBE["policy_slots"][1]]}
    )  # fmt: skip
    state, rows = collected(critic_only)
    assert set(rows["student"]["loss_profile_id"].tolist()) == {1}
    stats = update_learners(state, list(rows.values()))["student"]
    assert "value_loss" in stats
    assert "entropy" not in stats
    assert "entropy" in update_learners(start, list(blocks.values()))["student"]


def test_two_slots_share_one_net_with_different_loss_profiles():
    shared = {
        **TINY,
        "policy_slots": [
            {"id": "student", "policy_uri": NET, "loss_profile": "full"},
            {"id": "observer", "policy_uri": "slot:student", "loss_profile": "values"},
        ],
        "agent_slot_map": {"grazer": "student", "hunter": "observer"},
        "loss_profiles": {"full": ["ppo_actor", "ppo_critic"], "values": ["ppo_critic"]},
    }
    state, blocks = collected(settings_of(shared))
    assert list(state.learners) == ["student"]
    assert set(blocks["observer"]["learner_slot"].tolist()) == {0}
    assert set(blocks["observer"]["loss_profile_id"].tolist()) == {1}
    assert set(blocks["observer"]["slot_id"].tolist()) == {1}
    update_learners(state, list(blocks.values()))
    weights = state.weights()
    assert same(weights["student"], weights["observer"])
    alone, rows = collected(settings_of(shared))
    rows["observer"] = {name: column[:0] for name, column in rows["observer"].items()}
    update_learners(alone, list(rows.values()))
    assert not same(alone.weights()["student"], weights["student"]), "its rows are learnt from"
    last = list(train(settings_of(shared, steps=300), LocalEngine()))[-1]
    assert last.weights["student"] == last.weights["observer"]


def test_a_shared_net_must_be_that_of_another_slot():
    slots = [{"id": "a", "policy_uri": NET}, {"id": "b", "policy_uri": "slot:c"}]
    assert refused(policy_slots=slots, loss_profiles={}, agent_slot_map=None).startswith(
        "Slot 'b' shares the net of 'c', which is no slot with a net of its own."
    )
    slots = [{"id": "a", "policy_uri": NET, "trainable": False}, {"id": "b", "policy_uri": NET},
             {"id": "c", "policy_uri": "slot:a"}]  # fmt: skip
    assert refused(policy_slots=slots, loss_profiles={}, agent_slot_map=None) == (
        "Slot 'c' is trainable and shares the net of 'a', which is not. Set trainable = false."
    )


def test_a_frozen_net_plays_beside_the_student_and_is_not_learnt_from():
    slots = [PROBE["policy_slots"][0], {"id": "teacher", "policy_uri": NET, "trainable": False}]
    items = list(train(settings_of({**PROBE, "policy_slots": slots}, steps=300), LocalEngine()))
    first, last = items[0], items[-1]
    assert first.slots["teacher"]["rows"] > 0
    assert "entropy" not in first.slots["teacher"]
    assert last.kind == "training_done"


def test_evaluation_takes_the_same_table_and_reports_by_slot():
    settings = validate_settings(
        Evaluate,
        {"world": "probe", "episodes": 2, "agent_slot_map": PROBE["agent_slot_map"],
         "policy_slots": {"student": NET, "teacher": "kin://probe-python"}},
    )  # fmt: skip
    done = list(kf.jobs.evaluate(settings, LocalEngine()))[-1]
    assert set(done.returns) == {"student", "teacher"}
    assert np.isfinite(done.returns["student"].mean)


def test_both_names_at_once_and_the_old_shorthand_are_refused():
    assert refused(slots={"a": NET}) == (
        "There are both 'slots' and 'policy_slots', two names of one table. Give one of them."
    )
    assert refused(dual_policy=True).startswith("There is no setting 'dual_policy'.")
