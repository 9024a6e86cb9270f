"""Nets of fixed topology: feedforward and recurrent.

Initial weights are N(0, 1 / fan_in), hidden layers use tanh, outputs are linear. In recurrent nets
each hidden layer also has its previous output as input (Elman 1990).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Floats, Ints, is_tensor
from kinfolk.core.errors import require
from kinfolk.core.random import fold_in
from kinfolk.nets import forward
from kinfolk.nets.memory import clear_rows
from kinfolk.nets.numerics import draw_seed, fill_standard_normal
from kinfolk.nets.parameters import ParameterNets
from kinfolk.nets.running_stats import (
    RunningStats,
    merge_running_stats,
    normalize_rows,
    pool_running_stats,
)

_START = 1  # branch of random keys


class NormalizedMemory(NamedTuple):
    """Memory of nets that normalise their inputs: hidden states, and a copy of the statistics."""

    hidden: list[Any]  # [nets, batch, size] per recurrent layer
    n: Floats  # [nets, batch, inputs], as below
    mean: Floats
    m2: Floats


def _tensors_like(x: Any, stats: RunningStats) -> Sequence[Any]:
    """Return the statistics as tensors if `x` is one."""
    if not is_tensor(x):
        return stats
    import torch

    return [torch.from_numpy(part) for part in stats]


class StaticNets(ParameterNets):
    """Base of feedforward and recurrent nets: layers, initial weights, forward pass.

    Args:
        num_nets: Number of members.
        inputs: Number of inputs.
        outputs: Number of outputs.
        hidden: Sizes of the hidden layers.
        key: Random key of the initial weights, and of mutations without one; None draws one from the
            operating system. It can be read as `seed`, which is None for nets whose weights were not
            drawn.
        sigma: Standard deviation of mutations.
        self_adaptive: Whether each parameter has its own sigma, which mutates and is inherited.
        zero: Whether all parameters begin at zero instead.
        normalize: Whether inputs are standardised by running statistics, which every member has of
            its own and inherits.

    Attributes:
        layers: Sizes and offsets of each layer; `layout` holds them as an array.
    """

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
        normalize: bool = False,
    ) -> None:
        forward.check_net_sizes(num_nets, inputs, outputs)
        message = f"Sizes of hidden layers must be at least 1, not {hidden}."
        require(all(size >= 1 for size in hidden), message)
        self.hidden = tuple(hidden)
        self.layers = forward.build_layers(inputs, self.hidden, outputs, self.recurrent)
        flat = np.zeros((num_nets, self.layers[-1].stop), dtype=np.float32)
        seed = draw_seed() if key is None and not zero else key
        options: Any = {"key": seed, "sigma": sigma, "self_adaptive": self_adaptive}
        super().__init__(flat, inputs, outputs, **options)
        self.layout = np.array(self.layers, dtype=np.int64)
        self._views: Any = None  # cache of torch views: the array they belong to, and the views
        self._stats: RunningStats | None = None
        if normalize:
            self._stats = RunningStats(*(np.zeros((num_nets, inputs)) for _ in range(3)))
        if not zero:
            assert seed is not None
            self.seed = seed
            self._draw_weights(seed)

    def __repr__(self) -> str:
        sizes = f"num_nets={self.num_nets}, inputs={self.inputs}, outputs={self.outputs}"
        options = ", self_adaptive=True" if self.sigmas is not None else ""
        options += ", normalize=True" if self._stats is not None else ""
        shown = f"{sizes}, hidden={self.hidden}, sigma={self.sigma:g}{options}"
        return f"{type(self).__name__}({shown})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the torch views: those of a copy would not be of the copy's parameters."""
        return vars(self) | {"_views": None}

    def _draw_weights(self, key: int) -> None:
        """Draw the initial weights; biases stay zero."""
        keys: Ints = fold_in(fold_in(key, _START), np.arange(self.num_nets, dtype=np.int64))
        drawn = np.empty(self.flat.shape)
        fill_standard_normal(keys, 0, drawn)
        for layer in self.layers:
            weights = slice(layer.start, layer.recurrent_start)
            recurrent_weights = slice(layer.recurrent_start, layer.bias_start)
            self.flat[:, weights] = drawn[:, weights] / np.sqrt(layer.in_features)
            recurrent_scale = np.sqrt(layer.out_features)
            self.flat[:, recurrent_weights] = drawn[:, recurrent_weights] / recurrent_scale

    @property
    def running_stats(self) -> RunningStats | None:
        """Running statistics of the inputs, `[nets, inputs]` each; None unless they normalise."""
        return self._stats

    def set_running_stats(self, stats: RunningStats) -> None:
        """Replace the running statistics of all members, `[nets, inputs]` each."""
        self._stats = RunningStats(*(np.array(part, dtype=np.float64) for part in stats))

    def pool_stats(self, base: RunningStats) -> None:
        """Give all members the statistics of all that any of them saw since they had `base`."""
        assert self._stats is not None  # callers have looked
        pooled = pool_running_stats(base, self._stats)
        members = self.num_nets
        self._stats = RunningStats(*(np.repeat(part[None], members, axis=0) for part in pooled))

    def apply_selection(self, indices: Ints) -> None:
        """Replace member `i` by a copy of the member `indices[i]`, sigmas and statistics included."""
        super().apply_selection(indices)
        if self._stats is not None:
            self._stats = RunningStats(*(part[indices] for part in self._stats))

    def set_params(self, params: Any) -> None:
        """Replace all parameters; statistics stay, or become those of member 0 in another number."""
        before = self.num_nets
        super().set_params(params)
        if self._stats is not None and self.num_nets != before:
            rows = np.zeros(self.num_nets, dtype=np.int64)
            self._stats = RunningStats(*(part[rows] for part in self._stats))

    def initial_memory(self, batch: int) -> Any:
        """Return hidden states of zero, `[nets, batch, size]` for every recurrent layer."""
        sizes = self.hidden if self.recurrent else ()
        hidden = [np.zeros((self.num_nets, batch, size), dtype=np.float32) for size in sizes]
        if self._stats is None:
            return hidden if self.recurrent else None
        copies = (np.repeat(part[:, None], batch, axis=1) for part in self._stats)
        return NormalizedMemory(hidden, *copies)

    def reset(self, memory: Any, done: Bools | None = None) -> Any:
        """Clear hidden states of rows `done`, `[nets, batch]`, or of all; running statistics stay."""
        if isinstance(memory, NormalizedMemory):
            return memory._replace(hidden=clear_rows(memory.hidden, done))
        return clear_rows(memory, done)

    def __call__(self, x: Any, mem: Any = None) -> tuple[Any, Any]:
        """Return outputs `[nets, batch, outputs]` for inputs `[nets, batch, inputs]`, and new memory.

        Tensors return tensors, and arrays return arrays; `mem` may be of either. Arrays go through
        the kernels of play, so that a member computes the same bits here and in a world, in every
        batch. Tensors go through torch, whose last bits depend on the batch.

        Raises:
            SettingsError: `x` is not `[nets, batch, inputs]`, or the memory does not fit it.
        """
        self.check_inputs(x)
        self.gives_tensors = is_tensor(x)
        batch = x.shape[1]
        before = self.check_memory(mem, batch)
        after, hidden, value = before, before or [], x
        if self._stats is not None:
            stats = RunningStats(*(np.array(part, dtype=np.float64) for part in before[1:]))
            value, hidden = self._normalize(x, stats), before.hidden
            after = NormalizedMemory(hidden, *_tensors_like(x, stats))
        out, states = self._run(value, hidden)
        if self.recurrent:
            after = states if self._stats is None else after._replace(hidden=states)
        return out, after

    def _normalize(self, x: Any, stats: RunningStats) -> Any:
        """Return standardised inputs, after the statistics `[nets, batch, inputs]` counted them."""
        rows = np.asarray(x, dtype=np.float32).reshape(-1, self.inputs)
        flat = RunningStats(*(part.reshape(rows.shape) for part in stats))
        out = np.empty(rows.shape, dtype=np.float32)
        normalize_rows(np.ascontiguousarray(rows), np.arange(len(rows)), flat, True, out)
        value = out.reshape(self.num_nets, -1, self.inputs)
        return x.new_tensor(value) if is_tensor(x) else value

    def _run(self, x: Any, hidden: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Return outputs and new hidden states, in torch if `x` is a tensor."""
        if is_tensor(x):
            if self._views is None or self._views[0] is not self.flat:
                self._views = (self.flat, forward.view_layers(self.flat, self.layers))
            return forward.forward_batched(self.layers, self._views[1], x, hidden)
        nets, batch = x.shape[:2]
        states = [np.asarray(state, dtype=np.float32).reshape(nets * batch, -1) for state in hidden]
        member = np.repeat(np.arange(nets, dtype=np.int64), batch)
        rows = np.asarray(x, dtype=np.float32).reshape(nets * batch, -1)
        out, after = self.run_rows(member, rows, states)
        return out.reshape(nets, batch, -1), [state.reshape(nets, batch, -1) for state in after]

    def run_rows(
        self, member: Ints, x: AnyArray, states: Sequence[AnyArray]
    ) -> tuple[AnyArray, list[AnyArray]]:
        """Run every row through the net of its member; see `kinfolk.nets.forward.forward_rows`.

        Args:
            member: `[n]`, which net each row goes through.
            x: `[n, inputs]`, standardised already if the nets normalise.
            states: `[n, size]` for each recurrent layer, its previous hidden state.

        Returns:
            `[n, outputs]`, and the new hidden states of recurrent layers.
        """
        return forward.forward_rows(self.flat, self.layout, member, x, states)

    def merge_copies(self, memories: Sequence[Any]) -> list[Any]:
        """Merge the running statistics of all rows into the members', memory by memory, row by row.

        Returns:
            The memories with the merged statistics in every row: merging them again adds nothing.
        """
        if self._stats is None or not memories:
            return list(memories)
        parts = zip(*((m.n, m.mean, m.m2) for m in memories), strict=True)
        copies = RunningStats(*(np.concatenate(part, axis=1) for part in parts))
        self.set_running_stats(merge_running_stats(self._stats, copies))
        return [self.initial_memory(m.n.shape[1])._replace(hidden=m.hidden) for m in memories]

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return everything that members carry, with the member as first axis."""
        return super().to_arrays() | ({} if self._stats is None else self._stats._asdict())

    def load_arrays(self, arrays: Arrays) -> None:
        """Replace the population by what `to_arrays` returned."""
        super().load_arrays(arrays)
        if self._stats is not None:
            self.set_running_stats(RunningStats(*(arrays[name] for name in RunningStats._fields)))

    def config(self) -> dict[str, Any]:
        """Return JSON values that, with the arrays, describe these nets completely."""
        config = super().config() | {"hidden": list(self.hidden), "sigma": self.sigma}
        return config if self._stats is None else config | {"normalize": True}

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
        normalize = config.get("normalize", False)
        nets = cls(len(arrays["flat"]), **shape, zero=True, normalize=normalize)
        nets.load_arrays(arrays)
        return nets


class FeedforwardStaticNets(StaticNets):
    """Feedforward nets of fixed topology, without memory unless they normalise their inputs."""

    kind = "feedforward"


class RecurrentStaticNets(StaticNets):
    """Recurrent nets of fixed topology; memory is a list of hidden states, one per hidden layer."""

    kind = "recurrent"
    recurrent = True
