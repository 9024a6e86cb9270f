"""Evolve roles: race teams of living roles, score the roles, and let the coordinator breed.

Each generation the best teams so far and new ones play common episodes (`racing`), and so does the
seeded team, which never changes. From the games follows what each role contributes, which the
coordinator records as the fitness of the roles; it retires the worst that no team needs, and breeds.
Nothing of a generation enters the catalog before all its games are played; then scores are merged in
the order of the games. So the engine and its number of jobs change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from kinfolk.core.errors import SettingsError, require
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.engines.base import Engine
from kinfolk.jobs.evolve_roles.champion import evaluate_champion, record_champion, record_game
from kinfolk.jobs.evolve_roles.games import RoleGame
from kinfolk.jobs.evolve_roles.live import evolve_live
from kinfolk.jobs.evolve_roles.racing import frozen_opponents, learn_from_race, run_race
from kinfolk.jobs.evolve_roles.report import behavior_shares, report_generation
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.state import (
    RoleEvolutionState,
    initial_state,
    state_from_snapshot,
)
from kinfolk.roles.catalog import have_same_vibe


def evolve_roles(
    settings: EvolveRoles, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield an event and a snapshot per generation, then the evaluation of the champion.

    With `settings.live`, one game is played after another; see `live`. Every few generations a game of the best team is recorded for the viewer.

    Args:
        settings: The world, the budget and how roles evolve.
        engine: Engine that plays the games.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    state, shares = prepare(settings, resume)
    if settings.live:
        yield from evolve_live(state, engine, resume)
        return
    first = 0 if resume is None else int(resume.notes["done"])
    for done in range(first + 1, settings.generations + 1):
        race = run_race(state, engine, done - 1)
        win_rate = learn_from_race(state, race, done - 1)
        event = report_generation(state, race, shares, win_rate, done - 1)
        shares = event.behavior_shares
        yield event
        if settings.records_replay_after(done):  # the first game of the generation's best team
            episode, n_sides = race.games[0].episode, settings.environment.n_teams
            teams = (state.champion, *frozen_opponents(state, n_sides, episode))
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


def prepare(
    settings: EvolveRoles, resume: Snapshot | None
) -> tuple[RoleEvolutionState, Mapping[str, float]]:
    """Return the state before the first generation to play.

    Args:
        settings: Settings of the evolution, with the text of a role history to start from, if any.
        resume: Snapshot to restore; None starts from the history or from sampled roles.

    Returns:
        The state, and by behavior the share of roles that had it in the generation before.

    Raises:
        UsageError: Something is wrong with the settings or the history.
    """
    domain, world = settings.environment.domain, settings.environment.world.build()
    n_agents, catalog = domain.initial_team_size(world), domain.make_catalog(settings.catalog)
    if settings.score_step is not None and settings.score_step >= world.spec.max_ticks:
        raise SettingsError(
            f"EvolveRoles.score_step must lie within a game of {world.spec.max_ticks} ticks, "
            f"not at {settings.score_step}."
        )
    if resume is None:
        state = initial_state(settings, catalog, n_agents)
        shares = behavior_shares(state.coordinator)
    else:
        state = state_from_snapshot(settings, catalog, n_agents, resume)
        shares = resume.notes["previous_shares"]
    if settings.role_counts == "fixed":
        state.may_replace = partial(have_same_vibe, catalog)
    state.coordinator.num_agents = _find_largest_team(settings)
    return state, shares


def _find_largest_team(settings: EvolveRoles) -> int:
    """Return the most agents that a team has at the start of any episode.

    Raises:
        SettingsError: The number of teams varies.
    """
    environments = [settings.environment, *settings.environments]
    environments += settings.held_out_environments.values()
    n_teams = sorted({environment.n_teams for environment in environments})
    problem = f"here it is {' or '.join(map(str, n_teams))}"
    require(len(n_teams) == 1, f"The number of teams in a world must not vary; {problem}.")
    return max(environment.team_size for environment in environments)
