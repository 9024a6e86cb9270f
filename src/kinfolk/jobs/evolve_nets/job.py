"""Evolve nets: play a generation, score it, make the next.

Events hold the fitness of each generation and the parents of its members; snapshots hold the
populations and searchers, and files the nets that can be played as `run:NAME`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.random import fold_in, seed_key
from kinfolk.engines.base import Engine
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.evolution.base import BasePop
from kinfolk.evolution.selection import check_fitness, parameter_spread, trace_founders
from kinfolk.fitness.scores import PopulationScores
from kinfolk.fitness.world import evaluate_held_out
from kinfolk.jobs.evolve_nets.hall import HallNet, hall_file, play_hall
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_nets.state import NetChampion, NetEvolutionState, initial_state

# Branches of the root key; 1 makes the first nets, 4 the searchers.
_MATCHING_BRANCH, _SEARCH_BRANCH, _HALL_BRANCH = 2, 3, 5


@dataclass(frozen=True, kw_only=True)
class NetGenerationScored(Event):
    """A generation was played; `step` is its number. Higher fitness is better.

    `uid` and `parents` are of its members, in order. Members drawn by a strategy are children of
    its centre, and each centre is a child of the one before.
    """

    kind: ClassVar[str] = "generation_scored"
    population: str
    best: float
    mean: float
    median: float
    worst: float
    best_total: float  # with inherited fitness
    elite_uid: int
    spread: float | None  # distance of members from their mean; None for dynamic nets
    nodes: float | None  # mean number of nodes of dynamic nets
    n_lineages: int  # founders with living descendants; a strategy is one lineage
    center_uid: int | None  # of a strategy
    evaluations: int  # members evaluated so far, of this population
    steps: int  # ticks of worlds so far
    uid: list[int]
    parents: list[int]
    mates: list[int]  # second parents, -1 for members of one; empty without crossover
    fitness: list[float]  # of each member, in this generation
    inherited: list[float]  # fitness of each member's ancestors; empty unless it is inherited
    n_species: int | None = None  # of the generation before; None without species


@dataclass(frozen=True, kw_only=True)
class HeldOut(Event):
    """A net was evaluated on episodes on which no generation is scored."""

    kind: ClassVar[str] = "held_out"
    population: str
    individual: str  # elite, center, fittest since the last evaluation, or best of the run
    uid: int
    episodes: int
    score: Estimate


@dataclass(frozen=True, kw_only=True)
class ArchiveUpdated(Event):
    """What a MAP-Elites archive holds after a generation."""

    kind: ClassVar[str] = "archive_updated"
    population: str
    num_elites: int
    coverage: float
    obj_max: float
    obj_mean: float


@dataclass(frozen=True, kw_only=True)
class NetsEvolved(Event):
    """The evolution has ended; `goal_reached` is None without a goal."""

    kind: ClassVar[str] = "nets_evolved"
    generations: int  # that were played
    evaluations: int  # of members
    steps: int  # ticks of all members
    goal_reached: bool | None  # None without a goal
    mean_fitness: dict[str, float]  # of the last generation, by population
    held_out: dict[str, Estimate]  # the last elite, or centre, of each population
    # The net `@best` of each population, on held-out episodes that did not choose it.
    best: dict[str, Estimate] = field(default_factory=dict)


def evolve_nets(
    settings: EvolveNets, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Run an evolution of nets: yield its events, snapshots and files.

    Each generation yields events of its scores; snapshots and policy files follow at intervals and
    at the end.

    Args:
        settings: The task, the nets and how they evolve.
        engine: Engine that plays the matches.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    state = initial_state(settings)
    if resume is not None:
        state.restore(resume)
    while not state.is_over_after(state.generation):
        yield from _play_generation(state, engine)
        is_last = state.is_over_after(state.generation)
        if is_last or state.generation % settings.checkpoint_every == 0:
            yield from state.archive_figures()
            yield from state.policy_files()
            yield state.snapshot()
    best = {}
    for name in state.best:
        event = _score_best(state, name, engine)
        best[name] = event.score
        yield event
    yield NetsEvolved(
        step=state.generation,
        generations=state.generation,
        evaluations=state.evaluations,
        steps=state.steps,
        goal_reached=None if settings.goal is None else state.goal_reached,
        mean_fitness=dict(state.mean_fitness),
        held_out={name: Estimate(*score) for name, score in state.held_out_scores.items()},
        best=best,
    )


def _play_generation(state: NetEvolutionState, engine: Engine) -> Iterator[Event | FileChunk]:
    """Play and score a generation, make the next one, and run held-out evaluations if due."""
    settings, generation = state.settings, state.generation
    for name, pop in state.populations.items():
        state.searchers[name].prepare(pop)
    key = fold_in(fold_in(seed_key(settings.seed), _MATCHING_BRANCH), generation)
    scores = state.fitness(state.populations, generation, int(key), engine)
    scores = _add_hall_scores(state, scores, engine)
    state.steps += scores.steps
    state.evaluations += settings.population
    totals = {}
    for name, pop in state.populations.items():
        fitness = check_fitness(scores.fitness[name], pop.uid, name)
        totals[name] = pop.get_total_fitness(fitness)
        state.mean_fitness[name] = float(fitness.mean())
        yield _report_generation(state, name, pop, fitness, totals[name])
        state.record_elite(name, pop, totals[name])
    yield from _extend_hall(state)
    if settings.goal_of == "mean" and settings.goal is not None:
        state.goal_reached = min(state.mean_fitness.values()) >= settings.goal
    for number, name in enumerate(state.populations):
        yield from _advance_population(state, number, name, scores, totals[name])
    if settings.held_out_episodes and state.is_held_out_due:
        yield from _evaluate_held_out(state, engine)
    state.generation += 1


def _add_hall_scores(
    state: NetEvolutionState, scores: PopulationScores, engine: Engine
) -> PopulationScores:
    """Return the scores of a generation with those against the hall of fame, half and half.

    Args:
        state: State of the evolution.
        scores: Scores against present members of the other populations.
        engine: Engine that plays the matches.
    """
    if not state.hall:
        return scores
    settings, generation = state.settings, state.generation
    key = int(fold_in(fold_in(seed_key(settings.seed), _HALL_BRANCH), generation))
    hall_scores = play_hall(
        state.setup, state.populations, state.hall, generation, key, settings.chunk_size, engine
    )
    fitness = {
        name: (present + hall_scores.fitness[name]) / 2 if name in hall_scores.fitness else present
        for name, present in scores.fitness.items()
    }
    return replace(scores, fitness=fitness, steps=scores.steps + hall_scores.steps)


def _extend_hall(state: NetEvolutionState) -> Iterator[FileChunk]:
    """Let the elite of every population join the hall of fame, if it is time; yield policy files."""
    every, done = state.settings.hall_every, state.generation + 1
    if every is None or done % every:
        return
    for name in state.populations:
        champion = HallNet(name, done, state.latest[name]["elite"].nets)
        state.hall.append(champion)
        yield hall_file(state.setup, champion)


def _report_generation(
    state: NetEvolutionState, name: str, pop: BasePop, fitness: Floats, total: Floats
) -> NetGenerationScored:
    """Return the event of a population's generation, and update the founders of its lineages.

    Args:
        state: State of the evolution.
        name: Name of the population.
        pop: Population that was scored.
        fitness: `[members]`, fitness in this generation.
        total: `[members]`, fitness together with inherited fitness.
    """
    center_uid = state.searchers[name].center_uid
    if center_uid is None:
        state.founders[name] = trace_founders(pop.uid, pop.parents, state.founders[name])
    nets: Any = pop.nets
    is_dynamic = state.settings.net == "dynamic"
    return NetGenerationScored(
        step=state.generation,
        population=name,
        best=float(fitness.max()),
        mean=float(fitness.mean()),
        median=float(np.median(fitness)),
        worst=float(fitness.min()),
        best_total=float(total.max()),
        elite_uid=int(pop.uid[np.argmax(total)]),
        spread=None if is_dynamic else parameter_spread(pop.get_params()),
        nodes=float(nets.node_counts.mean()) if is_dynamic else None,
        n_lineages=len(set(state.founders[name].values())) if center_uid is None else 1,
        center_uid=center_uid,
        evaluations=state.evaluations,
        steps=state.steps,
        uid=pop.uid.tolist(),
        parents=pop.parents.tolist(),
        mates=pop.mates.tolist() if state.settings.crossover else [],
        fitness=fitness.tolist(),
        inherited=pop.get_inheritable_fitness().tolist() if pop.ga_config.inherit_fit else [],
        n_species=state.searchers[name].n_species,
    )


def _advance_population(
    state: NetEvolutionState, number: int, name: str, scores: PopulationScores, total: Floats
) -> Iterator[Event]:
    """Replace a population by its next members, which inherit the worlds of their parents.

    Args:
        state: State of the evolution; changed in place.
        number: Index of the population, which random keys depend on.
        name: Name of the population.
        scores: Fitness and measures of all populations.
        total: `[members]`, fitness together with inherited fitness.
    """
    pop, search = state.populations[name], state.searchers[name]
    root = fold_in(seed_key(state.settings.seed), _SEARCH_BRANCH)
    key = fold_in(fold_in(root, number), state.generation)
    axes = [scores.measures[name] for name in state.settings.measure_names]
    measures = np.stack(axes, axis=1) if axes else None
    indices = search.advance(pop, total, measures, int(key))
    if indices is not None:
        state.fitness.select(indices)
    state.record_center(name)
    archive = search.archive
    if archive is not None:
        yield ArchiveUpdated(
            step=state.generation,
            population=name,
            num_elites=archive.num_elites,
            coverage=archive.coverage,
            obj_max=archive.obj_max,
            obj_mean=archive.obj_mean(),
        )


def _evaluate_held_out(state: NetEvolutionState, engine: Engine) -> Iterator[HeldOut]:
    """Evaluate the candidates of each population for `@best` on held-out episodes."""
    settings, scored = state.settings, []
    for name in state.populations:
        for individual, champion in state.candidates(name).items():
            event = _play_held_out(state, name, individual, champion, 0, engine)
            state.record_held_out(name, individual, champion, event.score)
            if individual == settings.goal_of:
                scored.append(event.score.mean)
            yield event
        del state.fittest[name]
    if settings.goal is not None and scored:
        state.goal_reached = min(scored) >= settings.goal


def _score_best(state: NetEvolutionState, name: str, engine: Engine) -> HeldOut:
    """Evaluate `@best` on episodes after those that chose it: the best of many looks too good there."""
    first = state.settings.held_out_episodes
    return _play_held_out(state, name, "best", state.best[name], first, engine)


def _play_held_out(
    state: NetEvolutionState, name: str, individual: str, champion: NetChampion, first: int,
    engine: Engine,
) -> HeldOut:  # fmt: skip
    """Return the event of a net's evaluation on held-out episodes, counted from `first`."""
    episodes = range(first, first + state.settings.held_out_episodes)
    opponents = state.held_out_opponents
    values = evaluate_held_out(state.setup, name, champion.nets, opponents, episodes, engine)
    return HeldOut(
        step=state.generation,
        population=name,
        individual=individual,
        uid=champion.uid,
        episodes=len(values),
        score=estimate_mean(values),
    )
