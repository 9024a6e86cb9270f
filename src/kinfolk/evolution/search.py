"""How a population gets its next members: by selection, a strategy, novelty, or from an archive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.errors import UnknownNameError, format_suggestion, require
from kinfolk.core.random import fold_in
from kinfolk.evolution.archive import MapElitesArchive
from kinfolk.evolution.base import BasePop
from kinfolk.evolution.novelty import NoveltyArchive
from kinfolk.evolution.selection import rank_descending, tournament, truncation
from kinfolk.evolution.speciation import assign_species, draw_mates, select_in_species
from kinfolk.evolution.states import OptimizerState
from kinfolk.evolution.strategies import EvolutionStrategy
from kinfolk.nets.running_stats import RunningStats

_SELECT, _MUTATE, _MATES, _CROSS = 1, 2, 4, 5  # branches of keys
SELECTIONS = ("truncation", "tournament")
_DEFAULT_TOURNAMENT = 3  # contestants


class Searcher:
    """A search on one population, whose whole state is what `state_dict` returns.

    Attributes:
        archive: The MAP-Elites archive; None if the search has none.
        center_uid: Uid of the centre that the members were drawn around; None if there is none.
        n_species: Number of species at the last selection; None if there are no species.
    """

    archive: MapElitesArchive | None = None
    center_uid: int | None = None
    n_species: int | None = None

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
            measures: `[members, axes]`, what describes behaviour; None if nothing asked for it.
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


@dataclass(frozen=True)
class GeneticOptions:
    """How a genetic algorithm selects and crosses.

    Attributes:
        selection: `truncation` (the better half, each twice), `tournament`, or a function that maps
            the fitness `[members]` and a random key to the parent of each new member, `[members]`.
        tournament_size: Contestants of a tournament.
        elites: Best members that survive unchanged; they take the places of the first children.
        crossover: Probability that a child has two parents, from 0 to 1.
        species_distance: Dynamic nets that differ from the first of a species in less than this share
            of edges, up to 1, belong to it, and each species selects its better half; None: no species.
        keep_running_stats: Whether children inherit running statistics of their inputs or nodes.

    Raises:
        UnknownNameError: No selection has this name.
        SettingsError: A number is out of range, or one setting leaves another without effect.
    """

    selection: str | Callable[[Floats, int], Any] = "truncation"
    tournament_size: int = _DEFAULT_TOURNAMENT
    elites: int = 0
    crossover: float = 0.0
    species_distance: float | None = None
    keep_running_stats: bool = True

    def __post_init__(self) -> None:
        """Check the values, and that each of them has an effect."""
        if not callable(self.selection) and self.selection not in SELECTIONS:
            hint = format_suggestion(str(self.selection), SELECTIONS)
            raise UnknownNameError(
                f"No selection is named '{self.selection}'.{hint} "
                f"Or give a function of fitness and key that returns the indices of parents."
            )
        require(self.elites >= 0, f"elites must be at least 0, not {self.elites}.")
        is_probability = 0.0 <= self.crossover <= 1.0
        require(is_probability, f"crossover must be from 0 to 1, not {self.crossover}.")
        size = self.tournament_size
        require(size >= 1, f"A tournament needs at least 1 contestant, not {size}.")
        require(
            self.selection == "tournament" or size == _DEFAULT_TOURNAMENT,
            "tournament_size has an effect with selection='tournament' only: leave it out.",
        )
        distance = self.species_distance
        if distance is None:
            return
        require(0.0 < distance <= 1.0, f"species_distance must be in (0, 1], not {distance}.")
        require(
            self.selection == "truncation",
            "Species select their better half each: leave out selection or species_distance.",
        )


class GeneticSearch(Searcher):
    """A genetic algorithm: selection, crossover and mutation.

    Args:
        options: How it selects and crosses.
    """

    def __init__(self, options: GeneticOptions | None = None) -> None:
        self.options = options or GeneticOptions()

    def advance(self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int) -> Ints:
        """Select parents, copy them with their state, cross and mutate the copies."""
        del measures
        options, elites, nets = self.options, self.options.elites, pop.nets
        species = None
        if options.species_distance is not None:
            species = assign_species(nets.distances(), options.species_distance)
            self.n_species = int(species.max()) + 1
        indices = self._select(fitness, species, fold_in(key, _SELECT))
        mates = None
        if options.crossover:
            children = slice(elites, None)
            drawn = (fitness, indices[children], species, options.crossover)
            first, second = draw_mates(*drawn, int(fold_in(key, _MATES)))
            mates = np.concatenate([np.full(elites, -1), second])
            indices = np.concatenate([indices[:elites], first])
        pop.apply_selection(indices, elites, mates, int(fold_in(key, _CROSS)))
        if not options.keep_running_stats and nets.running_stats is not None:
            zeros = RunningStats(*(np.zeros_like(part) for part in nets.running_stats))
            nets.set_running_stats(zeros)  # type: ignore[attr-defined]
        pop.mutate(int(fold_in(key, _MUTATE)), elites)
        return indices

    def state_dict(self) -> OptimizerState:
        """Return the number of species, which the next generation reports."""
        return OptimizerState(values={"n_species": self.n_species})

    def load_state_dict(self, state: OptimizerState) -> None:
        """Restore the number of species."""
        self.n_species = state.values.get("n_species")

    def _select(self, fitness: Floats, species: Ints | None, key: int) -> Ints:
        """Return the parent of each new member."""
        options = self.options
        if species is not None:
            return select_in_species(fitness, species, options.elites)
        if callable(options.selection):
            chosen = np.array(options.selection(fitness, int(key)), dtype=np.int64)
            chosen[: options.elites] = rank_descending(fitness)[: options.elites]
            return chosen
        if options.selection == "tournament":
            return tournament(fitness, options.tournament_size, key, options.elites)
        return truncation(fitness, options.elites)


class NoveltySearch(GeneticSearch):
    """A genetic algorithm that selects for novel behaviour instead of fitness.

    Args:
        axes: Number of measures that describe a behaviour.
        options: How it selects and crosses.
        neighbors: Nearest behaviours whose mean distance is the novelty.
    """

    def __init__(
        self, axes: int, options: GeneticOptions | None = None, neighbors: int = 15
    ) -> None:
        super().__init__(options)
        self.novelty = NoveltyArchive(axes, neighbors)

    def advance(self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int) -> Ints:
        """Select by novelty, and remember the most novel behaviours."""
        del fitness
        assert measures is not None  # callers have them where novelty is searched
        novelty = self.novelty.score(measures)
        self.novelty.add(measures, novelty)
        return super().advance(pop, novelty, None, key)

    def state_dict(self) -> OptimizerState:
        """Return the behaviours in the archive, and the number of species."""
        return OptimizerState(self.novelty.to_arrays(), super().state_dict().values)

    def load_state_dict(self, state: OptimizerState) -> None:
        """Restore the behaviours in the archive, and the number of species."""
        super().load_state_dict(state)
        self.novelty.load_arrays(state.arrays)


class StrategySearch(Searcher):
    """An evolution strategy that draws each generation around its centre.

    Args:
        strategy: The strategy, for nets with as many parameters as the population's.
    """

    def __init__(self, strategy: EvolutionStrategy) -> None:
        self._strategy = strategy
        self.center_uid = -1
        self._stats: RunningStats | None = None  # of all members, before the generation

    def prepare(self, pop: BasePop) -> None:
        """Replace the members by samples around the strategy's centre.

        The centre gets a new uid, and the members become its children.
        """
        self.center_uid = pop.new_uid()
        pop.set_params(self._strategy.ask(), self.center_uid)
        stats = pop.nets.running_stats
        self._stats = None if stats is None else RunningStats(*(part[0] for part in stats))

    def advance(self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int) -> None:
        """Tell the strategy the fitness of its samples."""
        del measures, key
        self._strategy.tell(fitness)
        if self._stats is not None:  # the centre has seen what all members have
            nets: Any = pop.nets
            nets.pool_stats(self._stats)

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
        archive: An empty archive.
        nets: Nets of the population, of any kind.
    """

    def __init__(self, archive: MapElitesArchive, nets: Any) -> None:
        self.archive: MapElitesArchive = archive
        self._nets = nets

    def advance(self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int) -> None:
        """Add the members to the archive, then mutate offspring of its elites."""
        assert measures is not None  # callers have them where there is an archive
        self.archive.add(pop.nets, fitness, measures, pop.uid)
        members, select_key = pop.num_nets, int(fold_in(key, _SELECT))
        arrays, parents = self.archive.sample_elites(members, select_key, pop.nets)
        pop.replace_members(arrays, parents)
        pop.mutate(int(fold_in(key, _MUTATE)))

    def state_dict(self) -> OptimizerState:
        """Return the elites of the archive."""
        stored = self.archive.to_arrays(self._nets) if self.archive.num_elites else {}
        return OptimizerState(stored)

    def load_state_dict(self, state: OptimizerState) -> None:
        """Fill the archive with its elites."""
        if state.arrays:
            self.archive.load_arrays(state.arrays)
