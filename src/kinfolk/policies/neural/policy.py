"""A net that plays: reads rows, scores choices, draws from keys. Training changes its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Ints
from kinfolk.core.errors import ContractError, SettingsError, require
from kinfolk.core.optional_dependencies import optional_import
from kinfolk.core.random import fold_in, seed_key
from kinfolk.core.registry import import_object
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import (
    AgentBatch,
    Memory,
    MemoryField,
    MemoryLayout,
    prefix_layout,
    select_memory,
)
from kinfolk.policies.neural.batch_invariance import find_batching, require_invariant, run_batched
from kinfolk.policies.neural.encoding.feature_encoder import FeatureEncoder, NetShape
from kinfolk.policies.neural.encoding.unpack import Float32Array
from kinfolk.policies.neural.modules import ConvNet, CriticMode, GruNet, MlpNet
from kinfolk.policies.neural.sampling import sample_actions
from kinfolk.policies.neural.transforms import IDENTITY, make_transform

with optional_import("A neural policy"):
    import torch
    from torch import nn

_TRANSFORM = "transform"  # under this name lies what a sight remembers
_INIT_BRANCH = 3  # the branch of a seed's key from which weights are drawn


class PolicyOutput(NamedTuple):
    """What a net said of the rows it was asked last."""

    logits: Float32Array  # [n, outputs]
    value: Float32Array  # [n]
    log_prob: Float32Array  # [n] of the actions that were chosen


class NeuralPolicy:
    """Base of policies by net; a subclass names the net and its settings.

    Args:
        spec: The world's face.
        net: Makes the net from its shape.
        seed: What its first weights are drawn from.
        greedy: Take the best-scored choice instead of drawing.
        sight: What it is shown of what is observed; see `sight.py`.
    """

    def __init__(
        self,
        spec: WorldSpec,
        make_module: Any,
        seed: int = 0,
        greedy: bool = False,
        transform: str = IDENTITY,
    ) -> None:
        torch.set_num_threads(1)
        self._transform = make_transform(transform, spec)
        self.input_spec = spec if self._transform is None else self._transform.spec
        self.spec, self.encoder, self.greedy = spec, FeatureEncoder(self.input_spec), greedy
        most = spec.n_choices.max(axis=0)
        self.head_offsets: Ints = np.concatenate([[0], np.cumsum(most)[:-1]]).astype(np.int64)
        self.n_choices: Ints = np.ascontiguousarray(spec.n_choices)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(fold_in(seed_key(seed), _INIT_BRANCH)))
            self.module: nn.Module = make_module(self.encoder.shape)
        self.module.eval()  # dropout and batch statistics are for learning
        self.memory_size = int(getattr(self.module, "memory_size", 0))
        shapes = [(self.encoder.shape.inputs,)] + [(self.memory_size,)] * bool(self.memory_size)
        self._batching = find_batching(self.forward, *shapes, module=self.module)

    @property
    def memory_layout(self) -> MemoryLayout:
        """The state of recurrent layers, zero when a life begins; and what the sight remembers."""
        own = {"state": MemoryField((self.memory_size,), "float32")} if self.memory_size else {}
        return (
            own
            if self._transform is None
            else own | prefix_layout(_TRANSFORM, self._transform.memory_layout)
        )

    def require_batch_invariant(self) -> None:
        """Refuse to play if the results of a row depend on the rest of its batch.

        Raises:
            ContractError: They do; the message says how.
        """
        require_invariant(type(self.module).__name__, self._batching)

    @property
    def needs_sequence(self) -> bool:
        """Whether it has to be asked in rows that another plays, to learn from them later."""
        return self.memory_size > 0 or self._transform is not None

    @torch.no_grad()
    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The net, without gradients."""
        found: tuple[torch.Tensor, ...] = self.module(*inputs)
        return found

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """State is zero already; a sight may begin with more."""
        if self._transform is not None:
            self._transform.reset_agents(batch, select_memory(memory, _TRANSFORM), keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """One forward for all rows; what is remembered goes back in place."""
        self.last_inputs = observations
        if self._transform is not None:
            self.last_inputs = self._transform.transform(
                observations, batch, select_memory(memory, _TRANSFORM), keys
            )
        state = memory["state"][batch.memory_index] if self.memory_size else None
        scores, value, state = self.evaluate(self.last_inputs, batch.group, state)
        if state is not None:
            memory["state"][batch.memory_index] = state
        self._actions = np.empty((len(keys), len(self.head_offsets)), dtype=np.int64)
        log_chance = np.empty(len(keys), dtype=np.float32)
        sample_actions(
            scores, self.head_offsets, self.n_choices, batch.group, keys, self.greedy,
            self._actions, log_chance,
        )  # fmt: skip
        self.last_output = PolicyOutput(scores, value, log_chance)

    def observe_next(self, observations: Bytes, batch: AgentBatch, memory: Memory) -> Bytes:
        """What would be seen of these observations; nothing is remembered."""
        if self._transform is None:
            return observations
        places = np.arange(len(batch.memory_index), dtype=np.int64)
        copied = {
            name: array[batch.memory_index]
            for name, array in select_memory(memory, _TRANSFORM).items()
        }
        return self._transform.transform(
            observations, batch._replace(memory_index=places), copied, np.zeros_like(places)
        )

    def evaluate(
        self, observations: Bytes, group: Ints, state: Float32Array | None
    ) -> tuple[Float32Array, Float32Array, Float32Array | None]:
        """Scores, values and the next state of rows, without choosing."""
        inputs = [self.encoder.encode(observations, group)]
        if state is not None:
            inputs.append(torch.from_numpy(state))
        scores, value, *after = run_batched(self._batching, self.forward, *inputs)
        found = np.ascontiguousarray(scores.numpy()), np.ascontiguousarray(value.numpy())
        return *found, after[0].numpy() if after else None

    def act_wait(self) -> Ints:
        """The choices."""
        return self._actions

    def close(self) -> None:
        """Nothing is held."""

    def arrays(self) -> dict[str, AnyArray]:
        """The weights, copied."""
        return {name: tensor.numpy().copy() for name, tensor in self.module.state_dict().items()}

    def load(self, arrays: Arrays) -> None:
        """Take weights.

        Raises:
            SettingsError: One is missing, too many, or of another shape.
        """
        own = self.module.state_dict()
        name = type(self).__name__
        for key, tensor in own.items():
            require(key in arrays, f"The weights for {name} lack '{key}'.")
            given = tuple(arrays[key].shape)
            require(  # files of arrays know no arrays without axes
                given == tuple(tensor.shape) or (given == (1,) and not tensor.shape),
                f"The weights '{key}' have shape {given}; {name} in world {self.spec.world} "
                f"needs {tuple(tensor.shape)}.",
            )
        extra = sorted(set(arrays) - set(own))
        require(not extra, f"{name} has no weights '{extra[0] if extra else ''}'.")
        for key, tensor in own.items():
            tensor.copy_(torch.from_numpy(np.ascontiguousarray(arrays[key])).reshape(tensor.shape))

    _actions: Ints
    last_inputs: Bytes  # what it was shown last
    last_output: PolicyOutput


class MlpPolicy(NeuralPolicy):
    """Dense layers: `kin://mlp?hidden=[64,64]&critic=separate`."""

    def __init__(
        self,
        spec: WorldSpec,
        hidden: Sequence[int] = (64, 64),
        critic: CriticMode = "shared",
        activation: str = "relu",
        seed: int = 0,
        greedy: bool = False,
        transform: str = IDENTITY,
    ) -> None:
        _check_critic(critic)
        _check_sizes("hidden", hidden)

        def net(shape: NetShape) -> nn.Module:
            return MlpNet(shape, hidden, critic, activation)

        super().__init__(spec, net, seed, greedy, transform)


class CnnPolicy(NeuralPolicy):
    """Small filters over the window: `kin://conv?channels=[16,16]&hidden=[64]`."""

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
    ) -> None:
        _check_critic(critic)
        _check_sizes("channels", channels)
        _check_sizes("hidden", hidden)

        def net(shape: NetShape) -> nn.Module:
            return ConvNet(shape, channels, hidden, critic, activation)

        super().__init__(spec, net, seed, greedy, transform)


