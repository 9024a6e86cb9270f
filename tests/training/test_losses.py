"""Losses computed by hand, by loops of numpy and by torchrl."""

import math

import numpy as np
import pytest
import torch

from kinfolk.training.losses import (
    ActorCriticOutput,
    Minibatch,
    cloner,
    kickstarter,
    normalize_advantages,
    ppo_actor,
    ppo_critic,
)
from kinfolk.training.settings import BehaviorCloning, Kickstart, PPOSettings


def tensor(*numbers):
    return torch.tensor(numbers, dtype=torch.float32)


def outputs(*heads, value=(0.0,)):
    return ActorCriticOutput(
        tuple(torch.log_softmax(torch.tensor(h, dtype=torch.float32), dim=1) for h in heads),
        tensor(*value),
    )


def rows(action, log_prob=None, value=None, advantage=None, **teacher):
    count = len(action)
    zeros = [0.0] * count
    return Minibatch(
        torch.tensor(action),
        tensor(*(log_prob or zeros)),
        tensor(*(value or zeros)),
        tensor(*(advantage or zeros)),
        **teacher,
    )


HALF = [[0.0, 0.0], [0.0, 0.0]]


def test_the_surrogate_by_hand():
    """Old chances 0.25 and 0.5, new 0.5: ratios 2 (clipped to 1.2) and 1; advantages +1 and -1."""
    batch = rows([[0], [1]], [math.log(0.25), math.log(0.5)], advantage=[1.0, -1.0])
    loss, stats = ppo_actor(batch, outputs(HALF), PPOSettings(ent_coef=0.0))
    unit = 1.0 / math.sqrt(2.0)  # the deviation of +1 and -1 is the root of 2
    assert loss.item() == pytest.approx(-(1.2 * unit - 1.0 * unit) / 2, abs=1e-6)
    assert stats["clip_fraction"].item() == 0.5
    assert stats["approx_kl"].item() == pytest.approx((2 - 1 - math.log(2)) / 2, abs=1e-6)


def test_entropy_is_summed_over_heads_and_subtracted():
    batch = rows([[0, 2], [1, 0]], advantage=[1.0, -1.0])
    new = outputs(HALF, [[0.0] * 3] * 2)
    old = new.log_prob(batch.action)
    batch = batch._replace(log_prob=old)
    loss, stats = ppo_actor(batch, new, PPOSettings(ent_coef=0.1))
    assert stats["entropy"].item() == pytest.approx(math.log(2) + math.log(3))
    assert loss.item() == pytest.approx(-0.1 * (math.log(2) + math.log(3)), abs=1e-6)


def test_the_critic_with_and_without_clipping():
    batch = rows([[0], [0]], value=[1.0, 1.0], advantage=[1.0, 0.0])  # targets 2 and 1
    new = outputs(HALF, value=(3.0, 1.0))
    assert ppo_critic(batch, new, PPOSettings(vf_coef=1.0))[0].item() == 0.25
    # Clipped to 1.5, the first value would be off by half; the worse of both counts.
    clipped = PPOSettings(vf_coef=1.0, clip_range_vf=0.5)
    assert ppo_critic(batch, new, clipped)[0].item() == 0.25
    near = outputs(HALF, value=(2.0, 1.0))
    assert ppo_critic(batch, near, clipped)[0].item() == pytest.approx(0.25 / 4)


def test_a_teacher_with_logits_is_imitated_by_kl_divergence():
    scores = torch.tensor([[math.log(0.9), math.log(0.1)]])
    batch = rows([[0]], teacher_action=torch.tensor([[0]]), teacher_logits=scores,
                 teacher_value=tensor(2.0))  # fmt: skip
    new = outputs([[0.0, 0.0]], value=(1.0,))
    loss, stats = kickstarter(batch, new, Kickstart(vf_coef=0.5))
    divergence = 0.9 * math.log(0.9 / 0.5) + 0.1 * math.log(0.1 / 0.5)
    assert stats["kickstarter"].item() == pytest.approx(divergence, abs=1e-6)
    assert loss.item() == pytest.approx(divergence + 0.5 * 0.5 * 1.0, abs=1e-6)
    same = outputs([[math.log(0.9), math.log(0.1)]], value=(2.0,))
    assert kickstarter(batch, same, Kickstart(temperature=3.0))[0].item() == pytest.approx(
        0, abs=1e-6
    )


