"""OpenAI-ES and separable CMA-ES, whole populations at a time.

pyribs and cmaes have both, which tests take as oracles: given the same draws, the updates agree. They
compute in double precision, check bounds, or draw member by member, which takes most of a generation of
thousands of parameters.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats
from kinfolk.core.errors import require
from kinfolk.evolution.natural import NaturalStrategy, centered_ranks
from kinfolk.evolution.selection import rank_descending

_ADAM_BETA1, _ADAM_BETA2, _ADAM_EPSILON = 0.9, 0.999, 1e-8
_MAX_SIGMA = 1e32


class OpenAIES(NaturalStrategy):
    """OpenAI-ES (Salimans et al. 2017): the gradient by ranks of noise, followed by Adam.

    An even number of members is drawn in mirrored pairs. Step sizes stay as they are.

    Args:
        start: `[parameters]`, initial mean.
        members: Size of the population.
        sigma: Standard deviation.
        seed: Seed of the random generator.
        learning_rate: Of Adam.
    """

    state_names = ("center", "moment1", "moment2", "updates")

    def __init__(
        self, start: Floats, members: int, sigma: float, seed: int, learning_rate: float
    ) -> None:
        super().__init__(start, members, sigma, seed)
        self._sigma, self._rate = float(sigma), learning_rate
        self.moment1, self.moment2 = np.zeros_like(self.center), np.zeros_like(self.center)
        self.updates: Any = np.int64(0)

    @property
    def is_mirrored(self) -> bool:
        """An even number of members is drawn in pairs."""
        return self.members % 2 == 0

    @property
    def deviation(self) -> Any:
        """Standard deviation, which never changes."""
        return self._sigma

    def _update(self, fitness: Floats, noise: AnyArray) -> None:
        """Climb the gradient of the expected rank by one step of Adam."""
        ranks, rows = centered_ranks(fitness), len(noise)
        weights = ranks[:rows] - ranks[rows:] if self.is_mirrored else ranks
        gradient = (weights.astype(np.float32) @ noise) / (rows * self._sigma)
        self.updates = self.updates + 1
        self.moment1 = _ADAM_BETA1 * self.moment1 + (1 - _ADAM_BETA1) * gradient
        self.moment2 = _ADAM_BETA2 * self.moment2 + (1 - _ADAM_BETA2) * gradient**2
        bias = math.sqrt(1 - _ADAM_BETA2**self.updates) / (1 - _ADAM_BETA1**self.updates)
        step = self.moment1 / (np.sqrt(self.moment2) + _ADAM_EPSILON)
        self.center = self.center + self._rate * bias * step


class SepCMA(NaturalStrategy):
    """Separable CMA-ES (Ros and Hansen 2008), with the constants of Hansen's tutorial.

    Args:
        start: `[parameters]`, initial mean.
        members: Size of the population.
        sigma: Initial step size.
        seed: Seed of the random generator.
    """

    state_names = ("center", "sigma", "variance", "sigma_path", "variance_path", "updates")

    def __init__(self, start: Floats, members: int, sigma: float, seed: int) -> None:
        size, parents = len(start), members // 2
        require(size >= 2, f"CMA-ES needs at least 2 parameters, not {size}.")
        super().__init__(start, members, sigma, seed)
        self.sigma: Any = np.float64(sigma)
        self.variance: Floats = np.ones(size)  # diagonal of the covariance, without sigma
        self.sigma_path, self.variance_path = np.zeros(size), np.zeros(size)
        self.updates: Any = np.int64(0)
        weights = math.log(parents + 1) - np.log(np.arange(1, parents + 1))
        self._weights = weights / weights.sum()
        mass = self._mass = float(1 / (self._weights**2).sum())  # variance-effective parents
        self._rank_one_rate = 2 / ((size + 1.3) ** 2 + mass)
        full_rate = 2 / mass / (size + math.sqrt(2)) ** 2
        full_rate += (1 - 1 / mass) * min(1.0, (2 * mass - 1) / ((size + 2) ** 2 + mass))
        self._rank_mu_rate = (size + 2) / 3 * full_rate
        self._sigma_rate = (mass + 2) / (size + mass + 3)
        excess = max(0.0, math.sqrt((mass - 1) / (size + 1)) - 1)
        self._damping = 1 + 2 * excess + self._sigma_rate
        self._path_rate = 4 / (size + 4)
        self._mean_norm = math.sqrt(size) * (1 - 1 / (4 * size) + 1 / (21 * size**2))  # of N(0, I)

    @property
    def deviation(self) -> Any:
        """Standard deviation of each parameter."""
        return self.sigma * np.sqrt(self.variance)

    def _update(self, fitness: Floats, noise: AnyArray) -> None:
        """Move the centre, then adapt step size and variances along their paths."""
        chosen = noise[rank_descending(fitness)[: len(self._weights)]]
        weights, deviation = self._weights.astype(np.float32), np.sqrt(self.variance)
        drift = (weights @ chosen).astype(np.float64)
        self.center = self.center + self.sigma * deviation * drift
        self.updates = self.updates + 1
        rate, path_rate = self._sigma_rate, self._path_rate
        length = math.sqrt(rate * (2 - rate) * self._mass)
        self.sigma_path = (1 - rate) * self.sigma_path + length * drift
        norm = float(np.linalg.norm(self.sigma_path))
        change = math.exp(rate / self._damping * (norm / self._mean_norm - 1))
        self.sigma = np.float64(min(self.sigma * change, _MAX_SIGMA))
        # The path of the variances stands still while the step size grows fast.
        unbiased = norm / math.sqrt(1 - (1 - rate) ** (2 * (int(self.updates) + 1)))
        moves = float(unbiased < (1.4 + 2 / (len(drift) + 1)) * self._mean_norm)
        length = moves * math.sqrt(path_rate * (2 - path_rate) * self._mass)
        self.variance_path = (1 - path_rate) * self.variance_path + length * deviation * drift
        lack = (1 - moves) * path_rate * (2 - path_rate)
        decay = 1 - self._rank_one_rate * (1 - lack) - self._rank_mu_rate
        spread = self.variance * (weights @ np.square(chosen))
        path = self._rank_one_rate * self.variance_path**2
        self.variance = decay * self.variance + path + self._rank_mu_rate * spread
