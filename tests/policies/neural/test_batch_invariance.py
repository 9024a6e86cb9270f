"""Outputs of a row do not depend on its batch: any net, width, position or other rows."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from kinfolk.core.errors import ContractError
from kinfolk.policies.build import build_policy
from kinfolk.policies.neural.architectures import CustomNetPolicy, MlpPolicy
from kinfolk.policies.neural.batch_invariance import (
    FIXED_ROWS,
    Batching,
    find_batching,
    require_invariant,
    run_batched,
)
from kinfolk.policies.neural.encoding import NetShape
from kinfolk.policies.neural.modules import ConvNet, GruNet, MlpNet
from kinfolk.policies.resolve import resolve
from kinfolk.testing.contracts.policy import PolicyContract
from kinfolk.worlds import build_world as build_world

NETS_FOLDER = Path(__file__).parent / "own_nets"
_spec = importlib.util.spec_from_file_location("own_nets", NETS_FOLDER / "own_nets.py")
nets = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(nets)
SHAPE = NetShape(inputs=24, outputs=5, planes=(1, 4, 4))
INVARIANT_NETS = ["Odd", "Double", "Remembering", "Attentive", "Filters", "Normed", "ZeroHead"]


@pytest.fixture
def own_nets(monkeypatch):
    """Return the URI prefix of nets in a module of the user's own."""
    monkeypatch.syspath_prepend(str(NETS_FOLDER))
    return "kin://net?module=own_nets."


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def assert_invariant(net, shape=SHAPE):
    """Assert equal bits for rows alone, in other batches, at other positions, with other rows."""
    net.eval()
    memory = getattr(net, "memory_size", 0)
    sizes = [(shape.inputs,)] + [(memory,)] * bool(memory)
    forward = torch.no_grad()(net)
    batching = find_batching(forward, *sizes, module=net)
    require_invariant("The net", batching)
    draws = torch.Generator().manual_seed(3)
    rows = [torch.randn((150, *size), generator=draws) for size in sizes]
    whole = run_batched(batching, forward, *rows)
    others = [torch.randn((150, *size), generator=draws) for size in sizes]
    mixed = [torch.where(torch.arange(150)[:, None] % 7 == 0, x, y)
             for x, y in zip(rows, others, strict=True)]  # fmt: skip
    for out, other in zip(whole, run_batched(batching, forward, *mixed), strict=True):
        assert torch.equal(out[::7], other[::7]), "neighbours"
    for first, count in ((0, 1), (77, 1), (149, 1), (5, 2), (11, 33), (1, 149), (64, 64)):
        part = run_batched(batching, forward, *(x[first : first + count] for x in rows))
        for some, out in zip(part, whole, strict=True):
            assert torch.equal(some, out[first : first + count]), (first, count)
    assert all(len(out) == 0 for out in run_batched(batching, forward, *(x[:0] for x in rows)))


@pytest.mark.more
@pytest.mark.parametrize("first", range(1, 71, 10))
def test_dense_nets_of_any_width_are_invariant(first):
    for width in range(first, first + 10):
        torch.manual_seed(width)
        net = MlpNet(SHAPE, (width, 71 - width), "separate", "tanh")
        assert_invariant(net)


@pytest.mark.parametrize("width", [1, 3, 7, 13, 30, 50, 70])
def test_recurrent_and_convolutional_nets_of_any_width_are_invariant(width):
    assert_invariant(GruNet(SHAPE, width, (width + 2,)))
    assert_invariant(ConvNet(SHAPE, (width,), (width,)))


@pytest.mark.parametrize("name", INVARIANT_NETS)
def test_nets_of_users_are_invariant(name):
    torch.manual_seed(0)
    net = getattr(nets, name)(SHAPE)
    assert_invariant(net)
    for weight in net.parameters():  # as after learning
        nn.init.normal_(weight.data, 1.0, 0.3)
    assert_invariant(net)


def test_find_batching_restores_the_weights():
    net = nets.ZeroHead(SHAPE)
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    find_batching(torch.no_grad()(net), (24,), module=net)
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())


@pytest.mark.parametrize("hidden", [(16,), (64, 64), (48, 8)])
def test_nets_that_are_invariant_already_run_without_hooks(hidden):
    net = MlpNet(SHAPE, hidden)
    assert find_batching(torch.no_grad()(net), (24,), module=net) == Batching()
    assert not any(layer._forward_pre_hooks for layer in net.modules())
    x = torch.randn(40, 24)
    with torch.no_grad():
        assert torch.equal(run_batched(Batching(), net, x)[0], net(x)[0])


def test_gradients_are_those_of_the_net_without_hooks():
    net, plain = (MlpNet(SHAPE, (50,)) for _ in range(2))
    plain.load_state_dict(net.state_dict())
    find_batching(torch.no_grad()(net), (24,), module=net)
    x = torch.randn(10, 24)
    for module in (net, plain):
        module(x)[0].square().sum().backward()
    for a, b in zip(net.parameters(), plain.parameters(), strict=True):
        assert a.grad is b.grad is None or torch.equal(a.grad, b.grad)


