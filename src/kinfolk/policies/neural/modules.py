"""The nets: a body that turns inputs into features, an actor and a critic on top.

A net of your own is any `torch.nn.Module` made as `Net(shape, **settings)` with `shape` a
`NetShape` (`inputs` and `outputs` are numbers of columns), whose `forward(x)` of `x [n, inputs]` gives
`(scores [n, outputs], value [n])`. Its settings are written `kin://net?module=mine.Net&settings={"width":37}`
or, in a file, `policy_kwargs = { settings = { width = 37 } }`. If it has an attribute
`memory_size` above 0, it is called as `forward(x, memory)` with memory `[n, memory_size]`, and
gives `(scores, value, memory)`. It draws its first weights as torch does, from a seed set before.
It plays in eval mode and learns in train mode. Its layers may have any size, but rows must not depend
on each other: evaluation refuses a net whose results for an agent change with the rest of its batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kinfolk.core.errors import SettingsError
from kinfolk.core.optional_dependencies import optional_import
from kinfolk.policies.neural.encoding.feature_encoder import NetShape

with optional_import("A neural policy"):
    import torch
    from torch import nn

CriticMode = Literal["shared", "separate"]
_ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}
_GAIN = 2.0**0.5


def _init_weights(net: nn.Module) -> None:
    """Orthogonal weights, zero biases; a layer with `gain` says how large its weights are."""
    for layer in net.modules():
        gain = float(getattr(layer, "gain", _GAIN))
        for name, weight in layer.named_parameters(recurse=False):
            if weight.dim() > 1:
                nn.init.orthogonal_(weight, gain)
            elif "bias" in name:
                nn.init.zeros_(weight)


class MlpNet(nn.Module):
    """Dense layers."""

    def __init__(
        self,
        shape: NetShape,
        hidden: Sequence[int] = (64, 64),
        critic: CriticMode = "shared",
        activation: str = "relu",
    ) -> None:
        super().__init__()
        self.body = _mlp_layers(shape.inputs, hidden, activation)
        self.critic_body = (
            _mlp_layers(shape.inputs, hidden, activation) if critic == "separate" else None
        )
        self.heads = _Heads(_output_width(hidden, shape.inputs), shape.outputs)
        _init_weights(self)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores and values."""
        seen = self.body(x)
        valued = seen if self.critic_body is None else self.critic_body(x)
        scores, value = self.heads(seen, valued)
        return scores, value


class ConvNet(nn.Module):
    """Filters over the window, its channels as channels; then dense layers with the other facts."""

    def __init__(
        self,
        shape: NetShape,
        channels: Sequence[int] = (16, 16),
        hidden: Sequence[int] = (64,),
        critic: CriticMode = "shared",
        activation: str = "relu",
    ) -> None:
        super().__init__()
        self.body = _ConvBody(shape, channels, hidden, activation)
        separate = critic == "separate"
        self.critic_body = _ConvBody(shape, channels, hidden, activation) if separate else None
        self.heads = _Heads(_output_width(hidden, 0), shape.outputs)
        _init_weights(self)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores and values."""
        seen = self.body(x)
        valued = seen if self.critic_body is None else self.critic_body(x)
        scores, value = self.heads(seen, valued)
        return scores, value


class GruNet(nn.Module):
    """A body (dense, or filters if `channels` are given), a GRU cell, and the two heads."""

    def __init__(
        self,
        shape: NetShape,
        state_size: int = 64,
        hidden: Sequence[int] = (64,),
        channels: Sequence[int] = (),
        critic: CriticMode = "shared",
        activation: str = "relu",
    ) -> None:
        super().__init__()
        if channels:
            self.body: nn.Module = _ConvBody(shape, channels, hidden, activation)
        else:
            self.body = _mlp_layers(shape.inputs, hidden, activation)
        width = _output_width(hidden, shape.inputs)
        self.memory_size = state_size
        self.cell = nn.GRUCell(width, state_size)
        self.critic_body = nn.Linear(width, state_size) if critic == "separate" else None
        self.heads = _Heads(state_size, shape.outputs)
        _init_weights(self)

    def forward(
        self, x: torch.Tensor, memory: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Scores, values and what is remembered."""
        seen = self.body(x)
        memory = self.cell(seen, memory)
        valued = (
            memory
            if self.critic_body is None
            else torch.relu(self.critic_body(seen)) + memory.detach()
        )
        scores, value = self.heads(memory, valued)
        return scores, value, memory


class _Heads(nn.Module):
    """Small weights for the actor, so that play begins even-handed.

    The critic has two outputs, of which the first is the value: a layer with a single output is
    a product of matrix and vector to the matrix library, and its rows feel their batch.
    """

    def __init__(self, width: int, outputs: int) -> None:
        super().__init__()
        self.actor, self.critic = nn.Linear(width, outputs), nn.Linear(width, 2)
        self.actor.gain, self.critic.gain = 0.01, 1.0  # type: ignore[assignment]

    def forward(
        self, actor_features: torch.Tensor, critic_features: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self.actor(actor_features), self.critic(critic_features)[:, 0]


class _ConvBody(nn.Module):
    def __init__(
        self, shape: NetShape, channels: Sequence[int], hidden: Sequence[int], activation: str
    ) -> None:
        super().__init__()
        if shape.planes is None:
            raise SettingsError(
                "A convolution needs a window with the same planes in all groups of the world; "
                "this world shows none. Use kin://mlp."
            )
        if not hidden:
            raise SettingsError("A convolution needs a dense layer behind it: give hidden = [64].")
        self._planes = shape.planes
        depth, height, width = shape.planes
        layers: list[nn.Module] = []
        for number, count in enumerate(channels):
            stride = 2 if number else 1
            layers += [nn.Conv2d(depth, count, 3, stride), _ACTIVATIONS[activation]()]
            height, width, depth = (height - 3) // stride + 1, (width - 3) // stride + 1, count
        if min(height, width) < 1:
            raise SettingsError(
                f"{len(channels)} filters of 3x3 do not fit a window of {shape.planes[1:]}."
            )
        self.filters = nn.Sequential(*layers)
        window = shape.planes[0] * shape.planes[1] * shape.planes[2]
        flat = depth * height * width + shape.inputs - window
        self._window = window
        self.dense = _mlp_layers(flat, hidden, activation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = self.filters(x[:, : self._window].reshape(len(x), *self._planes))
        out: torch.Tensor = self.dense(torch.cat([seen.flatten(1), x[:, self._window :]], dim=1))
        return out


def _mlp_layers(inputs: int, hidden: Sequence[int], activation: str) -> nn.Sequential:
    if activation not in _ACTIVATIONS:
        raise SettingsError(
            f"The activation is one of {', '.join(_ACTIVATIONS)}, not {activation}."
        )
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), _ACTIVATIONS[activation]()]
        inputs = width
    return nn.Sequential(*layers)


def _output_width(hidden: Sequence[int], default: int) -> int:
    return hidden[-1] if hidden else default
