"""Rollouts of several slots: labels of their rows, masks of losses, and what is learnt."""

import numpy as np
import pytest
from small_trainings import SCRIPTED, TINY, TWO, collected, copied, same, settings_of

from kinfolk.core.random import fold_in, seed_key
from kinfolk.core.settings import merge_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.train.job import train
from kinfolk.jobs.train.trainer import update_learners
from kinfolk.play.slots import SlotRegistry
from kinfolk.policies.build import build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.testing.probe.policies.scripted import PythonForager
from kinfolk.training.learner import LossWeights
from kinfolk.training.losses import LOSSES
from kinfolk.training.profiles import LossProfiles
from kinfolk.worlds import build_world

WEIGHTS = LossWeights(1e-3, dict.fromkeys(LOSSES, 1.0))
KEY = int(fold_in(seed_key(1), 2))


def learnt(settings, state, rows, slot):
    """The weights of a slot after it learnt from rows."""
    learner = state.learners[slot]
    before = learner.state_dict()
    learner.learn(copied(rows), LossProfiles(settings.loss_profiles), WEIGHTS, KEY)
    after = learner.policy.arrays()
    learner.load_state_dict(before)
    return after


def test_registry_loads():
    spec = build_world("probe", {}, 1).spec
    herd, pack = settings_of(SCRIPTED).slots
    registry = SlotRegistry(training=True)
    assert type(registry.get(herd, spec)).__name__ == "MlpPolicy"
    assert isinstance(registry.get(pack, spec), PythonForager)
    assert registry.get(pack, spec) is registry.get(pack, spec)


def test_annotation_shapes():
    """Two slots, one scripted, and a map: the rollout completes and every row says whose it is."""
    settings = settings_of(SCRIPTED)
    _, blocks = collected(settings)
    for number, (name, trainable, learner) in enumerate((("herd", True, 0), ("pack", False, -1))):
        rows = blocks[name]
        count = len(rows["slot_id"])
        assert count > 40
        for column in ("slot_id", "loss_profile_id", "is_trainable_agent", "uid", "alive"):
            assert rows[column].shape == (count,)
        assert (rows["slot_id"] == number).all()
        assert (rows["learner_slot"] == learner).all()
        assert (rows["loss_profile_id"] == 0).all()
        assert (rows["is_trainable_agent"] == trainable).all()
        assert rows["alive"].all()
    assert set(blocks["herd"]["group"].tolist()) == {0}
    assert blocks["herd"]["observations"].shape[1] == build_world("probe", {}, 1).spec.row_bytes
    assert "observations" not in blocks["pack"], "nobody learns from it, so nobody keeps it"


def test_action_merge():
    """What each slot's policy answers is what its agents do: replayed, the actions are the same."""
    settings = settings_of(TWO)
    state, blocks = collected(settings)
    for name, rows in blocks.items():
        policy = state.learners[name].policy
        scores, value, _ = policy.evaluate(rows["observations"], rows["group"], None)
        assert np.array_equal(value, rows["value"])
        chances = np.exp(scores) / 1.0
        sizes = policy.layout.n_choices[0]
        parts = np.split(chances, np.cumsum(sizes)[:-1], axis=1)
        log_prob = sum(
            np.log(part[np.arange(len(part)), rows["action"][:, head]] / part.sum(axis=1))
            for head, part in enumerate(parts)
        )
        assert np.allclose(log_prob, rows["log_prob"], atol=1e-5)


def test_rows_follow_lives():
    """Ends, bootstrap values and newborns in the rollout are those of the world."""
    _, blocks = collected(settings_of(TINY, rollout_length=80))
    rows = blocks["main"]
    lives = list(zip(rows["memory_index"].tolist(), rows["uid"].tolist(), strict=True))
    last = {life: i for i, life in enumerate(lives)}
    ended = np.flatnonzero(rows["done"])
    episodes = sorted(set(rows["bootstrap_index"][ended].tolist()))
    assert len(episodes) > 1, "some were truncated, with a bootstrap value"
    final = np.zeros(len(lives), dtype=bool)
    final[list(last.values())] = True
    open_now = final & ~rows["done"]
    assert (rows["bootstrap_index"][open_now] >= 0).all(), (
        "agents that live on have a bootstrap value"
    )
    assert len(rows["bootstrap_value"]) == (rows["bootstrap_index"] >= 0).sum()


