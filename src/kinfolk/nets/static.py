"""Nets of fixed topology: a population is one matrix of parameters, `[nets, parameters]`.

Initial weights are N(0, 1 / fan_in), hidden layers use tanh, outputs are linear. In recurrent nets
each hidden layer also has its previous output as input (Elman 1990).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Ints, is_tensor
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.random import fold_in
from kinfolk.nets.forward_rows import forward_rows
from kinfolk.nets.gaussian import draw_seed, fill_standard_normal
from kinfolk.nets.layers import LayerLayout, build_layers, count_parameters

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
        for name, size in (("num_nets", num_nets), ("inputs", inputs), ("outputs", outputs)):
            require(size >= 1, f"Nets need {name} of at least 1, not {size}.")
        require(
            all(size >= 1 for size in hidden),
            f"Sizes of hidden layers must be at least 1, not {hidden}.",
        )
        require(sigma >= 0, f"sigma must be at least 0, not {sigma}.")
        self.inputs, self.outputs, self.hidden = inputs, outputs, tuple(hidden)
        self.sigma = sigma
        self.layers: list[LayerLayout] = build_layers(inputs, self.hidden, outputs, self.recurrent)
        self.flat: AnyArray = np.zeros((num_nets, count_parameters(self.layers)), dtype=np.float32)
        self.views: Any = None  # torch views of `flat`, cached by `forward_batched`
        self.sigmas: AnyArray | None = None
        if self_adaptive:
            self.sigmas = np.full_like(self.flat, sigma)
        self.seed: int | None = None
        if not zero:
            self.seed = draw_seed() if key is None else key
            self._draw_weights(self.seed)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(num_nets={self.num_nets}, inputs={self.inputs}, "
            f"outputs={self.outputs}, hidden={self.hidden}, sigma={self.sigma:g})"
        )

    def _draw_weights(self, key: int) -> None:
        """Draw the initial weights; biases stay zero."""
        keys = _member_keys(fold_in(key, _START), len(self.flat))
        drawn = np.empty(self.flat.shape, dtype=np.float64)
        fill_standard_normal(keys, 0, drawn)
        for layer in self.layers:
            for block, fan_in in layer.weight_blocks():
                self.flat[:, block] = drawn[:, block] / np.sqrt(fan_in)

    @property
    def num_nets(self) -> int:
        """Return the number of members."""
        return len(self.flat)

    def take(self, indices: Ints) -> None:
        """Replace member `i` by a copy of the member `indices[i]`, sigmas included."""
        self.flat = self.flat[indices]
        if self.sigmas is not None:
            self.sigmas = self.sigmas[indices]

    def mutate(self, key: int, n_elites: int = 0) -> None:
        """Add sigma * N(0, 1) to every parameter of all but the first `n_elites` members."""
        changed = slice(n_elites, None)
        noise = np.empty((self.num_nets, self.flat.shape[1]), dtype=np.float32)
        if self.sigmas is None:
            scale: Any = self.sigma
        else:
            fill_standard_normal(_member_keys(fold_in(key, _SIGMA), self.num_nets), 0, noise)
            self.sigmas[changed] *= np.float32(1.0) + np.float32(SIGMA_RATE) * noise[changed]
            scale = self.sigmas[changed]
        fill_standard_normal(_member_keys(fold_in(key, _MUTATION), self.num_nets), 0, noise)
        self.flat[changed] += (scale * noise[changed]).astype(np.float32)

    def get_params(self) -> AnyArray:
        """Return a copy of all parameters, `[nets, parameters]`."""
        return self.flat.copy()

    def set_params(self, params: AnyArray) -> None:
        """Replace all parameters, `[nets, parameters]`; the number of members may change.

        Raises:
            SettingsError: The shape is wrong, or nets with self-adaptive sigmas would change in number.
        """
        if params.ndim != 2 or params.shape[1] != self.flat.shape[1]:
            raise SettingsError(
                f"These nets need parameters of shape [nets, {self.flat.shape[1]}], "
                f"not {params.shape}."
            )
        if self.sigmas is not None and len(params) != len(self.sigmas):
            raise SettingsError(
                f"Nets with self-adaptive sigmas keep their number of members, {len(self.sigmas)}; "
                f"it cannot become {len(params)}."
            )
        self.flat = np.ascontiguousarray(params, dtype=np.float32).copy()

    def _zero_states(self, batch: int) -> list[Any]:
        """Return hidden states of zero, `[nets, batch, size]` for every recurrent layer."""
        sizes = [layer.out_features for layer in self.layers if layer.recurrent]
        return [np.zeros((self.num_nets, batch, size), dtype=np.float32) for size in sizes]

    def _forward(self, x: Any, memory: Sequence[Any] | None) -> tuple[Any, list[Any]]:
        """Return outputs and new hidden states: tensors if `x` is one, arrays otherwise.

        Arrays go through the kernels of play, so that a member computes the same bits here and in
        a world, in every batch. Tensors go through torch, whose last bits depend on the batch.

        Raises:
            SettingsError: `x` is not `[nets, batch, inputs]`.
        """
        value = x if is_tensor(x) else np.asarray(x, dtype=np.float32)
        if value.ndim != 3 or value.shape[0] != self.num_nets or value.shape[2] != self.inputs:
            raise SettingsError(
                f"Inputs must have shape [{self.num_nets}, batch, {self.inputs}], "
                f"not {list(value.shape)}."
            )
        nets, batch = value.shape[:2]
        before = self._zero_states(batch) if memory is None else memory
        if is_tensor(x):
            from kinfolk.nets.forward_batched import forward_batched

            return forward_batched(self, x, before)
        states = [np.asarray(state, dtype=np.float32).reshape(nets * batch, -1) for state in before]
        member = np.repeat(np.arange(nets, dtype=np.int64), batch)
        rows = value.reshape(nets * batch, -1)
        out, after = forward_rows(self.flat, self.layers, member, rows, states)
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
        return {
            "kind": self.kind,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "hidden": list(self.hidden),
            "sigma": self.sigma,
        }

    @classmethod
    def from_arrays(cls, config: Mapping[str, Any], arrays: Arrays) -> StaticNets:
        """Return the nets that `config()` and `to_arrays()` describe."""
        shape = {name: config[name] for name in ("inputs", "outputs", "hidden", "sigma")}
        nets = cls(len(arrays["flat"]), **shape, zero=True)
        nets.load_arrays(arrays)
        return nets


class FeedforwardStaticNets(StaticNets):
    """Feedforward nets of fixed topology, without memory."""

    kind = "feedforward"

    def initial_memory(self, batch: int) -> None:
        """Return None, as there is no memory."""
        del batch

    def __call__(self, x: Any, memory: None = None) -> tuple[Any, None]:
        """Return outputs `[nets, batch, outputs]` for inputs `[nets, batch, inputs]`, and None."""
        return self._forward(x, memory)[0], None

    def reset(self, memory: None, done: Bools | None = None) -> None:
        """Return None, as there is no memory."""


class RecurrentStaticNets(StaticNets):
    """Recurrent nets of fixed topology; memory is a list of hidden states, one per hidden layer."""

    kind = "recurrent"
    recurrent = True

    def initial_memory(self, batch: int) -> list[Any]:
        """Return hidden states of zero, `[nets, batch, size]` for every hidden layer."""
        return self._zero_states(batch)

    def __call__(self, x: Any, memory: Sequence[Any] | None = None) -> tuple[Any, list[Any]]:
        """Return outputs `[nets, batch, outputs]` for inputs `[nets, batch, inputs]`, and new memory.

        Both are tensors if `x` is one; `memory` may be of arrays or of tensors.
        """
        return self._forward(x, memory)

    def reset(self, memory: list[Any], done: Bools | None = None) -> list[Any]:
        """Return memory with the rows of `done`, `[nets, batch]`, set to zero; all rows if None."""
        if done is None:
            return [
                state.new_zeros(state.shape) if is_tensor(state) else np.zeros_like(state)
                for state in memory
            ]
        keep = ~np.asarray(done)[..., None]
        return [state * (state.new_tensor(keep) if is_tensor(state) else keep) for state in memory]


def _member_keys(key: int, members: int) -> Ints:
    """Return a random key for each member."""
    keys: Ints = fold_in(key, np.arange(members, dtype=np.int64))
    return keys
