"""One agent at a time: the view for people who think of a policy as `reset` and `step`."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.random import POLICY_STREAM, episode_key, fold_in
from kinfolk.policies.base import Policy, allocate_memory, single_agent_batch


def agent_key(seed: int, episode: int, uid: int) -> int:
    """The key of all that a life's policy draws; draw `t` of its ticks uses `fold(key, t)`."""
    return int(fold_in(fold_in(episode_key(seed, episode), POLICY_STREAM), uid))


class SingleAgentPolicy:
    """Plays one life of one group with a batched policy, to exactly the actions of a batch.

    Not covered: a newborn here has no parents, so what it would inherit from them is missing.
    """

    def __init__(self, policy: Policy, group: int = 0, member: int = 0) -> None:
        self._policy, self._group, self._member = policy, group, member
        self._memory = allocate_memory(policy.memory_layout, 1)
        self.reset(0, 0, 0)

    def reset(self, seed: int = 0, episode: int = 0, uid: int = 0) -> None:
        """Begin a life."""
        for array in self._memory.values():
            array[...] = 0
        self._key, self._age = agent_key(seed, episode, uid), 0
        self._rows = single_agent_batch(uid, self._group, self._member)
        self._policy.reset_agents(self._rows, self._memory, np.array([self._key], dtype=np.int64))

    def step(self, observation: Bytes) -> Ints:
        """The action, one number per head, for one row of bytes."""
        key = np.array([fold_in(self._key, self._age)], dtype=np.int64)
        self._age += 1
        rows = np.ascontiguousarray(observation, dtype=np.uint8).reshape(1, -1)
        self._policy.act_async(rows, self._rows, self._memory, key)
        actions: Ints = self._policy.act_wait()[0]
        return actions


def single_agent_policy(policy: Policy, group: int = 0, member: int = 0) -> SingleAgentPolicy:
    """The one-agent view of `policy`, for an agent of `group`."""
    return SingleAgentPolicy(policy, group, member)
