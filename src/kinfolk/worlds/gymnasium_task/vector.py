"""Several copies of a Gymnasium task: in arrays, as one vector environment, or in a loop."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import iterate

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Ints
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.spaces import ACTION_MASK
from kinfolk.worlds.gymnasium_task.actions import MaskLayout, decode_action
from kinfolk.worlds.gymnasium_task.classic import ClassicTasks, find_classic_task
from kinfolk.worlds.gymnasium_task.env import is_vector_task, make_env, resolve_task_id
from kinfolk.worlds.gymnasium_task.loop import LoopTasks, TaskStep
from kinfolk.worlds.gymnasium_task.own_tasks import VectorTask


class ArrayTasks:
    """Step an array environment of Gymnasium whose `state` is `[numbers, tasks]`.

    The array environment would reset tasks by itself and draw for all of them from one generator;
    here each task starts from its own seed, as a single environment would, and one that has ended
    stays as it is until its reset.

    Args:
        task: Id in Gymnasium's registry.
        n_tasks: Number of tasks.
    """

    def __init__(self, task: str, n_tasks: int) -> None:
        self._task = task
        self._env: Any = _make_vector_env(task, n_tasks).unwrapped
        self._env.reset(seed=0)

    def reset(self, index: int, seed: int) -> AnyArray:
        """Start task `index` in the state in which a single environment with this seed starts."""
        single_env = _make_single_env(self._task)
        observation: AnyArray = single_env.reset(seed=seed)[0][0]
        self._env.state[:, index] = single_env.unwrapped.state[:, 0]
        self._env.steps[index] = 0
        return observation

    def step(self, actions: Ints, active: Bools) -> TaskStep:
        """Step all tasks, and undo the step of inactive ones."""
        env = self._env
        state, steps = env.state.copy(), env.steps.copy()
        env.prev_done[:] = False
        observation, reward, terminated, truncated, _ = env.step(actions[:, 0])
        np.copyto(env.state, state, where=~active)
        np.copyto(env.steps, steps, where=~active)
        return TaskStep(observation, reward.astype(np.float64), terminated, truncated)

    def get_states(self) -> dict[str, AnyArray]:
        """Return copies of the state and step arrays."""
        return {"arrays": self._env.state.T.copy(), "steps": self._env.steps.copy()}

    def park(self) -> dict[str, AnyArray]:
        """Return the arrays, as they can always be copied."""
        return self.get_states()

    def set_states(self, states: Arrays, source: Ints) -> bool:
        """Restore the arrays: task `i` gets the saved state of task `source[i]`."""
        self._env.state = np.ascontiguousarray(states["arrays"][source].T)
        self._env.steps = states["steps"][source].copy()
        return True


class VectorEnvTasks(LoopTasks):
    """Step a vector environment of the user's own, in which each task begins from its own seed.

    It stays alive in its worker, like any task that cannot be copied.

    Raises:
        SettingsError: The environment resets tasks by itself, or has another number of tasks.
    """

    envs: list[VectorTask]  # the same for every task

    def _make_envs(self) -> list[Any]:
        """Make the vector environment of all tasks, with its resets left to us."""
        made: Any = make_env(self._task, {**self._env_kwargs, "num_envs": self._n_tasks})
        env, mode = made.env, made.env.metadata.get("autoreset_mode")
        require(
            env.num_envs == self._n_tasks,
            f"{self._name} was asked for {self._n_tasks} environments, and made {env.num_envs}.",
        )
        if mode is not AutoresetMode.DISABLED:
            given = mode.name if isinstance(mode, AutoresetMode) else mode
            raise SettingsError(
                f"{self._name} has the autoreset mode {given}; every episode must begin from its own "
                f"seed. Set metadata['autoreset_mode'] = AutoresetMode.DISABLED and reset the tasks "
                f"of options['reset_mask'], or pass make_vec "
                f"vector_kwargs={{'autoreset_mode': AutoresetMode.DISABLED}}."
            )
        return [made] * self._n_tasks

    def reset(self, index: int, seed: int) -> AnyArray:
        """Reset one task with a seed, and return its first observation."""
        if not self.envs:  # that of the last episodes is parked
            self.envs = self._make_envs()
        self._n_steps[index] = 0
        with self._name_failures("reset"):
            values = self.envs[0].reset(seed, np.arange(self._n_tasks) == index)
            self._require_values(index, values, ("observation", "info"))
            return self._flatten(index, self._split(values[0])[index], _info_of(values[1], index))

    def step(self, actions: Ints, active: Bools) -> TaskStep:
        """Step all tasks; those that are over and not active begin anew first."""
        task, space = self.envs[0], self._action_space
        unused = task.is_over & ~active
        if unused.any():
            task.reset(0, unused)
        chosen = np.stack([decode_action(space, row, self._bins) for row in actions])
        for index in np.flatnonzero(active).tolist():
            self._n_steps[index] += 1
        with self._name_failures("step"):
            values = task.env.step(chosen)
            names = ("observation", "reward", "terminated", "truncated", "info")
            self._require_values(int(np.argmax(active)), values, names)
            shown, reward, terminated, truncated, infos = values
            task.is_over = np.asarray(terminated | truncated)
            steps = zip(self._split(shown), reward, terminated, truncated, strict=True)
            results = [
                self._check_step(i, (*step, _info_of(infos, i))) for i, step in enumerate(steps)
            ]
        return TaskStep(*(np.array(column) for column in zip(*results, strict=True)))

    def _split(self, observations: Any) -> list[Any]:
        """Return the observation of each task."""
        return list(iterate(self.envs[0].env.observation_space, observations))

    def get_states(self) -> dict[str, AnyArray]:
        """Raise SettingsError: a vector environment cannot be copied."""
        raise SettingsError(
            f"{self._name} cannot be copied in the middle of an episode: it is a vector environment."
        )


def _info_of(infos: Any, index: int) -> dict[str, Any]:
    """Return the part of a vector environment's info that a single task needs: its action mask."""
    return {ACTION_MASK: infos[ACTION_MASK][index]} if ACTION_MASK in infos else {}


