import numpy as np
import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import fold_in, seed_key
from kinfolk.nets.forward import forward_rows
from kinfolk.nets.numerics import fill_standard_normal, tanh_inplace
from kinfolk.nets.static import FeedforwardStaticNets, RecurrentStaticNets


@pytest.mark.parametrize("kind", [FeedforwardStaticNets, RecurrentStaticNets])
def test_a_member_computes_the_same_bits_in_every_batch(kind):
    nets = kind(6, 10, 3, (8,), key=seed_key(3))
    nets.mutate(seed_key(4))
    x = np.random.default_rng(0).standard_normal((40, 10)).astype(np.float32)
    x[::3] = 0.0
    states = [np.random.default_rng(1).standard_normal((40, 8)).astype(np.float32)]
    member = np.arange(40) % 6
    whole, after = forward_rows(nets.flat, nets.layout, member, x, states)
    for i in range(40):
        single, _ = forward_rows(
            nets.flat, nets.layout, member[i : i + 1], x[i : i + 1], [states[0][i : i + 1]]
        )
        assert np.array_equal(single[0], whole[i])
        inputs = np.broadcast_to(x[i], (6, 1, 10))
        memory = [np.broadcast_to(states[0][i], (6, 1, 8))]
        out, _ = nets(inputs, memory) if kind is RecurrentStaticNets else nets(inputs)
        assert np.array_equal(out[member[i], 0], whole[i])
    assert len(after) == (1 if kind is RecurrentStaticNets else 0)


def test_first_weights_have_the_variance_of_one_over_fan_in():
    nets = FeedforwardStaticNets(200, 16, 4, (64,), key=seed_key(2))
    first, second = nets.layers
    for layer, fan_in in ((first, 16), (second, 64)):
        weights = nets.flat[:, layer.start : layer.recurrent_start]
        assert abs(weights.mean()) < 0.01
        assert weights.var() == pytest.approx(1 / fan_in, rel=0.03)
        assert not nets.flat[:, layer.bias_start : layer.stop].any()


def test_zero_starts_with_all_parameters_zero():
    assert not RecurrentStaticNets(3, 4, 2, (5,), zero=True).flat.any()


def test_draws_from_keys_have_a_standard_normal_distribution():
    numbers = np.empty((4, 50_000))
    fill_standard_normal(fold_in(seed_key(9), np.arange(4)), 0, numbers)
    assert abs(numbers.mean()) < 0.01
    assert numbers.var() == pytest.approx(1.0, abs=0.01)
    assert (np.abs(numbers) > 3).mean() == pytest.approx(0.0027, abs=0.0005)
    assert abs(np.corrcoef(numbers)[0, 1]) < 0.01


def test_mutation_moves_every_parameter_by_sigma_except_those_of_elites():
    nets = FeedforwardStaticNets(50, 6, 3, (10,), key=seed_key(1), sigma=0.5)
    before = nets.get_params()
    nets.mutate(seed_key(8), n_elites=2)
    moved = nets.flat - before
    assert not moved[:2].any()
    assert (moved[2:] != 0).all()
    assert moved[2:].std() == pytest.approx(0.5, rel=0.03)


def test_a_member_mutates_alike_in_any_population():
    few, many = (FeedforwardStaticNets(n, 3, 2, zero=True) for n in (2, 7))
    few.mutate(seed_key(1))
    many.mutate(seed_key(1))
    assert np.array_equal(few.flat, many.flat[:2])


def test_self_adaptive_sigmas_mutate_and_scale_each_weight():
    nets = FeedforwardStaticNets(200, 6, 3, (10,), zero=True, sigma=0.1, self_adaptive=True)
    nets.sigmas[:, 0] = 5.0
    nets.mutate(seed_key(8))
    assert (nets.sigmas[:, 1:] / 0.1 - 1).std() == pytest.approx(0.01, rel=0.05)
    assert nets.flat[:, 0].std() == pytest.approx(5.0, rel=0.2)
    assert nets.flat[:, 1:].std() == pytest.approx(0.1, rel=0.05)


def test_set_params_restores_what_get_params_returned():
    nets = RecurrentStaticNets(4, 3, 2, (5,), key=seed_key(1))
    params = nets.get_params()
    assert params.shape == (4, 3 * 5 + 5 * 5 + 5 + 5 * 2 + 2)
    other = RecurrentStaticNets(4, 3, 2, (5,), zero=True)
    other.set_params(params)
    x = np.random.default_rng(0).standard_normal((4, 2, 3))
    assert np.array_equal(other(x)[0], nets(x)[0])
    with pytest.raises(SettingsError) as caught:
        other.set_params(params[:, 1:])
    assert str(caught.value) == ("These nets need parameters of shape [nets, 57], not (4, 56).")


def test_inputs_of_a_wrong_shape_are_refused():
    with pytest.raises(SettingsError) as caught:
        FeedforwardStaticNets(4, 3, 2)(np.zeros((4, 1, 5)))
    assert str(caught.value) == "Inputs must have shape [4, batch, 3], not [4, 1, 5]."


def test_reset_clears_the_memory_of_done_rows_only():
    nets = RecurrentStaticNets(2, 3, 2, (5,), key=seed_key(1))
    _, memory = nets(np.ones((2, 3, 3)))
    done = np.array([[True, False, False], [False, False, True]])
    after = nets.reset(memory, done)[0]
    assert not after[done].any()
    assert np.array_equal(after[~done], memory[0][~done])
    assert not nets.reset(memory)[0].any()


def test_tanh_inplace_approximates_the_hyperbolic_tangent():
    values = np.concatenate([np.linspace(-12, 12, 100_001), [0.0, np.inf, -np.inf, np.nan]])
    result = values.astype(np.float32)
    tanh_inplace(result)
    assert np.abs(result[:-1] - np.tanh(values[:-1])).max() < 5e-7
    assert np.isnan(result[-1])
