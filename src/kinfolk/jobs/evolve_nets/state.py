"""State of an evolution of nets, and its snapshots and policy files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.core.events import FileChunk, Snapshot
from kinfolk.core.random import fold_in, seed_key
from kinfolk.core.spaces import WorldSpec
from kinfolk.evaluation.statistics import Estimate
from kinfolk.evolution.populations import BasePop
from kinfolk.fitness.inherited_state import take_rows
from kinfolk.fitness.match_setup import MatchSetup
from kinfolk.jobs.evolve_nets.archive_figure import axis_labels, render_svg
from kinfolk.jobs.evolve_nets.search import make_searcher, prefix_arrays, state_from_arrays
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_nets.setup import (
    build_fitness,
    build_populations,
    build_setup,
    resolve_held_out_opponents,
)
from kinfolk.nets.registry import nets_from_config
from kinfolk.policies.neural.evolved import CLASS_PATH
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.store.policy_file import BEST, PolicyFile, make_policy_chunk

_SEARCHER_BRANCH = 4  # branch of the root key


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
        spec: Spec of the world.
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
        latest: Elite and centre of the last generation, by population.
        best: Net with the best held-out score, by population.
        best_score: Its score.
    """

    settings: EvolveNets
    setup: MatchSetup
    spec: WorldSpec
    populations: dict[str, BasePop]
    searchers: dict[str, Any]
    fitness: Any
    held_out_opponents: dict[str, ResolvedPolicy]
    generation: int = 0
    evaluations: int = 0
    steps: int = 0
    goal_reached: bool = False
    mean_fitness: dict[str, float] = field(default_factory=dict)
    held_out_scores: dict[str, list[Any]] = field(default_factory=dict)
    founders: dict[str, dict[int, int]] = field(default_factory=dict)
    latest: dict[str, dict[str, NetChampion]] = field(
        default_factory=dict
    )  # by population, elite or center
    best: dict[str, NetChampion] = field(default_factory=dict)
    best_score: dict[str, float] = field(default_factory=dict)

    @property
    def is_finished(self) -> bool:
        """Return whether no generation is left to play."""
        return self.goal_reached or self._over_after(self.generation, self.evaluations)

    def _over_after(self, generation: int, evaluations: int) -> bool:
        limit = self.settings.max_evaluations
        return generation >= self.settings.generations or (
            limit is not None and evaluations >= limit
        )

    @property
    def is_held_out_due(self) -> bool:
        """Return whether the current generation ends with a held-out evaluation."""
        settings = self.settings
        every = settings.held_out_every
        if every is None and settings.goal is not None and settings.goal_of != "mean":
            every = 1
        last = self.goal_reached or self._over_after(self.generation + 1, self.evaluations)
        return last or (every is not None and (self.generation + 1) % every == 0)

    def record_elite(self, name: str, pop: BasePop, member: int) -> None:
        """Copy the best member of a generation, before the next one replaces it.

        Args:
            name: Name of the population.
            pop: The population.
            member: Index of the member.
        """
        nets: Any = pop.nets
        elite = nets_from_config(nets.config(), take_rows(nets.to_arrays(), np.array([member])))
        self.latest[name] = {"elite": NetChampion(int(pop.uid[member]), elite)}

    def record_center(self, name: str) -> None:
        """Copy the centre of a strategy, after it was updated."""
        center = self.searchers[name].center()
        if center is not None:
            nets: Any = self.populations[name].nets
            net = nets_from_config(nets.config(), {"flat": center[None].astype(np.float32)})
            self.latest[name]["center"] = NetChampion(self.searchers[name].center_uid, net)

    def champions(self, name: str) -> Iterator[tuple[str, NetChampion]]:
        """Yield the elite and, of a strategy, the centre."""
        yield from self.latest[name].items()

    def record_held_out(
        self, name: str, individual: str, champion: NetChampion, score: Estimate
    ) -> None:
        """Record a held-out score; `run:NAME` plays the net with the best one.

        Args:
            name: Name of the population.
            individual: elite or center.
            champion: The net.
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


def initial_state(settings: EvolveNets) -> NetEvolutionState:
    """Return the state before the first generation.

    Raises:
        UsageError: Something in the settings is unknown or does not fit.
    """
    setup, spec = build_setup(settings)
    pops = build_populations(settings, setup, spec)
    key = fold_in(seed_key(settings.seed), _SEARCHER_BRANCH)
    searches = {
        name: make_searcher(settings, pop, int(fold_in(key, number)))
        for number, (name, pop) in enumerate(pops.items())
    }
    opponents = resolve_held_out_opponents(settings, setup)
    state = NetEvolutionState(
        settings, setup, spec, pops, searches, build_fitness(settings, setup, spec), opponents
    )
    state.founders = {name: {} for name in pops}
    return state


def take_snapshot(state: NetEvolutionState) -> Snapshot:
    """Return the whole state as arrays and notes."""
    arrays: dict[str, AnyArray] = {}
    searches: dict[str, Any] = {}
    best: dict[str, Any] = {}
    for name, pop in state.populations.items():
        arrays |= {f"pops/{name}/{k}": v for k, v in pop.to_arrays().items()}
        search_state = state.searchers[name].state_dict()
        arrays |= prefix_arrays(search_state, f"search/{name}/")
        searches[name] = {"notes": search_state.values, "next_uid": pop.next_uid}
        champion = state.saved_champions(name)["best"]
        arrays |= {f"best/{name}/{k}": v for k, v in champion.nets.to_arrays().items()}
        best[name] = [state.best_score.get(name), champion.uid, champion.nets.config()]
    arrays |= {f"env/{k}": v for k, v in getattr(state.fitness, "env", {}).items()}
    founders = {n: [[k, v] for k, v in known.items()] for n, known in state.founders.items()}
    notes = {
        "generation": state.generation, "evaluations": state.evaluations, "steps": state.steps,
        "goal_reached": state.goal_reached, "mean_fitness": state.mean_fitness, "held_out_scores": state.held_out_scores, "founders": founders,
        "searches": searches, "best": best,
    }  # fmt: skip
    return Snapshot(step=state.generation, arrays=arrays, notes=notes)


def policy_files(state: NetEvolutionState) -> Iterator[FileChunk]:
    """Yield the nets that play as `run:NAME`, in a file each."""
    for name in state.populations:
        for moment, champion in state.saved_champions(name).items():
            config = {
                "nets": champion.nets.config(), "head": state.setup.head,
                "groups": list(state.setup.groups[name]), "n_zero_inputs": state.setup.n_zero_inputs,
            }  # fmt: skip
            policy = PolicyFile(CLASS_PATH, config, champion.nets.to_arrays())
            yield make_policy_chunk(
                name, BEST if moment == BEST else f"{state.generation:08d}", policy
            )


def archive_figures(state: NetEvolutionState) -> Iterator[FileChunk]:
    """Yield the MAP-Elites archives as figures."""
    for name, search in state.searchers.items():
        if search.archive is not None and search.archive.num_elites:
            axes = axis_labels(state.settings)
            title = f"{state.settings.task}, {name}, generation {state.generation}"
            svg = render_svg(search.archive.fitness_grid(), axes, title)
            yield FileChunk(path="map.svg", data=svg.encode())


def restore_snapshot(state: NetEvolutionState, snapshot: Snapshot) -> None:
    """Restore the state of a snapshot."""
    notes, arrays = snapshot.notes, snapshot.arrays
    for name in (
        "generation",
        "evaluations",
        "steps",
        "goal_reached",
        "mean_fitness",
        "held_out_scores",
    ):
        value = notes[name]
        setattr(state, name, dict(value) if isinstance(value, dict) else value)
    for name, pop in state.populations.items():
        search = notes["searches"][name]
        pop.load_arrays(_strip_prefix(arrays, f"pops/{name}/"), search["next_uid"])
        state.searchers[name].load_state_dict(
            state_from_arrays(arrays, search["notes"], f"search/{name}/")
        )
        state.founders[name] = {int(k): int(v) for k, v in notes["founders"][name]}
        score, uid, config = notes["best"][name]
        if score is not None:
            state.best[name] = NetChampion(
                uid, nets_from_config(config, _strip_prefix(arrays, f"best/{name}/"))
            )
            state.best_score[name] = score
    if hasattr(state.fitness, "env"):
        state.fitness.env = _strip_prefix(arrays, "env/")


def _strip_prefix(arrays: Arrays, prefix: str) -> dict[str, AnyArray]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
