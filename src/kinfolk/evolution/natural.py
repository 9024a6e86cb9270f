"""Natural evolution strategies: SNES, xNES and PGPE; numpy libraries with ask and tell have none.

Draws and members are of single precision, as nets are: most of a generation of thousands of parameters
is their drawing. Updates are of double precision.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats
from kinfolk.core.errors import ContractError, require
from kinfolk.evolution.selection import check_fitness, rank_descending
from kinfolk.evolution.states import OptimizerState

MAX_XNES_PARAMETERS = 500  # a matrix exponential of more takes seconds


def rank_utilities(fitness: AnyArray) -> Floats:
    """Return the utilities of members by rank (Wierstra et al. 2014): the worse half are equal.

    >>> rank_utilities(np.array([3.0, 1.0, 2.0, 0.0])).round(3).tolist()
    [0.48, -0.25, 0.02, -0.25]
    """
    count = len(fitness)
    weight = np.maximum(0.0, math.log(count / 2 + 1) - np.log(np.arange(1, count + 1)))
    utilities = np.empty(count)
    utilities[rank_descending(fitness)] = weight / weight.sum() - 1.0 / count
    return utilities


def centered_ranks(fitness: AnyArray) -> Floats:
    """Return ranks scaled to -0.5 for the worst and 0.5 for the best."""
    ranks = np.empty(len(fitness))
    ranks[rank_descending(fitness)[::-1]] = np.arange(len(fitness))
    return ranks / (len(fitness) - 1) - 0.5


class NaturalStrategy:
    """Base of the strategies: the distribution's mean, its generator, and what was drawn last.

    Args:
        start: `[parameters]`, initial mean.
        members: Size of the population.
        sigma: Initial standard deviation.
        seed: Seed of the random generator.
    """

    state_names: ClassVar[tuple[str, ...]] = ("center",)

    def __init__(self, start: Floats, members: int, sigma: float, seed: int) -> None:
        self.center: Floats = np.array(start, dtype=np.float64)
        require(sigma > 0, f"A strategy needs a sigma above 0, not {sigma}.")
        self.members, self._generator = members, np.random.Generator(np.random.PCG64(seed))
        self._noise: AnyArray | None = None

    def ask(self) -> Floats:
        """Draw a population, `[members, parameters]`."""
        self._noise = self._draw()
        return self._scale(self._noise)

    @property
    def is_mirrored(self) -> bool:
        """Whether members are drawn in pairs: the second half mirrors the first at the centre."""
        return False

    @property
    def deviation(self) -> Any:
        """Standard deviation of all parameters, or of each."""
        raise NotImplementedError

    def _draw(self) -> AnyArray:
        """Draw noise from N(0, 1), float32: one row per member, or per mirrored pair."""
        rows = self.members // 2 if self.is_mirrored else self.members
        return self._generator.standard_normal((rows, len(self.center)), dtype=np.float32)

    def _scale(self, noise: AnyArray) -> Floats:
        """Return the members that noise stands for, in single precision."""
        center: AnyArray = self.center.astype(np.float32)
        steps = noise * np.float32(self.deviation)
        members: Floats = np.empty((self.members, len(center)), dtype=np.float32)
        np.add(center, steps, out=members[: len(steps)])
        if self.is_mirrored:
            np.subtract(center, steps, out=members[len(steps) :])
        return members

    def tell(self, fitness: AnyArray) -> None:
        """Update the distribution by the fitness `[members]` of the last `ask`; higher is better."""
        if self._noise is None or len(fitness) != self.members:
            raise ContractError(
                "tell needs one fitness for each member of the population that ask returned last."
            )
        self._update(check_fitness(fitness), self._noise)
        self._noise = None

    def _update(self, fitness: Floats, noise: AnyArray) -> None:
        """Follow the natural gradient of the expected utility."""
        raise NotImplementedError

    def state_dict(self) -> OptimizerState:
        """Return everything that the next `ask` depends on."""
        arrays = {name: np.array(getattr(self, name)) for name in self.state_names}
        return OptimizerState(arrays, {"generator": self._generator.bit_generator.state})

    def load_state_dict(self, state: OptimizerState) -> None:
        """Restore the state that `state_dict` returned.

        Raises:
            ContractError: It is of another strategy, or of an earlier version of this one.
        """
        missing = [name for name in self.state_names if name not in state.arrays]
        if missing:
            raise ContractError(
                f"The stored state has no {missing[0]}, which {type(self).__name__} needs: it is of "
                "another strategy or of an earlier version of it. Start a new run."
            )
        for name in self.state_names:
            setattr(self, name, np.array(state.arrays[name]))
        self._generator.bit_generator.state = state.values["generator"]
        self._noise = None


class SNES(NaturalStrategy):
    """Separable natural evolution strategy (Schaul et al. 2011): one step size per parameter."""

    state_names = ("center", "sigma")

    def __init__(self, start: Floats, members: int, sigma: float, seed: int) -> None:
        super().__init__(start, members, sigma, seed)
        size = len(start)
        self.sigma: Floats = np.full(size, float(sigma))
        self._rate = (3 + math.log(size)) / (5 * math.sqrt(size))

    @property
    def deviation(self) -> Any:
        """Step size of each parameter."""
        return self.sigma

    def _update(self, fitness: Floats, noise: AnyArray) -> None:
        """Move the centre, and widen or narrow each step size."""
        utilities = rank_utilities(fitness).astype(np.float32)
        self.center = self.center + self.sigma * (utilities @ noise)
        gradient = utilities @ (noise * noise) - utilities.sum()
        self.sigma = self.sigma * np.exp(0.5 * self._rate * gradient)


class XNES(NaturalStrategy):
    """Exponential natural evolution strategy (Glasmachers et al. 2010): a full covariance."""

    state_names = ("center", "sigma", "shape")

    def __init__(self, start: Floats, members: int, sigma: float, seed: int) -> None:
        size = len(start)
        require(
            size <= MAX_XNES_PARAMETERS,
            f"xnes has a matrix of parameters by parameters, for at most {MAX_XNES_PARAMETERS}; "
            f"these nets have {size}. Use snes.",
        )
        super().__init__(start, members, sigma, seed)
        self.sigma: Any = np.float64(sigma)
        self.shape: Floats = np.eye(size)
        self._rate = (9 + 3 * math.log(size)) / (5 * size * math.sqrt(size))

    def _scale(self, noise: AnyArray) -> Floats:
        """Return the centre plus noise in the shape of the covariance."""
        members: Floats = self.center + self.sigma * (noise @ self.shape.T)
        return members

    def _update(self, fitness: Floats, noise: AnyArray) -> None:
        """Move the centre, and multiply step size and shape by matrix exponentials."""
        import scipy.linalg

        z, size = noise.astype(np.float64), len(self.center)
        utilities = rank_utilities(fitness)
        direction = utilities @ z
        curvature = (z.T * utilities) @ z - utilities.sum() * np.eye(size)
        scale = np.trace(curvature) / size
        self.center = self.center + self.sigma * (self.shape @ direction)
        self.sigma = np.float64(self.sigma * math.exp(0.5 * self._rate * scale))
        bend = curvature - scale * np.eye(size)
        self.shape = self.shape @ scipy.linalg.expm(0.5 * self._rate * bend)


class PGPE(NaturalStrategy):
    """Policy gradients with parameter-based exploration (Sehnke et al. 2010), with ClipUp.

    Members come in mirrored pairs. Fitness counts by its centred rank. The centre follows ClipUp
    (Toklu et al. 2020), whose largest step is a fifteenth of the initial radius of the population,
    and a step size changes by a fifth at most, as in that paper.
    """

    state_names = ("center", "sigma", "velocity")

    def __init__(self, start: Floats, members: int, sigma: float, seed: int) -> None:
        require(
            members % 2 == 0, f"pgpe draws mirrored pairs: members must be even, not {members}."
        )
        super().__init__(start, members, sigma, seed)
        size = len(start)
        self.sigma: Floats = np.full(size, float(sigma))
        self.velocity: Floats = np.zeros(size)
        self._max_speed = math.sqrt(size) * sigma / 15
        self._sigma_rate, self._max_change, self._momentum = 0.1, 0.2, 0.9

    @property
    def is_mirrored(self) -> bool:
        """Members are drawn in pairs."""
        return True

    @property
    def deviation(self) -> Any:
        """Step size of each parameter."""
        return self.sigma

    def _update(self, fitness: Floats, noise: AnyArray) -> None:
        """Follow the likelihood gradient of the centre by ClipUp, and of the step sizes directly."""
        utilities, pairs = centered_ranks(fitness).astype(np.float32), self.members // 2
        plus, minus = utilities[:pairs], utilities[pairs:]
        slope = self.sigma * (((plus - minus) / 2) @ noise) / pairs
        spread = self.sigma * (((plus + minus) / 2) @ (noise * noise - 1)) / pairs
        length = float(np.linalg.norm(slope))
        step = slope * (self._max_speed / 2 / length) if length > 0 else slope
        velocity = self._momentum * self.velocity + step
        speed = float(np.linalg.norm(velocity))
        self.velocity = velocity * min(1.0, self._max_speed / speed) if speed > 0 else velocity
        self.center = self.center + self.velocity
        allowed = self._max_change * self.sigma
        self.sigma = self.sigma + np.clip(self._sigma_rate * spread, -allowed, allowed)
