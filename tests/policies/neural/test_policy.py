"""Neural policies: the contract, encoding of observations, sampling of actions, weights."""

import math

import numpy as np
import pytest
import torch

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import fold_in, seed_key
from kinfolk.policies.build import build_policy
from kinfolk.policies.neural.architectures import MlpPolicy
from kinfolk.policies.neural.distributions import sample_actions
from kinfolk.policies.neural.encoding import FeatureEncoder
from kinfolk.policies.resolve import resolve
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


class TestCustomNet(PolicyContract):
    @pytest.fixture
    def uri(self):
        return "kin://net?module=kinfolk.policies.neural.modules.MlpNet"


def observations_after(world, ticks=3):
    """Return observations and groups of the agents that are alive after some ticks."""
    world.reset(np.arange(world.n_worlds) + 11)
    rows = world.n_worlds * world.spec.rows
    actions = np.zeros((rows, world.spec.n_heads), dtype=np.int64)
    for tick in range(ticks):
        actions[:] = tick % 2
        world.step(actions)
    observations = np.zeros((rows, world.spec.row_bytes), dtype=np.uint8)
    world.observe(observations)
    alive = world.columns.alive
    return observations[alive], world.columns.group[alive]


def test_savanna_words_are_encoded_as_its_spec_describes():
    world = build_world(
        "savanna", {"observation": "compact", "include_visibility_channel": True}, 2
    )
    observations, group = observations_after(world)
    x = FeatureEncoder(world.spec).encode(observations, group).numpy()
    words = world.spec.groups[0].read_field(observations, "window")
    expected = expand_words(words, world.settings)  # walls, predators, prey, grass, visibility
    order = [4, 0, 1, 2, 3]
    scale = np.array([1, 1, 0.1, 0.1, 1 / world.settings.max_energy_grass], dtype=np.float32)
    expected = expected[:, order] * scale[:, None, None]
    assert np.allclose(x[:, :405], expected.reshape(len(x), -1), atol=1e-6)
    assert x.shape[1] == 408
    assert np.array_equal(x[:, 405:407].argmax(axis=1), group)
    assert expected[:, 1:4].any(axis=(0, 2, 3)).all(), "every plane has values"


def test_cogsguard_words_and_facts_are_encoded_as_its_spec_describes():
    world = build_world("cogsguard", {}, 1)
    observations, group = observations_after(world)
    encoder = FeatureEncoder(world.spec)
    x = encoder.encode(observations, group).numpy()
    depth, side, _ = encoder.shape.planes
    shown = x[:, : depth * side * side].reshape(len(x), depth, side, side)
    words = world.spec.groups[0].read_field(observations, "window")
    expected = window_to_planes(words)
    # The encoder has a plane for every code that the bits can hold, the spec for those that are used.
    used = [*range(14), *range(15, 18), *range(18, 22), *range(25, 31), 32, 33]
    assert np.array_equal(shown[:, used], expected)
    facts = world.spec.groups[0].read_field(observations, "facts")
    amounts = facts_to_features(facts)[:, : facts.shape[1] - 2]
    ours = x[:, depth * side * side : depth * side * side + facts.shape[1]]
    assert np.allclose(np.delete(ours, [8, 9], axis=1), amounts)


def test_groups_of_different_shapes_share_one_net():
    world = build_world("probe", {}, 3)
    observations, group = observations_after(world)
    x = FeatureEncoder(world.spec).encode(observations, group)
    assert set(group.tolist()) == {0, 1}
    for number, cells in enumerate((15, 9)):
        members = np.flatnonzero(group == number)
        window = (
            world.spec.groups[number]
            .read_field(observations[members], "window")
            .reshape(len(members), -1)
        )
        assert np.allclose(x[members, :cells].numpy() * 16.0, window)
    part = FeatureEncoder(world.spec).encode(observations, group, np.array([3, 1]))
    assert torch.equal(part, x[[3, 1]])