def test_a_scripted_teacher_is_imitated_by_cross_entropy():
    batch = rows([[0], [0]], teacher_action=torch.tensor([[1], [0]]),
                 teacher_value=tensor(math.nan, math.nan))  # fmt: skip
    new = outputs([[0.0, math.log(3.0)], [0.0, 0.0]])
    expected = -(math.log(0.75) + math.log(0.5)) / 2
    assert kickstarter(batch, new, Kickstart())[0].item() == pytest.approx(expected)
    loss, stats = cloner(batch, new, BehaviorCloning())
    assert loss.item() == pytest.approx(expected)
    assert stats["agreement"].item() == 1.0  # of equal logits the first is chosen


def test_normalising_leaves_a_single_row_alone():
    assert normalize_advantages(tensor(5.0)).item() == 5.0
    many = normalize_advantages(tensor(1.0, 2.0, 3.0, 6.0))
    assert many.mean().item() == pytest.approx(0.0, abs=1e-7)
    assert many.std().item() == pytest.approx(1.0, abs=1e-6)


def test_losses_equal_loops_of_numpy_on_random_rows():
    """An independent implementation: float64 loops instead of tensors."""
    chance = np.random.default_rng(1)
    count = 200
    scores = chance.normal(size=(count, 5))
    action = chance.integers(0, 5, count)
    old = -np.abs(chance.normal(size=count))
    advantage, value, new_value = chance.normal(size=(3, count))
    ppo = PPOSettings(clip_range=0.2, ent_coef=0.03, vf_coef=1.0, clip_range_vf=0.3)
    batch = rows(action[:, None].tolist(), old.tolist(), value.tolist(), advantage.tolist())
    new = outputs(scores.tolist(), value=new_value.tolist())
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    unit = (advantage - advantage.mean()) / (advantage.std(ddof=1) + 1e-8)
    total = entropy = error = 0.0
    for i in range(count):
        ratio = chances[i, action[i]] / math.exp(old[i])
        total += min(ratio * unit[i], min(max(ratio, 0.8), 1.2) * unit[i])
        entropy -= sum(p * math.log(p) for p in chances[i])
        target = advantage[i] + value[i]
        near = value[i] + min(max(new_value[i] - value[i], -0.3), 0.3)
        error += max((new_value[i] - target) ** 2, (near - target) ** 2)
    actor, _ = ppo_actor(batch, new, ppo)
    critic, _ = ppo_critic(batch, new, ppo)
    assert actor.item() == pytest.approx(-total / count - 0.03 * entropy / count, abs=1e-5)
    assert critic.item() == pytest.approx(error / count / 2, abs=1e-5)


def test_losses_equal_torchrl():
    """Against an independent implementation, where it is installed."""
    objectives = pytest.importorskip("torchrl.objectives")
    modules = pytest.importorskip("torchrl.modules")
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule

    torch.manual_seed(0)
    count, choices, ppo = 64, 5, PPOSettings(clip_range=0.2, ent_coef=0.01, vf_coef=1.0)
    actor, critic = torch.nn.Linear(7, choices), torch.nn.Linear(7, 1)
    seen, action = torch.randn(count, 7), torch.randint(choices, (count,))
    batch = Minibatch(
        action[:, None],
        torch.log_softmax(torch.randn(count, choices), 1).gather(1, action[:, None])[:, 0],
        torch.randn(count),
        torch.randn(count),
    )
    loss = objectives.ClipPPOLoss(
        modules.ProbabilisticActor(
            TensorDictModule(actor, in_keys=["observation"], out_keys=["logits"]),
            in_keys=["logits"],
            distribution_class=torch.distributions.Categorical,
            return_log_prob=True,
        ),
        modules.ValueOperator(critic, in_keys=["observation"]),
        clip_epsilon=0.2,
        entropy_coeff=0.01,
        critic_coeff=1.0,
        loss_critic_type="l2",
        normalize_advantage=True,
    )
    data = {
        "observation": seen,
        "action": action,
        "advantage": batch.advantage[:, None],
        "value_target": (batch.advantage + batch.value)[:, None],
        loss.tensor_keys.sample_log_prob: batch.log_prob,
    }
    theirs = loss(TensorDict(data, batch_size=[count]))
    output = ActorCriticOutput((torch.log_softmax(actor(seen), 1),), critic(seen)[:, 0])
    actor_loss, _ = ppo_actor(batch, output, ppo)
    critic_loss, _ = ppo_critic(batch, output, ppo)
    expected = (theirs["loss_objective"] + theirs["loss_entropy"]).item()
    assert math.isclose(actor_loss.item(), expected, abs_tol=1e-5)
    assert math.isclose(2.0 * critic_loss.item(), theirs["loss_critic"].item(), abs_tol=1e-5)
