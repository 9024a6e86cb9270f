"""Gymnasium tasks side by side: as one array environment where there is one, else one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.spaces.utils import flatdim, flatten

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Floats, Ints
from kinfolk.core.errors import ContractError, KinfolkError
from kinfolk.core.tracebacks import summarize_error
from kinfolk.worlds.gymnasium_task.factory import make_env, resolve_task_id
from kinfolk.worlds.gymnasium_task.state import deserialize_env, serialize_env, stack_bytes


class TaskStep(NamedTuple):
    """What a step brought, a row per lane; rows of lanes that rest mean nothing."""

    observation: AnyArray
    reward: Floats
    terminated: Bools
    truncated: Bools


class VectorTasks(Protocol):
    """Tasks of one kind, each in a lane of its own."""

    def reset(self, index: int, seed: int) -> AnyArray:
        """Begin an episode that follows from `seed`; what is shown first."""
        ...

    def step(self, actions: Ints, active: Bools) -> TaskStep:
        """Act, `[lanes, parts]`, in the lanes that are active."""
        ...

    def get_states(self) -> dict[str, AnyArray]:
        """Copies of all states, with the lane as first axis."""
        ...

    def set_states(self, states: Arrays, source: Ints) -> None:
        """Lane `i` gets the state of the kept lane `source[i]`."""
        ...


def decode_action(space: gymnasium.Space[Any], choices: Ints, bins: int) -> Any:
    """A choice per part as an action of the task; a number is one of `bins` steps of its range."""
    if isinstance(space, Discrete):
        return int(choices[0]) + int(space.start)
    if isinstance(space, MultiDiscrete):
        return choices.reshape(space.shape).astype(space.dtype) + space.start
    assert isinstance(space, Box)  # the world has looked at it before
    share = choices.reshape(space.shape) / (bins - 1)
    return (space.low + share * (space.high - space.low)).astype(space.dtype)


class LoopTasks:
    """Ordinary environments, stepped one by one."""

    def __init__(
        self, task: str, n_tasks: int, bins: int, env_kwargs: Mapping[str, Any] | None = None
    ) -> None:
        self._name = f"gym:{task}"
        self.envs = [make_env(task, env_kwargs or {}) for _ in range(n_tasks)]
        self._action_space, self._bins = self.envs[0].action_space, bins
        self._observation_space = self.envs[0].observation_space

    def _flatten(self, observation: Any) -> AnyArray:
        flat = np.asarray(flatten(self._observation_space, observation), dtype=np.float32)
        size = flatdim(self._observation_space)
        if flat.shape != (size,):
            raise ContractError(
                f"{self._name} must show {size} number{'s' * (size != 1)}, as its "
                f"observation_space says, not {flat.size}."
            )
        return flat

    def reset(self, index: int, seed: int) -> AnyArray:
        """Seed the lane's environment.

        Raises:
            ContractError: The environment raised, or returned what Gymnasium does not allow.
        """
        with self._name_failures("reset"):
            found = self.envs[index].reset(seed=seed)
            self._require_values("reset", found, ("observation", "info"))
            return self._flatten(found[0])

    def step(self, actions: Ints, active: Bools) -> TaskStep:
        """Step those that are active.

        Raises:
            ContractError: An environment raised, or returned what Gymnasium does not allow.
        """
        rest = (np.zeros(flatdim(self._observation_space), dtype=np.float32), 0.0, False, False)
        found: list[Any] = [rest] * len(self.envs)
        for lane in np.flatnonzero(active).tolist():
            action = decode_action(self._action_space, actions[lane], self._bins)
            with self._name_failures("step"):
                found[lane] = self._check_step(self.envs[lane].step(action))
        return TaskStep(*(np.array(column) for column in zip(*found, strict=True)))

    def _check_step(self, values: Any) -> tuple[AnyArray, float, bool, bool]:
        self._require_values(
            "step", values, ("observation", "reward", "terminated", "truncated", "info")
        )
        shown, reward, terminated, truncated, _ = values
        try:
            number = float(reward)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ContractError(
                f"{self._name} must give a finite number as reward, not {reward!r}."
            )
        return self._flatten(shown), number, bool(terminated), bool(truncated)

    def _require_values(self, method: str, values: Any, names: tuple[str, ...]) -> None:
        if isinstance(values, tuple) and len(values) == len(names):
            return
        got = str(len(values)) if isinstance(values, tuple) else f"one {type(values).__name__}"
        raise ContractError(
            f"{self._name} must return {len(names)} values from {method} ({', '.join(names)}), "
            f"not {got}."
        )

    @contextmanager
    def _name_failures(self, method: str) -> Iterator[None]:
        """Say which task raised, and where in its author's code."""
        try:
            yield
        except KinfolkError:
            raise
        except Exception as error:
            what, where, _ = summarize_error(error)
            raise ContractError(f"{self._name} failed in {method}: {what} ({where}).") from error

    def get_states(self) -> dict[str, AnyArray]:
        """Packed, a row of bytes each."""
        return {"packed": stack_bytes([serialize_env(env) for env in self.envs])}

    def set_states(self, states: Arrays, source: Ints) -> None:
        """Unpack."""
        for env, which in zip(self.envs, source.tolist(), strict=True):
            deserialize_env(env, states["packed"][which].tobytes())


