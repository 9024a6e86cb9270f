"""Neural policies by architecture: MLP, convolutional, GRU, and a torch module of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, get_args

from kinfolk.core.errors import ContractError, require
from kinfolk.core.imports import optional_import
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import IDENTITY
from kinfolk.policies.neural.distributions import Distribution
from kinfolk.policies.neural.encoding import NetShape
from kinfolk.policies.neural.modules import ConvNet, CriticMode, GruNet, MlpNet
from kinfolk.policies.neural.own_modules import locate_source, make_own_module
from kinfolk.policies.neural.policy import NeuralPolicy

with optional_import("A neural policy"):
    import torch
    from torch import nn


class MlpPolicy(NeuralPolicy):
    """A multilayer perceptron with an actor and a critic: `kin://mlp?hidden=[64,64]&critic=separate`.

    Args:
        spec: Spec of the world to play.
        hidden: Width of each dense layer.
        critic: `shared` layers with the actor, `separate` ones, or `team`: separate ones that see the
            observations of the whole team while it is trained (MAPPO, arXiv:2103.01955).
        activation: `relu` or `tanh`.
        seed: Seed of the initial weights.
        greedy: Take the most probable action instead of sampling.
        transform: Observation transform; see `transforms.py`.
        normalize: Scale inputs by their running mean and standard deviation.
        distribution: Distribution of continuous actions, `gaussian` or `squashed`.
    """

    def __init__(
        self,
        spec: WorldSpec,
        hidden: Sequence[int] = (64, 64),
        critic: CriticMode = "shared",
        activation: str = "relu",
        seed: int = 0,
        greedy: bool = False,
        transform: str = IDENTITY,
        normalize: bool = False,
        distribution: Distribution = "gaussian",
    ) -> None:
        _check_layers(critic, hidden=hidden)
        make_module = partial(MlpNet, hidden=hidden, critic=critic, activation=activation)
        super().__init__(spec, make_module, seed, greedy, transform, normalize, distribution)


class CnnPolicy(NeuralPolicy):
    """Convolutions over the window, then dense layers: `kin://conv?channels=[16,16]&hidden=[64]`.

    Args:
        spec: Spec of the world to play; its groups must share a window of the same planes.
        channels: Output channels of each 3x3 convolution.
        hidden: Width of each dense layer; at least one.
        critic: `shared` layers with the actor, `separate` ones, or `team`: separate ones that see the
            observations of the whole team while it is trained (MAPPO, arXiv:2103.01955).
        activation: `relu` or `tanh`.
        seed: Seed of the initial weights.
        greedy: Take the most probable action instead of sampling.
        transform: Observation transform; see `transforms.py`.
        normalize: Scale inputs by their running mean and standard deviation.
        distribution: Distribution of continuous actions, `gaussian` or `squashed`.
    """

    def __init__(
        self,
        spec: WorldSpec,
        channels: Sequence[int] = (16, 16),
        hidden: Sequence[int] = (64,),
        critic: CriticMode = "shared",
        activation: str = "relu",
        seed: int = 0,
        greedy: bool = False,
        transform: str = IDENTITY,
        normalize: bool = False,
        distribution: Distribution = "gaussian",
    ) -> None:
        _check_layers(critic, channels=channels, hidden=hidden)

        def make_module(shape: NetShape) -> nn.Module:
            return ConvNet(shape, channels, hidden, critic, activation)

        super().__init__(spec, make_module, seed, greedy, transform, normalize, distribution)


class GruPolicy(NeuralPolicy):
    """A recurrent actor-critic net: `kin://gru?state_size=64&channels=[16,16]`.

    Args:
        spec: Spec of the world to play.
        state_size: Size of the GRU's hidden state.
        hidden: Width of each dense layer before the GRU.
        channels: Output channels of each convolution over the window; no convolutions if empty.
        critic: Whether actor and critic share their layers: `shared` or `separate`.
        activation: `relu` or `tanh`.
        seed: Seed of the initial weights.
        greedy: Take the most probable action instead of sampling.
        transform: Observation transform; see `transforms.py`.
        normalize: Scale inputs by their running mean and standard deviation.
        distribution: Distribution of continuous actions, `gaussian` or `squashed`.
    """

    def __init__(
        self,
        spec: WorldSpec,
        state_size: int = 64,
        hidden: Sequence[int] = (64,),
        channels: Sequence[int] = (),
        critic: CriticMode = "shared",
        activation: str = "relu",
        seed: int = 0,
        greedy: bool = False,
        transform: str = IDENTITY,
        normalize: bool = False,
        distribution: Distribution = "gaussian",
    ) -> None:
        require(
            critic != "team", "A recurrent net has no team critic: use kin://mlp or kin://conv."
        )
        _check_layers(critic, channels=channels, hidden=hidden)

        def make_module(shape: NetShape) -> nn.Module:
            return GruNet(shape, state_size, hidden, channels, critic, activation)

        super().__init__(spec, make_module, seed, greedy, transform, normalize, distribution)


class CustomNetPolicy(NeuralPolicy):
    """A torch module of the user's own: `kin://net?module=mine.Net`; see `modules.py`.

    Args:
        spec: Spec of the world to play.
        module: Import path of a class or function, or a name from `register_module`.
        settings: Keyword arguments of the class.
        seed: Seed of the initial weights.
        greedy: Take the most probable action instead of sampling.
        transform: Observation transform; see `transforms.py`.
        normalize: Scale inputs by their running mean and standard deviation.
        distribution: Distribution of continuous actions, `gaussian` or `squashed`.

    Raises:
        SettingsError: The path names nothing that makes a `torch.nn.Module`.
        ContractError: The module returns other shapes than `modules.py` requires.
    """

    pads_inputs = False  # the module has as many inputs as the observation has numbers

    def __init__(
        self,
        spec: WorldSpec,
        module: str,
        settings: dict[str, Any] | None = None,
        seed: int = 0,
        greedy: bool = False,
        transform: str = IDENTITY,
        normalize: bool = False,
        distribution: Distribution = "gaussian",
    ) -> None:

        def make_module(shape: NetShape) -> nn.Module:
            net = make_own_module(module, shape, settings or {})
            _check_outputs(module, net, shape)
            return net

        super().__init__(spec, make_module, seed, greedy, transform, normalize, distribution)


def _check_layers(critic: str, **layer_sizes: Any) -> None:
    """Raise SettingsError unless the critic mode is known and all sizes are positive integers.

    Args:
        critic: The setting `critic`.
        layer_sizes: Settings that list the sizes of layers, by name.
    """
    message = f"The critic is 'shared', 'separate' or 'team', not '{critic}'."
    require(critic in get_args(CriticMode), message)
    for name, sizes in layer_sizes.items():
        is_list = isinstance(sizes, Sequence) and not isinstance(sizes, str)
        message = f"{name} is a list of layer sizes, each at least 1, such as [64,64], not {sizes}."
        require(is_list and all(type(size) is int and size >= 1 for size in sizes), message)


def _check_outputs(name: str, module: nn.Module, shape: NetShape) -> None:
    """Run a user's module on a batch of two rows of zeros and check the shapes it returns.

    Args:
        name: Import path of the module, for the error message.
        module: The user's module, already built.
        shape: Input and output sizes it was built for.

    Raises:
        ContractError: The module does not return what `modules.py` requires.
    """
    memory_size = int(getattr(module, "memory_size", 0))
    uses_team = bool(getattr(module, "uses_team", False))
    if memory_size and uses_team:
        where = locate_source(type(module))
        raise ContractError(f"{name} cannot have both memory_size and uses_team ({where}).")
    sizes = [shape.inputs] + [memory_size] * bool(memory_size)
    expected = {"logits": [2, shape.outputs], "value": [2]}
    if memory_size:
        expected["memory"] = [2, memory_size]
    with torch.no_grad():
        inputs = [torch.zeros(2, size) for size in sizes]
        inputs += [torch.zeros(2, dtype=torch.int64)] * uses_team
        outputs: Any = module.eval()(*inputs)
    got = f"one {type(outputs).__name__}"
    if isinstance(outputs, tuple | list) and all(isinstance(x, torch.Tensor) for x in outputs):
        shapes = [list(x.shape) for x in outputs]
        if shapes == list(expected.values()):
            return
        got = "shapes " + ", ".join(map(str, shapes))
    wanted = ", ".join(f"{key} {size}" for key, size in expected.items())
    where = locate_source(type(module).forward)
    raise ContractError(f"For two rows {name} must return ({wanted}), not {got} ({where}).")
