"""Recurrent nets: sequences of lives, and hidden states that start at zero in every life."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_trainings import TINY, collected, settings_of

from kinfolk.policies.scripted.cogsguard.map_features import COLUMN_NAMES
from kinfolk.training.minibatches import (
    iter_minibatches,
    iter_sequence_minibatches,
    split_sequences,
)

GRU = {**TINY, "rollout_length": 50, "slots": {"main": "kin://gru?hidden=[16]&state_size=16"}}


@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_sequences_hold_every_row_once_in_order_and_never_two_lives(data):
    count, most = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 7))
    chance = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    place = chance.integers(0, 4, count)
    ended = chance.random(count) < 0.2
    uid = np.array([ended[:i][place[:i] == place[i]].sum() for i in range(count)])
    sequences = split_sequences({"memory_index": place, "uid": uid, "done": ended}, most)
    seen = []
    for _, steps in iter_sequence_minibatches(sequences, 10, 1, 3, 0):
        for lane in range(len(steps[0])):
            rows = [int(step[lane]) for step in steps if lane < len(step)]
            assert len(rows) <= most
            assert rows == sorted(rows)
            assert len({(place[r], uid[r]) for r in rows}) == 1
            assert not ended[rows[:-1]].any()
            between = [r for r in range(rows[0], rows[-1]) if place[r] == place[rows[0]]]
            assert between == rows[:-1], "no row of the life is left out between"
            seen += rows
    assert sorted(seen) == list(range(count))


def test_slots_with_few_rows_get_their_minibatches_too():
    parts = list(iter_minibatches(100, 1000, 4, 7, 0))
    assert [len(part) for part in parts] == [25] * 4
    assert sorted(np.concatenate(parts).tolist()) == list(range(100))
    assert [len(part) for part in iter_minibatches(3, 1000, 4, 7, 0)] == [1, 1, 1]
    assert [len(part) for part in iter_minibatches(100, 30, 1, 7, 0)] == [34, 33, 33]


def test_the_learner_reproduces_the_values_of_the_rollout():
    """Before the first update, unrolled sequences give the values of the rollout."""
    state, blocks = collected(settings_of(GRU, ppo={"sequence_length": 6, "minibatch_size": 100}))
    rows, learner = blocks["main"], state.learners["main"]
    with torch.no_grad():
        for indices, output in learner._forward_minibatches(rows, len(rows["memory_index"]), 5, 0):
            assert np.allclose(output.value.numpy(), rows["value"][indices], atol=1e-5)


def test_a_life_begins_with_a_hidden_state_of_zero():
    _, blocks = collected(settings_of(GRU))
    rows = blocks["main"]
    begun = {}
    for i, life in enumerate(zip(rows["memory_index"].tolist(), rows["uid"].tolist(), strict=True)):
        first = begun.get(life) is None
        begun[life] = not rows["done"][i] or None
        assert rows["state"][i].any() != first, f"row {i}"


def test_a_recurrent_student_runs_beside_its_teacher():
    settings = settings_of(
        GRU,
        slots={
            "teacher": {"policy_uri": "kin://probe-python", "trainable": False},
            "student": "kin://gru?hidden=[16]&state_size=16",
        },
        agent_slot_map={"grazer": "teacher", "hunter": "student"},
        teachers={"student": {"teacher": "teacher"}},
    )
    _, blocks = collected(settings)
    assert blocks["teacher"]["state"].any(), (
        "hidden states of the student on the teacher's observations"
    )
    assert blocks["student"]["state"].any()


MAPPED = {
    "world": "cogsguard",
    "world_settings": {"agents": 4, "max_steps": 40},
    "worlds": 2,
    "rollout_length": 50,
    "slots": {
        "teacher": {"policy_uri": "kin://role/miner", "trainable": False},
        "student": "kin://gru?transform=map_features&hidden=[16]&state_size=16",
    },
    "agent_slot_map": ["teacher", "teacher", "student", "student"],
    "teachers": {"student": {"teacher": "teacher"}},
    "ppo": {"sequence_length": 8, "minibatch_size": 100},
}


def test_transformed_observations_are_what_is_learnt_from():
    """In rows of its own and in its teacher's, also where an episode has just begun."""
    state, blocks = collected(settings_of(MAPPED))
    learner = state.learners["student"]
    for name in ("student", "teacher"):
        assert blocks[name]["observations"].shape[1] == learner.policy.input_spec.row_bytes
    rows = blocks["student"]
    with torch.no_grad():
        for indices, output in learner._forward_minibatches(rows, len(rows["memory_index"]), 5, 0):
            assert np.allclose(output.value.numpy(), rows["value"][indices], atol=1e-5)
    shown = blocks["teacher"]["observations"].view(np.float32)
    hub_known = shown[:, COLUMN_NAMES.index("hub_reachable")]
    assert hub_known.mean() > 0.9, "the student draws the map of what its teacher sees"
