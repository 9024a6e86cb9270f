"""Evolve roles: race teams of living roles, score the roles, and let the coordinator breed.

Each generation the best teams so far and new ones play common episodes (`racing`), and so does the
seeded team, which never changes. From the games follows what each role contributes, which the
coordinator records as the fitness of the roles; it retires the worst that no team needs, and breeds.
Nothing of a generation enters the catalog before all its games are played; then scores are merged in
the order of the games. So the engine and its number of jobs change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.engines.base import Engine
from kinfolk.jobs.evolve_roles.archive.job import evolve_archive
from kinfolk.jobs.evolve_roles.champion import evaluate_champion, record_champion, record_game
from kinfolk.jobs.evolve_roles.coevolution.job import coevolve
from kinfolk.jobs.evolve_roles.games import RoleGame
from kinfolk.jobs.evolve_roles.live import evolve_live
from kinfolk.jobs.evolve_roles.racing import choose_opponents, learn_from_race, run_race
from kinfolk.jobs.evolve_roles.report import report_generation
from kinfolk.jobs.evolve_roles.restarts import begin_start, check_restarts
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.start import prepare


def evolve_roles(
    settings: EvolveRoles, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield an event and a snapshot per generation, then the evaluation of the champion.

    With `settings.live`, one game is played after another; see `live`. With `coevolve` or `archive`,
    see the packages `coevolution` and `archive`. Every few generations a game of the best team is
    recorded for the viewer.

    Args:
        settings: The world, the budget and how roles evolve.
        engine: Engine that plays the games.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    check_restarts(settings)
    if settings.coevolve:
        yield from coevolve(settings, engine, resume)
        return
    state, shares = prepare(settings, resume)
    if settings.archive:
        yield from evolve_archive(state, engine, resume)
        return
    if settings.live:
        yield from evolve_live(state, engine, resume)
        return
    first = 0 if resume is None else int(resume.notes["done"])
    for done in range(first + 1, settings.generations + 1):
        yield from begin_start(state, done - 1)
        race = run_race(state, engine, done - 1)
        win_rate = learn_from_race(state, race, done - 1)
        event = report_generation(state, race, shares, win_rate, done - 1)
        shares = event.behavior_shares
        yield event
        if settings.records_replay_after(done):  # the first game of the generation's best team
            episode = race.games[0].episode
            teams = (state.champion, *choose_opponents(state, episode))
            yield from record_game(state, RoleGame(episode, teams), done)
        yield from state.output_files()
        yield state.snapshot(done, shares)
    if first <= settings.generations:
        yield from evaluate_champion(state, engine)
        if settings.replay_every:
            yield from record_champion(state)
        yield from state.output_files()
        # One step further, so that a run that is resumed here has nothing left to do.
        yield state.snapshot(settings.generations + 1, shares)
