"""Stable-Baselines3 on the fixed slots of the savanna, where it is installed, to compare with."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np

from kinfolk.jobs.bench_worlds import scene
from kinfolk.worlds.adapters import make_fixed_slots

_TICKS = 32  # of a rollout; two are learnt from, the first to warm up


def sb3_rate(hidden: tuple[int, ...], minibatch: int) -> float | None:
    """Agent-steps of the living per second of processor time, one epoch; None if not installed.

    Every slot is an environment to it, empty ones too, as whoever uses the fixed slots has them.
    """
    if find_spec("stable_baselines3") is None:
        return None
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecEnv

    class Slots(VecEnv):  # type: ignore[misc]
        """The slots of one savanna, side by side."""

        def __init__(self) -> None:
            self.env = make_fixed_slots("savanna", observation="compact", **scene())
            names = self.env.possible_agents
            self.lived = 0
            super().__init__(
                len(names), self.env.observation_space(names[0]), self.env.action_space(names[0])
            )

        def reset(self) -> Any:
            seen, _ = self.env.reset()
            return self._stacked(seen)

        def step_async(self, actions: Any) -> None:
            self._actions = dict(zip(self.env.possible_agents, actions, strict=True))

        def step_wait(self) -> Any:
            self.lived += int(self.env.world.columns.alive.sum())
            seen, rewards, _, over, _ = self.env.step(self._actions)
            done = np.fromiter(over.values(), dtype=bool)
            infos: list[dict[str, Any]] = [{} for _ in over]
            if done.all():
                seen, _ = self.env.reset()
            earned = np.fromiter(rewards.values(), dtype=np.float32)
            return self._stacked(seen), earned, done, infos

        def _stacked(self, seen: Any) -> Any:
            return np.stack([seen[name] for name in self.env.possible_agents])

        def close(self) -> None:
            self.env.close()

        def get_attr(self, *_: Any, **__: Any) -> list[Any]:
            return [None] * self.num_envs

        def set_attr(self, *_: Any, **__: Any) -> None:
            raise NotImplementedError

        def env_method(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

        def env_is_wrapped(self, *_: Any, **__: Any) -> list[bool]:
            return [False] * self.num_envs

    slots = Slots()
    learner = PPO(
        "MlpPolicy", slots, n_steps=_TICKS, batch_size=minibatch, n_epochs=1, device="cpu",
        policy_kwargs={"net_arch": list(hidden)},
    )  # fmt: skip
    learner.learn(_TICKS * slots.num_envs)
    slots.lived, start = 0, time.process_time()
    learner.learn(_TICKS * slots.num_envs)
    return slots.lived / (time.process_time() - start)
