"""A loop of one's own, as the documents show it: build, play, select, mutate."""

import gymnasium as gym
import numpy as np
import pytest

from kinfolk.core.random import fold_in, seed_key
from kinfolk.evolution import GeneratorPop
from kinfolk.evolution.selection import tournament
from kinfolk.nets.registry import make_nets

MEMBERS = 32


def fitness_of(pop, envs, seed):
    seen, _ = envs.reset(seed=seed)
    alive, lengths = np.ones(MEMBERS, dtype=bool), np.zeros(MEMBERS)
    while alive.any():
        out = pop.generate((seen * alive[:, None]).reshape(MEMBERS, 1, 4))
        seen, _, terminated, truncated, _ = envs.step(out.argmax(axis=-1).reshape(-1))
        lengths += alive
        alive &= ~(terminated | truncated)
    pop.reset_memory()
    return lengths


@pytest.mark.more
def test_dynamic_nets_learn_to_balance():
    envs = gym.make_vec("CartPole-v1", MEMBERS, vectorization_mode="vector_entry_point")
    pop = GeneratorPop(make_nets("dynamic", MEMBERS, 4, 2, key=seed_key(0)))
    means = []
    for generation in range(80):
        fitness = pop.get_total_fitness(fitness_of(pop, envs, 1000 * generation))
        means.append(fitness.mean())
        if means[-1] >= 450:
            break
        pop.apply_selection(tournament(fitness, 4, int(fold_in(seed_key(5), generation)), 2), 2)
        pop.mutate(int(fold_in(seed_key(7), generation)), 2)
    envs.close()
    assert means[-1] >= 450, means
