"""Evolve several populations of roles against each other.

Each generation every population races its teams against the champions of the others: the latest ones
in turn with earlier ones, which are drawn from the Nash mixture of the hall of fame. Every few
generations the champions join the hall and play all that are in it. At the end, fresh best responses
with a stated budget tell how exploitable the final mixture is, and how exploitable the last champions
are by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.engines.base import Engine
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.jobs.evolve_roles.champion import (
    choose_champion,
    evaluate_champion,
    play_held_out,
    record_champion,
    record_game,
)
from kinfolk.jobs.evolve_roles.coevolution.hall import Cycle
from kinfolk.jobs.evolve_roles.coevolution.state import (
    RESPONSE_TARGETS,
    CoevolutionState,
    Population,
    start_coevolution,
)
from kinfolk.jobs.evolve_roles.games import RoleGame
from kinfolk.jobs.evolve_roles.racing import choose_opponents, learn_from_race, run_race
from kinfolk.jobs.evolve_roles.report import RoleGenerationScored, report_generation
from kinfolk.jobs.evolve_roles.settings import EvolveRoles

_MAX_CYCLES = 5  # that an event lists


@dataclass(frozen=True, kw_only=True)
class PopulationGenerationScored(RoleGenerationScored):
    """A generation of one population was played. Scores are leads over its opponents."""

    kind: ClassVar[str] = "generation_scored"
    population: str


@dataclass(frozen=True, kw_only=True)
class HallUpdated(Event):
    """Champions joined the hall of fame and played all that are in it."""

    kind: ClassVar[str] = "hall_updated"
    champions: list[str]  # POPULATION-GENERATION
    payoffs: list[list[float]]  # mean lead of the row's champion over the column's
    standard_errors: list[list[float]]
    games: int  # of each pair
    nash: list[float]  # weights of the champions in the mixture
    alpha_rank: list[float]
    cyclic_triples: int  # of champions that beat each other in a circle, by means
    clear_cycles: int  # whose leads are all more than twice their standard errors
    triples: int
    cycles: list[Cycle]  # the clearest
    share_later_wins: float | None  # of pairs of generations: the later champion leads


@dataclass(frozen=True, kw_only=True)
class CoevolutionEvaluated(Event):
    """How exploitable the outcome of co-evolution is.

    Exploitability is the mean lead of a best response, which evolved from the seeded roles against
    that target alone, on held-out episodes. In equilibrium no response leads.
    """

    kind: ClassVar[str] = "coevolution_evaluated"
    exploitability: dict[str, Estimate]  # of the mixture, and of the latest champions
    best_response_generations: int
    best_response_games: int  # budget of each best response
    support: dict[str, float]  # champions of the final mixture with their weights


def coevolve(
    settings: EvolveRoles, engine: Engine, resume: Snapshot | None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield events and a snapshot per generation, then best responses and the champion.

    Args:
        settings: The world, the populations and how roles evolve.
        engine: Engine that plays the games.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    state = start_coevolution(settings, resume)
    first = 0 if resume is None else int(resume.notes["done"])
    for done in range(first + 1, settings.generations + 1):
        yield from _play_generation(state, engine, done)
        yield from state.output_files()
        yield state.snapshot(done)
    n_response = settings.coevolution.best_response_generations
    n_steps = settings.generations + len(RESPONSE_TARGETS) * n_response
    for done in range(max(first, settings.generations) + 1, n_steps + 1):
        step = done - settings.generations - 1
        yield from _respond(state, engine, RESPONSE_TARGETS[step // n_response], step % n_response)
        yield state.snapshot(done)
    if first <= n_steps:
        yield _evaluate(state)
        yield from _finish(state, engine)
        yield state.snapshot(n_steps + 1)


def _play_generation(
    state: CoevolutionState, engine: Engine, done: int
) -> Iterator[Event | FileChunk]:
    """Play a generation of every population, and let champions join the hall if it is time.

    All populations meet the champions of the generation before, so their order does not matter.

    Args:
        state: State of the co-evolution; changed.
        engine: Engine that plays the games.
        done: Number of generations after this one.
    """
    settings = state.settings
    state.set_opponents(done - 1)
    for number, population in enumerate(state.populations):
        yield _race_population(population, engine, done - 1, f"population {number + 1}")
    if settings.records_replay_after(done):
        first = state.populations[0].state
        episode = (done - 1) * sum(settings.racing)
        teams = (first.champion, *choose_opponents(first, episode))
        yield from record_game(first, RoleGame(episode, teams), done)
    if done % settings.coevolution.hall_every == 0 or done == settings.generations:
        state.add_champions(engine, done)
        yield from state.hall_files()
        yield report_hall(state, done - 1)


def _race_population(
    population: Population, engine: Engine, number: int, name: str
) -> PopulationGenerationScored:
    """Play and learn from one generation of one population, and return its event.

    Args:
        population: The population; changed.
        engine: Engine that plays the games.
        number: Number of the generation.
        name: Name of the population in events.
    """
    race = run_race(population.state, engine, number)
    win_rate = learn_from_race(population.state, race, number)
    event = report_generation(population.state, race, population.shares, win_rate, number)
    population.shares = event.behavior_shares
    return PopulationGenerationScored(**vars(event), population=name)


def report_hall(state: CoevolutionState, step: int) -> HallUpdated:
    """Return what the hall of fame holds.

    Args:
        state: State of the co-evolution.
        step: Number of the generation.
    """
    hall = state.hall
    cycles, n = hall.find_cycles(), len(hall.champions)
    return HallUpdated(
        step=step,
        champions=[champion.name for champion in hall.champions],
        payoffs=hall.payoffs.tolist(),
        standard_errors=hall.standard_errors.tolist(),
        games=2 * hall.n_games,
        nash=hall.nash(),
        alpha_rank=hall.alpha_rank(),
        cyclic_triples=len(cycles),
        clear_cycles=sum(cycle.is_clear for cycle in cycles),
        triples=n * (n - 1) * (n - 2) // 6,
        cycles=cycles[:_MAX_CYCLES],
        share_later_wins=hall.share_later_wins(),
    )


def _respond(state: CoevolutionState, engine: Engine, target: str, number: int) -> Iterator[Event]:
    """Play a generation of a best response; after the last one, measure its lead.

    Args:
        state: State of the co-evolution; changed.
        engine: Engine that plays the games.
        target: What it responds to, one of `RESPONSE_TARGETS`.
        number: Number of its generation.
    """
    settings = state.settings
    if state.response is None:
        state.start_response(target)
    response = state.response
    assert response is not None  # it was just started
    yield _race_population(response, engine, number, f"response to {target}")
    if number + 1 == settings.coevolution.best_response_generations:
        choose_champion(response.state, engine)
        episodes = range(settings.eval_games)
        leads = play_held_out(response.state, engine, [response.state.champion], episodes).margins
        state.exploitability[target] = list(estimate_mean(leads[:, 0]))
        state.response = None


def _evaluate(state: CoevolutionState) -> CoevolutionEvaluated:
    """Return the event that says how exploitable the outcome is."""
    settings, weights = state.settings, state.hall.nash()
    n_generations = settings.coevolution.best_response_generations
    named: list[tuple[str, float]] = [
        (champion.name, weight)
        for champion, weight in zip(state.hall.champions, weights, strict=True)
        if weight > 0
    ]
    return CoevolutionEvaluated(
        step=settings.generations,
        exploitability={name: Estimate(*values) for name, values in state.exploitability.items()},
        best_response_generations=n_generations,
        best_response_games=n_generations * settings.race_games,
        support=dict(sorted(named, key=lambda item: -item[1])),
    )


def _finish(state: CoevolutionState, engine: Engine) -> Iterator[Any]:
    """Evaluate the strongest population's champion against the baselines, as every run does."""
    hall, latest = state.hall, state.hall.latest()
    against_mixture = hall.payoffs @ np.array(hall.nash())
    best = hall.champions[max(latest, key=lambda i: float(against_mixture[i]))]
    for population in state.populations:
        population.state.opponents = None  # held-out games are against the seeded team
    chosen = state.populations[best.population].state
    evaluated = list(evaluate_champion(chosen, engine))
    yield from state.output_files()
    yield from (chunk for chunk in chosen.output_files() if chunk.path.startswith("policies/"))
    if state.settings.replay_every:
        yield from record_champion(chosen)
    yield from evaluated
