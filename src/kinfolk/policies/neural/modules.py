"""Actor-critic nets: a body that turns inputs into features, with an actor and a critic head.

A net of your own is any `torch.nn.Module` made as `Net(shape, **settings)` with `shape` a `NetShape`
(`inputs` are the numbers of the observation, `outputs` those of all action heads), whose `forward(x)` of `x [n, inputs]` returns
`(logits [n, outputs], value [n])`; a continuous action head has two outputs, its mean and the
logarithm of its standard deviation (`shape.log_std_columns`). Its settings are written
`kin://net?module=mine.Net&settings={"width":37}` or, in a file,
`policy_kwargs = { settings = { width = 37 } }`. If it has an attribute `memory_size` above 0, it is
called as `forward(x, memory)` with memory `[n, memory_size]`, and returns `(logits, value, memory)`.
If it has a true attribute `uses_team`, it is called as `forward(x, team=None)`: while it is trained,
rows with the same number in `team [n]` are the living agents of one team, all of which the value
may depend on; in play there is no team, and the logits must not depend on it (`TeamLayer`).
Torch is seeded before it is made, so that its initial weights are reproducible. It plays in eval mode
and learns in train mode. Its layers may have any size, but rows must not depend on each other:
evaluation refuses a net whose outputs for an agent change with the rest of its batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Literal

from kinfolk.core.errors import SettingsError, require
from kinfolk.core.imports import optional_import
from kinfolk.policies.neural.encoding import NetShape

with optional_import("A neural policy"):
    import torch
    from torch import Tensor, nn

CriticMode = Literal["shared", "separate", "team"]
_ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}
_GAIN = 2.0**0.5  # of orthogonal weights before a ReLU
_INITIAL_LOG_STD = 0.0  # of continuous actions, in units of half their range


def _init_weights(net: nn.Module) -> None:
    """Initialize weights orthogonally, with a layer's own `gain` if it has one, and biases with 0."""
    for layer in net.modules():
        gain = float(getattr(layer, "gain", _GAIN))
        for name, weight in layer.named_parameters(recurse=False):
            if weight.dim() > 1:
                nn.init.orthogonal_(weight, gain)
            elif "bias" in name:
                nn.init.zeros_(weight)


