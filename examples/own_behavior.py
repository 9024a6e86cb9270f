"""A behaviour of one's own, first in plain Python, then compiled, and a role that uses it.

`medic` goes home when its hp runs low and stays there until it is well. Run it with

    python examples/own_behavior.py

or play its roles by URI, from the folder that holds this file:

    kinfolk eval --world cogsguard --slot "cogs=kin://roles?catalog=own_behavior.catalog&Careful=8"
"""

from kinfolk.policies.scripted.cogsguard.behaviors.explanations import (
    NO_PATH,
    NO_RECHARGE_NEEDED,
    YES,
)
from kinfolk.policies.scripted.cogsguard.catalog import cogs_catalog, compiled
from kinfolk.policies.scripted.cogsguard.requirements import hp_limit
from kinfolk.policies.scripted.cogsguard.shared_kernels import go_home
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


# Compiled: the same on the memory arrays of all agents, `memory`, at the index `agent`.
@compiled
def is_weak_fast(memory, agent):
    return YES if memory.state[agent, HP] < LOW else NO_RECHARGE_NEEDED


@compiled
def goes_home_fast(memory, agent):
    move = go_home(memory, agent)
    return move if move >= 0 else NO_PATH


@compiled
def is_well_fast(memory, agent):
    return 1 if memory.state[agent, HP] >= hp_limit(memory, memory.state[agent, GEAR]) else 0


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
    from kinfolk.evaluation.rollout import evaluation_task, run_evaluation
    from kinfolk.play.task import WorldRef
    from kinfolk.policies.resolve import ResolvedPolicy

    settings = {
        "catalog": f"{__name__}.{maker}" if __name__ != "__main__" else f"own_behavior.{maker}"
    }
    policy = ResolvedPolicy(
        "kinfolk.policies.scripted.cogsguard.teams:RoleCountPolicy", {**settings, role: 8}
    )
    world = WorldRef("cogsguard", "arena", {"max_steps": ticks})
    task = evaluation_task(world, {"cogs": policy}, seed=1, episodes=range(episodes))
    results = run_evaluation(task).episodes
    names = ("ticks_at_hp_0", "deposited")
    return {n: sum(r.counters[n] for r in results) / episodes for n in names}


if __name__ == "__main__":
    for maker, role in (
        ("catalog", "BaseMiner"),
        ("catalog", "Careful"),
        ("plain_catalog", "Careful"),
    ):
        print(f"{role:10} ({maker})", play(maker, role))
