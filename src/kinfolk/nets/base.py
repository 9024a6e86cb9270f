"""The contract of nets: a population of networks without hidden state.

Memory is an argument and a result. Nets of your own subclass `BaseNets`, or `ParameterNets` of
`kinfolk.nets.parameters` if each member is a vector of parameters.

>>> class Scales(BaseNets):
...     def __init__(self):
...         self.weights = np.ones((4, 1, 1))
...
...     def __call__(self, x, mem=None):
...         return x * self.weights, mem
...
...     def mutate(self):
...         self.weights = self.weights + 0.01 * np.random.default_rng().normal(size=(4, 1, 1))
>>> Scales().num_nets
4
"""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Floats, Ints, is_tensor
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.random import fold_in
from kinfolk.nets.memory import clear_rows, flatten_memory, list_arrays, unflatten_memory
from kinfolk.nets.numerics import draw_seed
from kinfolk.nets.running_stats import RunningStats
from kinfolk.store.arrays import NETS, write_arrays

_COUNTER_BRANCH = 4  # branch of the keys that `mutate` takes from its counter


class BaseNets(ABC):
    """A population of networks that map inputs `[nets, batch, inputs]` to outputs, all at once.

    A memory is None, an array or tensor `[nets, batch, ...]`, or a list or tuple of such.

    A subclass defines `__call__` and `mutate()`. All else has a default, which takes attributes that
    are arrays, tensors, or lists of these for what members carry, with the member as first axis. A
    `mutate()` without arguments draws by itself; define `mutate_with` instead to mutate by a key.

    Args:
        inputs: Number of inputs.
        outputs: Number of outputs.
        key: Random key of the mutations that are given none; None draws one when it is needed.

    Attributes:
        seed: Random key that the initial weights were drawn from; None if they were not drawn.
        n_counted: How many mutations took their key from the counter.
    """

    kind: ClassVar[str] = "own"
    inputs: int
    outputs: int
    # Subclasses need not call `__init__`.
    seed: int | None = None
    n_counted: int = 0
    _counter_seed: int | None = None

    def __init__(self, inputs: int, outputs: int, key: int | None = None) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self._counter_seed = key

    @property
    def num_nets(self) -> int:
        """Number of members of the population."""
        return len(next(iter(self.to_arrays().values())))

    @abstractmethod
    def __call__(self, x: Any, mem: Any = None) -> tuple[Any, Any]:
        """Map inputs `[nets, batch, inputs]` to outputs `[nets, batch, outputs]` and new memory."""

    def apply_selection(self, indices: Ints) -> None:
        """Replace member `i` by a copy of the member `indices[i]`."""
        self.load_arrays({name: array[indices] for name, array in self.to_arrays().items()})

    def mutate_with(self, key: int, n_elites: int) -> None:
        """Mutate all but the first `n_elites` members, with draws that depend on `key` alone.

        Raises:
            SettingsError: The subclass defines neither this nor `mutate`.
        """
        del key, n_elites
        name = type(self).__name__
        raise SettingsError(
            f"{name} cannot mutate: define mutate(), or mutate_with(key, n_elites)."
        )

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return everything that members carry, with the member as first axis.

        Raises:
            SettingsError: Attributes do not say how many members there are.
        """
        arrays: dict[str, AnyArray] = {}
        for name, value in self._carried().items():
            arrays |= flatten_memory(value, name)
        shapes = {name: list(array.shape) for name, array in arrays.items()}
        require(
            len({shape[0] for shape in shapes.values()}) == 1,
            f"{type(self).__name__} needs attributes that are arrays, tensors or lists of these, all "
            f"with the member as first axis, not {shapes or 'none'}. Or define num_nets, to_arrays "
            f"and load_arrays.",
        )
        return arrays

    def load_arrays(self, arrays: Arrays) -> None:
        """Replace the population by what `to_arrays` returned."""
        for name, value in self._carried().items():
            setattr(self, name, unflatten_memory(value, arrays, name))

    def _carried(self) -> dict[str, Any]:
        """Return the attributes that are arrays or tensors of at least one axis, or lists of these."""
        carried = {}
        for name, value in vars(self).items():
            parts = value if isinstance(value, list | tuple) else [value]
            are_arrays = all(isinstance(part, np.ndarray) or is_tensor(part) for part in parts)
            if parts and are_arrays and all(part.ndim for part in parts):
                carried[name] = value
        return carried

    def mutate(self, key: int | None = None, n_elites: int = 0) -> None:
        """Mutate all but the first `n_elites` members.

        Args:
            key: Random key, which determines the mutation exactly; None takes the next key of an
                internal counter, which copies and files of the population have too.
            n_elites: How many of the first members stay as they are.
        """
        members = self.num_nets
        message = f"n_elites must be from 0 to the {members} members, not {n_elites}."
        require(0 <= n_elites <= members, message)
        self.mutate_with(self._next_key() if key is None else int(key), n_elites)

    def mutate_members(self, key: int | None, n_elites: int) -> None:
        """Call `mutate` with these arguments; if it takes none, restore the elites after it."""
        if len(inspect.signature(type(self).mutate).parameters) > 1:
            self.mutate(key, n_elites)
            return
        elites = {name: array[:n_elites].copy() for name, array in self.to_arrays().items()}
        self.mutate()
        if n_elites:
            arrays = self.to_arrays()
            for name, array in arrays.items():
                array[:n_elites] = elites[name]
            self.load_arrays(arrays)

    def _next_key(self) -> int:
        """Return the next key of the counter."""
        if self._counter_seed is None:
            self._counter_seed = draw_seed()
        self.n_counted += 1
        return int(fold_in(fold_in(self._counter_seed, _COUNTER_BRANCH), self.n_counted))

    def crossover(self, mates: Any, crossed: Bools, key: int) -> None:
        """Let members take parts of their mates.

        Args:
            mates: A population of the same size; member `i` crosses with its member `i`.
            crossed: `[nets]`, which members cross.
            key: Random key.

        Raises:
            SettingsError: These nets cannot cross.
        """
        del mates, crossed, key
        raise SettingsError(f"{type(self).__name__} cannot cross: leave out crossover.")

    def distances(self) -> Floats:
        """Return how different any two members are, `[nets, nets]`, which species need.

        Raises:
            SettingsError: These nets have no distance.
        """
        raise SettingsError(
            f"{type(self).__name__} have no distance, which species need: leave out "
            f"species_distance, or use dynamic nets."
        )

    def initial_memory(self, batch: int) -> Any:
        """Return the memory of `batch` rows per net before their first step; by default None."""
        del batch

    def reset(self, memory: Any, done: Bools | None = None) -> Any:
        """Clear the memory of rows `done`, `[nets, batch]`, or of all; running statistics stay."""
        return clear_rows(memory, done)

    def adapt_memory(self, memory: Any) -> Any:
        """Return a memory from before the last mutation in the shape that the nets have now."""
        return memory

    @property
    def running_stats(self) -> RunningStats | None:
        """Running statistics of all members, `[nets, ...]` each; None if the nets have none."""
        return None

    def merge_copies(self, memories: Sequence[Any]) -> list[Any]:
        """Merge the running statistics of copies into the nets; return the memories without them."""
        return list(memories)

    def get_params(self) -> Any:
        """Return a copy of all parameters, `[nets, parameters]`: by default all floats, flattened.

        Returns:
            A tensor if members carry tensors, else an array.

        Raises:
            SettingsError: The nets have no fixed set of parameters.
        """
        parts = [array.reshape(len(array), -1) for array in self._parameters().values()]
        flat = np.concatenate(parts, axis=1)
        tensors = [part for part in list_arrays(list(self._carried().values())) if is_tensor(part)]
        return tensors[0].new_tensor(flat) if tensors else flat

    def set_params(self, params: Any) -> None:
        """Replace all parameters, `[nets, parameters]`, an array or a tensor.

        Raises:
            SettingsError: The nets have no fixed set of parameters, or the shape is wrong.
        """
        flat = np.asarray(params.detach() if is_tensor(params) else params)
        arrays = self.to_arrays()
        sizes = {name: array[0].size for name, array in self._parameters().items()}
        shape = [self.num_nets, sum(sizes.values())]
        message = f"These nets need parameters of shape {shape}, not {list(flat.shape)}."
        require(list(flat.shape) == shape, message)
        start = 0
        for name, size in sizes.items():
            array = arrays[name]
            arrays[name] = flat[:, start : start + size].reshape(array.shape).astype(array.dtype)
            start += size
        self.load_arrays(arrays)

    def _parameters(self) -> dict[str, AnyArray]:
        """Return the arrays of floats that members carry."""
        found = {name: array for name, array in self.to_arrays().items() if array.dtype.kind == "f"}
        require(bool(found), f"{type(self).__name__} have no parameters: none is a float.")
        return found

    @staticmethod
    def stack_members(members: Sequence[Arrays]) -> dict[str, AnyArray]:
        """Return the arrays of a population of these members, which have one row each."""
        return {name: np.concatenate([m[name] for m in members]) for name in members[0]}

    def config(self) -> dict[str, Any]:
        """Return JSON values that, with the arrays, describe these nets completely."""
        sizes = {name: getattr(self, name, None) for name in ("inputs", "outputs")}
        return {"kind": self.kind, **sizes}

    @classmethod
    def from_arrays(cls, config: Mapping[str, Any], arrays: Arrays) -> BaseNets:
        """Return the nets that `config()` and `to_arrays()` describe.

        Raises:
            SettingsError: The nets cannot be made from arrays, or the arrays do not fit `config`.
        """
        del config, arrays
        raise SettingsError(f"{cls.__name__} cannot be made from arrays alone: give the nets too.")

    def select(self, members: Sequence[int] | Ints) -> Self:
        """Return a new population of copies of the given members."""
        rows, other = np.asarray(members, dtype=np.int64), copy.copy(self)
        other.load_arrays({name: array[rows] for name, array in self.to_arrays().items()})
        return other

    def save(self, path: str | Path) -> None:
        """Write the population to a safetensors file, from which `load_nets` restores every bit."""
        entry = self.config() | {"counter": self.counter_state()}
        write_arrays(Path(path), self.to_arrays(), NETS, entry)

    def counter_state(self) -> list[int | None]:
        """Return what the keys of coming mutations without a key depend on."""
        return [self.seed, self._counter_seed, self.n_counted]

    def load_counter(self, state: Sequence[int | None]) -> None:
        """Restore the state that `counter_state` returned."""
        self.seed, self._counter_seed, self.n_counted = state[0], state[1], int(state[2] or 0)

    def check_inputs(self, x: Any) -> None:
        """Check that inputs are numbers of shape `[nets, batch, inputs]`.

        Raises:
            SettingsError: They are a list, no numbers, or of another shape.
        """
        shape = f"[{self.num_nets}, batch, {self.inputs}]"
        if not hasattr(x, "__array__"):
            raise SettingsError(
                f"Inputs must be an array or a tensor of shape {shape}, not a {type(x).__name__}."
            )
        if not is_tensor(x) and np.asarray(x).dtype.kind not in "biuf":
            raise SettingsError(f"Inputs must be numbers, not of the dtype {np.asarray(x).dtype}.")
        actual = tuple(x.shape)
        require(
            len(actual) == 3 and (actual[0], actual[2]) == (self.num_nets, self.inputs),
            f"Inputs must have shape {shape}, not {list(actual)}.",
        )

    def check_memory(self, memory: Any, batch: int) -> Any:
        """Return the memory for inputs of `batch` rows; one of zeros fits every batch.

        Raises:
            SettingsError: The memory belongs to another number of nets or rows.
        """
        if memory is None:
            return self.initial_memory(batch)
        for part in list_arrays(memory):
            if tuple(part.shape[:2]) == (self.num_nets, batch):
                continue
            if not any(bool(other.any()) for other in list_arrays(memory)):
                return self.initial_memory(batch)
            raise SettingsError(
                f"The memory is of {part.shape[0]} nets with {part.shape[1]} rows each, and the "
                f"inputs are of {self.num_nets} nets with {batch}. Keep the batch size until the "
                f"memory is reset, or pass the memory of these nets."
            )
        return memory
