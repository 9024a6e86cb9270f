"""Nets of fixed shape: a population is one matrix of parameters, `[nets, parameters]`.

Feedforward: weights N(0, 1 / fan_in), tanh in hidden layers, a linear output. Recurrent: each
hidden layer also sees what it was a step ago (Elman 1990).
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

_START, _MUTATION, _SIGMA = 1, 2, 3  # branches of keys
SIGMA_RATE = 0.01


class StaticNets:
    """What both kinds share: parameters, mutation, selection.

    Args:
        num_nets: How many members.
        inputs: Numbers in.
        outputs: Numbers out.
        hidden: Sizes of the hidden layers.
        key: Where the first weights come from; None draws one from the operating system. It can be
            read as `seed`, which is None for nets whose weights were not drawn.
        sigma: How far a mutation moves each parameter.
        self_adaptive: Each weight has a sigma of its own, which mutates and is inherited.
        zero: Begin with all parameters zero instead.
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
        require(all(size >= 1 for size in hidden), f"Hidden layers must not be empty: {hidden}.")
        require(sigma >= 0, f"A sigma must not be negative, and was {sigma}.")
        self.inputs, self.outputs, self.hidden = inputs, outputs, tuple(hidden)
        self.sigma = sigma
        self.layers: list[LayerLayout] = build_layers(inputs, self.hidden, outputs, self.recurrent)
        self.flat: AnyArray = np.zeros((num_nets, count_parameters(self.layers)), dtype=np.float32)
        self.views: Any = None  # of `flat`, for torch; kept by `batched`
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
        keys = _member_keys(fold_in(key, _START), len(self.flat))
        drawn = np.empty(self.flat.shape, dtype=np.float64)
        fill_standard_normal(keys, 0, drawn)
        for layer in self.layers:
            for at, fan_in in layer.weight_blocks():
                self.flat[:, at] = drawn[:, at] / np.sqrt(fan_in)

    @property
    def num_nets(self) -> int:
        """How many members."""
        return len(self.flat)

    def take(self, indices: Ints) -> None:
        """Member `i` becomes a copy of the member `indices[i]`, sigmas and all."""
        self.flat = self.flat[indices]
        if self.sigmas is not None:
            self.sigmas = self.sigmas[indices]

    def mutate(self, key: int, n_elites: int = 0) -> None:
        """Move every parameter of all but the first `n_elites` members by sigma N(0, 1)."""
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
        """All parameters, `[nets, parameters]`, copied."""
        return self.flat.copy()

    def set_params(self, params: AnyArray) -> None:
        """Take parameters in the order of `get_params`; the number of members may change.

        Raises:
            SettingsError: They do not fit.
        """
        if params.ndim != 2 or params.shape[1] != self.flat.shape[1]:
            raise SettingsError(
                f"These nets have {self.flat.shape[1]} parameters each; "
                f"what was given has shape {params.shape}."
            )
        if self.sigmas is not None and len(params) != len(self.sigmas):
            raise SettingsError("Nets with sigmas of their own keep their number of members.")
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
            SettingsError: `x` has another shape.
        """
        value = x if is_tensor(x) else np.asarray(x, dtype=np.float32)
        if value.ndim != 3 or value.shape[0] != self.num_nets or value.shape[2] != self.inputs:
            raise SettingsError(
                f"Inputs have shape [{self.num_nets}, batch, {self.inputs}] here, "
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
        """Nothing is learned while they run: the memories as they are."""
        return list(memories)

    def adapt_memory(self, memory: Any) -> Any:
        """A memory fits before and after a mutation alike."""
        return memory

    def to_arrays(self) -> dict[str, AnyArray]:
        """All that members carry, with the member as first axis."""
        found = {"flat": self.flat}
        return found if self.sigmas is None else found | {"sigmas": self.sigmas}

    def load_arrays(self, arrays: Arrays) -> None:
        """Become the population that `to_arrays` described."""
        self.set_params(arrays["flat"])
        self.sigmas = arrays["sigmas"].copy() if "sigmas" in arrays else None

    def config(self) -> dict[str, Any]:
        """Plain values that, with the arrays, make these nets again."""
        return {
            "kind": self.kind,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "hidden": list(self.hidden),
            "sigma": self.sigma,
        }

    @classmethod
    def from_arrays(cls, config: Mapping[str, Any], arrays: Arrays) -> StaticNets:
        """The nets that `config` and `to_arrays` describe."""
        shape = {name: config[name] for name in ("inputs", "outputs", "hidden", "sigma")}
        nets = cls(len(arrays["flat"]), **shape, zero=True)
        nets.load_arrays(arrays)
        return nets


class FeedforwardStaticNets(StaticNets):
    """Nets that remember nothing."""

    kind = "feedforward"

    def initial_memory(self, batch: int) -> None:
        """None: there is nothing to remember."""
        del batch

    def __call__(self, x: Any, memory: None = None) -> tuple[Any, None]:
        """Run `[nets, batch, inputs]` through the nets: `[nets, batch, outputs]`, and no memory."""
        return self._forward(x, memory)[0], None

    def reset(self, memory: None, done: Bools | None = None) -> None:
        """Nothing to forget."""


class RecurrentStaticNets(StaticNets):
    """Nets whose hidden layers see themselves a step ago; memory is a list, one per layer."""

    kind = "recurrent"
    recurrent = True

    def initial_memory(self, batch: int) -> list[Any]:
        """Return zeros, `[nets, batch, size]` for every hidden layer."""
        return self._zero_states(batch)

    def __call__(self, x: Any, memory: Sequence[Any] | None = None) -> tuple[Any, list[Any]]:
        """Run `[nets, batch, inputs]` through the nets: outputs, and what is remembered.

        Both are tensors if `x` is one; `memory` may be of arrays or of tensors.
        """
        return self._forward(x, memory)

    def reset(self, memory: list[Any], done: Bools | None = None) -> list[Any]:
        """Return memory with the rows of `done`, `[nets, batch]`, forgotten; all if None."""
        if done is None:
            return [
                state.new_zeros(state.shape) if is_tensor(state) else np.zeros_like(state)
                for state in memory
            ]
        keep = ~np.asarray(done)[..., None]
        return [state * (state.new_tensor(keep) if is_tensor(state) else keep) for state in memory]


def _member_keys(key: int, members: int) -> Ints:
    keys: Ints = fold_in(key, np.arange(members, dtype=np.int64))
    return keys
