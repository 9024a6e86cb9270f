"""A behaviour of one's own, first in plain Python, then compiled, and a role that uses it.

`medic` goes home when its hp runs low and stays there until it is well. Run it with

    python examples/own_behavior.py

or play its roles by URI, from the folder that holds this file:

    kinfolk eval --world cogsguard --slot "cogs=kin://roles?catalog=own_behavior.catalog&Careful=8"
"""

from kinfolk.policies.cogsguard.catalog import cogs_catalog, compiled
from kinfolk.policies.cogsguard.needs import hp_limit
from kinfolk.policies.cogsguard.reasons import FULL, NO_WAY, YES
from kinfolk.policies.cogsguard.tools import go_home
from kinfolk.roles.model import RoleDef, RoleTier
from kinfolk.worlds.cogsguard.codes import GEAR, HP

LOW = 40


# Plain Python: each hook gets a view of what its agent knows.
def is_weak(agent):
    return agent["hp"] < LOW


def goes_home(agent):
    return agent.go_home()  # a move, or None if there is no way


def is_well(agent):
    return agent["hp"] >= 100


# Compiled: the same on the arrays of all minds, `m`, at the agent's place, `at`.
@compiled
def is_weak_fast(m, at):
    return YES if m.notes[at, HP] < LOW else FULL


@compiled
def goes_home_fast(m, at):
    move = go_home(m, at)
    return move if move >= 0 else NO_WAY


@compiled
def is_well_fast(m, at):
    return 1 if m.notes[at, HP] >= hp_limit(m, m.notes[at, GEAR]) else 0


def catalog(fast=True):
    """The game's own behaviours and roles, and on top of them `medic` and the role `Careful`."""
    known = cogs_catalog()
    hooks = (is_weak_fast, goes_home_fast, is_well_fast) if fast else (is_weak, goes_home, is_well)
    known.add_behavior(
        name="medic",
        source="common",
        can_start=hooks[0],
        act=hooks[1],
        should_terminate=hooks[2],
        interruptible=False,
    )
    tiers = (["medic"], ["deposit_resource"], ["mine_resource"], ["find_extractor"], ["explore"])
    found = tuple(RoleTier(known.behavior_ids(tier)) for tier in tiers)
    known.add_role(RoleDef(found, name="Careful"))
    return known


def plain_catalog():
    """The same with `medic` in plain Python."""
    return catalog(fast=False)


def play(maker, role, episodes=4, ticks=300):
    """Ticks at hp 0 and elements mined, on average over some games of eight such agents."""
    from kinfolk.evaluation.match import Match, play_match
    from kinfolk.policies.resolve import ResolvedPolicy

    settings = {
        "catalog": f"{__name__}.{maker}" if __name__ != "__main__" else f"own_behavior.{maker}"
    }
    policy = ResolvedPolicy("kinfolk.policies.cogsguard.lineups:LineUp", {**settings, role: 8})
    match = Match("cogsguard", {"max_steps": ticks}, {"cogs": policy}, 1, 0, episodes, "arena")
    results = play_match(match)
    names = ("ticks_at_hp_0", "deposited")
    return {n: sum(r.counters[n] for r in results) / episodes for n in names}


if __name__ == "__main__":
    for maker, role in (
        ("catalog", "BaseMiner"),
        ("catalog", "Careful"),
        ("plain_catalog", "Careful"),
    ):
        print(f"{role:10} ({maker})", play(maker, role))
