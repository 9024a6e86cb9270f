"""Evolution strategies behind one ask and tell. None is written by hand.

`cma` and `sep-cma` are of the package cmaes, `openai-es` and `lm-ma` of pyribs. Each gives, with
the same seed, exactly the populations of the library called directly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats
from kinfolk.core.errors import ContractError, UnknownNameError, require, suggestion
from kinfolk.evolution.keeping import Kept, keep_state, put_state
from kinfolk.evolution.selection import check_fitness, ranked

STRATEGIES = ("cma", "sep-cma", "openai-es", "lm-ma")


class Strategy(Protocol):
    """A search distribution over parameters."""

    @property
    def centre(self) -> Floats:
        """The middle of the distribution."""
        ...

    def ask(self) -> Floats:
        """A population drawn from it, `[members, parameters]`."""
        ...

    def tell(self, fitness: AnyArray) -> None:
        """How good the members of the last `ask` were; higher is better."""
        ...

    def keep(self) -> Kept:
        """All that the next `ask` follows from."""
        ...

    def put(self, kept: Kept) -> None:
        """Go on from what `keep` returned."""
        ...


class _Asked:
    """What adapters share: the last population, and the library's object."""

    def __init__(self, optimiser: Any, members: int) -> None:
        self.optimiser, self.members = optimiser, members
        self._asked: Floats | None = None

    def _told(self, fitness: AnyArray) -> Floats:
        if self._asked is None or len(fitness) != len(self._asked):
            raise ContractError(
                "A strategy is told the fitness of the population it was asked for."
            )
        check_fitness(fitness)
        return self._asked

    def keep(self) -> Kept:
        """The state of the library's object."""
        return keep_state(self.optimiser)

    def put(self, kept: Kept) -> None:
        """Give the library's object that state."""
        put_state(self.optimiser, kept)
        self._asked = None


class CmaesStrategy(_Asked):
    """CMA-ES (Hansen 2001) or its separable form (Ros and Hansen 2008), by cmaes."""

    def __init__(self, optimiser: Any, members: int) -> None:
        super().__init__(optimiser, members)
        # The package leaves this history uninitialised until it is full, and reads it only then.
        # What lay in memory before would make checkpoints of equal runs differ.
        optimiser._funhist_values[:] = 0.0

    @property
    def centre(self) -> Floats:
        """The mean."""
        return np.array(self.optimiser._mean)  # both kinds have it under this name only

    def ask(self) -> Floats:
        """Draw the members one by one."""
        self._asked = np.array([self.optimiser.ask() for _ in range(self.members)])
        return self._asked

    def tell(self, fitness: AnyArray) -> None:
        """The package minimises."""
        pairs = zip(self._told(fitness), fitness, strict=True)
        self.optimiser.tell([(x, -float(value)) for x, value in pairs])


class RibsStrategy(_Asked):
    """OpenAI-ES (Salimans et al. 2017) or LM-MA-ES (Loshchilov et al. 2019), by pyribs."""

    @property
    def centre(self) -> Floats:
        """The mean."""
        adam = getattr(self.optimiser, "adam_opt", None)
        return np.array(self.optimiser.mean if adam is None else adam.theta)

    def ask(self) -> Floats:
        """Draw the members."""
        self._asked = np.array(self.optimiser.ask())
        return self._asked

    def tell(self, fitness: AnyArray) -> None:
        """The package takes the members' order, best first."""
        self._told(fitness)
        order, values = ranked(fitness), np.asarray(fitness, dtype=np.float64)
        self.optimiser.tell(order, values[order], len(values) // 2)


def make_strategy(
    name: str, start: Floats, members: int, sigma: float, seed: int, learning_rate: float = 0.1
) -> Strategy:
    """A strategy that begins at `start`. `learning_rate` is that of OpenAI-ES (Adam).

    Raises:
        UnknownNameError: There is no such strategy.
        SettingsError: It cannot work with these numbers.
    """
    if name not in _MAKERS:
        raise UnknownNameError(f"No strategy is named '{name}'.{suggestion(name, STRATEGIES)}")
    require(members >= 2, f"A strategy needs at least 2 members, not {members}.")
    require(sigma > 0, f"A strategy's sigma must be greater than 0, not {sigma}.")
    # A copy: SepCMA moves the array it is given.
    return _MAKERS[name](np.array(start, dtype=np.float64), members, sigma, seed, learning_rate)


def _cma(start: Floats, members: int, sigma: float, seed: int, _: float) -> Strategy:
    from cmaes import CMA

    require(len(start) >= 2, f"CMA-ES needs at least 2 parameters, not {len(start)}.")
    return CmaesStrategy(CMA(start, sigma, seed=seed, population_size=members), members)


def _sep_cma(start: Floats, members: int, sigma: float, seed: int, _: float) -> Strategy:
    from cmaes import SepCMA

    require(len(start) >= 2, f"CMA-ES needs at least 2 parameters, not {len(start)}.")
    return CmaesStrategy(SepCMA(start, sigma, seed=seed, population_size=members), members)


def _openai_es(start: Floats, members: int, sigma: float, seed: int, rate: float) -> Strategy:
    from ribs.emitters.opt import OpenAIEvolutionStrategy

    optimiser = OpenAIEvolutionStrategy(
        sigma, len(start), members, seed=seed, mirror_sampling=members % 2 == 0, lr=rate
    )
    optimiser.reset(start)
    return RibsStrategy(optimiser, members)


def _lm_ma(start: Floats, members: int, sigma: float, seed: int, _: float) -> Strategy:
    from ribs.emitters.opt import LMMAEvolutionStrategy

    require(
        members <= len(start),
        f"lm-ma needs at least as many parameters as members; "
        f"these nets have {len(start)}, and there are {members} members.",
    )
    optimiser = LMMAEvolutionStrategy(sigma, len(start), members, seed=seed)
    optimiser.reset(start)
    return RibsStrategy(optimiser, members)


_MAKERS: Mapping[str, Callable[[Floats, int, float, int, float], Strategy]] = {
    "cma": _cma,
    "sep-cma": _sep_cma,
    "openai-es": _openai_es,
    "lm-ma": _lm_ma,
}
