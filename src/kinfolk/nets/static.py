"""Nets of fixed topology: a population is one matrix of parameters, `[nets, parameters]`.

Initial weights are N(0, 1 / fan_in), hidden layers use tanh, outputs are linear. In recurrent nets
each hidden layer also has its previous output as input (Elman 1990).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Ints, is_tensor
from kinfolk.core.errors import require
from kinfolk.core.random import fold_in
from kinfolk.nets import forward
from kinfolk.nets.numerics import draw_seed, fill_standard_normal

_START, _MUTATION, _SIGMA = 1, 2, 3  # branches of random keys
SIGMA_RATE = 0.01  # relative standard deviation of the mutation of self-adaptive sigmas


class StaticNets:
    """Base of feedforward and recurrent nets: parameters, mutation, selection.

    Args:
        num_nets: Number of members.
        inputs: Number of inputs.
        outputs: Number of outputs.
        hidden: Sizes of the hidden layers.
        key: Random key of the initial weights; None draws one from the operating system. It can be
            read as `seed`, which is None for nets whose weights were not drawn.
        sigma: Standard deviation of mutations.
        self_adaptive: Whether each parameter has its own sigma, which mutates and is inherited.
        zero: Whether all parameters begin at zero instead.
    """

    kind: ClassVar[str] = "static"
    recurrent: ClassVar[bool] = False

    def __init__(
        self,
        num_nets: int,
        inputs: int,
        outputs: int,
        hidden: Sequence[int] = (),
        *,
        key: int | None = None,
        sigma: float = 0.01,
        self_adaptive: bool = False,
        zero: bool = False,
    ) -> None:
        forward.check_net_sizes(num_nets, inputs, outputs)
        message = f"Sizes of hidden layers must be at least 1, not {hidden}."
        require(all(size >= 1 for size in hidden), message)
        require(sigma >= 0, f"sigma must be at least 0, not {sigma}.")
        self.inputs, self.outputs, self.sigma, self.hidden = inputs, outputs, sigma, tuple(hidden)
        self.layers = forward.build_layers(inputs, self.hidden, outputs, self.recurrent)
        self.flat: AnyArray = np.zeros((num_nets, self.layers[-1].stop), dtype=np.float32)
        self._views: Any = None  # cache of torch views: the array they belong to, and the views
        self.sigmas: AnyArray | None = np.full_like(self.flat, sigma) if self_adaptive else None
        self.seed: int | None = None
        if not zero:
            self.seed = draw_seed() if key is None else key
            self._draw_weights(self.seed)

    def __repr__(self) -> str:
        sizes = f"num_nets={self.num_nets}, inputs={self.inputs}, outputs={self.outputs}"
        return f"{type(self).__name__}({sizes}, hidden={self.hidden}, sigma={self.sigma:g})"

    def _draw_weights(self, key: int) -> None:
        """Draw the initial weights; biases stay zero."""
        drawn = self._draw_normal(fold_in(key, _START), np.float64)
        for layer in self.layers:
            weights = slice(layer.start, layer.recurrent_start)
            recurrent_weights = slice(layer.recurrent_start, layer.bias_start)
            self.flat[:, weights] = drawn[:, weights] / np.sqrt(layer.in_features)
            recurrent_scale = np.sqrt(layer.out_features)
            self.flat[:, recurrent_weights] = drawn[:, recurrent_weights] / recurrent_scale

    def _draw_normal(self, key: int, dtype: Any = np.float32) -> AnyArray:
        """Draw from N(0, 1) for every parameter; member `i` draws from `fold_in(key, i)`."""
        keys: Ints = fold_in(key, np.arange(self.num_nets, dtype=np.int64))
        drawn = np.empty(self.flat.shape, dtype=dtype)
        fill_standard_normal(keys, 0, drawn)
        return drawn

    @property
    def num_nets(self) -> int:
        """Number of members of the population."""
        return len(self.flat)

    def take(self, indices: Ints) -> None:
        """Replace member `i` by a copy of the member `indices[i]`, sigmas included."""
        self.flat = self.flat[indices]
        if self.sigmas is not None:
            self.sigmas = self.sigmas[indices]

    def mutate(self, key: int, n_elites: int = 0) -> None:
        """Add `sigma * N(0, 1)` to every parameter of all but the first `n_elites` members.

        With self-adaptive nets the sigmas are mutated first, and the new sigmas scale the noise.
        """
        scale: Any = self.sigma
        if self.sigmas is not None:
            sigma_noise = self._draw_normal(fold_in(key, _SIGMA))[n_elites:]
            self.sigmas[n_elites:] *= np.float32(1.0) + np.float32(SIGMA_RATE) * sigma_noise
            scale = self.sigmas[n_elites:]
        noise = self._draw_normal(fold_in(key, _MUTATION))[n_elites:]
        self.flat[n_elites:] += (scale * noise).astype(np.float32)

    def get_params(self) -> AnyArray:
        """Return a copy of all parameters, `[nets, parameters]`."""
        return self.flat.copy()

    def set_params(self, params: AnyArray) -> None:
        """Replace all parameters, `[nets, parameters]`; the number of members may change.

        Raises:
            SettingsError: The shape is wrong, or nets with self-adaptive sigmas would change in number.
        """
        count = self.flat.shape[1]
        message = f"These nets need parameters of shape [nets, {count}], not {params.shape}."
        require(params.ndim == 2 and params.shape[1] == count, message)
        require(
            self.sigmas is None or len(params) == len(self.sigmas),
            f"Nets with self-adaptive sigmas keep their number of members, {self.num_nets}; "
            f"it cannot become {len(params)}.",
        )
        self.flat = np.ascontiguousarray(params, dtype=np.float32).copy()

    def initial_memory(self, batch: int) -> Any:
        """Return hidden states of zero, `[nets, batch, size]` for every hidden layer."""
        return [np.zeros((self.num_nets, batch, size), dtype=np.float32) for size in self.hidden]

    def _forward(self, x: Any, memory: Sequence[Any] | None) -> tuple[Any, list[Any]]:
        """Return outputs and new hidden states: tensors if `x` is one, arrays otherwise.

        Arrays go through the kernels of play, so that a member computes the same bits here and in
        a world, in every batch. Tensors go through torch, whose last bits depend on the batch.

        Raises:
            SettingsError: `x` is not `[nets, batch, inputs]`.
        """
        value = x if is_tensor(x) else np.asarray(x, dtype=np.float32)
        forward.check_input_shape(value.shape, self.num_nets, self.inputs)
        nets, batch = value.shape[:2]
        before = self.initial_memory(batch) if memory is None else memory
        if is_tensor(x):
            if self._views is None or self._views[0] is not self.flat:
                self._views = (self.flat, forward.view_layers(self.flat, self.layers))
            return forward.forward_batched(self.layers, self._views[1], x, before)
        states = [np.asarray(state, dtype=np.float32).reshape(nets * batch, -1) for state in before]
        member = np.repeat(np.arange(nets, dtype=np.int64), batch)
        rows = value.reshape(nets * batch, -1)
        out, after = forward.forward_rows(self.flat, self.layers, member, rows, states)
        return out.reshape(nets, batch, -1), [state.reshape(nets, batch, -1) for state in after]

    def merge_copies(self, memories: Sequence[Any]) -> list[Any]:
        """Return the memories unchanged: static nets have no running statistics."""
        return list(memories)

    def adapt_memory(self, memory: Any) -> Any:
        """Return the memory unchanged: mutations keep its shape."""
        return memory

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return everything that members carry, with the member as first axis."""
        arrays = {"flat": self.flat}
        return arrays if self.sigmas is None else arrays | {"sigmas": self.sigmas}

    def load_arrays(self, arrays: Arrays) -> None:
        """Replace the population by what `to_arrays` returned."""
        self.set_params(arrays["flat"])
        self.sigmas = arrays["sigmas"].copy() if "sigmas" in arrays else None

    def config(self) -> dict[str, Any]:
        """Return JSON values that, with the arrays, describe these nets completely."""
        shape = {"inputs": self.inputs, "outputs": self.outputs, "hidden": list(self.hidden)}
        return {"kind": self.kind, **shape, "sigma": self.sigma}

    @classmethod
    def from_arrays(cls, config: Mapping[str, Any], arrays: Arrays) -> StaticNets:
        """Return the nets that `config()` and `to_arrays()` describe.

        Raises:
            SettingsError: The arrays do not have the sizes that `config` names.
        """
        shape = {name: config[name] for name in ("inputs", "outputs", "hidden", "sigma")}
        sizes = (config["inputs"], config["hidden"], config["outputs"])
        needed = forward.build_layers(*sizes, cls.recurrent)[-1].stop  # before memory is allocated
        actual = arrays["flat"].shape[1:]
        require(actual == (needed,), f"Nets of this shape have {needed} parameters, not {actual}.")
        nets = cls(len(arrays["flat"]), **shape, zero=True)
        nets.load_arrays(arrays)
        return nets


