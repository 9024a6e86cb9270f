"""The CMA-ME family: evolution strategies of pyribs (extra `qd`) that search for new and better cells.

Several emitters share an archive. Each is a CMA-ES whose members are ranked by what they add to the
archive, and which restarts from an elite when it adds nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.errors import UnknownNameError, format_suggestion, require
from kinfolk.core.imports import optional_import
from kinfolk.core.random import fold_in
from kinfolk.evolution.archive import AxisRange, MapElitesArchive
from kinfolk.evolution.base import BasePop
from kinfolk.evolution.search import Searcher
from kinfolk.evolution.selection import check_fitness
from kinfolk.evolution.states import OptimizerState, extract_state, restore_state

_MAX_FULL_COVARIANCE = 300  # parameters; more have a separable covariance
_UINT32_MASK = 0xFFFFFFFF
_MAE_RATE = 0.01  # at which thresholds of CMA-MAE rise to the fitness of a cell
_ARCHIVE, _SEED = "emitter_archive.", 6  # prefix of arrays; branch of keys


class _EmitterKind(NamedTuple):
    """How pyribs ranks, selects and restarts; `anneals` if thresholds of cells rise slowly."""

    ranker: str
    selection_rule: str
    restart_rule: str
    anneals: bool = False


EMITTERS = {
    "improvement": _EmitterKind("2imp", "filter", "no_improvement"),
    "random-direction": _EmitterKind("2rd", "filter", "no_improvement"),
    "optimizing": _EmitterKind("obj", "mu", "basic"),
    "annealing": _EmitterKind("imp", "mu", "basic", anneals=True),
}


class EmitterSearch(Searcher):
    """CMA-ME (Fontaine et al. 2020) or CMA-MAE (Fontaine and Nikolaidis 2023), by pyribs.

    Args:
        kind: `improvement`, `random-direction` or `optimizing` of CMA-ME, or `annealing` (CMA-MAE).
        dims: Cells along each axis of the archive.
        ranges: Lower and upper bound of each axis.
        pop: Population of nets with a fixed number of parameters, from whose first members the
            emitters start.
        n_emitters: Number of emitters, among which the members are divided equally.
        sigma: Initial step size.
        key: Random key.
        min_fitness: Where thresholds of `annealing` start: members with less enter no cell.

    Raises:
        UnknownNameError: No kind has this name.
        SettingsError: The members cannot be divided, or a minimal fitness is missing.
    """

    def __init__(
        self,
        kind: str,
        dims: Sequence[int],
        ranges: Sequence[AxisRange],
        pop: BasePop,
        *,
        n_emitters: int = 4,
        sigma: float = 0.5,
        key: int = 0,
        min_fitness: float | None = None,
    ) -> None:
        if kind not in EMITTERS:
            raise UnknownNameError(
                f"No emitter is named '{kind}'.{format_suggestion(kind, EMITTERS)}"
            )
        members, extra = divmod(pop.num_nets, n_emitters)
        require(
            extra == 0 and members >= 2,
            f"{pop.num_nets} members cannot be divided among {n_emitters} emitters with at least 2 "
            f"members each.",
        )
        require(
            EMITTERS[kind].anneals == (min_fitness is not None),
            "Annealing emitters need a min_fitness, and the others have none.",
        )
        with optional_import("CMA-ME"):
            from ribs.archives import GridArchive
            from ribs.emitters import EvolutionStrategyEmitter

        self.archive: MapElitesArchive = MapElitesArchive(dims, ranges)
        self._nets, self._members = pop.nets, members
        rule, start = EMITTERS[kind], np.asarray(pop.get_params())
        seeds = [int(fold_in(fold_in(key, _SEED), i)) & _UINT32_MASK for i in range(n_emitters + 1)]
        annealing = {"learning_rate": _MAE_RATE, "threshold_min": min_fitness}
        grid = {"solution_dim": start.shape[1], "dims": list(dims), "ranges": list(ranges)}
        self._emitter_archive: Any = GridArchive(
            **grid, seed=seeds[-1], dtype=np.float64, **(annealing if rule.anneals else {})
        )
        separable = start.shape[1] > _MAX_FULL_COVARIANCE
        self._emitters = [
            EvolutionStrategyEmitter(
                self._emitter_archive, x0=start[i], sigma0=sigma, ranker=rule.ranker,
                es="sep_cma_es" if separable else "cma_es", selection_rule=rule.selection_rule,
                restart_rule=rule.restart_rule, batch_size=members, seed=seeds[i],
            )
            for i in range(n_emitters)
        ]  # fmt: skip
        self._drawn: Floats | None = None

    @property
    def restarts(self) -> int:
        """How often emitters restarted from an elite."""
        return sum(emitter.restarts for emitter in self._emitters)

    def prepare(self, pop: BasePop) -> None:
        """Replace the members by those that the emitters draw; they have no parents."""
        self._drawn = np.concatenate([emitter.ask() for emitter in self._emitters])
        pop.set_params(self._drawn)

    def advance(self, pop: BasePop, fitness: Floats, measures: Floats | None, key: int) -> None:
        """Add the members to the archive, and tell each emitter what its members added."""
        del key
        assert measures is not None  # callers have them where there is an archive
        assert self._drawn is not None  # `prepare` has drawn them
        values = check_fitness(fitness, pop.uid)
        self.archive.add(pop.nets, values, measures, pop.uid)
        data = (self._drawn, values, np.asarray(measures, dtype=np.float64))
        added = self._emitter_archive.add(*data)
        for number, emitter in enumerate(self._emitters):
            rows = slice(number * self._members, (number + 1) * self._members)
            emitter.tell(*(part[rows] for part in data), {k: v[rows] for k, v in added.items()})

    def state_dict(self) -> OptimizerState:
        """Return the archives and the state of each emitter."""
        stored = self.archive.to_arrays(self._nets) if self.archive.num_elites else {}
        grid = self._emitter_archive
        state = OptimizerState(dict(stored), {"rng": grid._rng.bit_generator.state})
        for name in grid.field_list:
            state.arrays[f"{_ARCHIVE}{name}"] = np.asarray(grid.data(name))
        for number, emitter in enumerate(self._emitters):
            for part in (emitter._opt, emitter._ranker):
                nested = extract_state(part, f"{_part_name(number, part)}.")
                state.arrays.update(nested.arrays)
                state.values.update(nested.values)
            state.values[f"emitters.{number}"] = [emitter.itrs, emitter.restarts]
        return state

    def load_state_dict(self, state: OptimizerState) -> None:
        """Restore the archives and the state of each emitter."""
        grid, index = self._emitter_archive, state.arrays[f"{_ARCHIVE}index"]
        prefixes = (_ARCHIVE, "emitters.")
        elites = {n: a for n, a in state.arrays.items() if not n.startswith(prefixes)}
        if elites:
            self.archive.load_arrays(elites)
        fields = {n: state.arrays[f"{_ARCHIVE}{n}"] for n in grid.field_list if n != "index"}
        # One by one in the order in which they were filled: pyribs draws elites by that order.
        for i in range(len(index)):
            grid._store.add(index[i : i + 1], {n: a[i : i + 1] for n, a in fields.items()})
        grid._rng.bit_generator.state = state.values["rng"]
        for number, emitter in enumerate(self._emitters):
            emitter._itrs, emitter._restarts = state.values[f"emitters.{number}"]
            for part in (emitter._opt, emitter._ranker):
                restore_state(part, state, f"{_part_name(number, part)}.")


def _part_name(number: int, part: Any) -> str:
    """Return the path of an emitter's optimiser or ranker in the stored state."""
    return f"emitters.{number}.{type(part).__name__}"
