"""Measure what role evolution is compared with: teams written by hand, and a racing hill-climber.

    python docs/pictures/make_role_baselines.py

All of them play the same 100 episodes, which no evolution and no climb plays. A climb has as many games as
the default evolution, and its champion is chosen without the 100 episodes.
"""

import argparse
from collections.abc import Iterator
from contextlib import closing

import numpy as np

from kinfolk.core.random import KeyedRng, fold_in, seed_key
from kinfolk.engines.base import Engine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.evaluation.statistics import estimate_mean
from kinfolk.jobs.evolve_roles.champion import play_held_out
from kinfolk.jobs.evolve_roles.games import BASELINE_ROLE, RoleGame
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.start import prepare
from kinfolk.jobs.evolve_roles.state import RoleEvolutionState
from kinfolk.roles.model import RoleDef, RoleTier
from kinfolk.roles.variation import breed_child

SEED, EPISODES = 5_000_000, range(100)  # held-out episodes have the seed and 1,000,000 more
GAMES = 4_802  # of the default evolution
STAGES = (4, 8, 16)  # games that a challenger must lead after, one stage after the other
ALIGNER = "align_junction + get_hearts / get_influence / explore"
SCRAMBLER = "scramble_junction / get_hearts / find_enemy_junction / explore"
BOTH = "align_junction / scramble_junction / get_hearts / get_influence / explore"
HARVESTER = "deposit_resource / get_hearts + align_junction / discover_extractors + mine_resource / recharge + explore"
TEAMS = {  # agents of each role; a role is the name of a seeded one, or tiers and parameters
    "hand-written": {"BaseMiner": 4, ALIGNER: 3, SCRAMBLER: 1},
    "hand-written, hearts_wanted 1": {
        "BaseMiner": 4, f"{ALIGNER}; hearts_wanted 1": 3, f"{SCRAMBLER}; hearts_wanted 1": 1},
    "hand-written, hearts_wanted 4": {
        "BaseMiner": 4, f"{ALIGNER}; hearts_wanted 4": 3, f"{SCRAMBLER}; hearts_wanted 4": 1},
    "5 miners, 3 that align and scramble": {"BaseMiner": 5, BOTH: 3},
    "4 miners, 4 that align and scramble": {"BaseMiner": 4, BOTH: 4},
    "5 miners, 3 aligners": {"BaseMiner": 5, ALIGNER: 3},
    "8 that mine and align": {HARVESTER: 8},
    "4 miners, 4 that mine and align": {"BaseMiner": 4, HARVESTER: 4},
}  # fmt: skip


def add_role(state: RoleEvolutionState, text: str) -> int:
    """Return the id of a role of the catalog, or of a new one from the text of its tiers."""
    catalog = state.catalog
    known = {role.name: role.id for role in catalog.roles}
    if text in known:
        return known[text]
    tiers, _, parameter = text.partition("; ")
    groups = [tier.split(" + ") for tier in tiers.split(" / ")]
    role = RoleDef(tuple(RoleTier(catalog.behavior_ids(group)) for group in groups))
    if parameter:
        name, value = parameter.split()
        role = RoleDef(role.tiers, parameters=((name, int(value)),))
    return catalog.add_role(role).id


def climb(
    state: RoleEvolutionState, engine: Engine, team: tuple[int, ...], seed: int
) -> tuple[int, ...]:
    """Return the last team of a climb: a changed team replaces it if it leads after every stage.

    Args:
        state: Holds the catalog, which gets the new roles.
        engine: Plays the games.
        team: Role ids of the team to start from.
        seed: Of changes and episodes.
    """
    settings, games, number = state.settings, 0, 0
    while games < GAMES:
        number += 1
        key = fold_in(seed_key(seed), number)
        changed = tuple(sorted(change(state, team, key)))
        lead: list[float] = []
        for stage in STAGES:
            episodes = range(1_000 * number + len(lead), 1_000 * number + len(lead) + stage)
            played = [
                RoleGame(episode, (roles,)) for episode in episodes for roles in (team, changed)
            ]
            scores = [
                float(r.side_scores[-1, 0])
                for r in state.play_games(engine, settings.seed + seed, played)
            ]
            games += len(played)
            lead += [b - a for a, b in zip(scores[::2], scores[1::2], strict=True)]
            if sum(lead) <= 0:
                break
        else:
            team = changed
    return team


def change(state: RoleEvolutionState, team: tuple[int, ...], key: int) -> Iterator[int]:
    """Yield the roles of a team in which one, for one agent or for all that play it, is another."""
    draws, catalog = KeyedRng(key), state.catalog
    place = draws.randint(len(team))
    if draws.bernoulli(0.3):
        new = draws.choice(team)
    else:
        parent = catalog.roles[team[place]]
        mates = [i for i in {*team, *state.seeded_roles} if i != parent.id]
        mate = catalog.roles[draws.choice(sorted(mates))]
        child = breed_child(catalog, parent, mate, fold_in(key, 1), state.coordinator.config)
        new = catalog.add_role(child).id
    whole = draws.bernoulli(0.5)
    for agent, role in enumerate(team):
        yield new if agent == place or (whole and role == team[place]) else role


def main() -> None:
    """Climb, play the held-out episodes, and print a table."""
    parser = argparse.ArgumentParser(description="Measure what role evolution is compared with.")
    parser.add_argument("--climbs", type=int, default=5, help="climbs, each with a seed of its own")
    climbs = parser.parse_args().climbs
    state, _ = prepare(EvolveRoles(seed=SEED), None)
    teams = {
        "seeded team": state.seeded_roles,
        "kin://smart": (BASELINE_ROLE,) * len(state.seeded_roles),
    }
    for name, counts in TEAMS.items():
        teams[name] = tuple(
            sorted(add_role(state, text) for text, n in counts.items() for _ in range(n))
        )
    with closing(ProcessEngine(2)) as engine:
        for seed in range(climbs):
            teams[f"racing hill-climber {seed}"] = climb(state, engine, state.seeded_roles, seed)
        played = play_held_out(state, engine, list(teams.values()), EPISODES)
    for name, scores in zip(teams, played.margins.T, strict=True):
        found = estimate_mean(np.asarray(scores))
        print(f"| {name} | {found.mean:,.0f} ({found.low:,.0f} to {found.high:,.0f}) |")


if __name__ == "__main__":
    main()