class _FeedforwardNet(nn.Module):
    """A body with an actor and a critic head, and a second body if the critic does not share it.

    Args:
        make_body: Makes a body.
        width: Number of features that a body returns.
        shape: Output sizes.
        critic: `shared` for one body, `separate` for a second one under the critic, `team` for a
            second one whose features are combined with those of the agent's team.
    """

    def __init__(
        self, make_body: Callable[[], nn.Module], width: int, shape: NetShape, critic: CriticMode
    ) -> None:
        super().__init__()
        self.body = make_body()
        self.critic_body = make_body() if critic != "shared" else None
        self.team_layer = TeamLayer(width) if critic == "team" else None
        self.uses_team = critic == "team"
        self.heads = _Heads(width, shape)
        _init_weights(self)

    def forward(self, x: Tensor, team: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return logits `[n, outputs]` and values `[n]`; `team [n]` numbers the teams of the rows."""
        features = self.body(x)
        critic_features = features if self.critic_body is None else self.critic_body(x)
        if self.team_layer is not None:
            critic_features = self.team_layer(critic_features, team)
        logits, value = self.heads(features, critic_features)
        return logits, value


class TeamLayer(nn.Module):
    """Combines the features of each agent with the mean over its team, and the team's size.

    A mean suits teams of any size, so that agents may be born and die, and the order of agents does
    not matter (deep sets, Zaheer et al. 2017, arXiv:1703.06114).

    Args:
        width: Number of features, in and out.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own, self.mean = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.size = nn.Parameter(torch.zeros(width))  # weights of the logarithm of the team's size

    def forward(self, features: Tensor, team: Tensor | None) -> Tensor:
        """Return features `[n, width]`; without `team`, every row is a team of its own."""
        if team is None:
            return torch.tanh(self.own(features) + self.mean(features))
        _, index, sizes = torch.unique(team, return_inverse=True, return_counts=True)
        sums = features.new_zeros(len(sizes), features.shape[1]).index_add(0, index, features)
        shared = self.mean(sums / sizes[:, None]) + sizes.log()[:, None] * self.size
        return torch.tanh(self.own(features) + shared[index])


class MlpNet(_FeedforwardNet):
    """A multilayer perceptron with an actor and a critic head.

    Args:
        shape: Input and output sizes.
        hidden: Width of each dense layer.
        critic: `shared`, `separate` or `team`; see the base class.
        activation: `relu` or `tanh`.
    """

    def __init__(
        self,
        shape: NetShape,
        hidden: Sequence[int] = (64, 64),
        critic: CriticMode = "shared",
        activation: str = "relu",
    ) -> None:
        make_body = partial(_make_mlp_layers, shape.inputs, hidden, activation)
        super().__init__(make_body, hidden[-1] if hidden else shape.inputs, shape, critic)


class ConvNet(_FeedforwardNet):
    """Convolutions over the window, then dense layers over their output and the other inputs.

    Args:
        shape: Input and output sizes; `planes` must be given.
        channels: Output channels of each 3x3 convolution.
        hidden: Width of each dense layer; at least one.
        critic: `shared`, `separate` or `team`; see the base class.
        activation: `relu` or `tanh`.
    """

    def __init__(
        self,
        shape: NetShape,
        channels: Sequence[int] = (16, 16),
        hidden: Sequence[int] = (64,),
        critic: CriticMode = "shared",
        activation: str = "relu",
    ) -> None:
        make_body = partial(_ConvBody, shape, channels, hidden, activation)
        super().__init__(make_body, hidden[-1] if hidden else 0, shape, critic)


class GruNet(nn.Module):
    """A body (dense, or convolutional if `channels` are given), a GRU cell, and the two heads.

    Args:
        shape: Input and output sizes.
        state_size: Size of the hidden state.
        hidden: Width of each dense layer of the body.
        channels: Output channels of each 3x3 convolution; a dense body if empty.
        critic: With `separate`, the critic gets a layer of its own over the body, and no gradient
            flows from it into the GRU.
        activation: `relu` or `tanh`.
    """

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
            self.body = _make_mlp_layers(shape.inputs, hidden, activation)
        width = hidden[-1] if hidden else shape.inputs
        self.memory_size = state_size
        self.cell = nn.GRUCell(width, state_size)
        self.critic_body = nn.Linear(width, state_size) if critic == "separate" else None
        self.heads = _Heads(state_size, shape)
        _init_weights(self)

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, values and the next hidden state."""
        features = self.body(x)
        memory = self.cell(features, memory)
        critic_features = memory
        if self.critic_body is not None:
            critic_features = torch.relu(self.critic_body(features)) + memory.detach()
        logits, value = self.heads(memory, critic_features)
        return logits, value, memory


class _Heads(nn.Module):
    """Actor and critic heads; the actor's small weights make the initial policy nearly uniform.

    The log std of a continuous head is one weight, the same for all inputs. The critic has two
    outputs, of which the first is the value, and so has an actor with a single one: with a single
    output, the matrix library takes the layer for a matrix-vector product, whose rows depend on the
    batch.

    Args:
        width: Number of features.
        shape: Output sizes.
    """

    def __init__(self, width: int, shape: NetShape) -> None:
        super().__init__()
        std_columns = list(shape.log_std_columns)
        columns = [c for c in range(shape.outputs) if c not in std_columns]
        self._n_columns = len(columns)
        n_outputs = max(len(columns), 2) if std_columns else shape.outputs
        self.actor, self.critic = nn.Linear(width, n_outputs), nn.Linear(width, 2)
        self.actor.gain, self.critic.gain = 0.01, 1.0  # type: ignore[assignment]
        self.log_std: nn.Parameter | None = None
        if std_columns:
            self.log_std = nn.Parameter(torch.full((len(std_columns),), _INITIAL_LOG_STD))
            order = columns + std_columns
            self._order = [order.index(column) for column in range(shape.outputs)]

    def forward(self, actor_features: Tensor, critic_features: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits `[n, outputs]` and values `[n]`."""
        logits = self.actor(actor_features)
        if self.log_std is not None:
            stds = self.log_std.expand(logits.shape[0], -1)
            logits = torch.cat([logits[:, : self._n_columns], stds], dim=1)[:, self._order]
        return logits, self.critic(critic_features)[:, 0]


class _ConvBody(nn.Module):
    """Convolutions over the window (stride 1, then 2) and dense layers behind them.

    Args:
        shape: Input sizes, with the planes of the window.
        channels: Output channels of each convolution.
        hidden: Width of each dense layer.
        activation: `relu` or `tanh`.

    Raises:
        SettingsError: There is no window, no dense layer, or too many convolutions for the window.
    """

    def __init__(
        self, shape: NetShape, channels: Sequence[int], hidden: Sequence[int], activation: str
    ) -> None:
        super().__init__()
        if shape.planes is None:
            raise SettingsError(
                "A convolution needs a window with the same planes in all groups of the world; "
                "this world has none. Use kin://mlp."
            )
        require(bool(hidden), "A convolution needs a dense layer behind it: give hidden = [64].")
        self._planes = shape.planes
        depth, height, width = shape.planes
        layers: list[nn.Module] = []
        for layer, n_channels in enumerate(channels):
            stride = 2 if layer else 1
            layers += [nn.Conv2d(depth, n_channels, 3, stride), _ACTIVATIONS[activation]()]
            height, width, depth = (height - 3) // stride + 1, (width - 3) // stride + 1, n_channels
        message = f"{len(channels)} filters of 3x3 do not fit a window of {shape.planes[1:]}."
        require(min(height, width) >= 1, message)
        self.filters = nn.Sequential(*layers)
        self._window_size = prod(shape.planes)
        n_features = depth * height * width + shape.inputs - self._window_size
        self.dense = _make_mlp_layers(n_features, hidden, activation)

    def forward(self, x: Tensor) -> Tensor:
        """Return features `[n, width of the last dense layer]` for inputs `[n, inputs]`."""
        window, others = x[:, : self._window_size], x[:, self._window_size :]
        features = self.filters(window.reshape(x.shape[0], *self._planes)).flatten(1)
        out: Tensor = self.dense(torch.cat([features, others], dim=1))
        return out


def _make_mlp_layers(inputs: int, hidden: Sequence[int], activation: str) -> nn.Sequential:
    """Return dense layers, each followed by the activation.

    Args:
        inputs: Number of input features.
        hidden: Width of each layer.
        activation: `relu` or `tanh`.

    Raises:
        SettingsError: The activation is unknown.
    """
    message = f"The activation must be one of {', '.join(_ACTIVATIONS)}, not {activation}."
    require(activation in _ACTIVATIONS, message)
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), _ACTIVATIONS[activation]()]
        inputs = width
    return nn.Sequential(*layers)