def test_an_early_end_can_count_as_a_loss():
    """Hunters die out soon here; survivors expect more after the cut only if it bootstraps."""
    given = {"world_settings": {"hunters": 0, "grazers": 2, "growth": 0.0, "max_ticks": 500}}
    for bootstraps in (True, False):
        settings = settings_of(
            TINY, **given, rollout_length=120, ppo={"bootstrap_early_ends": bootstraps}
        )
        rows = collected(settings)[1]["main"]
        assert rows["done"].any()
        assert not (rows["bootstrap_index"][rows["done"]] >= 0).any(), (
            "all starve: they end by dying"
        )
    world = settings_of(
        {**TINY, "world": "savanna"}, rollout_length=30, slots={"main": "kin://mlp?hidden=[16]"},
        world_settings={"n_initial_active_type_1_predator": 1, "initial_energy_predator": 1.0,
                        "observation": "compact"},
    )  # fmt: skip
    rows = collected(world)[1]["main"]
    cut = rows["done"] & (rows["bootstrap_index"] >= 0)
    assert cut.sum() >= 15, "prey survive the last predator, and are cut"
    strict = world.model_copy(
        update={"ppo": world.ppo.model_copy(update={"bootstrap_early_ends": False})}
    )
    rows = collected(strict)[1]["main"]
    assert rows["done"].sum() >= 15
    assert not (rows["bootstrap_index"][rows["done"]] >= 0).any()


def test_lineage_rewards_reach_the_learner():
    """The same lives with and without lineage rewards: only the rewards differ."""
    base = {
        **TINY, "world": "savanna", "preset": "lineage_documented", "rollout_length": 40, "worlds": 8,
        "slots": {"main": "kin://mlp?hidden=[16]"}, "world_settings": {"observation": "compact"},
    }  # fmt: skip
    off = {"lineage_reward_coeff": {"type_1_predator": 0.0, "type_1_prey": 0.0}}
    with_pay = collected(settings_of(base))[1]["main"]
    with_pay = copied(with_pay)
    without = collected(settings_of(base, world_settings=off))[1]["main"]
    assert np.array_equal(with_pay["action"], without["action"])
    paid = with_pay["reward"] - without["reward"]
    coefficient = np.array([0.35, 0.6])[with_pay["group"]]  # of predators and prey
    change = paid / coefficient
    assert np.allclose(change, np.round(change), atol=1e-5), "whole descendants are paid for"
    assert (paid > 0).sum() > 5


def test_kickstarter_style_map():
    """Two teachers and the rest students, by the map of agents: slices of one group."""
    settings = settings_of(
        TINY,
        slots={
            "teacher": {"policy_uri": "kin://probe-python", "trainable": False},
            "student": "kin://mlp?hidden=[16]",
        },
        agent_slot_map=["teacher"] * 2 + ["student"] * 14,
        teachers={"student": {"teacher": "teacher"}},
    )
    _, blocks = collected(settings)
    led, own = blocks["teacher"], blocks["student"]
    assert set((led["memory_index"] % 16).tolist()) <= {0, 1}
    assert (led["learner_slot"] == 1).all()
    assert not led["is_trainable_agent"].any()
    assert np.array_equal(led["teacher_action"], led["action"])
    assert (own["teacher_action"] >= 0).all(), "the teacher says what it would do"
    assert not np.array_equal(own["teacher_action"], own["action"])
    assert np.isnan(own["teacher_value"]).all()


def test_teacher_led_rows_give_the_student_a_gradient():
    base = merge_settings(TINY, {
        "slots": {"teacher": {"policy_uri": "kin://probe-python", "trainable": False},
                  "student": "kin://mlp?hidden=[16]"},
        "teachers": {"student": {"teacher": "teacher", "student_led": False}},
    })  # fmt: skip
    settings = settings_of(base, agent_slot_map={"grazer": "teacher", "hunter": "student"})
    state, blocks = collected(settings)
    before = state.learners["student"].policy.arrays()
    assert not same(learnt(settings, state, blocks["teacher"], "student"), before)
    closed = settings_of(
        base, agent_slot_map={"grazer": "teacher", "hunter": "student"},
        loss_profiles={"ppo": ["ppo_actor", "ppo_critic"]},
    )  # fmt: skip
    assert same(learnt(closed, state, blocks["teacher"], "student"), before)


