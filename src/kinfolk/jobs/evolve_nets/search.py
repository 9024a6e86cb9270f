"""How a population gets its next members: by selection, by a strategy, or from an archive."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats, Ints
from kinfolk.core.random import fold_in
from kinfolk.evolution.archive import MapElitesArchive
from kinfolk.evolution.optimizer_state import OptimizerState
from kinfolk.evolution.populations import BasePop
from kinfolk.evolution.selection import tournament, truncation
from kinfolk.evolution.strategies import make_strategy
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.nets.running_stats import RunningStats

_SELECT, _MUTATE, _STRATEGY = 1, 2, 3  # branches of keys
_UINT32_MASK = 0xFFFFFFFF


class Searcher(Protocol):
    """A search on one population, whose whole state is what `state_dict` returns."""

    archive: MapElitesArchive | None

    def prepare(self, pop: BasePop) -> None:
        """Make the members ready before a generation is played."""
        ...

    def advance(
        self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int
    ) -> Ints | None:
        """Make the next members after a generation was played.

        Args:
            pop: The population; changed in place.
            fitness: `[members]`, higher is better.
            measures: `[members, axes]` of an archive; None without one.
            key: Random key.

        Returns:
            `[members]`, the parents' indices; None if members were not selected from the last ones.
        """
        ...

    def center(self) -> Floats | None:
        """Return the centre of the search distribution; None if it has none."""
        ...

    def state_dict(self) -> OptimizerState:
        """Return all state that is not in the population."""
        ...

    def load_state_dict(self, state: OptimizerState) -> None:
        """Restore the state that `state_dict` returned."""
        ...


class GeneticSearch:
    """A genetic algorithm: selection and mutation.

    Args:
        settings: Settings of the evolution.
    """

    archive = None

    def __init__(self, settings: EvolveNets) -> None:
        self._settings = settings

    def prepare(self, pop: BasePop) -> None:
        """Do nothing: the members were made by `advance`."""

    def advance(self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int) -> Ints:
        """Select parents, copy them with all they carry, and mutate the copies."""
        del measures
        settings = self._settings
        if settings.selection == "tournament":
            indices = tournament(
                fitness, settings.tournament_size, fold_in(key, _SELECT), settings.elites
            )
        else:
            indices = truncation(fitness, settings.elites)
        pop.apply_selection(indices, settings.elites)
        if not settings.keep_running_stats and settings.net == "dynamic":
            nets: Any = pop.nets
            nets.set_running_stats(RunningStats(*(np.zeros_like(nets.graph.n) for _ in range(3))))
        pop.mutate(int(fold_in(key, _MUTATE)), settings.elites)
        return indices

    def center(self) -> None:
        """Return None: a population has no centre."""

    def state_dict(self) -> OptimizerState:
        """Return nothing: all state is in the population."""
        return OptimizerState()

    def load_state_dict(self, state: OptimizerState) -> None:
        """Do nothing: all state is in the population."""


class StrategySearch:
    """An evolution strategy that draws each generation around its centre.

    Args:
        settings: Settings of the evolution.
        start: `[parameters]`, the first centre.
        key: Random key.
    """

    archive = None

    def __init__(self, settings: EvolveNets, start: AnyArray, key: int) -> None:
        self._strategy = make_strategy(
            settings.algorithm, start, settings.population, settings.step_size,
            int(fold_in(key, _STRATEGY)) & _UINT32_MASK, settings.learning_rate,
        )  # fmt: skip
        self._center_uid = -1

    def prepare(self, pop: BasePop) -> None:
        """Draw the members as children of the centre, which has a uid of its own."""
        self._center_uid = pop.new_uid()
        pop.set_params(self._strategy.ask(), self._center_uid)

    @property
    def center_uid(self) -> int:
        """Return the uid of the centre that the members were drawn around."""
        return self._center_uid

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
        return OptimizerState(state.arrays, {**state.values, "/center_uid": self._center_uid})

    def load_state_dict(self, state: OptimizerState) -> None:
        """Restore the strategy's state and the uid of its last centre."""
        self._center_uid = state.values["/center_uid"]
        self._strategy.load_state_dict(state)


class MapElitesSearch:
    """Quality-diversity search: parents are drawn from a MAP-Elites archive.

    Args:
        settings: Settings of the evolution, with the axes of the archive.
        parameters: Number of parameters of a net.
    """

    def __init__(self, settings: EvolveNets, parameters: int) -> None:
        axes = settings.archive
        ranges = [(axis.low, axis.high) for axis in axes]
        self.archive: MapElitesArchive = MapElitesArchive(
            parameters, [axis.cells for axis in axes], ranges
        )

    def prepare(self, pop: BasePop) -> None:
        """Do nothing: the members were made by `advance`."""

    def advance(self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int) -> None:
        """Add the members to the archive, then mutate offspring of its elites."""
        assert measures is not None  # `_advance` has them where there is an archive
        self.archive.add(pop.get_params(), fitness, measures, pop.uid)
        params, parents = self.archive.sample_elites(pop.num_nets, int(fold_in(key, _SELECT)))
        pop.set_params(params)
        pop.parents = parents
        pop.mutate(int(fold_in(key, _MUTATE)))

    def center(self) -> None:
        """Return None: an archive has no centre."""

    def state_dict(self) -> OptimizerState:
        """Return the elites of the archive."""
        return OptimizerState(self.archive.to_arrays() if self.archive.num_elites else {})

    def load_state_dict(self, state: OptimizerState) -> None:
        """Fill the archive with its elites."""
        if state.arrays:
            self.archive.load_arrays(state.arrays)


def make_searcher(settings: EvolveNets, pop: BasePop, key: int) -> Any:
    """Make the search that the settings name.

    Args:
        settings: Settings of the evolution.
        pop: The population that is searched with.
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


def prefix_arrays(state: OptimizerState, prefix: str) -> dict[str, AnyArray]:
    """Return a search's arrays under names with a prefix."""
    return {f"{prefix}{name}": array for name, array in state.arrays.items()}


def state_from_arrays(arrays: Arrays, notes: dict[str, Any], prefix: str) -> OptimizerState:
    """Return the state whose arrays `prefix_arrays` named.

    Args:
        arrays: Arrays of a snapshot.
        notes: Values of the state that are not arrays.
        prefix: Prefix of the names of its arrays.
    """
    inside = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
    return OptimizerState(inside, notes)
