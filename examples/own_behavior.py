"""Add a behavior of your own, in plain Python and compiled, and a role that uses it.

`medic` returns to the friendly area when hp is low and stays there until hp is full. Run

    python examples/own_behavior.py

or play its roles by URI, in the folder that contains this file:

    kinfolk eval --world cogsguard --slot "cogs=kin://roles?catalog=own_behavior.catalog&Careful=8"
"""

from kinfolk.policies.scripted.cogsguard.behaviors.reasons import NO_PATH, NO_RECHARGE_NEEDED, YES
from kinfolk.policies.scripted.cogsguard.catalog import cogs_catalog, compiled
from kinfolk.policies.scripted.cogsguard.primitives import go_home, hp_limit
from kinfolk.roles.model import RoleDef, RoleTier
from kinfolk.worlds.cogsguard.codes import GEAR, HP

LOW_HP = 40


# In plain Python, each function gets a view of what its agent knows.
def is_hp_low(agent):
    """Start when hp is low."""
    return agent["hp"] < LOW_HP


def return_home(agent):
    """Return the next move home, or None if there is no path."""
    return agent.go_home()


def is_hp_full(agent):
    """Terminate when hp is full."""
    return agent["hp"] >= 100


# Compiled, the same functions get the memory arrays of all agents, and the index of one of them.
@compiled
def is_hp_low_kernel(memory, agent):
    """Return YES, or the reason why the behavior does not start."""
    return YES if memory.state[agent, HP] < LOW_HP else NO_RECHARGE_NEEDED


@compiled
def return_home_kernel(memory, agent):
    """Return the next move home, or the reason why there is none."""
    move = go_home(memory, agent)
    return move if move >= 0 else NO_PATH


@compiled
def is_hp_full_kernel(memory, agent):
    """Return 1 when hp is at the limit of the agent's gear."""
    return 1 if memory.state[agent, HP] >= hp_limit(memory, memory.state[agent, GEAR]) else 0


PYTHON_FUNCTIONS = (is_hp_low, return_home, is_hp_full)
KERNELS = (is_hp_low_kernel, return_home_kernel, is_hp_full_kernel)


def catalog(functions=KERNELS):
    """Return the game's behaviors and roles, with the behavior `medic` and the role `Careful`."""
    roles = cogs_catalog()
    can_start, act, should_terminate = functions
    roles.add_behavior(
        name="medic",
        source="common",
        can_start=can_start,
        act=act,
        should_terminate=should_terminate,
        interruptible=False,
    )
    tiers = (["medic"], ["deposit_resource"], ["mine_resource"], ["find_extractor"], ["explore"])
    careful = tuple(RoleTier(roles.behavior_ids(names)) for names in tiers)
    roles.add_role(RoleDef(careful, name="Careful"))
    return roles


def python_catalog():
    """Return the same catalog with `medic` in plain Python."""
    return catalog(PYTHON_FUNCTIONS)


def play(catalog_function, role, episodes=4, ticks=300):
    """Play games of eight agents with one role and return the means of two counters.

    Args:
        catalog_function: Name of the function in this module that makes the catalog.
        role: Name of the role that all agents play.
        episodes: Number of games.
        ticks: Length of a game.

    Returns:
        Ticks at hp 0 and elements deposited per game, by the counter's name.
    """
    from kinfolk.evaluation.rollout import evaluation_task, run_evaluation
    from kinfolk.play.task import WorldRef
    from kinfolk.policies.build import ResolvedPolicy

    module = "own_behavior" if __name__ == "__main__" else __name__
    policy = ResolvedPolicy(
        "kinfolk.policies.scripted.cogsguard.teams:RoleCountPolicy",
        {"catalog": f"{module}.{catalog_function}", role: 8},
    )
    world = WorldRef("cogsguard", "arena", {"max_steps": ticks})
    task = evaluation_task(world, {"cogs": policy}, seed=1, episodes=range(episodes))
    results = run_evaluation(task).episodes
    counters = ("ticks_at_hp_0", "deposited")
    return {name: sum(result.counters[name] for result in results) / episodes for name in counters}


if __name__ == "__main__":
    for catalog_function, role in (
        ("catalog", "BaseMiner"),
        ("catalog", "Careful"),
        ("python_catalog", "Careful"),
    ):
        print(f"{role:10} ({catalog_function})", play(catalog_function, role))
