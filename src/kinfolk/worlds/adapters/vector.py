"""A batch of worlds in the style of Gymnasium's vector environments, for trainers.

All arrays are `[envs, rows, ...]`: a row holds one agent at a time, and is empty (`uid` -1) or reused
after a death. No dictionary of agents is built.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import Bools, Bytes, Floats, Ints
from kinfolk.core.random import WORLD_STREAM, episode_key, fold_in
from kinfolk.worlds.base import World


class VectorStep(NamedTuple):
    """What a step returns; `infos` has `uid`, `group`, `alive`, `parent` and `done`."""

    observations: Bytes  # [envs, rows, row_bytes], see the groups' fields in `env.spec`
    rewards: Floats  # [envs, rows]
    terminations: Bools  # [envs, rows] agents that died
    truncations: Bools  # [envs, rows] survivors of the last step of an episode
    infos: dict[str, Any]


class VectorEnv:
    """Step several worlds at once; ended episodes restart with the next step.

    World `i` plays the episodes i, i + envs, i + 2 envs, ... of the seed. In the step after its end
    a world is reset instead of stepped: its actions are ignored and its rewards are 0.

    Args:
        world: A batch of worlds.
        seed: Seed of all episodes.
    """

    def __init__(self, world: World, seed: int = 0) -> None:
        self.world, self.spec, self.num_envs = world, world.spec, world.n_worlds
        self._seed, self._episodes = seed, np.arange(world.n_worlds, dtype=np.int64)
        shape = (world.n_worlds * world.spec.rows, world.spec.row_bytes)
        self._observations: Bytes = np.zeros(shape, dtype=np.uint8)

    def reset(self, *, seed: int | None = None) -> tuple[Bytes, dict[str, Any]]:
        """Start the first episodes of a seed, and return observations and infos."""
        if seed is not None:
            self._seed = seed
        self._episodes = np.arange(self.num_envs, dtype=np.int64)
        self._restart(np.arange(self.num_envs))
        step = self._report()
        return step.observations, step.infos

    def _restart(self, envs: Ints) -> None:
        """Start the next episodes of some worlds."""
        keys = [
            fold_in(episode_key(self._seed, int(self._episodes[env])), WORLD_STREAM) for env in envs
        ]
        self.world.reset(np.array(keys, dtype=np.int64), envs)
        self._episodes[envs] += self.num_envs

    def step(self, actions: Ints) -> VectorStep:
        """Step all worlds, or reset those that ended before.

        Args:
            actions: `[envs, rows, heads]`, int64; those of rows without a living agent are ignored.

        Raises:
            ContractError: An action of a living agent is out of range.
        """
        ended = np.flatnonzero(self.world.done)
        shape = (self.num_envs * self.spec.rows, self.spec.n_heads)
        self.world.step(np.ascontiguousarray(actions, dtype=np.int64).reshape(shape))
        if len(ended):
            self._restart(ended)
        return self._report()

    def _report(self) -> VectorStep:
        """Return copies of what trainers read."""
        self.world.observe(self._observations)
        columns, shape = self.world.columns, (self.num_envs, self.spec.rows)
        infos = {
            "uid": columns.uid.reshape(shape).copy(),
            "group": columns.group.reshape(shape).copy(),
            "alive": columns.alive.reshape(shape).copy(),
            "parent": columns.parents[:, 0].reshape(shape).copy(),
            "done": self.world.done.copy(),
        }
        return VectorStep(
            self._observations.reshape(*shape, -1).copy(),
            columns.reward.reshape(shape).copy(),
            columns.terminated.reshape(shape).copy(),
            columns.truncated.reshape(shape).copy(),
            infos,
        )
