"""Nets as policies: the contract, what they read, how they draw."""

import math

import numpy as np
import pytest
import torch

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import fold_in, seed_key
from kinfolk.policies.neural.encoding.feature_encoder import FeatureEncoder
from kinfolk.policies.neural.policy import MlpPolicy
from kinfolk.policies.neural.sampling import sample_actions
from kinfolk.policies.resolve import build_policy, resolve
from kinfolk.testing.contracts.policy import PolicyContract
from kinfolk.worlds import build_world as build_world
from kinfolk.worlds.cogsguard.spec import facts_to_features, window_to_planes
from kinfolk.worlds.savanna.spec import expand_words


class TestMlp(PolicyContract):
    @pytest.fixture
    def uri(self):
        return "kin://mlp?hidden=[16]"


class TestGru(PolicyContract):
    @pytest.fixture
    def uri(self):
        return "kin://gru?hidden=[16]&state_size=16&critic=separate"


class TestCustom(PolicyContract):
    @pytest.fixture
    def uri(self):
        return "kin://net?module=kinfolk.policies.neural.modules.MlpNet"


def seen_after(world, ticks=3):
    world.reset(np.arange(world.n_worlds) + 11)
    rows = world.n_worlds * world.spec.rows
    actions = np.zeros((rows, world.spec.heads), dtype=np.int64)
    for tick in range(ticks):
        actions[:] = tick % 2
        world.step(actions)
    seen = np.zeros((rows, world.spec.row_bytes), dtype=np.uint8)
    world.observe(seen)
    return seen[world.columns.alive], world.columns.group[world.columns.alive]


def test_savanna_words_are_read_as_its_layout_says():
    world = build_world(
        "savanna", {"observation": "compact", "include_visibility_channel": True}, 2
    )
    seen, group = seen_after(world)
    x = FeatureEncoder(world.spec).encode(seen, group).numpy()
    words = world.spec.groups[0].read(seen, "window")
    wanted = expand_words(words, world.settings)  # walls, predators, prey, grass, sight
    order = [4, 0, 1, 2, 3]
    scale = np.array([1, 1, 0.1, 0.1, 1 / world.settings.max_energy_grass], dtype=np.float32)
    wanted = wanted[:, order] * scale[:, None, None]
    assert np.allclose(x[:, :405], wanted.reshape(len(x), -1), atol=1e-6)
    assert x.shape[1] == 408
    assert np.array_equal(x[:, 405:407].argmax(axis=1), group)
    assert wanted[:, 1:4].any(axis=(0, 2, 3)).all(), "there is something to see on every plane"


def test_cogsguard_words_and_facts_are_read_as_its_layout_says():
    world = build_world("cogsguard", {}, 1)
    seen, group = seen_after(world)
    reader = FeatureEncoder(world.spec)
    x = reader.encode(seen, group).numpy()
    depth, side, _ = reader.shape.planes
    shown = x[:, : depth * side * side].reshape(len(x), depth, side, side)
    words = world.spec.groups[0].read(seen, "window")
    wanted = window_to_planes(words)
    # Ours has a plane for every code that the bits can hold, theirs for those that are used.
    used = [*range(14), *range(15, 18), *range(18, 22), *range(25, 31), 32, 33]
    assert np.array_equal(shown[:, used], wanted)
    facts = world.spec.groups[0].read(seen, "facts")
    amounts = facts_to_features(facts)[:, : facts.shape[1] - 2]
    ours = x[:, depth * side * side : depth * side * side + facts.shape[1]]
    assert np.allclose(np.delete(ours, [8, 9], axis=1), amounts)


def test_groups_of_other_shapes_share_one_net():
    world = build_world("probe", {}, 3)
    seen, group = seen_after(world)
    x = FeatureEncoder(world.spec).encode(seen, group)
    assert set(group.tolist()) == {0, 1}
    for number, cells in enumerate((15, 9)):
        mine = np.flatnonzero(group == number)
        window = world.spec.groups[number].read(seen[mine], "window").reshape(len(mine), -1)
        assert np.allclose(x[mine, :cells].numpy() * 16.0, window)
    part = FeatureEncoder(world.spec).encode(seen, group, np.array([3, 1]))
    assert torch.equal(part, x[[3, 1]])


def test_draws_follow_the_scores():
    count = 40_000
    keys = np.array([fold_in(seed_key(1), i) for i in range(count)])
    scores = np.tile(np.log(np.array([[0.7, 0.2, 0.1, 0.5, 0.5]], dtype=np.float32)), (count, 1))
    actions, log_chance = np.empty((count, 2), np.int64), np.empty(count, np.float32)
    limits, starts = np.array([[3, 2]]), np.array([0, 3])
    sample_actions(
        scores, starts, limits, np.zeros(count, np.int64), keys, False, actions, log_chance
    )
    shares = np.bincount(actions[:, 0]) / count
    assert np.abs(shares - [0.7, 0.2, 0.1]).max() < 0.01
    assert abs(actions[:, 1].mean() - 0.5) < 0.01
    assert log_chance[0] == pytest.approx(math.log([0.7, 0.2, 0.1][actions[0, 0]] * 0.5), abs=1e-5)
    sample_actions(
        scores, starts, limits, np.zeros(count, np.int64), keys, True, actions, log_chance
    )
    assert (actions[:, 0] == 0).all()


def test_choices_that_a_group_does_not_have_are_never_drawn():
    keys = np.array([fold_in(seed_key(2), i) for i in range(500)])
    scores = np.tile(np.array([[0.0, 0.0, 9.0]], dtype=np.float32), (500, 1))
    actions, log_chance = np.empty((500, 1), np.int64), np.empty(500, np.float32)
    group = np.ones(500, dtype=np.int64)
    sample_actions(
        scores, np.array([0]), np.array([[3], [2]]), group, keys, False, actions, log_chance
    )
    assert set(actions[:, 0].tolist()) == {0, 1}
    assert np.allclose(log_chance, math.log(0.5))


def test_weights_begin_from_the_seed_and_are_kept_and_taken():
    spec = build_world("probe", {}, 1).spec
    one, same, other = MlpPolicy(spec, seed=1), MlpPolicy(spec, seed=1), MlpPolicy(spec, seed=2)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(one.arrays().values(), same.arrays().values(), strict=True)
    )
    assert not np.array_equal(one.arrays()["body.0.weight"], other.arrays()["body.0.weight"])
    other.load(one.arrays())
    assert np.array_equal(one.arrays()["body.0.weight"], other.arrays()["body.0.weight"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda a: a.pop("heads.actor.bias"), "The weights for Mlp lack 'heads.actor.bias'."),
        (lambda a: a.update(more=np.zeros(1)), "Mlp has no weights 'more'."),
        (
            lambda a: a.update({"heads.actor.bias": np.zeros(4, np.float32)}),
            "The weights 'heads.actor.bias' have shape (4,); Mlp in world probe needs (5,).",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused(change, sentence):
    policy = MlpPolicy(build_world("probe", {}, 1).spec, hidden=[16])
    arrays = policy.arrays()
    change(arrays)
    with pytest.raises(SettingsError) as error:
        policy.load(arrays)
    assert str(error.value) == sentence


def test_a_module_that_is_none_is_refused():
    with pytest.raises(
        SettingsError, match=r"kinfolk\.core\.keys\.fold is not a torch\.nn\.Module\."
    ):
        build_policy(
            resolve("kin://net?module=kinfolk.core.random.fold_in"),
            build_world("probe", {}, 1).spec,
        )
