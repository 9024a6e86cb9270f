"""Continuous actions: sampling, densities, and numbers that pass through worlds bit by bit."""

import gymnasium
import numpy as np
import pytest
import torch

import kinfolk as kf
from kinfolk.core.errors import ContractError, SettingsError, UsageError
from kinfolk.core.random import fold_in, seed_key
from kinfolk.core.spaces import WorldSpec, decode_numbers, encode_numbers
from kinfolk.nets.heads import count_outputs, decode_actions
from kinfolk.policies.base import NoopPolicy, RandomPolicy, single_agent_batch
from kinfolk.policies.neural.architectures import MlpPolicy
from kinfolk.policies.neural.distributions import make_action_layout, sample_numbers
from kinfolk.training.outputs import ActorCriticOutput, NumberRange
from kinfolk.worlds.adapters import make_gymnasium

PENDULUM = "gym:Pendulum-v1"


def keys_of(count):
    return np.array([fold_in(seed_key(1), i) for i in range(count)])


def drawn(mean, log_std, squashed, count=40_000, greedy=False):
    """Return numbers in a range of -2 to 4 and their log-densities."""
    outputs = np.tile(np.array([[mean, log_std]], np.float32), (count, 1))
    numbers, log_prob = np.zeros((count, 1)), np.zeros(count, np.float32)
    ranges = np.array([[1.0, 3.0]])
    sample_numbers(
        outputs,
        np.array([0]),
        ranges,
        0,
        keys_of(count),
        greedy,
        squashed,
        0.0,
        np.zeros((count, 1), np.float32),
        numbers,
        log_prob,
    )
    return outputs, numbers, log_prob


def test_numbers_follow_the_gaussian_in_units_of_the_range():
    _, numbers, _ = drawn(0.5, -1.0, squashed=False)
    assert numbers.mean() == pytest.approx(1.0 + 3.0 * 0.5, abs=0.02)
    assert numbers.std() == pytest.approx(3.0 * np.exp(-1.0), rel=0.02)
    assert drawn(0.5, -1.0, squashed=False, greedy=True)[1][0, 0] == 2.5


def test_squashed_numbers_stay_within_the_bounds():
    _, numbers, _ = drawn(0.3, 1.0, squashed=True)
    assert numbers.min() >= -2.0
    assert numbers.max() <= 4.0
    centered = np.arctanh((numbers - 1.0) / 3.0)
    assert np.median(centered) == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("squashed", [False, True])
def test_the_density_of_the_learner_is_that_of_the_rollout_and_integrates_to_one(squashed):
    outputs, numbers, log_prob = drawn(0.2, -0.5, squashed, count=500)
    head = ActorCriticOutput(
        (torch.from_numpy(outputs),), torch.zeros(500), (NumberRange(1.0, 3.0, squashed),)
    )
    actions = torch.from_numpy(encode_numbers(numbers))
    assert np.allclose(head.log_prob(actions).numpy(), log_prob, atol=1e-4)
    grid = np.linspace(-1.999, 3.999, 20_001) if squashed else np.linspace(-20.0, 20.0, 20_001)
    wide = ActorCriticOutput(
        (torch.from_numpy(np.tile(outputs[:1], (len(grid), 1))),),
        torch.zeros(len(grid)),
        head.ranges,
    )
    density = wide.log_prob(torch.from_numpy(encode_numbers(grid[:, None]))).exp().numpy()
    assert np.trapezoid(density, (grid - 1.0) / 3.0) == pytest.approx(1.0, abs=0.01)


def test_entropy_and_mean_action_are_those_of_the_distribution():
    outputs = torch.tensor([[0.5, -1.0]])
    plain = ActorCriticOutput((outputs,), torch.zeros(1), (NumberRange(1.0, 3.0, False),))
    normal = torch.distributions.Normal(0.5, float(np.exp(-1.0)))
    assert float(plain.entropy()) == pytest.approx(float(normal.entropy()), abs=1e-6)
    assert plain.mean_action().tolist() == [[2.5]]
    squashed = ActorCriticOutput((outputs,), torch.zeros(1), (NumberRange(1.0, 3.0, True),))
    assert float(squashed.mean_action()) == pytest.approx(1.0 + 3.0 * np.tanh(0.5), abs=1e-6)
    choices = ActorCriticOutput((torch.tensor([[0.25, 0.75]]).log(),), torch.zeros(1))
    assert float(choices.mean_action()) == pytest.approx(0.75)


def test_numbers_reach_the_task_bit_by_bit_and_are_clipped_by_it():
    world = kf.make(PENDULUM, worlds=1)
    head = world.spec.groups[0].heads[0]
    assert (head.choices, head.low, head.high, head.is_continuous) == ((), -2.0, 2.0, True)
    env = gymnasium.make("Pendulum-v1")
    env.reset(seed=int(world._state.key[0]))
    for number in (0.1, -1.7, 55.0):
        action = encode_numbers(np.array([[number]]))
        assert decode_numbers(action)[0, 0] == number
        world.step(action)
        _, reward, _, _, _ = env.step(np.array([min(number, 2.0)], np.float32))
        assert world.columns.reward[0] == reward


def test_a_number_that_is_not_finite_is_refused():
    world = kf.make(PENDULUM, worlds=1)
    with pytest.raises(ContractError) as caught:
        world.step(encode_numbers(np.array([[np.inf]])))
    assert str(caught.value) == (
        "Agent 0 of world 0 chose inf for action_0, which must be a finite number."
    )


def test_the_spec_survives_a_round_trip_and_discrete_specs_are_written_as_before():
    spec = kf.make(PENDULUM).spec
    assert WorldSpec.from_dict(spec.to_dict()) == spec
    heads = kf.make("probe").spec.to_dict()["groups"][0]["heads"]
    assert [set(head) for head in heads] == [{"name", "choices"}] * 2


