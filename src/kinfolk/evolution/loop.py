"""Evolution with a fitness function of one's own: `evolve`, and members scored one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.errors import (
    ContractError,
    KinfolkError,
    UnknownNameError,
    require,
    summarize_error,
)
from kinfolk.core.errors import format_suggestion as suggest
from kinfolk.core.random import fold_in, seed_key
from kinfolk.engines.base import Engine, LocalEngine
from kinfolk.evolution.base import BasePop
from kinfolk.evolution.search import GeneticOptions, GeneticSearch, Searcher, StrategySearch
from kinfolk.evolution.selection import check_fitness
from kinfolk.evolution.strategies import STRATEGIES, make_strategy
from kinfolk.nets.base import BaseNets

_STRATEGY_SIGMA = 0.5  # initial step size of a strategy that is given none
_UINT32_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class _MemberChunk:
    """Some members, and the function that scores each of them."""

    function: Callable[[BaseNets], float]
    nets: BaseNets
    first: int  # index of the first of them in the population


def evaluate_members(
    function: Callable[[BaseNets], float],
    pop: BasePop,
    engine: Engine | None = None,
    chunk_size: int = 32,
) -> Floats:
    """Return the fitness of every member, `[members]`, by a function of one member.

    Args:
        function: Maps nets of one member to a number; higher is better. For an engine of several
            processes it must be importable, as functions of a module are.
        pop: The population; it is not changed.
        engine: Engine that runs the calls; None: this process.
        chunk_size: Members per task of the engine; it changes no result.

    Raises:
        ContractError: The function failed, or returned no finite number; the message names the
            member.
    """
    chunks = [
        range(a, min(a + chunk_size, pop.num_nets)) for a in range(0, pop.num_nets, chunk_size)
    ]
    tasks = (_MemberChunk(function, pop.nets.select(chunk), chunk.start) for chunk in chunks)
    parts = list((engine or LocalEngine()).map(_score_members, tasks))
    return check_fitness(np.concatenate(parts), pop.uid)


def _score_members(chunk: _MemberChunk) -> Floats:
    """Call the function for each member of a chunk; this is the function that engines run."""
    scores = []
    for index in range(chunk.nets.num_nets):
        try:
            scores.append(float(chunk.function(chunk.nets.select([index]))))
        except KinfolkError:
            raise
        except Exception as error:
            description, location, _ = summarize_error(error)
            member = chunk.first + index
            message = f"The fitness function failed for member {member}: {description}"
            raise ContractError(f"{message} ({location}).") from error
    return np.array(scores)


@dataclass(frozen=True)
class Generation:
    """One generation that was scored.

    Attributes:
        number: Counted from 0.
        fitness: `[members]`, without what is inherited.
        best: The fittest member, as nets of one.
        center: The centre of a strategy after the generation, as nets of one; None for `ga`.
    """

    number: int
    fitness: Floats
    best: BaseNets
    center: BaseNets | None = None

    def __repr__(self) -> str:
        low, mean, high = self.fitness.min(), self.fitness.mean(), self.fitness.max()
        return f"Generation({self.number}: fitness {low:.4g} to {high:.4g}, mean {mean:.4g})"


def evolve(
    pop: BasePop,
    fitness: Callable[[Any], Any],
    *,
    generations: int = 100,
    algorithm: str = "ga",
    per_member: bool = False,
    options: GeneticOptions | None = None,
    sigma: float | None = None,
    learning_rate: float | None = None,
    goal: float | None = None,
    seed: int = 0,
    engine: Engine | None = None,
) -> Iterator[Generation]:
    """Evolve a population by a fitness function of your own, generation by generation.

    Args:
        pop: The population, changed in place.
        fitness: Maps the population to one number per member or, with `per_member`, nets of one
            member to a number; higher is better.
        generations: Most generations.
        algorithm: `ga`, or one of `STRATEGIES`.
        per_member: Whether `fitness` scores one member at a time, through the engine.
        options: How `ga` selects and crosses; nets have their own mutation.
        sigma: Initial step size of a strategy, by default 0.5.
        learning_rate: Of `openai-es`, by default 0.1.
        goal: Mean fitness at which to stop.
        seed: Seed of selection and strategies.
        engine: Engine that scores members with `per_member`; None: this process.

    Yields:
        Each generation after it was scored. Stop by leaving the loop.

    Raises:
        UnknownNameError: There is no such algorithm.
        SettingsError: An argument, or an option of the population, has no effect with the others.
        ContractError: A fitness is not finite, or the fitness function failed.
    """
    require(
        per_member or engine is None,
        "An engine scores members one by one: set per_member=True, or leave out engine.",
    )
    search = _make_search(pop, algorithm, options, sigma, learning_rate, seed)
    for number in range(generations):
        search.prepare(pop)
        scored = evaluate_members(fitness, pop, engine) if per_member else fitness(pop)
        values = check_fitness(scored, pop.uid)
        total = np.asarray(pop.get_total_fitness(values))
        best = pop.nets.select([int(np.argmax(total))])
        search.advance(pop, total, None, int(fold_in(seed_key(seed), number)))
        yield Generation(number, values, best, _center_nets(search, pop))
        if goal is not None and values.mean() >= goal:
            return


def _make_search(
    pop: BasePop,
    algorithm: str,
    options: GeneticOptions | None,
    sigma: float | None,
    learning_rate: float | None,
    seed: int,
) -> Searcher:
    """Return the search of an algorithm; see `evolve` for its arguments."""
    if algorithm == "ga":
        for name, value in (("sigma", sigma), ("learning_rate", learning_rate)):
            message = f"ga has no {name}: leave it out. Nets have their own mutation."
            require(value is None, message)
        require(
            options is None or options.keep_running_stats or pop.nets.running_stats is not None,
            "These nets have no running statistics to drop: leave out keep_running_stats.",
        )
        return GeneticSearch(options)
    if algorithm not in STRATEGIES:
        hint = suggest(algorithm, ["ga", *STRATEGIES])
        raise UnknownNameError(f"No algorithm is named '{algorithm}'.{hint}")
    require(options is None, f"Options are for the algorithm ga; {algorithm} has none.")
    inherits = [name for name, is_on in vars(pop.ga_config).items() if is_on]
    require(
        not inherits,
        f"Members drawn by {algorithm} have no parents: leave out {', '.join(inherits)}, or use ga.",
    )
    require(
        getattr(pop.nets, "sigmas", None) is None,
        f"{algorithm} does not mutate: leave out self_adaptive of the nets, or use ga.",
    )
    start = np.asarray(pop.get_params())[0]
    size = _STRATEGY_SIGMA if sigma is None else sigma
    drawn = seed_key(seed) & _UINT32_MASK
    return StrategySearch(make_strategy(algorithm, start, pop.num_nets, size, drawn, learning_rate))


def _center_nets(search: Searcher, pop: BasePop) -> BaseNets | None:
    """Return the centre of a strategy as nets of one; None if the search has no centre."""
    center = search.center()
    if center is None:
        return None
    nets = pop.nets.select([0])
    nets.set_params(center[None])
    return nets
