"""Evolution strategies behind one ask-and-tell protocol.

`cma` is that of the package cmaes, `lm-ma` that of pyribs (extra `qd`). With the same seed both draw
exactly the populations of the library called directly. `openai-es` and `sep-cma` are those of
`kinfolk.evolution.separable`; `pgpe`, `snes` and `xnes` those of `kinfolk.evolution.natural`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats
from kinfolk.core.errors import ContractError, UnknownNameError, format_suggestion, require
from kinfolk.core.imports import optional_import
from kinfolk.evolution.natural import PGPE, SNES, XNES
from kinfolk.evolution.selection import check_fitness, rank_descending
from kinfolk.evolution.separable import OpenAIES, SepCMA
from kinfolk.evolution.states import OptimizerState, extract_state, restore_state

_LEARNING_RATE = 0.1  # of openai-es
STRATEGIES = ("cma", "sep-cma", "openai-es", "lm-ma", "pgpe", "snes", "xnes")


class EvolutionStrategy(Protocol):
    """A search distribution over parameter vectors."""

    @property
    def center(self) -> Floats:
        """Mean of the distribution, `[parameters]`."""

    def ask(self) -> Floats:
        """Draw a population, `[members, parameters]`."""

    def tell(self, fitness: AnyArray) -> None:
        """Update the distribution by the fitness `[members]` of the last `ask`; higher is better."""

    def state_dict(self) -> OptimizerState:
        """Return everything that the next `ask` depends on."""

    def load_state_dict(self, state: OptimizerState) -> None:
        """Restore the state that `state_dict` returned."""


class _AskTellAdapter:
    """Base of the adapters: the library's optimiser and the population it drew last."""

    def __init__(self, optimizer: Any, members: int) -> None:
        self.optimizer, self.members = optimizer, members
        self._last_population: Floats | None = None

    def _check_fitness(self, fitness: AnyArray) -> Floats:
        """Return the last population, if there is one finite fitness for each of its members."""
        if self._last_population is None or len(fitness) != len(self._last_population):
            raise ContractError(
                "tell needs one fitness for each member of the population that ask returned last."
            )
        check_fitness(fitness)
        return self._last_population

    def state_dict(self) -> OptimizerState:
        """Return the state of the library's optimiser."""
        return extract_state(self.optimizer)

    def load_state_dict(self, state: OptimizerState) -> None:
        """Restore the state of the library's optimiser."""
        restore_state(self.optimizer, state)
        self._last_population = None


class CmaesStrategy(_AskTellAdapter):
    """CMA-ES (Hansen 2001), by cmaes.

    Args:
        optimizer: A `CMA` of cmaes.
        members: Size of the population.
    """

    def __init__(self, optimizer: Any, members: int) -> None:
        super().__init__(optimizer, members)
        # cmaes leaves this history uninitialised until it is full, and reads it only then.
        # Uninitialised memory would make the checkpoints of equal runs differ.
        optimizer._funhist_values[:] = 0.0

    @property
    def center(self) -> Floats:
        """Mean of the distribution, `[parameters]`."""
        return np.array(self.optimizer._mean)

    def ask(self) -> Floats:
        """Draw a population, member by member."""
        self._last_population = np.array([self.optimizer.ask() for _ in range(self.members)])
        return self._last_population

    def tell(self, fitness: AnyArray) -> None:
        """Update the distribution; cmaes minimises, so the sign of fitness is changed."""
        pairs = zip(self._check_fitness(fitness), fitness, strict=True)
        self.optimizer.tell([(x, -float(value)) for x, value in pairs])


class RibsStrategy(_AskTellAdapter):
    """LM-MA-ES (Loshchilov et al. 2019), by pyribs."""

    @property
    def center(self) -> Floats:
        """Mean of the distribution, `[parameters]`."""
        return np.array(self.optimizer.mean)

    def ask(self) -> Floats:
        """Draw a population of members at once."""
        self._last_population = np.array(self.optimizer.ask())
        return self._last_population

    def tell(self, fitness: AnyArray) -> None:
        """Update the distribution; pyribs takes the ranking of the members, best first."""
        self._check_fitness(fitness)
        order, values = rank_descending(fitness), np.asarray(fitness, dtype=np.float64)
        self.optimizer.tell(order, values[order], len(values) // 2)


def make_strategy(
    name: str,
    start: Floats,
    members: int,
    sigma: float,
    seed: int,
    learning_rate: float | None = None,
) -> EvolutionStrategy:
    """Make an evolution strategy by name.

    Args:
        name: One of `STRATEGIES`.
        start: `[parameters]`, initial mean of the distribution; not changed.
        members: Size of the population.
        sigma: Initial standard deviation.
        seed: Seed of the library's random generator.
        learning_rate: Of Adam in `openai-es`, by default 0.1; the others have none.

    Raises:
        UnknownNameError: There is no such strategy.
        SettingsError: The strategy cannot work with these numbers, or has no learning rate.
    """
    if name not in STRATEGIES:
        hint = format_suggestion(name, STRATEGIES)
        raise UnknownNameError(f"No strategy is named '{name}'.{hint}")
    require(members >= 2, f"A strategy needs at least 2 members, not {members}.")
    require(sigma > 0, f"A strategy's sigma must be greater than 0, not {sigma}.")
    begin = np.array(start, dtype=np.float64)  # a copy, as cmaes changes the array it is given
    if name == "openai-es":
        rate = _LEARNING_RATE if learning_rate is None else learning_rate
        return OpenAIES(begin, members, sigma, seed, rate)
    require(
        learning_rate is None,
        f"Only openai-es has a learning_rate, {name} has none: leave it out.",
    )
    return _MAKERS[name](begin, members, sigma, seed)


def _make_cma(start: Floats, members: int, sigma: float, seed: int) -> CmaesStrategy:
    """Make the `CMA` of cmaes."""
    import cmaes

    require(len(start) >= 2, f"CMA-ES needs at least 2 parameters, not {len(start)}.")
    optimizer = cmaes.CMA(start, sigma, seed=seed, population_size=members)
    return CmaesStrategy(optimizer, members)


def _make_lm_ma(start: Floats, members: int, sigma: float, seed: int) -> RibsStrategy:
    """Make LM-MA-ES of pyribs, which needs at least as many parameters as members."""
    with optional_import("The strategy lm-ma"):
        from ribs.emitters.opt import LMMAEvolutionStrategy

    require(
        members <= len(start),
        f"lm-ma needs at least as many parameters as members; "
        f"these nets have {len(start)}, and there are {members} members.",
    )
    optimizer = LMMAEvolutionStrategy(sigma, len(start), members, seed=seed)
    optimizer.reset(start)
    return RibsStrategy(optimizer, members)


_MAKERS: Mapping[str, Callable[[Floats, int, float, int], EvolutionStrategy]] = {
    "cma": _make_cma,
    "sep-cma": SepCMA,
    "lm-ma": _make_lm_ma,
    "pgpe": PGPE,
    "snes": SNES,
    "xnes": XNES,
}
