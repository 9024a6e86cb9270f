"""Evolve nets: play a generation, score it, make the next.

Events say what each generation came to and who was whose child; snapshots hold all that goes on,
and the nets that can be played as `run:NAME`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.random import fold_in, seed_key
from kinfolk.engines.base import Engine
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.evolution.populations import BasePop
from kinfolk.evolution.selection import check_fitness, parameter_spread, trace_founders
from kinfolk.fitness.world import PopulationScores, evaluate_held_out
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_nets.state import (
    NetEvolutionState,
    archive_figures,
    initial_state,
    policy_files,
    restore_snapshot,
    take_snapshot,
)

_MATCHING_BRANCH, _SEARCH_BRANCH = 2, 3  # branches of the root key; 1 makes the first nets


@dataclass(frozen=True, kw_only=True)
class NetGenerationScored(Event):
    """A generation was played; `step` is its number. Higher is better.

    `uid` and `parents` are of its members, in order. A strategy's members are children of its
    `centre`, and each centre is a child of the one before.
    """

    kind: ClassVar[str] = "generation_scored"
    population: str
    best: float
    mean: float
    median: float
    worst: float
    best_total: float  # with what was inherited
    elite_uid: int  # uid
    spread: float | None  # distance of members from their mean; None for dynamic nets
    nodes: float | None  # mean number of nodes of dynamic nets
    n_lineages: int  # lines that go on; a strategy is one
    center_uid: int | None  # uid
    evaluations: int  # members tried so far, of this population
    steps: int  # ticks of worlds so far
    uid: list[int]
    parents: list[int]


@dataclass(frozen=True, kw_only=True)
class HeldOut(Event):
    """A net was played on episodes that nobody evolves on."""

    kind: ClassVar[str] = "held_out"
    population: str
    individual: str  # elite, or centre
    uid: int
    episodes: int
    score: Estimate


@dataclass(frozen=True, kw_only=True)
class ArchiveUpdated(Event):
    """What a map of behaviours holds after a generation."""

    kind: ClassVar[str] = "archive_updated"
    population: str
    num_elites: int
    coverage: float
    obj_max: float
    obj_mean: float


@dataclass(frozen=True, kw_only=True)
class NetsEvolved(Event):
    """The evolution is over. `reached` is None without a goal."""

    kind: ClassVar[str] = "nets_evolved"
    generations: int
    evaluations: int
    steps: int
    goal_reached: bool | None
    mean_fitness: dict[str, float]
    held_out: dict[str, Estimate]  # the last of each population


def evolve_nets(
    settings: EvolveNets, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield what happens, generation by generation, with snapshots now and then and at the end."""
    lab = initial_state(settings)
    if resume is not None:
        restore_snapshot(lab, resume)
    while not lab.is_finished:
        yield from _generation(lab, engine)
        due = lab.generation % settings.checkpoint_every == 0
        if due or lab.is_finished:
            yield from archive_figures(lab)
            yield from policy_files(lab)
            yield take_snapshot(lab)
    yield NetsEvolved(
        step=lab.generation,
        generations=lab.generation,
        evaluations=lab.evaluations,
        steps=lab.steps,
        goal_reached=None if settings.goal is None else lab.goal_reached,
        mean_fitness=dict(lab.mean_fitness),
        held_out={name: Estimate(*score) for name, score in lab.held_out_scores.items()},
    )


def _generation(lab: NetEvolutionState, engine: Engine) -> Iterator[Event]:
    """Play, score, hold out, select."""
    settings, key = lab.settings, fold_in(seed_key(lab.settings.seed), _MATCHING_BRANCH)
    for name, pop in lab.populations.items():
        lab.searchers[name].prepare(pop)
    scores = lab.fitness(lab.populations, lab.generation, int(fold_in(key, lab.generation)), engine)
    lab.steps += scores.steps
    lab.evaluations += settings.population
    totals = {}
    for name, pop in lab.populations.items():
        fitness = check_fitness(scores.fitness[name], pop.uid, name)
        totals[name] = pop.get_total_fitness(fitness)
        lab.mean_fitness[name] = float(fitness.mean())
        yield _generation_scored(lab, name, pop, fitness, totals[name])
        lab.record_elite(name, pop, int(np.argmax(totals[name])))
    if settings.goal_of == "mean" and settings.goal is not None:
        lab.goal_reached = min(lab.mean_fitness.values()) >= settings.goal
    for number, name in enumerate(lab.populations):
        yield from _advance(lab, number, name, scores, totals[name])
    if settings.held_out_episodes and lab.is_held_out_due:
        yield from _evaluate_held_out(lab, engine)
    lab.generation += 1


def _generation_scored(
    lab: NetEvolutionState, name: str, pop: BasePop, fitness: Floats, total: Floats
) -> NetGenerationScored:
    centre = getattr(lab.searchers[name], "center_uid", None)
    if centre is None:
        lab.founders[name] = trace_founders(pop.uid, pop.parents, lab.founders[name])
    nets: Any = pop.nets
    is_dynamic = lab.settings.net == "dynamic"
    return NetGenerationScored(
        step=lab.generation,
        population=name,
        best=float(fitness.max()),
        mean=float(fitness.mean()),
        median=float(np.median(fitness)),
        worst=float(fitness.min()),
        best_total=float(total.max()),
        elite_uid=int(pop.uid[np.argmax(total)]),
        spread=None if is_dynamic else parameter_spread(pop.get_params()),
        nodes=float(nets.node_counts.mean()) if is_dynamic else None,
        n_lineages=len(set(lab.founders[name].values())) if centre is None else 1,
        center_uid=centre,
        evaluations=lab.evaluations,
        steps=lab.steps,
        uid=pop.uid.tolist(),
        parents=pop.parents.tolist(),
    )


def _advance(
    lab: NetEvolutionState, number: int, name: str, scores: PopulationScores, total: Floats
) -> Iterator[Event]:
    """Make the next members of a population; worlds follow their selection."""
    pop, search = lab.populations[name], lab.searchers[name]
    key = fold_in(
        fold_in(fold_in(seed_key(lab.settings.seed), _SEARCH_BRANCH), number), lab.generation
    )
    axes = [scores.measures[axis.name] for axis in lab.settings.archive]
    behaviour = np.stack(axes, axis=1) if axes else None
    indices = search.advance(pop, total, behaviour, int(key))
    if indices is not None:
        lab.fitness.select(indices)
    lab.record_center(name)
    if search.archive is not None:
        yield ArchiveUpdated(
            step=lab.generation,
            population=name,
            num_elites=search.archive.num_elites,
            coverage=search.archive.coverage,
            obj_max=search.archive.obj_max,
            obj_mean=search.archive.obj_mean(),
        )


def _evaluate_held_out(lab: NetEvolutionState, engine: Engine) -> Iterator[HeldOut]:
    """Play the elites, and the centres of strategies, on episodes that nobody evolves on."""
    goal, wanted = lab.settings.goal, lab.settings.goal_of
    scored = []
    for name in lab.populations:
        for who, champion in lab.champions(name):
            values = evaluate_held_out(
                lab.setup,
                name,
                champion.nets,
                lab.held_out_opponents,
                lab.settings.held_out_episodes,
                engine,
            )
            score = estimate_mean(values)
            lab.record_held_out(name, who, champion, score)
            if who == wanted:
                scored.append(score.mean)
            yield HeldOut(
                step=lab.generation,
                population=name,
                individual=who,
                uid=champion.uid,
                episodes=len(values),
                score=score,
            )
    if goal is not None and scored:
        lab.goal_reached = min(scored) >= goal
