"""State of an evolution of nets, and its snapshots and policy files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import require
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


class NetChampion(NamedTuple):
    """One net, copied out of its population."""

    uid: int
    nets: Any


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
        best: Net with the best held-out score, by population.
        best_score: Held-out score of that net, by population.
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
    best: dict[str, NetChampion] = field(default_factory=dict)
    best_score: dict[str, float] = field(default_factory=dict)
    hall: list[HallNet] = field(default_factory=list)

    def is_over_after(self, generations: int) -> bool:
        """Return whether the evolution ends after this number of generations."""
        limit = self.settings.max_evaluations
        is_spent = limit is not None and self.evaluations >= limit
        return self.goal_reached or is_spent or generations >= self.settings.generations

    @property
    def is_held_out_due(self) -> bool:
        """Whether the current generation ends with a held-out evaluation."""
        settings, done = self.settings, self.generation + 1
        every = settings.held_out_every
        if every is None and settings.goal is not None and settings.goal_of != "mean":
            every = 1
        return self.is_over_after(done) or (every is not None and done % every == 0)

    def record_elite(self, name: str, pop: BasePop, member: int) -> None:
        """Copy the best member of a generation, before the next one replaces it.

        Args:
            name: Name of the population.
            pop: Population that holds the member.
            member: Index of the best member.
        """
        nets: Any = pop.nets
        elite = nets.select([member])
        self.latest[name] = {"elite": NetChampion(int(pop.uid[member]), elite)}

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
            individual: `elite` or `center`.
            champion: Net that was evaluated.
            score: Mean score with its confidence interval.
        """
        if individual == "center" or "center" not in self.latest[name]:
            self.held_out_scores[name] = list(score)
        if name not in self.best_score or score.mean > self.best_score[name]:
            self.best[name], self.best_score[name] = champion, score.mean

    def saved_champions(self, name: str) -> dict[str, NetChampion]:
        """Return the nets that `@best` and `@latest` of a run play."""
        latest = self.latest[name].get("center") or self.latest[name]["elite"]
        return {"best": self.best.get(name, latest), "latest": latest}

    def snapshot(self) -> Snapshot:
        """Return the whole state as arrays and notes."""
        arrays: dict[str, AnyArray] = {}
        searches: dict[str, Any] = {}
        best: dict[str, Any] = {}
        for name, pop in self.populations.items():
            arrays |= {f"pops/{name}/{k}": v for k, v in pop.to_arrays().items()}
            search_state = self.searchers[name].state_dict()
            arrays |= {f"search/{name}/{k}": v for k, v in search_state.arrays.items()}
            searches[name] = {"notes": search_state.values, "next_uid": pop.next_uid}
            champion = self.saved_champions(name)["best"]
            arrays |= {f"best/{name}/{k}": v for k, v in champion.nets.to_arrays().items()}
            best[name] = [self.best_score.get(name), champion.uid, champion.nets.config()]
        arrays |= {f"env/{k}": v for k, v in getattr(self.fitness, "env", {}).items()}
        founders = {n: [[k, v] for k, v in known.items()] for n, known in self.founders.items()}
        notes = {name: getattr(self, name) for name in _NOTED}
        arrays |= hall_arrays(self.hall)
        notes |= {"founders": founders, "searches": searches, "best": best}
        notes["hall"] = hall_notes(self.hall)
        return Snapshot(step=self.generation, arrays=arrays, notes=notes)

    def policy_files(self) -> Iterator[FileChunk]:
        """Yield the nets that play as `run:NAME`, in a file each."""
        for name in self.populations:
            for moment, (_, nets) in self.saved_champions(name).items():
                settings = self.setup.policy_settings(name, nets)
                version = BEST if moment == BEST else f"{self.generation:08d}"
                policy = PolicyFile(CLASS_PATH, settings, nets.to_arrays())
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
        """Restore the state of a snapshot."""
        notes, arrays = snapshot.notes, snapshot.arrays
        for name in _NOTED:
            value = notes[name]
            setattr(self, name, dict(value) if isinstance(value, dict) else value)
        for name, pop in self.populations.items():
            search = notes["searches"][name]
            pop.load_arrays(select_arrays(arrays, f"pops/{name}"), search["next_uid"])
            search_state = OptimizerState(select_arrays(arrays, f"search/{name}"), search["notes"])
            self.searchers[name].load_state_dict(search_state)
            self.founders[name] = {int(k): int(v) for k, v in notes["founders"][name]}
            score, uid, config = notes["best"][name]
            if score is not None:
                nets = nets_from_config(config, select_arrays(arrays, f"best/{name}"))
                self.best[name], self.best_score[name] = NetChampion(uid, nets), score
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
