"""How a population gets its next members: by selection, by a strategy, or from an archive."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats, Ints
from kinfolk.core.random import fold_in
from kinfolk.evolution.archive import MapElitesArchive
from kinfolk.evolution.populations import BasePop
from kinfolk.evolution.selection import tournament, truncation
from kinfolk.evolution.strategies import OptimizerState, make_strategy
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.nets.dynamic.forward import RunningStats

_SELECT, _MUTATE, _STRATEGY = 1, 2, 3  # branches of keys
_UINT32_MASK = 0xFFFFFFFF


class Searcher:
    """A search on one population, whose whole state is what `state_dict` returns.

    Attributes:
        archive: The MAP-Elites archive; None if the search has none.
        center_uid: Uid of the centre that the members were drawn around; None if there is none.
    """

    archive: MapElitesArchive | None = None
    center_uid: int | None = None

    def prepare(self, pop: BasePop) -> None:
        """Write the members of the next generation before it is played.

        By default nothing is left to do, because `advance` has made them.
        """

    def advance(
        self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int
    ) -> Ints | None:
        """Make the next members after a generation was played.

        Args:
            pop: The population; changed in place.
            fitness: `[members]`, higher is better.
            measures: `[members, axes]`, coordinates in the archive; None without an archive.
            key: Random key.

        Returns:
            `[members]`, index of each member's parent; None if parents were not selected among
            the last members.
        """
        raise NotImplementedError

    def center(self) -> Floats | None:
        """Return the centre of the search distribution; None if the search has no centre."""
        return None

    def state_dict(self) -> OptimizerState:
        """Return all state that is not in the population; by default there is none."""
        return OptimizerState()

    def load_state_dict(self, state: OptimizerState) -> None:
        """Restore the state that `state_dict` returned."""


class GeneticSearch(Searcher):
    """A genetic algorithm: selection and mutation.

    Args:
        settings: Settings of the evolution.
    """

    def __init__(self, settings: EvolveNets) -> None:
        self._settings = settings

    def advance(self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int) -> Ints:
        """Select parents, copy them with their state, and mutate the copies."""
        del measures
        settings, elites = self._settings, self._settings.elites
        if settings.selection == "tournament":
            size = settings.tournament_size
            indices = tournament(fitness, size, fold_in(key, _SELECT), elites)
        else:
            indices = truncation(fitness, elites)
        pop.apply_selection(indices, elites)
        if not settings.keep_running_stats and settings.net == "dynamic":
            nets: Any = pop.nets
            nets.set_running_stats(RunningStats(*(np.zeros_like(nets.graph.n) for _ in range(3))))
        pop.mutate(int(fold_in(key, _MUTATE)), elites)
        return indices


class StrategySearch(Searcher):
    """An evolution strategy that draws each generation around its centre.

    Args:
        settings: Settings of the evolution.
        start: `[parameters]`, the first centre.
        key: Random key.
    """

    def __init__(self, settings: EvolveNets, start: AnyArray, key: int) -> None:
        seed = int(fold_in(key, _STRATEGY)) & _UINT32_MASK
        size, sigma, rate = settings.population, settings.step_size, settings.learning_rate
        self._strategy = make_strategy(settings.algorithm, start, size, sigma, seed, rate)
        self.center_uid = -1

    def prepare(self, pop: BasePop) -> None:
        """Replace the members by samples around the strategy's centre.

        The centre gets a new uid, and the members become its children.
        """
        self.center_uid = pop.new_uid()
        pop.set_params(self._strategy.ask(), self.center_uid)

    def advance(self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int) -> None:
        """Tell the strategy the fitness of its samples."""
        del pop, measures, key
        self._strategy.tell(fitness)

    def center(self) -> Floats:
        """Return the mean of the search distribution."""
        return self._strategy.center

    def state_dict(self) -> OptimizerState:
        """Return the strategy's state and the uid of its last centre."""
        state = self._strategy.state_dict()
        return OptimizerState(state.arrays, {**state.values, "/center_uid": self.center_uid})

    def load_state_dict(self, state: OptimizerState) -> None:
        """Restore the strategy's state and the uid of its last centre."""
        self.center_uid = state.values["/center_uid"]
        self._strategy.load_state_dict(state)


class MapElitesSearch(Searcher):
    """Quality-diversity search: parents are drawn from a MAP-Elites archive.

    Args:
        settings: Settings of the evolution, with the axes of the archive.
        parameters: Number of parameters of a net.
    """

    def __init__(self, settings: EvolveNets, parameters: int) -> None:
        cells = [axis.cells for axis in settings.archive]
        ranges = [(axis.low, axis.high) for axis in settings.archive]
        self.archive: MapElitesArchive = MapElitesArchive(parameters, cells, ranges)

    def advance(self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int) -> None:
        """Add the members to the archive, then mutate offspring of its elites."""
        assert measures is not None  # `_advance_population` has them where there is an archive
        self.archive.add(pop.get_params(), fitness, measures, pop.uid)
        params, parents = self.archive.sample_elites(pop.num_nets, int(fold_in(key, _SELECT)))
        pop.set_params(params)
        pop.parents = parents
        pop.mutate(int(fold_in(key, _MUTATE)))

    def state_dict(self) -> OptimizerState:
        """Return the elites of the archive."""
        return OptimizerState(self.archive.to_arrays() if self.archive.num_elites else {})

    def load_state_dict(self, state: OptimizerState) -> None:
        """Fill the archive with its elites."""
        if state.arrays:
            self.archive.load_arrays(state.arrays)


def make_searcher(settings: EvolveNets, pop: BasePop, key: int) -> Searcher:
    """Make the search that the settings name.

    Args:
        settings: Settings of the evolution.
        pop: Population that will be evolved.
        key: Random key.

    Raises:
        SettingsError: The algorithm cannot work with these nets.
    """
    if settings.archive:
        return MapElitesSearch(settings, pop.get_params().shape[1])
    if settings.algorithm == "ga":
        return GeneticSearch(settings)
    params = pop.get_params()
    start = np.zeros(params.shape[1]) if settings.zero_init else params[0]
    return StrategySearch(settings, start, key)