class GruPolicy(NeuralPolicy):
    """Remembers: `kin://gru?state_size=64&channels=[16,16]`; without channels its body is dense."""

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
    ) -> None:
        _check_critic(critic)
        _check_sizes("channels", channels)
        _check_sizes("hidden", hidden)

        def net(shape: NetShape) -> nn.Module:
            return GruNet(shape, state_size, hidden, channels, critic, activation)

        super().__init__(spec, net, seed, greedy, transform)


class CustomNetPolicy(NeuralPolicy):
    """A net of your own, by class path: `kin://net?module=mine.Net`; see `modules.py`."""

    def __init__(
        self,
        spec: WorldSpec,
        module: str,
        settings: dict[str, Any] | None = None,
        seed: int = 0,
        greedy: bool = False,
        transform: str = IDENTITY,
    ) -> None:
        kind = import_object(module)
        if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
            raise SettingsError(f"{module} is not a torch.nn.Module.")

        def net(shape: NetShape) -> nn.Module:
            made: nn.Module = kind(shape, **(settings or {}))
            _check_outputs(module, made, shape)
            return made

        super().__init__(spec, net, seed, greedy, transform)


def _check_critic(critic: str) -> None:
    require(
        critic in ("shared", "separate"), f"The critic is 'shared' or 'separate', not '{critic}'."
    )


def _check_sizes(name: str, sizes: object) -> None:
    require(
        isinstance(sizes, Sequence)
        and not isinstance(sizes, str)
        and all(type(size) is int and size >= 1 for size in sizes),
        f"{name} is a list of sizes of layers, each at least 1, such as [64,64], not {sizes}.",
    )


def _check_outputs(name: str, module: nn.Module, shape: NetShape) -> None:
    """Try a net of somebody's own on two rows.

    Raises:
        ContractError: It does not return what `modules.py` asks for.
    """
    memory_size = int(getattr(module, "memory_size", 0))
    sizes = [shape.inputs] + [memory_size] * bool(memory_size)
    expected = {"scores": [2, shape.outputs], "value": [2]}
    if memory_size:
        expected["memory"] = [2, memory_size]
    with torch.no_grad():
        found: Any = module.eval()(*(torch.zeros(2, size) for size in sizes))
    if isinstance(found, tuple | list) and all(isinstance(one, torch.Tensor) for one in found):
        shapes = [list(one.shape) for one in found]
        if shapes == list(expected.values()):
            return
        got = "shapes " + ", ".join(map(str, shapes))
    else:
        got = f"one {type(found).__name__}"
    wanted = ", ".join(f"{key} {size}" for key, size in expected.items())
    raise ContractError(f"For two rows {name} must return ({wanted}), not {got}.")
