"""Running normalisation of inputs and rewards, and training with continuous actions."""

import numpy as np
import pytest
import torch
from small_trainings import TINY, collected, same, settings_of

from kinfolk.core.events import Snapshot
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.jobs.train.job import train
from kinfolk.policies.neural.normalization import RewardScale, RunningNorm
from kinfolk.testing.contracts.job import event_lines

NORMAL = {**TINY, "slots": {"main": "kin://mlp?hidden=[16]&normalize=true"}}
PENDULUM = {"world": "gym:Pendulum-v1", "worlds": 4, "rollout_length": 32, "steps": 384,
            "checkpoint_every": 1, "ppo": {"minibatch_size": 64, "n_epochs": 2},
            "slots": {"main": "kin://mlp?hidden=[16]&normalize=true"}}  # fmt: skip


def test_moments_are_those_of_all_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(3.0, [1.0, 5.0, 0.0], (20_000, 3)).astype(np.float32)
    norm = RunningNorm(3)
    assert torch.equal(norm(torch.from_numpy(x[:5])), torch.from_numpy(x[:5]).clamp(-10, 10))
    for part in np.array_split(x, 7):
        norm.update(torch.from_numpy(part))
    assert np.allclose(norm.mean, x.astype(np.float64).mean(axis=0))
    assert np.allclose(norm.variance, x.astype(np.float64).var(axis=0))
    scaled = norm(torch.from_numpy(x)).numpy()
    assert np.allclose(scaled[:, :2].mean(axis=0), 0.0, atol=1e-4)
    assert np.allclose(scaled[:, :2].std(axis=0), 1.0, atol=1e-3)
    assert np.abs(scaled[:, 2]).max() < 1.0  # a constant stays near zero


def test_rewards_are_divided_by_the_deviation_of_the_discounted_return():
    scale = RewardScale(0.5)
    reward = np.array([1.0, 10.0, 1.0, 10.0, 1.0], np.float32)
    done = np.array([False, False, True, False, False])
    index = np.array([0, 1, 0, 1, 0])
    scaled = scale(reward, done, index)
    returns = np.array([1.0, 10.0, 1.5, 15.0, 1.0])  # the life of index 0 ended with its second row
    assert np.allclose(scaled, reward / returns.std(), rtol=1e-6)
    other = RewardScale(0.5)
    other.load_state_dict(scale.state_dict())
    assert np.array_equal(other(reward, done, index), scale(reward, done, index))


def test_moments_change_after_an_update_and_not_during_it():
    state, blocks = collected(settings_of(NORMAL))
    learner = state.learners["main"]
    assert float(learner.policy.normalizer.count) == 0.0
    from kinfolk.jobs.train.trainer import update_learners

    stats = update_learners(state, list(blocks.values()))
    assert float(learner.policy.normalizer.count) == len(blocks["main"]["slot_id"])
    assert stats["main"]["approx_kl"] < 0.05
    assert "normalizer.mean" in learner.policy.arrays()


def test_rewards_are_normalised_where_inputs_are_unless_said_otherwise():
    plain = {"slots": {"main": "kin://mlp?hidden=[16]"}}
    for base, said, expected in (
        (NORMAL, None, True), ({**TINY, **plain}, None, False),
        (NORMAL, False, False), ({**TINY, **plain}, True, True),
    ):  # fmt: skip
        state, _ = collected(settings_of(base, ppo={"normalize_rewards": said}))
        assert any(n.startswith("reward/") for n in state.learners["main"].state_dict()) is expected


def trained(base, engine=None, resume=None):
    return list(train(settings_of(base), engine or LocalEngine(), resume))


def weights(items):
    last = [item for item in items if isinstance(item, Snapshot)][-1]
    return {name: array for name, array in last.arrays.items() if name.startswith("slot/")}


@pytest.mark.parametrize("distribution", ["gaussian", "squashed"])
def test_continuous_training_resumes_to_the_same_bits(distribution):
    uri = f"kin://mlp?hidden=[16]&normalize=true&distribution={distribution}"
    base = {**PENDULUM, "slots": {"main": uri}}
    items = trained(base)
    first = next(item for item in items if isinstance(item, Snapshot))
    rest = trained(base, resume=first)
    assert same(weights(items), weights(rest))
    assert any("log_std" in name for name in weights(items))


@pytest.mark.more
def test_engines_give_the_same_bits_with_continuous_actions():
    base = {**PENDULUM, "n_chunks": 2}
    engine = ProcessEngine(2)
    try:
        apart = trained(base, engine)
    finally:
        engine.close()
    assert event_lines(apart) == event_lines(trained(base))


def test_the_probability_of_a_number_is_the_same_in_rollout_and_learner():
    state, blocks = collected(settings_of(PENDULUM))
    learner, rows = state.learners["main"], blocks["main"]
    assert np.allclose(learner._compute_log_prob(rows), rows["log_prob"], atol=1e-4)


@pytest.mark.more
def test_a_continuous_policy_is_evaluated_alike_alone_and_in_a_batch(tmp_path):
    import kinfolk as kf

    run = kf.train(**PENDULUM, out=tmp_path / "run").run
    uri = f"run:{run.folder}"
    base = {"slots": {"all": uri}, "episodes": 4, "seed": 3}
    one = kf.evaluate("gym:Pendulum-v1", **base)
    other = kf.evaluate("gym:Pendulum-v1", **base, engine="processes", jobs=2)
    isolated = kf.evaluate("gym:Pendulum-v1", **base, isolate="slot")
    assert one.returns == other.returns == isolated.returns
    assert one.returns["all"].mean < 0.0