def make_vector_tasks(
    task: str,
    n_tasks: int,
    bins: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    mask: MaskLayout | None = None,
) -> LoopTasks | ArrayTasks | ClassicTasks:
    """Return a task's form in arrays if it has one that can be seeded per task, else a loop.

    Classic control tasks have kernels of ours, other tasks the array environments of Gymnasium, and
    a user's vector environment is one already. With keywords it is always a loop: the array version
    of a task may take other keywords, or give them another meaning.

    Args:
        task: `ID`, or `MODULE:ID`.
        n_tasks: Number of copies.
        bins: Number of values of a continuous action component; None leaves it continuous.
        env_kwargs: Keywords for `gymnasium.make`.
        mask: Where the action mask goes; None if masks are not used.
    """
    if is_vector_task(task):
        return VectorEnvTasks(task, n_tasks, bins, env_kwargs, mask)
    name = resolve_task_id(task)
    classic = find_classic_task(name)
    if classic is not None and not env_kwargs and mask is None:
        max_steps = gymnasium.spec(name).max_episode_steps or sys.maxsize
        return ClassicTasks(classic, n_tasks, max_steps, bins)
    has_vector_env = (
        name in gymnasium.registry and gymnasium.spec(name).vector_entry_point is not None
    )
    if not env_kwargs and mask is None and has_vector_env and _has_array_state(name):
        return ArrayTasks(name, n_tasks)
    return LoopTasks(task, n_tasks, bins, env_kwargs, mask)


def _make_vector_env(task: str, n_tasks: int) -> Any:
    """Make the array environment that a task registers, of `n_tasks` tasks."""
    return gymnasium.make_vec(task, num_envs=n_tasks, vectorization_mode="vector_entry_point")


@cache
def _has_array_state(task: str) -> bool:
    """Return whether the state of a task's array environment is `[numbers, tasks]`."""
    env: Any = _make_vector_env(task, 3).unwrapped
    env.reset(seed=0)
    names = ("state", "steps", "prev_done")
    has_arrays = all(isinstance(getattr(env, name, None), np.ndarray) for name in names)
    return has_arrays and env.state.ndim == 2 and env.state.shape[1] == 3


@cache
def _make_single_env(task: str) -> Any:
    """Return the array environment of one task, whose resets give initial states."""
    return _make_vector_env(task, 1)
