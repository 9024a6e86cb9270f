"""From the settings of an evolution of nets to the search that they name."""

from __future__ import annotations

import numpy as np

from kinfolk.core.random import fold_in
from kinfolk.evolution.archive import MapElitesArchive
from kinfolk.evolution.base import BasePop
from kinfolk.evolution.emitters import EmitterSearch
from kinfolk.evolution.search import (
    GeneticOptions,
    GeneticSearch,
    MapElitesSearch,
    NoveltySearch,
    Searcher,
    StrategySearch,
)
from kinfolk.evolution.strategies import make_strategy
from kinfolk.jobs.evolve_nets.settings import EvolveNets

_STRATEGY = 3  # branch of keys
_UINT32_MASK = 0xFFFFFFFF


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
        ranges = [(axis.low, axis.high) for axis in settings.archive]
        cells = [axis.cells for axis in settings.archive]
        if settings.emitter is None:
            return MapElitesSearch(MapElitesArchive(cells, ranges), pop.nets)
        return EmitterSearch(
            settings.emitter, cells, ranges, pop, n_emitters=settings.n_emitters,
            sigma=settings.step_size, key=key, min_fitness=settings.min_fitness,
        )  # fmt: skip
    if settings.search_algorithm == "ga":
        options = GeneticOptions(
            settings.selection, settings.tournament_size, settings.elites, settings.crossover,
            settings.species_distance, settings.keep_running_stats,
        )  # fmt: skip
        if settings.novelty:
            return NoveltySearch(len(settings.novelty), options)
        return GeneticSearch(options)
    params = pop.get_params()
    start = np.zeros(params.shape[1]) if settings.zero_init else params[0]
    seed = int(fold_in(key, _STRATEGY)) & _UINT32_MASK
    algorithm = settings.search_algorithm
    rate = settings.learning_rate if algorithm == "openai-es" else None
    size, sigma = settings.population, settings.step_size
    return StrategySearch(make_strategy(algorithm, start, size, sigma, seed, rate))