class ArrayTasks:
    """An array environment whose `state` is `[numbers, lanes]`, such as CartPole's.

    It resets lanes by itself and draws for all of them from one generator; here each lane begins
    from its own seed, as an environment by itself would, and one that has ended rests.
    """

    def __init__(self, task: str, n_tasks: int) -> None:
        self._task = task
        self._env: Any = _make_vector_env(task, n_tasks).unwrapped
        self._env.reset(seed=0)

    def reset(self, index: int, seed: int) -> AnyArray:
        """Begin where an environment with this seed begins."""
        start, shown = _reset_single_env(self._task, seed)
        self._env.state[:, index] = start
        self._env.steps[index] = 0
        return shown

    def step(self, actions: Ints, active: Bools) -> TaskStep:
        """Step all, and put those back that rest."""
        env = self._env
        state, steps = env.state.copy(), env.steps.copy()
        env.prev_done[:] = False
        shown, reward, terminated, truncated, _ = env.step(actions[:, 0])
        np.copyto(env.state, state, where=~active)
        np.copyto(env.steps, steps, where=~active)
        return TaskStep(shown, reward.astype(np.float64), terminated, truncated)

    def get_states(self) -> dict[str, AnyArray]:
        """Copies of the arrays."""
        return {"arrays": self._env.state.T.copy(), "steps": self._env.steps.copy()}

    def set_states(self, states: Arrays, source: Ints) -> None:
        """Take the arrays."""
        self._env.state = np.ascontiguousarray(states["arrays"][source].T)
        self._env.steps = states["steps"][source].copy()


def make_vector_tasks(
    task: str, n_tasks: int, bins: int, env_kwargs: Mapping[str, Any] | None = None
) -> VectorTasks:
    """An array environment if the task has one we can seed lane by lane, else ordinary ones.

    With keywords they are always ordinary ones: the array form of a task may take others, or take
    them to mean something else.

    Args:
        task: `ID`, or `MODULE:ID`.
        n_tasks: How many run side by side.
        bins: Steps of a number to act with.
        env_kwargs: Keywords for `gymnasium.make`.
    """
    name = resolve_task_id(task)
    if (
        not env_kwargs
        and gymnasium.spec(name).vector_entry_point is not None
        and _has_array_state(name)
    ):
        return ArrayTasks(name, n_tasks)
    return LoopTasks(task, n_tasks, bins, env_kwargs)


def _make_vector_env(task: str, n_tasks: int) -> Any:
    return gymnasium.make_vec(task, num_envs=n_tasks, vectorization_mode="vector_entry_point")


@cache
def _has_array_state(task: str) -> bool:
    env: Any = _make_vector_env(task, 3).unwrapped
    env.reset(seed=0)
    names = ("state", "steps", "prev_done")
    return all(isinstance(getattr(env, n, None), np.ndarray) for n in names) and (
        env.state.ndim == 2 and env.state.shape[1] == 3
    )


@cache
def _make_single_env(task: str) -> Any:
    return _make_vector_env(task, 1)


def _reset_single_env(task: str, seed: int) -> tuple[AnyArray, AnyArray]:
    env = _make_single_env(task)
    shown, _ = env.reset(seed=seed)
    return env.unwrapped.state[:, 0].copy(), shown[0]