@pytest.mark.parametrize(
    ("world", "rules"),
    [("savanna", {"observation": "compact"}), ("savanna", {}), ("cogsguard", {}), ("probe", {})],
)
def test_what_a_buffer_held_before_does_not_show(world, rules):
    built = build_world(world, rules, 1)
    observations, group = observations_after(built)
    encoder = FeatureEncoder(built.spec)
    encoder.encode(observations, group).fill_(7.0)
    fresh = FeatureEncoder(built.spec).encode(observations[::-1].copy(), group[::-1].copy())
    assert torch.equal(encoder.encode(observations[::-1].copy(), group[::-1].copy()), fresh)


def test_samples_follow_the_softmax_of_the_logits():
    count = 40_000
    keys = np.array([fold_in(seed_key(1), i) for i in range(count)])
    logits = np.tile(np.log(np.array([[0.7, 0.2, 0.1, 0.5, 0.5]], dtype=np.float32)), (count, 1))
    actions, log_prob = np.empty((count, 2), np.int64), np.empty(count, np.float32)
    n_choices, head_offsets = np.array([[3, 2]]), np.array([0, 3])
    sample_actions(
        logits, head_offsets, n_choices, np.zeros(count, np.int64), keys, False, actions, log_prob
    )
    shares = np.bincount(actions[:, 0]) / count
    assert np.abs(shares - [0.7, 0.2, 0.1]).max() < 0.01
    assert abs(actions[:, 1].mean() - 0.5) < 0.01
    assert log_prob[0] == pytest.approx(math.log([0.7, 0.2, 0.1][actions[0, 0]] * 0.5), abs=1e-5)
    sample_actions(
        logits, head_offsets, n_choices, np.zeros(count, np.int64), keys, True, actions, log_prob
    )
    assert (actions[:, 0] == 0).all()


def test_choices_that_a_group_does_not_have_are_never_sampled():
    keys = np.array([fold_in(seed_key(2), i) for i in range(500)])
    logits = np.tile(np.array([[0.0, 0.0, 9.0]], dtype=np.float32), (500, 1))
    actions, log_prob = np.empty((500, 1), np.int64), np.empty(500, np.float32)
    group = np.ones(500, dtype=np.int64)
    sample_actions(
        logits, np.array([0]), np.array([[3], [2]]), group, keys, False, actions, log_prob
    )
    assert set(actions[:, 0].tolist()) == {0, 1}
    assert np.allclose(log_prob, math.log(0.5))


def test_initial_weights_follow_from_the_seed_and_can_be_loaded():
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
    ("change", "message"),
    [
        (
            lambda a: a.pop("heads.actor.bias"),
            "The weights have no 'heads.actor.bias', which MlpPolicy needs.",
        ),
        (lambda a: a.update(more=np.zeros(1)), "MlpPolicy has no weight 'more'."),
        (
            lambda a: a.update({"heads.actor.bias": np.zeros(4, np.float32)}),
            "The weights 'heads.actor.bias' have shape (4,); MlpPolicy in world probe needs (5,).",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused(change, message):
    policy = MlpPolicy(build_world("probe", {}, 1).spec, hidden=[16])
    arrays = policy.arrays()
    change(arrays)
    with pytest.raises(SettingsError) as error:
        policy.load(arrays)
    assert str(error.value).startswith(message)


def test_an_object_that_is_no_torch_module_is_refused():
    with pytest.raises(
        SettingsError, match=r"kinfolk\.core\.random\.WORLD_STREAM is not a torch\.nn\.Module\."
    ):
        build_policy(
            resolve("kin://net?module=kinfolk.core.random.WORLD_STREAM"),
            build_world("probe", {}, 1).spec,
        )
    with pytest.raises(SettingsError) as caught:
        build_policy(
            resolve("kin://net?module=kinfolk.core.random.fold_in"),
            build_world("probe", {}, 1).spec,
        )
    assert "missing a required argument: 'data' (random.py:" in str(caught.value)
