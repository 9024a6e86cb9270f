"""Worlds registered with PettingZoo and Gymnasium, and the Gymnasium adapter."""

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env

from kinfolk.core.errors import UsageError
from kinfolk.worlds.adapters import make_fixed_agents, make_gymnasium, make_parallel, register

HAS_TABLE = hasattr(pettingzoo, "parallel_registry")


def test_importing_adapters_imports_no_library_and_registers_nothing():
    code = (
        "import sys, kinfolk.worlds.adapters\n"
        "assert not {'pettingzoo', 'gymnasium', 'ray', 'torch'} & set(sys.modules)\n"
        "import gymnasium\n"
        "assert not [id for id in gymnasium.registry if id.startswith('kinfolk')]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_registering_twice_changes_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert register() == register()
    assert {"kinfolk/savanna-v0", "kinfolk/probe-v0"} <= set(register())


@pytest.mark.skipif(not HAS_TABLE, reason="this PettingZoo has no table of environments")
def test_pettingzoo_makes_both_adapters_by_id(kind, small, episode, same):
    register()
    for suffix, make in (("", make_parallel), ("-fixed", make_fixed_agents)):
        env = pettingzoo.make("parallel", f"kinfolk/{kind}{suffix}-v0", seed=2, **small)
        assert same(episode(env, None), episode(make(kind, seed=2, **small), None))


def test_gymnasium_makes_an_environment_with_one_controller(kind, small):
    register()
    env = gymnasium.make(f"kinfolk/{kind}-v0", **small)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Box observation space m.*imum value")
        warnings.filterwarnings("ignore", message=".*not having a render|.*render_mode")
        check_env(env.unwrapped, skip_render_check=True)


def test_the_controller_observes_all_agents_and_gets_the_sum_of_their_rewards(kind, small):
    env, slots = make_gymnasium(kind, **small), make_fixed_agents(kind, **small)
    env.reset(seed=5)
    slots.reset(seed=5)
    env.action_space.seed(0)
    over = False
    while not over:
        action = env.action_space.sample()
        spread = {
            f"{group}_{row}": part if len(part) > 1 else part[0]
            for group, rows in action.items()
            for row, part in enumerate(rows)
        }
        result = slots.step(spread)
        seen, reward, terminated, truncated, counters = env.step(action)
        over = terminated or truncated
        assert reward == pytest.approx(sum(result[1].values()))
        assert counters.keys() == env.world.counters().keys()
        for agent, info in result[4].items():
            group, _, row = agent.rpartition("_")
            fields = {name: part[int(row)] for name, part in seen[group].items()}
            assert fields.pop("alive") == (
                info["alive"] or (over and info["uid"] >= 0 and not info["ended"])
            )
            mine = result[0][agent]
            mine = mine if isinstance(mine, dict) else dict.fromkeys(fields, mine)
            assert all(np.array_equal(fields[name], mine[name]) for name in fields)
    assert slots.agents == []


def test_the_controller_must_act_for_every_group():
    env = make_gymnasium("probe")
    env.reset(seed=0)
    with pytest.raises(UsageError, match=r"^The action has no entry for the group grazer"):
        env.step({})
