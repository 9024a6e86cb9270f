"""CogsGuard as a PettingZoo environment: nobody dies, and with the temple some are born."""

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from kinfolk.worlds.adapters import make_parallel

SMALL = {
    "map_text": "J..c....\n.@@..H.C\n.@@.A.M.\n...o...J",
    "agents": 4,
    "max_steps": 40,
    "clips_seed_at": 2,
}
TEMPLE = SMALL | {
    "map_text": "J..c....\n....@H@C\n....@A@.\n...o...J",
    "temple": True,
    "temple_cap": 6,
    "temple_cooldown": 3,
}


@pytest.mark.filterwarnings("ignore:.*possible_agents:UserWarning")
@pytest.mark.filterwarnings("ignore:No agents present:UserWarning")
def test_pettingzoos_api_test_passes():
    parallel_api_test(make_parallel("cogsguard", **SMALL), num_cycles=100)
    parallel_seed_test(lambda: make_parallel("cogsguard", **SMALL), num_cycles=30)


def test_the_same_seed_gives_the_same_whole_episode(episode, same):
    first = episode(make_parallel("cogsguard", **SMALL), seed=5)
    assert len(first) == 41
    assert same(first, episode(make_parallel("cogsguard", seed=9, **SMALL), seed=5))
    assert not same(first, episode(make_parallel("cogsguard", **SMALL), seed=6))


def test_agents_see_a_window_and_facts_and_choose_a_move_and_a_vibe():
    env = make_parallel("cogsguard", **SMALL)
    seen, _ = env.reset(seed=1)
    assert sorted(seen) == ["cogs_0", "cogs_1", "cogs_2", "cogs_3"]
    assert seen["cogs_0"]["window"].shape == (13, 13)
    assert seen["cogs_0"]["facts"].shape == (19,)
    assert env.action_space("cogs_0").nvec.tolist() == [5, 7]


def test_newborns_of_the_temple_join_with_the_names_of_their_parents_known():
    env = make_parallel("cogsguard", **TEMPLE)
    env.reset(seed=1)
    founders = set(env.agents)
    for _ in range(10):
        env.step({agent: np.zeros(2, dtype=np.int64) for agent in env.agents})
    assert len(env.agents) == 6
    assert founders < set(env.agents)