def test_a_masked_row_has_no_gradient():
    """The reward of a row that no loss may use is changed; the update is the same bit by bit."""
    settings = settings_of(TWO, loss_profiles={"all": ["ppo_actor", "ppo_critic"], "none": []})
    state, blocks = collected(settings)
    rows = copied(blocks["herd"])
    at = len(rows["memory_index"]) // 2
    lonely = (rows["memory_index"] == rows["memory_index"][at]) & (rows["uid"] == rows["uid"][at])
    rows["loss_profile_id"][lonely] = 1  # a whole life: what it earns reaches its own rows only
    once = learnt(settings, state, rows, "herd")
    rows["reward"][at] += 1000.0
    assert same(learnt(settings, state, rows, "herd"), once)
    rows["loss_profile_id"][lonely] = 0
    assert not same(learnt(settings, state, rows, "herd"), once), "the same change counts when open"


def test_dead_rows_and_npc_rows_change_no_mean():
    """Rows that are dead or of a frozen slot: no loss, no normalisation, no explained variance."""
    settings = settings_of(TWO)
    state, blocks = collected(settings)
    learner, profiles = state.learners["herd"], LossProfiles({})
    start = learner.state_dict()

    def update(rows):
        learner.load_state_dict(start)
        return learner.learn(copied(rows), profiles, WEIGHTS, KEY), learner.policy.arrays()

    for column in ("alive", "is_trainable_agent"):
        rows = copied(blocks["herd"])
        some = rows["uid"] % 3 == 0
        rows[column][some] = False
        first = update(rows)
        rows["reward"][some], rows["value"][some] = 1e6, -1e6
        assert update(rows)[0] == first[0], column
        assert same(update(rows)[1], first[1]), column


def test_removing_a_slot_leaves_other_updates_bit_identical():
    settings = settings_of(TWO)
    state, blocks = collected(settings)
    start = state.learners["herd"].state_dict()
    update_learners(state, [copied(block) for block in blocks.values()])
    together = state.learners["herd"].policy.arrays()
    state.learners["herd"].load_state_dict(start)
    nothing = {name: array[:0] for name, array in blocks["pack"].items()}
    update_learners(state, [copied(blocks["herd"]), nothing])
    assert same(state.learners["herd"].policy.arrays(), together)


def test_a_frozen_net_has_the_same_hash_after(tmp_path):
    """Trained beside it, under the same class and first weights: nothing of it moves."""
    from kinfolk.engines.base import LocalEngine
    from kinfolk.jobs.train.job import train
    from kinfolk.jobs.train.state import build_plan

    frozen = {"pack": {"policy_uri": "kin://mlp?hidden=[16]&seed=0", "trainable": False}}
    settings = settings_of(merge_settings(TWO, {"slots": frozen}), steps=600)
    last = list(train(settings, LocalEngine()))[-1]
    hashes = {slot: policy.sha256 for slot, policy in build_plan(settings).resolved.items()}
    assert last.weights["pack"] == hashes["pack"]
    assert last.weights["herd"] != hashes["herd"]


def test_a_row_asked_alone_gets_the_bits_of_the_rollout():
    """A policy asked alone and the one asked in the rollout give the same bits."""
    state, blocks = collected(settings_of(TWO))
    rows = blocks["herd"]
    policy = build_policy(
        resolve("kin://mlp?hidden=[16]&seed=0"), state.learners["herd"].policy.spec
    )
    scores, value, _ = policy.evaluate(rows["observations"][3:4], rows["group"][3:4], None)
    assert value[0] == rows["value"][3]
    assert scores.shape == (1, 5)


@pytest.mark.parametrize(
    "uri", ["kin://gru?hidden=[16]&state_size=16", "kin://mlp?critic=separate"]
)
def test_other_nets_train_too(uri):
    settings = settings_of(
        TINY, slots={"main": uri}, ppo={"sequence_length": 5, "minibatch_size": 64}
    )
    state, blocks = collected(settings)
    before = state.learners["main"].policy.arrays()
    after = learnt(settings, state, blocks["main"], "main")
    changed = [name for name in before if not np.array_equal(before[name], after[name])]
    assert set(changed) == set(before), "every weight learns"


def test_two_slots_share_one_net_with_different_loss_profiles():
    shared = {
        **TINY,
        "slots": {
            "student": {"policy_uri": "kin://mlp?hidden=[16]", "loss_profile": "full"},
            "observer": {"policy_uri": "slot:student", "loss_profile": "values"},
        },
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