@pytest.mark.parametrize("spacing", [1, 4, FIXED_ROWS])
@pytest.mark.parametrize("rows", [0, 1, 16, 17, 150])
def test_fixed_batches_have_one_size_and_zeros_between_the_rows(spacing, rows):
    sizes, stray = [], []

    def forward(x, memory):
        sizes.append((len(x), len(memory)))
        between = torch.arange(len(x)) % spacing != 0
        stray.append(bool(x[between].any() or memory[between].any()))
        return x + memory, 2 * x[:, 0]

    x, memory = torch.randn(rows, 3), torch.randn(rows, 3)
    both, first = run_batched(Batching(spacing), forward, x, memory)
    assert torch.equal(both, x + memory)
    assert torch.equal(first, 2 * x[:, 0])
    assert set(sizes) == {(FIXED_ROWS, FIXED_ROWS)}
    assert len(sizes) == max(1, -(-rows * spacing // FIXED_ROWS))
    assert not any(stray)


DRAWS = (
    "Noisy returns other results for the same rows when it is called again: it draws random numbers "
    "or keeps state of its own. Let it do neither in eval mode; recurrent state belongs in its memory "
    "(memory_size)."
)


def test_nets_that_draw_random_numbers_are_refused_unless_for_training(own_nets):
    spec, noisy = build_world("probe", {}, 1).spec, resolve(own_nets + "Noisy")
    with pytest.raises(ContractError) as caught:
        build_policy(noisy, spec)
    assert str(caught.value) == DRAWS
    assert isinstance(build_policy(noisy, spec, batch_invariant=False), CustomNetPolicy)


def test_a_net_that_mixes_rows_is_run_one_row_at_a_time_unless_for_training(own_nets):
    spec, mixing = build_world("probe", {}, 1).spec, resolve(own_nets + "Mixing")
    policy = build_policy(mixing, spec)
    rows = np.random.default_rng(0).integers(0, 9, (40, spec.row_bytes)).astype(np.uint8)
    group = np.zeros(40, np.int64)
    whole = policy.evaluate(rows, group, None)[0]
    for row in (0, 7, 39):
        alone = policy.evaluate(rows[row : row + 1], group[:1], None)[0]
        assert np.array_equal(alone, whole[row : row + 1])
    trained = build_policy(mixing, spec, batch_invariant=False)
    mixed = trained.evaluate(rows, group, None)[0]
    assert not np.array_equal(trained.evaluate(rows[:1], group[:1], None)[0], mixed[:1])


def test_a_net_that_is_not_invariant_is_run_without_padding():
    net = nets.Mixing(SHAPE)
    forward = torch.no_grad()(net)
    batching = find_batching(forward, (24,), module=net)
    x = torch.randn(9, 24)
    assert torch.equal(run_batched(batching, forward, x)[0], forward(x)[0])
    assert len(run_batched(batching, forward, x[:0])[0]) == 0


def test_scalar_weights_are_restored_from_a_file(own_nets, tmp_path):
    from kinfolk.store.arrays import NETS, read_arrays, write_arrays

    spec = build_world("probe", {}, 1).spec
    first, second = (
        build_policy(resolve(f"{own_nets}Normed&seed={seed}"), spec) for seed in (1, 2)
    )
    with torch.no_grad():
        first.module.scale.fill_(3.0)
    write_arrays(tmp_path / "w.safetensors", first.arrays(), NETS, {})
    second.load(read_arrays(tmp_path / "w.safetensors"))
    for name, array in first.arrays().items():
        assert np.array_equal(second.arrays()[name], array), name


def test_a_net_of_odd_width_plays_with_loaded_weights():
    spec = build_world("probe", {}, 1).spec
    first, second = MlpPolicy(spec, hidden=[50], seed=1), MlpPolicy(spec, hidden=[50], seed=2)
    second.load(first.arrays())
    observations, group = np.full((3, spec.row_bytes), 9, np.uint8), np.zeros(3, np.int64)
    logits = first.evaluate(observations, group, None)[0]
    assert np.array_equal(logits, second.evaluate(observations, group, None)[0])


@pytest.mark.more
class TestOddWidths(PolicyContract):
    @pytest.fixture(
        params=[
            "kin://mlp?hidden=[50]",
            pytest.param("kin://gru?hidden=[7]&state_size=13", marks=pytest.mark.more),
        ]
    )
    def uri(self, request):
        return request.param


@pytest.mark.more
class TestOwnNet(PolicyContract):
    @pytest.fixture(params=["Odd", "Remembering", "Attentive"])
    def uri(self, request, own_nets):
        return own_nets + request.param
