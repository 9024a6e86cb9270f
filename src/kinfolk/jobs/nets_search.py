"""How a population gets its next members: by selection, by a strategy, or from a map."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats, Ints
from kinfolk.core.keys import fold
from kinfolk.evolution.archive import BehaviourMap
from kinfolk.evolution.keeping import Kept
from kinfolk.evolution.populations import BasePop
from kinfolk.evolution.selection import tournament, truncation
from kinfolk.evolution.strategies import make_strategy
from kinfolk.jobs.evolve_nets_settings import EvolveNets
from kinfolk.nets.calibration import Calibration

_SELECT, _MUTATE, _STRATEGY = 1, 2, 3  # branches of keys
_WORD = 0xFFFFFFFF


class Search(Protocol):
    """Works on one population; has no state but what `keep` returns."""

    map: BehaviourMap | None

    def prepare(self, pop: BasePop) -> None:
        """Before a generation is played."""
        ...

    def advance(
        self, pop: BasePop, total: Floats, behaviour: Floats | None, key: int
    ) -> Ints | None:
        """After it was played: make the next; the parents' indices, if members have parents."""
        ...

    def centre(self) -> Floats | None:
        """The middle of the search, if it has one."""
        ...

    def keep(self) -> Kept:
        """State."""
        ...

    def put(self, kept: Kept) -> None:
        """Go on."""
        ...


class Genetic:
    """Selection and mutation."""

    map = None

    def __init__(self, settings: EvolveNets) -> None:
        self._settings = settings

    def prepare(self, pop: BasePop) -> None:
        """The members are there already."""

    def advance(self, pop: BasePop, total: Floats, behaviour: Floats | None, key: int) -> Ints:
        """Select parents, copy them with all they carry, mutate."""
        del behaviour
        asked = self._settings
        if asked.selection == "tournament":
            indices = tournament(total, asked.tournament, fold(key, _SELECT), asked.elites)
        else:
            indices = truncation(total, asked.elites)
        pop.apply_selection(indices, asked.elites)
        if not asked.keep_calibration and asked.net == "dynamic":
            nets: Any = pop.nets
            nets.set_calibration(Calibration(*(np.zeros_like(nets.graph.n) for _ in range(3))))
        pop.mutate(int(fold(key, _MUTATE)), asked.elites)
        return indices

    def centre(self) -> None:
        """There is none."""

    def keep(self) -> Kept:
        """All state is in the population."""
        return Kept()

    def put(self, kept: Kept) -> None:
        """Nothing to put."""


class Strategic:
    """An evolution strategy that draws each generation around its centre."""

    map = None

    def __init__(self, settings: EvolveNets, start: AnyArray, key: int) -> None:
        self._strategy = make_strategy(
            settings.algorithm, start, settings.population, settings.step_size,
            int(fold(key, _STRATEGY)) & _WORD, settings.learning_rate,
        )  # fmt: skip
        self._centre_uid = -1

    def prepare(self, pop: BasePop) -> None:
        """Draw the members: children of the centre, which is a life of its own."""
        self._centre_uid = pop.new_uid()
        pop.set_params(self._strategy.ask(), self._centre_uid)

    @property
    def centre_uid(self) -> int:
        """The number of the centre that the members were drawn around."""
        return self._centre_uid

    def advance(self, pop: BasePop, total: Floats, behaviour: Floats | None, key: int) -> None:
        """Tell the strategy."""
        del pop, behaviour, key
        self._strategy.tell(total)

    def centre(self) -> Floats:
        """Its mean."""
        return self._strategy.centre

    def keep(self) -> Kept:
        """The library's state, and which centre was last."""
        kept = self._strategy.keep()
        return Kept(kept.arrays, {**kept.notes, "/centre_uid": self._centre_uid})

    def put(self, kept: Kept) -> None:
        """Go on from there."""
        self._centre_uid = kept.notes["/centre_uid"]
        self._strategy.put(kept)


class FromMap:
    """Quality-diversity: parents are drawn from a map of behaviours."""

    def __init__(self, settings: EvolveNets, parameters: int) -> None:
        axes = settings.archive
        ranges = [(axis.low, axis.high) for axis in axes]
        self.map: BehaviourMap = BehaviourMap(parameters, [axis.cells for axis in axes], ranges)

    def prepare(self, pop: BasePop) -> None:
        """The members are there already."""

    def advance(self, pop: BasePop, total: Floats, behaviour: Floats | None, key: int) -> None:
        """Enter the members, then mutate children of members of the map."""
        assert behaviour is not None  # a map is made only where behaviour is watched
        self.map.add(pop.get_params(), total, behaviour, pop.uid)
        params, parents = self.map.parents(pop.num_nets, int(fold(key, _SELECT)))
        pop.set_params(params)
        pop.parents = parents
        pop.mutate(int(fold(key, _MUTATE)))

    def centre(self) -> None:
        """There is none."""

    def keep(self) -> Kept:
        """The members of the map."""
        return Kept(self.map.to_arrays() if self.map.filled else {})

    def put(self, kept: Kept) -> None:
        """Fill the map."""
        if kept.arrays:
            self.map.load_arrays(kept.arrays)


def make_search(settings: EvolveNets, pop: BasePop, key: int) -> Any:
    """The search that the settings ask for.

    Raises:
        SettingsError: It cannot work with these nets.
    """
    if settings.archive:
        return FromMap(settings, pop.get_params().shape[1])
    if settings.algorithm == "ga":
        return Genetic(settings)
    params = pop.get_params()
    start = np.zeros(params.shape[1]) if settings.zero_init else params[0]
    return Strategic(settings, start, key)


def kept_arrays(kept: Kept, prefix: str) -> dict[str, AnyArray]:
    """A search's arrays under a prefix."""
    return {f"{prefix}{name}": array for name, array in kept.arrays.items()}


def kept_from(arrays: Arrays, notes: dict[str, Any], prefix: str) -> Kept:
    """What `kept_arrays` laid down."""
    inside = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
    return Kept(inside, notes)
