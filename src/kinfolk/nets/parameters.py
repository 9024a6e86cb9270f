"""Nets whose members are vectors of parameters: one matrix, `[nets, parameters]`.

Mutation, selection and storage need nothing else, so that nets of fixed topology, torch modules and
functions of numpy share them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Ints, is_tensor
from kinfolk.core.errors import require
from kinfolk.core.random import fold_in
from kinfolk.nets.base import BaseNets

_MUTATION, _SIGMA, _CROSSOVER = 2, 3, 5  # branches of random keys
SIGMA_RATE = 0.01  # relative standard deviation of the mutation of self-adaptive sigmas


class ParameterNets(BaseNets):
    """Base of nets that are described by a vector of parameters each.

    Args:
        flat: `[nets, parameters]`, initial parameters.
        inputs: Number of inputs.
        outputs: Number of outputs.
        key: Random key of the mutations that are given none; None draws one when it is needed.
        sigma: Standard deviation of mutations.
        self_adaptive: Whether each parameter has its own sigma, which mutates and is inherited.

    Attributes:
        flat: `[nets, parameters]`, float32.
        sigmas: `[nets, parameters]`, float32; None unless self-adaptive.
        gives_tensors: Whether `get_params` returns a tensor: what the nets were given last, inputs or
            parameters, was one.
    """

    gives_tensors: bool = False

    def __init__(
        self,
        flat: AnyArray,
        inputs: int,
        outputs: int,
        *,
        key: int | None = None,
        sigma: float = 0.01,
        self_adaptive: bool = False,
    ) -> None:
        super().__init__(inputs, outputs, key)
        require(sigma >= 0, f"sigma must be at least 0, not {sigma}.")
        self.sigma = sigma
        self.flat: AnyArray = np.ascontiguousarray(flat, dtype=np.float32)
        self.sigmas: AnyArray | None = np.full_like(self.flat, sigma) if self_adaptive else None

    @property
    def num_nets(self) -> int:
        """Number of members of the population."""
        return len(self.flat)

    def apply_selection(self, indices: Ints) -> None:
        """Replace member `i` by a copy of the member `indices[i]`, sigmas included."""
        self.flat = self.flat[indices]
        if self.sigmas is not None:
            self.sigmas = self.sigmas[indices]

    def mutate_with(self, key: int, n_elites: int) -> None:
        """Add `sigma * N(0, 1)` to every parameter of all but the first `n_elites` members.

        With self-adaptive nets the sigmas are mutated first, and the new sigmas scale the noise.
        Members draw in order, so that a member's draws do not depend on those after it.
        """
        scale: Any = np.float32(self.sigma)
        if self.sigmas is not None:
            change = self.draw_normal(fold_in(key, _SIGMA))[n_elites:]
            change *= np.float32(SIGMA_RATE)
            change += np.float32(1.0)
            self.sigmas[n_elites:] *= change
            scale = self.sigmas[n_elites:]
        noise = self.draw_normal(fold_in(key, _MUTATION))[n_elites:]
        noise *= scale
        self.flat[n_elites:] += noise

    def crossover(self, mates: Any, crossed: Bools, key: int) -> None:
        """Let members take each parameter from their mate with a probability of one half.

        Args:
            mates: A population of the same size; member `i` crosses with its member `i`.
            crossed: `[nets]`, which members cross.
            key: Random key.
        """
        generator = np.random.Generator(np.random.SFC64(int(fold_in(key, _CROSSOVER))))
        taken = generator.integers(0, 2, self.flat.shape, dtype=np.bool_)
        taken &= np.asarray(crossed)[:, None]
        self.flat = np.where(taken, mates.flat, self.flat)
        if self.sigmas is not None:
            self.sigmas = np.where(taken, mates.sigmas, self.sigmas)

    def draw_normal(self, key: int) -> AnyArray:
        """Draw from N(0, 1) for every parameter of every member, float32."""
        generator = np.random.Generator(np.random.SFC64(int(key)))
        return generator.standard_normal(self.flat.shape, dtype=np.float32)

    def get_params(self) -> Any:
        """Return a copy of all parameters, `[nets, parameters]`.

        It is a tensor if the nets were last given tensors, as inputs or parameters; else an array.
        """
        if not self.gives_tensors:
            return self.flat.copy()
        import torch

        return torch.from_numpy(self.flat.copy())

    def set_params(self, params: Any) -> None:
        """Replace all parameters, `[nets, parameters]`; the number of members may change.

        Args:
            params: An array or a tensor.

        Raises:
            SettingsError: The shape is wrong, or nets with self-adaptive sigmas would change in number.
        """
        self._set_flat(params.detach().cpu().numpy() if is_tensor(params) else np.asarray(params))
        self.gives_tensors = is_tensor(params)

    def _set_flat(self, array: AnyArray) -> None:
        """Replace the parameters of all members, after checking their shape."""
        count = self.flat.shape[1]
        message = f"These nets need parameters of shape [nets, {count}], not {array.shape}."
        require(array.ndim == 2 and array.shape[1] == count, message)
        require(
            self.sigmas is None or len(array) == len(self.sigmas),
            f"Nets with self-adaptive sigmas keep their number of members, {self.num_nets}; "
            f"it cannot become {len(array)}.",
        )
        self.flat = np.array(array, dtype=np.float32, order="C")

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return everything that members carry, with the member as first axis."""
        arrays = {"flat": self.flat}
        return arrays if self.sigmas is None else arrays | {"sigmas": self.sigmas}

    def load_arrays(self, arrays: Arrays) -> None:
        """Replace the population by what `to_arrays` returned."""
        self.sigmas = None
        self._set_flat(arrays["flat"])
        self.sigmas = arrays["sigmas"].copy() if "sigmas" in arrays else None
