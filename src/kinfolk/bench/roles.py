"""Benchmarks of role policies and role evolution: throughput, scaling, stability of ranks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from importlib.util import find_spec
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from kinfolk.bench.worlds import run_uncompiled
from kinfolk.core.arrays import Floats
from kinfolk.core.events import Event
from kinfolk.engines import make_engine
from kinfolk.engines.base import Engine
from kinfolk.jobs.evolve_roles.champion import play_held_out
from kinfolk.jobs.evolve_roles.job import evolve_roles
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.start import prepare
from kinfolk.play.task import EpisodeRunner, RolloutTask, WorldRef
from kinfolk.policies.resolve import resolve

TEAM_URI = "kin://roles?miner=3&scout=1&aligner=2&scrambler=2"
SMART_URI = "kin://smart"
PARTS = 5  # a game is timed in so many parts
WORLD_COUNTS = (1, 8, 32, 128)
AGENT_COUNTS = (1, 8, 24)
# Agent-steps per second of the scripted roles of cogames-agents, from the note of that project.
ORIGINAL_RATE = (50, 90)
SMALL_GAMES = 10  # per generation, as in cogames-agents
_TIMED_GENERATIONS = 8  # after a first one that starts workers and reads kernels in
N_TEAMS = 20
_RANKED_EPISODES, _FRESH_EPISODES = range(16), range(100, 148)
_GAME_COUNTS = (1, 2, 4, 8, 16)


def measure_roles(
    preset: str, worlds: int, uri: str = TEAM_URI, ticks: int | None = None, **settings: Any
) -> dict[str, Any]:
    """Play games side by side to their end, or for some ticks, and time them.

    Args:
        preset: Preset of CogsGuard.
        worlds: Games side by side.
        uri: Policy of all agents.
        ticks: Ticks to play; by default whole games.
        settings: Rules of the world to change.

    Returns:
        `worlds`, `agents` per world, `ticks`, `agent_steps_per_s`, the same rate for each fifth of
        the ticks (`by_part`), and the mean score of games that ended (`junction_ticks`).
    """
    ref = WorldRef("cogsguard", preset, settings)
    play = EpisodeRunner(RolloutTask[None](ref, {"cogs": resolve(uri)}, 7, range(worlds))).loop
    game = play.world
    play.tick()  # reads maps and kernels in
    total = (ticks or game.spec.max_ticks) - 1
    stamps, score = [time.perf_counter()], 0.0
    for part in range(PARTS):
        for _ in range(total * part // PARTS, total * (part + 1) // PARTS):
            for result in play.tick():
                score += result.counters["junction_ticks_team_0"] / worlds
        stamps.append(time.perf_counter())
    steps = total * worlds * game.spec.rows
    spent = [b - a for a, b in pairwise(stamps)]
    return {
        "worlds": worlds,
        "agents": game.spec.rows,
        "ticks": total + 1,
        "agent_steps_per_s": steps / sum(spent),
        "by_part": [steps / PARTS / seconds for seconds in spent],
        "junction_ticks": score,
    }


def measure_fused_roles(
    preset: str, worlds: int, uri: str = TEAM_URI, **settings: Any
) -> dict[str, Any]:
    """Play whole games tick by tick, then in one kernel, and time both.

    Args:
        preset: Preset of CogsGuard.
        worlds: Games side by side.
        uri: Policy of all agents.
        settings: Rules of the world to change.

    Returns:
        What `measure_roles` returns; `fused_agent_steps_per_s`, the rate without Python between the
        ticks, resets included; and `speed_up`, how many times faster that is.
    """
    stepped = measure_roles(preset, worlds, uri, **settings)
    ref = WorldRef("cogsguard", preset, settings)
    with EpisodeRunner(RolloutTask[None](ref, {"cogs": resolve(uri)}, 7, range(worlds))) as runner:
        begun = time.perf_counter()
        runner.run()
        rate = stepped["ticks"] * worlds * stepped["agents"] / (time.perf_counter() - begun)
    speed_up = rate / stepped["agent_steps_per_s"]
    return {**stepped, "fused_agent_steps_per_s": rate, "speed_up": speed_up}


def roles_reference() -> dict[str, Any]:
    """Measure a few ticks of one small game; `bench_roles` runs it without compiled kernels."""
    return measure_roles("arena", 1, ticks=21)


def bench_roles() -> dict[str, Any]:
    """Measure games of role policies.

    Returns:
        Results of `measure_fused_roles` for maps and policies (`arena`, `machina_1`, `smart`,
        `edition_a`, `ten_games`), and of `measure_roles` over sizes (`by_worlds`, `by_agents`,
        `by_map`); agent-steps per second of the loop
        without compiled kernels (`uncompiled`), the `ratio` to it, and the range of cogames-agents
        (`original`).
    """
    plain = run_uncompiled("kinfolk.bench.roles", "roles_reference")
    arena, machina = measure_fused_roles("arena", 32), measure_fused_roles("machina_1", 8)
    fast = arena["agent_steps_per_s"]
    return {
        "team": TEAM_URI,
        "arena": arena,
        "machina_1": machina,
        "smart": measure_fused_roles("arena", 32, SMART_URI),
        "edition_a": measure_fused_roles("edition_a", 32),
        "ten_games": measure_fused_roles("arena", SMALL_GAMES),
        "uncompiled": plain["agent_steps_per_s"],
        "ratio": fast / plain["agent_steps_per_s"],
        "original": ORIGINAL_RATE,
        "by_worlds": [measure_roles("arena", n, SMART_URI) for n in WORLD_COUNTS],
        "by_agents": [measure_roles("arena", 16, SMART_URI, agents=n) for n in AGENT_COUNTS],
        "by_map": [
            {"map": name, **measure_roles(name, 16, SMART_URI, ticks=500)}
            for name in ("tutorial", "arena", "machina_1")
        ],
    }


def bench_role_evolution() -> dict[str, Any]:
    """Measure the speed of role evolution on each engine.

    Returns:
        `engines`, a dict of `_make_engine_row` for the default job on each engine; `scaling`, the
        median speed-up from one worker process to two; and `small`, `_make_engine_row` of
        generations with `SMALL_GAMES` games on two worker processes.
    """
    kinds = [("local", 1), ("processes", 1), ("processes", 2)]
    if find_spec("ray") is not None:
        kinds.append(("ray", 2))
    # Nothing is recorded: a game is recorded every ten generations, too seldom for so short a run.
    usual = EvolveRoles(generations=_TIMED_GENERATIONS + 1, replay_every=0)
    small = make_small_settings(4 * _TIMED_GENERATIONS + 1)
    seconds = time_engines(kinds, usual)
    [small_seconds] = time_engines([("processes", 2)], small)
    timed = zip(kinds, seconds, strict=True)
    ratios = [single / double for single, double in zip(seconds[1], seconds[2], strict=True)]
    return {
        "engines": [_make_engine_row(*kind, usual.race_games, took) for kind, took in timed],
        "scaling": median(ratios),
        "small": _make_engine_row("processes", 2, SMALL_GAMES, small_seconds),
    }


def make_small_settings(generations: int) -> EvolveRoles:
    """Return settings of an evolution with `SMALL_GAMES` games per generation.

    It has few roles, since every new role plays in a team of its own. The seeded team adds a game
    in generations in which it is not among the teams.
    """
    return EvolveRoles(
        generations=generations,
        racing=(1,),
        n_teams=SMALL_GAMES,
        survivors=3,
        population=9,
        chunk_size=SMALL_GAMES // 2,
        replay_every=0,
    )


def time_engines(kinds: Sequence[tuple[str, int]], settings: EvolveRoles) -> list[list[float]]:
    """Return the seconds of each generation but the first, for each engine.

    The engines take turns, generation by generation, and play the same games, so that other load of
    the machine affects all of them alike.

    Args:
        kinds: Name and number of workers of each engine.
        settings: Settings of the evolution.
    """
    with ExitStack() as stack:
        engines = [stack.enter_context(closing(make_engine(*kind))) for kind in kinds]
        runs = [_iter_generations(settings, engine) for engine in engines]
        for run in runs:
            next(run)
        rounds = [[_time_generation(run) for run in runs] for _ in range(settings.generations - 1)]
    return [list(took) for took in zip(*rounds, strict=True)]


def _iter_generations(settings: EvolveRoles, engine: Engine) -> Iterator[None]:
    """Yield after each generation of an evolution.

    Variation and files of a generation are computed with the next one, and timed with it.
    """
    for item in evolve_roles(settings, engine):
        if isinstance(item, Event):
            yield


def _time_generation(run: Iterator[None]) -> float:
    """Return the seconds until the run yields its next generation."""
    begun = time.perf_counter()
    next(run)
    return time.perf_counter() - begun


def _make_engine_row(name: str, jobs: int, games: int, seconds: Sequence[float]) -> dict[str, Any]:
    """Return the rates of one engine.

    Args:
        name: Name of the engine.
        jobs: Number of workers.
        games: Games per generation.
        seconds: Seconds of each generation; the median counts.

    Returns:
        `engine`, `jobs`, `games_per_generation`, `games_per_s` and `generations_per_minute`.
    """
    typical = median(seconds)
    return {
        "engine": name,
        "jobs": jobs,
        "games_per_generation": games,
        "games_per_s": games / typical,
        "generations_per_minute": 60 / typical,
    }


def bench_team_ranks(history: str | None = None, jobs: int = 2) -> dict[str, Any]:
    """Measure how well ranks of teams by few games agree with their ranks by fresh games.

    Args:
        history: Role history whose next generation is ranked; None takes a first generation.
        jobs: Number of worker processes.

    Returns:
        `n_teams`, `fresh_games`, `correlation` (by number of games, from `rank_stability`), and the
        standard deviations between teams' means (`spread_between`) and of a team's single games
        (`spread_of_a_game`).
    """
    settings = EvolveRoles(history=history)
    state, _ = prepare(settings, None)
    proposed = state.propose_teams(N_TEAMS - len(state.teams))
    teams = [team.roles for team in (*state.teams, *proposed)][:N_TEAMS]
    with closing(make_engine("processes", jobs)) as engine:
        ranked = play_held_out(state, engine, teams, _RANKED_EPISODES).margins
        fresh = play_held_out(state, engine, teams, _FRESH_EPISODES).margins
    return {
        "n_teams": N_TEAMS,
        "fresh_games": len(_FRESH_EPISODES),
        "correlation": {str(n): rank_stability(ranked, fresh, n) for n in _GAME_COUNTS},
        "spread_between": float(fresh.mean(axis=0).std(ddof=1)),
        "spread_of_a_game": float((fresh - fresh.mean(axis=0)).std()),
    }


def rank_stability(ranked: Floats, fresh: Floats, games: int) -> Mapping[str, float]:
    """Compare ranks by few games with ranks by fresh games.

    Args:
        ranked: `[episodes, teams]` scores that teams are ranked by, `games` at a time.
        fresh: `[episodes, teams]` scores on other episodes.
        games: Episodes per ranking.

    Returns:
        Means over rankings: `spearman` correlation with the fresh ranks, `winner` (fresh rank of
        the first, 1 for the best, 0 for the worst) and `selection_bias` (how much better it
        scored than on fresh episodes).
    """
    from scipy.stats import rankdata, spearmanr

    truth, rows = fresh.mean(axis=0), []
    for first in range(0, len(ranked) - games + 1, games):
        seen = ranked[first : first + games].mean(axis=0)
        winner = int(seen.argmax())
        place = (rankdata(truth)[winner] - 1) / (len(truth) - 1)
        rows.append((spearmanr(seen, truth).statistic, place, seen[winner] - truth[winner]))
    spearman, winner_place, bias = (float(np.mean(column)) for column in zip(*rows, strict=True))
    return {"spearman": spearman, "winner": winner_place, "selection_bias": bias}
