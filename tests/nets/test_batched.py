"""Populations given tensors return tensors, equal to those of a loop of torch modules."""

import numpy as np
import pytest
import torch

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import seed_key
from kinfolk.nets.registry import make_nets
from kinfolk.nets.static import FeedforwardStaticNets, RecurrentStaticNets

torch.set_num_threads(1)


def modules_of(nets, member):
    """The same member as a list of torch modules."""
    modules = []
    for layer in nets.layers:
        row = torch.from_numpy(nets.flat[member])
        kind = torch.nn.RNNCell if layer.recurrent else torch.nn.Linear
        module = kind(layer.in_features, layer.out_features)
        weight = (
            row[layer.start : layer.recurrent_start]
            .reshape(layer.in_features, layer.out_features)
            .T
        )
        bias = row[layer.bias_start : layer.stop]
        with torch.no_grad():
            if layer.recurrent:
                module.weight_ih.copy_(weight)
                weight_hh = (
                    row[layer.recurrent_start : layer.bias_start]
                    .reshape(layer.out_features, layer.out_features)
                    .T
                )
                module.weight_hh.copy_(weight_hh)
                module.bias_ih.copy_(bias)
                module.bias_hh.zero_()
            else:
                module.weight.copy_(weight)
                module.bias.copy_(bias)
        modules.append(module)
    return modules


@torch.no_grad()
def loop(nets, x, memory=None):
    """What a loop of torch modules gives for `[nets, batch, inputs]`."""
    out, states = [], []
    for member in range(nets.num_nets):
        value, hidden = x[member], []
        for number, (layer, module) in enumerate(
            zip(nets.layers, modules_of(nets, member), strict=True)
        ):
            if layer.recurrent:
                before = None if memory is None else memory[number][member]
                value = module(value, before)
                hidden.append(value)
            else:
                value = torch.tanh(module(value)) if layer.hidden else module(value)
        out.append(value)
        states.append(hidden)
    return torch.stack(out), [torch.stack(layer) for layer in zip(*states, strict=True)]


@pytest.mark.parametrize("batch", [1, 16])
@pytest.mark.parametrize(
    ("inputs", "hidden", "outputs"), [(32, (32,), 8), (1, (), 1), (5, (7, 3), 2)]
)
def test_batched_feedforward_equals_a_loop_of_modules(inputs, hidden, outputs, batch):
    nets = FeedforwardStaticNets(9, inputs, outputs, hidden, key=seed_key(1))
    nets.mutate(seed_key(5))  # biases too
    x = torch.randn(9, batch, inputs, generator=torch.Generator().manual_seed(0))
    out, memory = nets(x)
    assert memory is None
    assert torch.allclose(out, loop(nets, x)[0], atol=1e-5)


def test_batched_recurrent_equals_a_loop_of_modules_over_time():
    nets = RecurrentStaticNets(5, 4, 2, (12, 6), key=seed_key(1))
    nets.mutate(seed_key(5))
    steps = torch.randn(20, 5, 3, 4, generator=torch.Generator().manual_seed(0))
    memory, states = None, None
    for x in steps:
        out, memory = nets(x, memory)
        expected, states = loop(nets, x, states)
        assert torch.allclose(out, expected, atol=1e-5)
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(memory, states, strict=True))


@pytest.mark.parametrize("kind", ["feedforward", "recurrent", "dynamic"])
def test_tensors_give_tensors_and_arrays_give_arrays(kind):
    nets = make_nets(kind, 3, 4, 2, () if kind == "dynamic" else (5,), key=seed_key(1))
    x = np.random.default_rng(0).standard_normal((3, 6, 4)).astype(np.float32)
    array, memory = nets(x)
    tensor, tensors = nets(torch.from_numpy(x))
    assert isinstance(array, np.ndarray)
    assert isinstance(tensor, torch.Tensor)
    assert array.dtype == np.float32
    assert tensor.dtype == torch.float32
    assert np.allclose(array, tensor, atol=1e-5)
    if kind == "recurrent":
        assert isinstance(memory[0], np.ndarray)
        assert isinstance(tensors[0], torch.Tensor)


def test_a_memory_of_arrays_can_be_used_with_tensors_and_vice_versa():
    nets = RecurrentStaticNets(3, 4, 2, (5,), key=seed_key(1))
    x = np.random.default_rng(0).standard_normal((3, 6, 4)).astype(np.float32)
    _, memory = nets(x)
    from_arrays, _ = nets(torch.from_numpy(x), memory)
    from_tensors, after = nets(x, [torch.from_numpy(state) for state in memory])
    assert isinstance(from_arrays, torch.Tensor)
    assert isinstance(from_tensors, np.ndarray)
    assert isinstance(after[0], np.ndarray)
    assert np.allclose(from_arrays, from_tensors, atol=1e-5)


def test_reset_clears_the_memory_of_done_rows_of_tensors_only():
    nets = RecurrentStaticNets(2, 3, 2, (5,), key=seed_key(1))
    _, memory = nets(torch.ones(2, 3, 3))
    done = np.array([[True, False, False], [False, False, True]])
    after = nets.reset(memory, done)[0]
    assert not after[torch.from_numpy(done)].any()
    assert torch.equal(after[torch.from_numpy(~done)], memory[0][torch.from_numpy(~done)])
    assert torch.equal(nets.reset(memory)[0], torch.zeros(2, 3, 5))


def test_tensors_of_a_wrong_shape_are_refused():
    with pytest.raises(SettingsError) as caught:
        FeedforwardStaticNets(4, 3, 2)(torch.zeros(4, 1, 5))
    assert str(caught.value) == "Inputs must have shape [4, batch, 3], not [4, 1, 5]."