class FeedforwardStaticNets(StaticNets):
    """Feedforward nets of fixed topology, without memory."""

    kind = "feedforward"

    def initial_memory(self, batch: int) -> None:
        """Return None, as there is no memory."""

    def __call__(self, x: Any, memory: None = None) -> tuple[Any, None]:
        """Return outputs `[nets, batch, outputs]` for inputs `[nets, batch, inputs]`, and None."""
        return self._forward(x, memory or [])[0], None

    def reset(self, memory: None, done: Bools | None = None) -> None:
        """Return None, as there is no memory."""


class RecurrentStaticNets(StaticNets):
    """Recurrent nets of fixed topology; memory is a list of hidden states, one per hidden layer."""

    kind = "recurrent"
    recurrent = True

    def __call__(self, x: Any, memory: Sequence[Any] | None = None) -> tuple[Any, list[Any]]:
        """Return outputs `[nets, batch, outputs]` for inputs `[nets, batch, inputs]`, and new memory.

        Both are tensors if `x` is one; `memory` may be of arrays or of tensors.
        """
        return self._forward(x, memory)

    def reset(self, memory: list[Any], done: Bools | None = None) -> list[Any]:
        """Return memory with the rows of `done`, `[nets, batch]`, set to zero; all rows if None."""
        if done is None:
            return [x.new_zeros(x.shape) if is_tensor(x) else np.zeros_like(x) for x in memory]
        keep = ~np.asarray(done)[..., None]
        return [state * (state.new_tensor(keep) if is_tensor(state) else keep) for state in memory]
