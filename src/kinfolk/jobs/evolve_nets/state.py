"""State of an evolution of nets, and its snapshots and policy files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats
from kinfolk.core.errors import DamagedRunError, require
from kinfolk.core.events import FileChunk, Snapshot
from kinfolk.core.random import fold_in, seed_key
from kinfolk.evaluation.statistics import Estimate
from kinfolk.evolution.base import BasePop
from kinfolk.evolution.search import Searcher
from kinfolk.evolution.states import OptimizerState
from kinfolk.fitness.inherited_state import take_rows
from kinfolk.fitness.match_task import MatchSetup
from kinfolk.jobs.evolve_nets.hall import (
    HallNet,
    hall_arrays,
    hall_from_snapshot,
    hall_notes,
)
from kinfolk.jobs.evolve_nets.outputs import axis_labels, render_svg
from kinfolk.jobs.evolve_nets.search import make_searcher
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_nets.setup import (
    build_fitness,
    build_populations,
    build_setup,
    resolve_held_out_opponents,
)
from kinfolk.nets.registry import nets_from_config
from kinfolk.policies.base import select_memory as select_arrays
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.policies.neural.evolved import CLASS_PATH
from kinfolk.store.arrays import BEST, PolicyFile, make_policy_chunk

_SEARCHER_BRANCH = 4  # branch of the root key
# Fields of the state that a snapshot stores as they are.
_NOTED = ("generation", "evaluations", "steps", "goal_reached", "mean_fitness", "held_out_scores")
_CHAMPIONS = ("best", "fittest")  # fields of the state that hold nets by population


class NetChampion(NamedTuple):
    """One net, copied out of its population."""

    uid: int
    nets: Any
    score: float = -math.inf  # its fitness, or its held-out score


@dataclass
class NetEvolutionState:
    """The populations, their searchers, and the results so far.

    Args:
        settings: Settings of the evolution.
        setup: How populations meet in matches.
        populations: Populations by name.
        searchers: A `Searcher` for each of them.
        fitness: Function that scores a generation.
        held_out_opponents: Who plays the other populations in held-out episodes.
        generation: Generations so far.
        evaluations: Members evaluated so far, per population.
        steps: Ticks of worlds so far.
        goal_reached: Whether the goal of the settings is reached.
        mean_fitness: Of the last generation, by population.
        held_out_scores: Last held-out estimate, by population.
        founders: Founder of each living member, by population and uid.
        latest: By population, `elite` and, of a strategy, `center` of the last generation.
        fittest: By population, the fittest member since the last held-out evaluation, with its
            fitness; of equals, the last.
        best: By population, the net with the best held-out score so far, and that score.
        hall: Past champions, which the other populations meet too.
    """

    settings: EvolveNets
    setup: MatchSetup
    populations: dict[str, BasePop]
    searchers: dict[str, Searcher]
    fitness: Any
    held_out_opponents: dict[str, ResolvedPolicy]
    generation: int = 0
    evaluations: int = 0
    steps: int = 0
    goal_reached: bool = False
    mean_fitness: dict[str, float] = field(default_factory=dict)
    held_out_scores: dict[str, list[Any]] = field(default_factory=dict)
    founders: dict[str, dict[int, int]] = field(default_factory=dict)
    latest: dict[str, dict[str, NetChampion]] = field(default_factory=dict)
    fittest: dict[str, NetChampion] = field(default_factory=dict)
    best: dict[str, NetChampion] = field(default_factory=dict)
    hall: list[HallNet] = field(default_factory=list)

    def is_over_after(self, generations: int) -> bool:
        """Return whether the evolution ends after this number of generations."""
        limit = self.settings.max_evaluations
        is_spent = limit is not None and self.evaluations >= limit
        return self.goal_reached or is_spent or generations >= self.settings.generations

    @property
    def is_held_out_due(self) -> bool:
        """Whether the current generation ends with a held-out evaluation."""
        done = self.generation + 1
        return self.is_over_after(done) or done % self.settings.held_out_interval == 0

    def record_elite(self, name: str, pop: BasePop, total: Floats) -> None:
        """Copy the best member of a generation, before the next one replaces it.

        Args:
            name: Name of the population.
            pop: Population that was scored.
            total: `[members]`, fitness together with inherited fitness.
        """
        member = int(np.argmax(total))
        elite = NetChampion(int(pop.uid[member]), pop.nets.select([member]), float(total[member]))
        self.latest[name] = {"elite": elite}
        if name not in self.fittest or elite.score >= self.fittest[name].score:
            self.fittest[name] = elite

    def candidates(self, name: str) -> dict[str, NetChampion]:
        """Return the nets that a held-out evaluation compares: of this generation, and the fittest."""
        latest, fittest = self.latest[name], self.fittest[name]
        if fittest.uid == latest["elite"].uid:
            return latest
        return latest | {"fittest": fittest}

    def record_center(self, name: str) -> None:
        """Copy the centre of a strategy, after it was updated."""
        center, uid = self.searchers[name].center(), self.searchers[name].center_uid
        if center is not None and uid is not None:
            nets: Any = self.populations[name].nets
            arrays = take_rows(nets.to_arrays(), np.array([0]))  # all have the same statistics
            net = nets_from_config(nets.config(), arrays | {"flat": center[None]})
            self.latest[name]["center"] = NetChampion(uid, net)

    def record_held_out(
        self, name: str, individual: str, champion: NetChampion, score: Estimate
    ) -> None:
        """Record a held-out score; `run:NAME` plays the net with the best one.

        Args:
            name: Name of the population.
            individual: `elite`, `center` or `fittest`.
            champion: Net that was evaluated.
            score: Mean score with its confidence interval.
        """
        is_latest = "elite" if "center" not in self.latest[name] else "center"
        if individual == is_latest:
            self.held_out_scores[name] = list(score)
        if name not in self.best or score.mean > self.best[name].score:
            self.best[name] = champion._replace(score=score.mean)

    def saved_champions(self, name: str) -> dict[str, NetChampion]:
        """Return the nets that a run keeps, by version: the latest, and `best` once it is known."""
        latest = self.latest[name].get("center") or self.latest[name]["elite"]
        saved = {f"{self.generation:08d}": latest}
        if name in self.best:
            saved[BEST] = self.best[name]
        return saved

    def snapshot(self) -> Snapshot:
        """Return the whole state as arrays and notes."""
        arrays: dict[str, AnyArray] = {}
        searches: dict[str, Any] = {}
        for name, pop in self.populations.items():
            arrays |= {f"pops/{name}/{k}": v for k, v in pop.to_arrays().items()}
            search_state = self.searchers[name].state_dict()
            arrays |= {f"search/{name}/{k}": v for k, v in search_state.arrays.items()}
            searches[name] = {"notes": search_state.values, "next_uid": pop.next_uid}
        arrays |= {f"env/{k}": v for k, v in getattr(self.fitness, "env", {}).items()}
        founders = {n: [[k, v] for k, v in known.items()] for n, known in self.founders.items()}
        notes = {name: getattr(self, name) for name in _NOTED}
        arrays |= hall_arrays(self.hall)
        notes |= {"founders": founders, "searches": searches}
        notes["champions"] = []
        for kind in _CHAMPIONS:
            for name, champion in getattr(self, kind).items():
                nets = champion.nets
                notes["champions"].append([kind, name, champion.uid, champion.score, nets.config()])
                arrays |= {f"{kind}/{name}/{k}": v for k, v in nets.to_arrays().items()}
        notes["hall"] = hall_notes(self.hall)
        return Snapshot(step=self.generation, arrays=arrays, notes=notes)

    def policy_files(self) -> Iterator[FileChunk]:
        """Yield the nets that play as `run:NAME`, in a file each."""
        for name in self.populations:
            for version, champion in self.saved_champions(name).items():
                settings = self.setup.policy_settings(name, champion.nets)
                policy = PolicyFile(CLASS_PATH, settings, champion.nets.to_arrays())
                yield make_policy_chunk(name, version, policy)

    def archive_figures(self) -> Iterator[FileChunk]:
        """Yield the MAP-Elites archives as figures."""
        for name, search in self.searchers.items():
            if search.archive is not None and search.archive.num_elites:
                axes = axis_labels(self.settings)
                title = f"{self.settings.task}, {name}, generation {self.generation}"
                svg = render_svg(search.archive.fitness_grid(), axes, title)
                yield FileChunk(path="map.svg", data=svg.encode())

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state of a snapshot.

        Raises:
            DamagedRunError: An earlier kinfolk wrote it.
        """
        notes, arrays = snapshot.notes, snapshot.arrays
        if "champions" not in notes:
            raise DamagedRunError(
                "The checkpoint is of an earlier kinfolk, which did not keep the best nets of a run. "
                "Start the evolution again."
            )
        for name in _NOTED:
            value = notes[name]
            setattr(self, name, dict(value) if isinstance(value, dict) else value)
        for name, pop in self.populations.items():
            search = notes["searches"][name]
            pop.load_arrays(select_arrays(arrays, f"pops/{name}"), search["next_uid"])
            search_state = OptimizerState(select_arrays(arrays, f"search/{name}"), search["notes"])
            self.searchers[name].load_state_dict(search_state)
            self.founders[name] = {int(k): int(v) for k, v in notes["founders"][name]}
        for kind, name, uid, score, config in notes["champions"]:
            nets = nets_from_config(config, select_arrays(arrays, f"{kind}/{name}"))
            getattr(self, kind)[name] = NetChampion(uid, nets, score)
        self.hall = hall_from_snapshot(notes["hall"], arrays)
        if hasattr(self.fitness, "env"):
            self.fitness.env = select_arrays(arrays, "env")


def initial_state(settings: EvolveNets) -> NetEvolutionState:
    """Return the state before the first generation.

    Raises:
        UsageError: Something in the settings is unknown or does not fit.
    """
    setup = build_setup(settings)
    require(
        settings.hall_every is None or len(setup.groups) > 1,
        f"A hall of fame is for populations that meet each other; {settings.task} has one.",
    )
    pops = build_populations(settings, setup)
    key = fold_in(seed_key(settings.seed), _SEARCHER_BRANCH)
    opponents = resolve_held_out_opponents(settings, setup)
    state = NetEvolutionState(settings, setup, pops, {}, build_fitness(settings, setup), opponents)
    for number, (name, pop) in enumerate(pops.items()):
        state.searchers[name] = make_searcher(settings, pop, int(fold_in(key, number)))
        state.founders[name] = {}
    return state
