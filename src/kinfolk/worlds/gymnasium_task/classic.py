"""Gymnasium's classic control tasks as arrays: CartPole, Acrobot, MountainCar and Pendulum.

They start from the states that Gymnasium draws for their seeds and follow its rules bit for bit
(`classic_rules`), many times faster than one environment after another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.utils.seeding import np_random

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Floats, Ints
from kinfolk.core.spaces import decode_numbers
from kinfolk.worlds.gymnasium_task import classic_rules as rules
from kinfolk.worlds.gymnasium_task.classic_rules import step_tasks
from kinfolk.worlds.gymnasium_task.loop import TaskStep

_MODULE = "gymnasium.envs.classic_control"
_CACHED_STATES = 4096


class ClassicTask(NamedTuple):
    """What distinguishes one of the tasks from the others.

    Attributes:
        kind: Number of its rules in `classic_rules`.
        entry_point: Gymnasium's class of it.
        draw_state: Draws the initial state from a generator as Gymnasium does.
    """

    kind: int
    entry_point: str
    draw_state: Callable[[Any], AnyArray]


def _draw_pendulum(rng: Any) -> AnyArray:
    """Draw the initial angle and velocity of a pendulum."""
    high = np.array([math.pi, 1.0])
    drawn: AnyArray = rng.uniform(low=-high, high=high)
    return drawn


_TASKS: Mapping[str, ClassicTask] = {
    task.entry_point: task
    for task in (
        ClassicTask(
            rules.CARTPOLE,
            f"{_MODULE}.cartpole:CartPoleEnv",
            lambda rng: rng.uniform(low=-0.05, high=0.05, size=(4,)),
        ),
        ClassicTask(
            rules.ACROBOT,
            f"{_MODULE}.acrobot:AcrobotEnv",
            lambda rng: rng.uniform(low=-0.1, high=0.1, size=(4,)).astype(np.float32),
        ),
        ClassicTask(
            rules.MOUNTAIN_CAR,
            f"{_MODULE}.mountain_car:MountainCarEnv",
            lambda rng: np.array([rng.uniform(low=-0.6, high=-0.4), 0.0]),
        ),
        ClassicTask(rules.PENDULUM, f"{_MODULE}.pendulum:PendulumEnv", _draw_pendulum),
    )
}


class FirstState(NamedTuple):
    """State and observation of a task after a reset."""

    state: Floats
    observation: AnyArray  # float32


def find_classic_task(task_id: str) -> ClassicTask | None:
    """Return the array version of a task in Gymnasium's registry; None if it has none."""
    spec = gymnasium.registry.get(task_id)
    entry_point = spec.entry_point if spec is not None and not spec.kwargs else None
    return _TASKS.get(entry_point) if isinstance(entry_point, str) else None


@lru_cache(maxsize=_CACHED_STATES)
def draw_first_state(entry_point: str, seed: int) -> FirstState:
    """Return the state in which Gymnasium starts a task with this seed, and its observation."""
    task = _TASKS[entry_point]
    drawn = task.draw_state(np_random(seed)[0])
    state = drawn.astype(np.float64)
    observation = np.zeros(rules.OBSERVATION_SIZES[task.kind], dtype=np.float32)
    if task.kind == rules.ACROBOT:  # Gymnasium observes the first state in single precision
        a, b, c, d = drawn
        observation[:] = (np.cos(a), np.sin(a), np.cos(b), np.sin(b), c, d)
    else:
        rules.observe_task(task.kind, state, observation)
    return FirstState(state, observation)


class ClassicTasks:
    """Several copies of a classic control task, stepped by a kernel.

    Args:
        task: The task.
        n_tasks: Number of copies.
        max_steps: Steps after which an episode is truncated.
        bins: Number of torques of a pendulum to choose from; None leaves it continuous.
    """

    def __init__(
        self, task: ClassicTask, n_tasks: int, max_steps: int, bins: int | None = None
    ) -> None:
        self._task, self._max_steps, self._bins = task, max_steps, bins
        self.state: Floats = np.zeros((n_tasks, rules.STATE_SIZES[task.kind]))
        self.steps: Ints = np.zeros(n_tasks, dtype=np.int64)
        size = rules.OBSERVATION_SIZES[task.kind]
        self._observation = np.zeros((n_tasks, size), dtype=np.float32)
        self._reward, self._terminated = np.zeros(n_tasks), np.zeros(n_tasks, dtype=np.bool_)

    def reset(self, index: int, seed: int) -> AnyArray:
        """Start task `index` in the state in which Gymnasium's starts with this seed."""
        first = draw_first_state(self._task.entry_point, seed)
        self.state[index], self.steps[index] = first.state, 0
        return first.observation

    def step(self, actions: Ints, active: Bools) -> TaskStep:
        """Step the active tasks, and leave the others as they are."""
        self.steps += active
        step_tasks(
            self._task.kind, self.state, self._decode(actions), active, 2.0,
            self._observation, self._reward, self._terminated,
        )  # fmt: skip
        truncated = self.steps >= self._max_steps
        return TaskStep(self._observation, self._reward, self._terminated, truncated)

    def _decode(self, actions: Ints) -> Floats:
        """Return the numbers of choices, or the torques of pendulums, in single precision."""
        if self._task.kind != rules.PENDULUM:
            return actions[:, 0].astype(np.float64)
        if self._bins is None:
            torque = np.clip(decode_numbers(actions[:, 0]), -2.0, 2.0)
            return torque.astype(np.float32).astype(np.float64)
        fraction = actions[:, 0] / (self._bins - 1)
        low, high = np.float32(-2.0), np.float32(2.0)
        return (low + fraction * (high - low)).astype(np.float32).astype(np.float64)

    def get_states(self) -> dict[str, AnyArray]:
        """Return copies of the state and step arrays."""
        return {"arrays": self.state.copy(), "steps": self.steps.copy()}

    def park(self) -> dict[str, AnyArray]:
        """Return the arrays, as they can always be copied."""
        return self.get_states()

    def set_states(self, states: Arrays, source: Ints) -> bool:
        """Restore the arrays: task `i` gets the saved state of task `source[i]`."""
        self.state = np.array(states["arrays"][source], dtype=np.float64)
        self.steps = states["steps"][source].copy()
        return True
