"""How a population gets its next members: by selection, by a strategy, or from a map."""

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
    """Works on one population; has no state but what `keep` returns."""

    archive: MapElitesArchive | None

    def prepare(self, pop: BasePop) -> None:
        """Before a generation is played."""
        ...

    def advance(
        self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int
    ) -> Ints | None:
        """After it was played: make the next; the parents' indices, if members have parents."""
        ...

    def center(self) -> Floats | None:
        """The middle of the search, if it has one."""
        ...

    def state_dict(self) -> OptimizerState:
        """State."""
        ...

    def load_state_dict(self, state: OptimizerState) -> None:
        """Go on."""
        ...


class GeneticSearch:
    """Selection and mutation."""

    archive = None

    def __init__(self, settings: EvolveNets) -> None:
        self._settings = settings

    def prepare(self, pop: BasePop) -> None:
        """The members are there already."""

    def advance(self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int) -> Ints:
        """Select parents, copy them with all they carry, mutate."""
        del measures
        asked = self._settings
        if asked.selection == "tournament":
            indices = tournament(
                fitness, asked.tournament_size, fold_in(key, _SELECT), asked.elites
            )
        else:
            indices = truncation(fitness, asked.elites)
        pop.apply_selection(indices, asked.elites)
        if not asked.keep_running_stats and asked.net == "dynamic":
            nets: Any = pop.nets
            nets.set_running_stats(RunningStats(*(np.zeros_like(nets.graph.n) for _ in range(3))))
        pop.mutate(int(fold_in(key, _MUTATE)), asked.elites)
        return indices

    def center(self) -> None:
        """There is none."""

    def state_dict(self) -> OptimizerState:
        """All state is in the population."""
        return OptimizerState()

    def load_state_dict(self, state: OptimizerState) -> None:
        """Nothing to put."""


class StrategySearch:
    """An evolution strategy that draws each generation around its centre."""

    archive = None

    def __init__(self, settings: EvolveNets, start: AnyArray, key: int) -> None:
        self._strategy = make_strategy(
            settings.algorithm, start, settings.population, settings.step_size,
            int(fold_in(key, _STRATEGY)) & _UINT32_MASK, settings.learning_rate,
        )  # fmt: skip
        self._center_uid = -1

    def prepare(self, pop: BasePop) -> None:
        """Draw the members: children of the centre, which is a life of its own."""
        self._center_uid = pop.new_uid()
        pop.set_params(self._strategy.ask(), self._center_uid)

    @property
    def center_uid(self) -> int:
        """The number of the centre that the members were drawn around."""
        return self._center_uid

    def advance(self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int) -> None:
        """Tell the strategy."""
        del pop, measures, key
        self._strategy.tell(fitness)

    def center(self) -> Floats:
        """Its mean."""
        return self._strategy.center

    def state_dict(self) -> OptimizerState:
        """The library's state, and which centre was last."""
        kept = self._strategy.state_dict()
        return OptimizerState(kept.arrays, {**kept.values, "/center_uid": self._center_uid})

    def load_state_dict(self, state: OptimizerState) -> None:
        """Go on from there."""
        self._center_uid = state.values["/center_uid"]
        self._strategy.load_state_dict(state)


class MapElitesSearch:
    """Quality-diversity: parents are drawn from a map of behaviours."""

    def __init__(self, settings: EvolveNets, parameters: int) -> None:
        axes = settings.archive
        ranges = [(axis.low, axis.high) for axis in axes]
        self.archive: MapElitesArchive = MapElitesArchive(
            parameters, [axis.cells for axis in axes], ranges
        )

    def prepare(self, pop: BasePop) -> None:
        """The members are there already."""

    def advance(self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int) -> None:
        """Enter the members, then mutate children of members of the map."""
        assert measures is not None  # a map is made only where behaviour is watched
        self.archive.add(pop.get_params(), fitness, measures, pop.uid)
        params, parents = self.archive.sample_elites(pop.num_nets, int(fold_in(key, _SELECT)))
        pop.set_params(params)
        pop.parents = parents
        pop.mutate(int(fold_in(key, _MUTATE)))

    def center(self) -> None:
        """There is none."""

    def state_dict(self) -> OptimizerState:
        """The members of the map."""
        return OptimizerState(self.archive.to_arrays() if self.archive.num_elites else {})

    def load_state_dict(self, state: OptimizerState) -> None:
        """Fill the map."""
        if state.arrays:
            self.archive.load_arrays(state.arrays)


def make_searcher(settings: EvolveNets, pop: BasePop, key: int) -> Any:
    """The search that the settings ask for.

    Raises:
        SettingsError: It cannot work with these nets.
    """
    if settings.archive:
        return MapElitesSearch(settings, pop.get_params().shape[1])
    if settings.algorithm == "ga":
        return GeneticSearch(settings)
    params = pop.get_params()
    start = np.zeros(params.shape[1]) if settings.zero_init else params[0]
    return StrategySearch(settings, start, key)


def prefix_arrays(state: OptimizerState, prefix: str) -> dict[str, AnyArray]:
    """A search's arrays under a prefix."""
    return {f"{prefix}{name}": array for name, array in state.arrays.items()}


def state_from_arrays(arrays: Arrays, notes: dict[str, Any], prefix: str) -> OptimizerState:
    """What `kept_arrays` laid down."""
    inside = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
    return OptimizerState(inside, notes)