def test_random_and_noop_policies_play_numbers():
    spec = kf.make(PENDULUM).spec
    batch = single_agent_batch(0, 0)
    policy = RandomPolicy(spec)
    numbers = []
    for key in keys_of(500):
        policy.act_async(np.zeros((1, spec.row_bytes), np.uint8), batch, {}, np.array([key]))
        numbers.append(decode_numbers(policy.act_wait())[0, 0])
    assert min(numbers) < -1.9
    assert max(numbers) > 1.9
    assert np.abs(numbers).max() <= 2.0
    assert decode_numbers(NoopPolicy(spec).noop_actions(batch.group)).tolist() == [[0.0]]


def test_evolved_nets_map_an_output_to_the_range():
    assert (count_outputs("argmax", [0, 3]), count_outputs("tanh", [0, 0])) == (4, 2)
    out = np.array([[0.0, 1.0, 5.0, 2.0], [100.0, 1.0, 2.0, 7.0]], np.float32)
    actions = decode_actions("argmax", out, [0, 3], None, np.array([[-2.0, 4.0], [0.0, 0.0]]))
    assert decode_numbers(actions[:, :1]).tolist() == [[1.0], [4.0]]
    assert actions[:, 1].tolist() == [1, 2]
    raw = decode_actions("raw", out[:, :1], [0], None, np.array([[-np.inf, np.inf]]))
    assert decode_numbers(raw).tolist() == [[0.0], [100.0]]


def test_adapters_offer_a_box_and_take_numbers():
    stacked = make_gymnasium(PENDULUM)
    assert stacked.action_space["agent"] == gymnasium.spaces.Box(-2.0, 2.0, (1, 1), np.float32)
    stacked.reset(seed=0)
    stacked.step({"agent": np.array([[0.5]], np.float32)})
    world = kf.pettingzoo(PENDULUM)
    world.reset(seed=0)
    (agent,) = world.agents
    assert world.action_space(agent) == gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float32)
    world.step({agent: np.array([0.5], np.float32)})
    with pytest.raises(UsageError) as caught:
        world.step({agent: np.array([np.nan], np.float32)})
    assert str(caught.value).endswith("must be a finite number, not array([nan], dtype=float32).")


def test_distributions_that_do_not_fit_are_refused():
    spec = kf.make(PENDULUM).spec
    with pytest.raises(SettingsError) as caught:
        MlpPolicy(spec, distribution="cauchy")
    assert str(caught.value) == "The distribution is 'gaussian' or 'squashed', not 'cauchy'."

    class Free(gymnasium.Env):
        observation_space = action_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)

        def reset(self, seed=None, options=None):
            return np.zeros(1, np.float32), {}

    unbounded = kf.make(kf.register_env(Free)).spec
    assert make_action_layout(unbounded, "gaussian").ranges.tolist() == [[0.0, 1.0]]
    with pytest.raises(SettingsError) as caught:
        MlpPolicy(unbounded, distribution="squashed")
    assert str(caught.value) == (
        f"World {unbounded.world} has no bounds for action_0, and a squashed distribution needs "
        f"them. Use distribution = 'gaussian'."
    )


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_noise_is_correlated_from_step_to_step_and_each_action_keeps_its_distribution(correlation):
    count, steps = 200, 100
    outputs = np.tile(np.array([[0.2, -0.5]], np.float32), (count, 1))
    noise = np.zeros((count, 1), np.float32)
    drawn = np.zeros((steps, count, 1))
    densities = np.zeros((steps, count), np.float32)
    for step in range(steps):
        keys = np.array([fold_in(seed_key(step), i) for i in range(count)])
        sample_numbers(
            outputs, np.array([0]), np.array([[0.0, 1.0]]), 0, keys, False, False, correlation,
            noise, drawn[step], densities[step],
        )  # fmt: skip
    deviations = (drawn[..., 0] - 0.2) / np.exp(-0.5)
    for part in (deviations[0], deviations):
        assert part.mean() == pytest.approx(0.0, abs=0.2)
        assert part.std() == pytest.approx(1.0, abs=0.12), "from the first action on"
    measured = np.corrcoef(deviations[:-1].ravel(), deviations[1:].ravel())[0, 1]
    assert measured == pytest.approx(correlation, abs=0.03)
    expected = -0.5 * deviations**2 + 0.5 - 0.5 * np.log(2.0 * np.pi)
    assert np.allclose(densities, expected, atol=1e-4)


@pytest.mark.more
def test_training_explores_with_correlated_noise_and_resumes_with_it():
    def collect(correlation, updates=2):
        with kf.Trainer(
            "gym:Pendulum-v1", worlds=4, rollout_length=40, ppo={"noise_correlation": correlation}
        ) as trainer:
            for _ in range(updates):
                rollout = trainer.collect()
        return rollout.slots["main"], trainer

    for correlation in (0.0, 0.9):
        rows, trainer = collect(correlation)
        net = trainer.state.learners["main"].policy
        logits, _, _ = net.evaluate(rows["observations"], rows["group"], None)
        noise = (rows["action"].view(np.float64)[:, 0] / 2.0 - logits[:, 0]) / np.exp(logits[:, 1])
        by_world = noise.reshape(40, 4)
        measured = np.corrcoef(by_world[:-1].ravel(), by_world[1:].ravel())[0, 1]
        assert measured == pytest.approx(correlation, abs=0.2)
        assert np.allclose(
            rows["log_prob"], trainer.state.learners["main"]._compute_log_prob(rows), atol=1e-4
        )
        has_noise = any("noise" in name for name in trainer.state.rollout_states[0])
        assert has_noise == (correlation > 0.0), "kept between rollouts, and in checkpoints"
