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
from kinfolk.core.events import Artefact, Event, Snapshot
from kinfolk.core.keys import fold, root
from kinfolk.engines.base import Engine
from kinfolk.evaluation.summary import Estimate, estimate
from kinfolk.evolution.diversity import founders_of, spread
from kinfolk.evolution.populations import BasePop
from kinfolk.evolution.selection import check_fitness
from kinfolk.fitness.worlds import Scores, held_out
from kinfolk.jobs.evolve_nets_settings import EvolveNets
from kinfolk.jobs.nets_state import Lab, load, new_lab, pictures, policies, snapshot

_MATCHING, _SEARCH = 2, 3  # branches of the root key; 1 makes the first nets


@dataclass(frozen=True, kw_only=True)
class GenerationScored(Event):
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
    total_best: float  # with what was inherited
    elite: int  # uid
    spread: float | None  # distance of members from their mean; None for dynamic nets
    nodes: float | None  # mean number of nodes of dynamic nets
    founders: int  # lines that go on; a strategy is one
    centre: int | None  # uid
    evaluations: int  # members tried so far, of this population
    steps: int  # ticks of worlds so far
    uid: list[int]
    parents: list[int]


@dataclass(frozen=True, kw_only=True)
class HeldOut(Event):
    """A net was played on episodes that nobody evolves on."""

    kind: ClassVar[str] = "held_out"
    population: str
    who: str  # elite, or centre
    uid: int
    episodes: int
    score: Estimate


@dataclass(frozen=True, kw_only=True)
class MapFilled(Event):
    """What a map of behaviours holds after a generation."""

    kind: ClassVar[str] = "map_filled"
    population: str
    filled: int
    coverage: float
    best: float
    quality: float


@dataclass(frozen=True, kw_only=True)
class NetsEvolved(Event):
    """The evolution is over. `reached` is None without a goal."""

    kind: ClassVar[str] = "nets_evolved"
    generations: int
    evaluations: int
    steps: int
    reached: bool | None
    means: dict[str, float]
    held_out: dict[str, Estimate]  # the last of each population


def evolve_nets(
    settings: EvolveNets, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | Artefact]:
    """Yield what happens, generation by generation, with snapshots now and then and at the end."""
    lab = new_lab(settings)
    if resume is not None:
        load(lab, resume)
    while not lab.over:
        yield from _generation(lab, engine)
        due = lab.generation % settings.checkpoint_every == 0
        if due or lab.over:
            yield from pictures(lab)
            yield from policies(lab)
            yield snapshot(lab)
    yield NetsEvolved(
        step=lab.generation,
        generations=lab.generation,
        evaluations=lab.evaluations,
        steps=lab.steps,
        reached=None if settings.goal is None else lab.reached,
        means=dict(lab.means),
        held_out={name: Estimate(*score) for name, score in lab.held.items()},
    )


def _generation(lab: Lab, engine: Engine) -> Iterator[Event]:
    """Play, score, hold out, select."""
    settings, key = lab.settings, fold(root(lab.settings.seed), _MATCHING)
    for name, pop in lab.pops.items():
        lab.searches[name].prepare(pop)
    scores = lab.evaluator(lab.pops, lab.generation, int(fold(key, lab.generation)), engine)
    lab.steps += scores.steps
    lab.evaluations += settings.population
    totals = {}
    for name, pop in lab.pops.items():
        fitness = check_fitness(scores.fitness[name], pop.uid, name)
        totals[name] = pop.get_total_fitness(fitness)
        lab.means[name] = float(fitness.mean())
        yield _scored(lab, name, pop, fitness, totals[name])
        lab.elect(name, pop, int(np.argmax(totals[name])))
    if settings.goal_of == "mean" and settings.goal is not None:
        lab.reached = min(lab.means.values()) >= settings.goal
    for number, name in enumerate(lab.pops):
        yield from _advance(lab, number, name, scores, totals[name])
    if settings.held_out and lab.must_hold_out:
        yield from _held_out(lab, engine)
    lab.generation += 1


def _scored(lab: Lab, name: str, pop: BasePop, fitness: Floats, total: Floats) -> GenerationScored:
    centre = getattr(lab.searches[name], "centre_uid", None)
    if centre is None:
        lab.founders[name] = founders_of(pop.uid, pop.parents, lab.founders[name])
    nets: Any = pop.nets
    is_dynamic = lab.settings.net == "dynamic"
    return GenerationScored(
        step=lab.generation,
        population=name,
        best=float(fitness.max()),
        mean=float(fitness.mean()),
        median=float(np.median(fitness)),
        worst=float(fitness.min()),
        total_best=float(total.max()),
        elite=int(pop.uid[np.argmax(total)]),
        spread=None if is_dynamic else spread(pop.get_params()),
        nodes=float(nets.nodes.mean()) if is_dynamic else None,
        founders=len(set(lab.founders[name].values())) if centre is None else 1,
        centre=centre,
        evaluations=lab.evaluations,
        steps=lab.steps,
        uid=pop.uid.tolist(),
        parents=pop.parents.tolist(),
    )


def _advance(lab: Lab, number: int, name: str, scores: Scores, total: Floats) -> Iterator[Event]:
    """Make the next members of a population; worlds follow their selection."""
    pop, search = lab.pops[name], lab.searches[name]
    key = fold(fold(fold(root(lab.settings.seed), _SEARCH), number), lab.generation)
    axes = [scores.watched[axis.name] for axis in lab.settings.archive]
    behaviour = np.stack(axes, axis=1) if axes else None
    indices = search.advance(pop, total, behaviour, int(key))
    if indices is not None:
        lab.evaluator.select(indices)
    lab.centre(name)
    if search.map is not None:
        yield MapFilled(
            step=lab.generation,
            population=name,
            filled=search.map.filled,
            coverage=search.map.coverage,
            best=search.map.best,
            quality=search.map.quality(),
        )


def _held_out(lab: Lab, engine: Engine) -> Iterator[HeldOut]:
    """Play the elites, and the centres of strategies, on episodes that nobody evolves on."""
    goal, wanted = lab.settings.goal, lab.settings.goal_of
    scored = []
    for name in lab.pops:
        for who, champion in lab.champions(name):
            values = held_out(
                lab.arena, name, champion.nets, lab.rivals, lab.settings.held_out, engine
            )
            score = estimate(values)
            lab.note_held_out(name, who, champion, score)
            if who == wanted:
                scored.append(score.mean)
            yield HeldOut(
                step=lab.generation,
                population=name,
                who=who,
                uid=champion.uid,
                episodes=len(values),
                score=score,
            )
    if goal is not None and scored:
        lab.reached = min(scored) >= goal
