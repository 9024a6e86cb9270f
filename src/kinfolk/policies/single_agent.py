"""Play one agent with a batched policy, through `reset` and `step`."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.random import POLICY_STREAM, episode_key, fold_in
from kinfolk.policies.base import Policy, allocate_memory, single_agent_batch


def agent_key(seed: int, episode: int, uid: int) -> int:
    """Return the random key of an agent's life; its tick `t` uses `fold_in(key, t)`.

    Args:
        seed: Seed of the run.
        episode: Number of the episode.
        uid: The agent's uid in the episode.
    """
    return int(fold_in(fold_in(episode_key(seed, episode), POLICY_STREAM), uid))


class SingleAgentPolicy:
    """Plays one agent with a batched policy, with exactly the actions it would have in a batch.

    Not covered: the agent has no parents here, so it inherits nothing from them.

    Args:
        policy: The batched policy.
        group: Index of the agent's group in `WorldSpec.groups`.
        member: Member of the policy's population that plays it.
    """

    def __init__(self, policy: Policy, group: int = 0, member: int = 0) -> None:
        self._policy, self._group, self._member = policy, group, member
        self._memory = allocate_memory(policy.memory_layout, 1)
        self.reset(0, 0, 0)

    def reset(self, seed: int = 0, episode: int = 0, uid: int = 0) -> None:
        """Reset memory and random key for a new life.

        Args:
            seed: Seed of the run.
            episode: Number of the episode.
            uid: The agent's uid in the episode.
        """
        for array in self._memory.values():
            array[...] = 0
        self._key, self._age = agent_key(seed, episode, uid), 0
        self._batch = single_agent_batch(uid, self._group, self._member)
        self._policy.reset_agents(self._batch, self._memory, np.array([self._key], dtype=np.int64))

    def step(self, observation: Bytes) -> Ints:
        """Return the action, one integer per head, for one encoded observation."""
        key = np.array([fold_in(self._key, self._age)], dtype=np.int64)
        self._age += 1
        observations = np.ascontiguousarray(observation, dtype=np.uint8).reshape(1, -1)
        self._policy.act_async(observations, self._batch, self._memory, key)
        actions: Ints = self._policy.act_wait()[0]
        return actions
