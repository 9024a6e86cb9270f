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
from kinfolk.core.tracebacks import explain
from kinfolk.worlds.gym_copies import pack, to_rows, unpack
from kinfolk.worlds.gym_tasks import find_task, make_task


class Outcome(NamedTuple):
    """What a step brought, a row per lane; rows of lanes that rest mean nothing."""

    shown: AnyArray
    reward: Floats
    terminated: Bools
    truncated: Bools


class Lanes(Protocol):
    """Tasks of one kind, each in a lane of its own."""

    def reset(self, lane: int, seed: int) -> AnyArray:
        """Begin an episode that follows from `seed`; what is shown first."""
        ...

    def step(self, actions: Ints, active: Bools) -> Outcome:
        """Act, `[lanes, parts]`, in the lanes that are active."""
        ...

    def keep(self) -> dict[str, AnyArray]:
        """Copies of all states, with the lane as first axis."""
        ...

    def put(self, kept: Arrays, source: Ints) -> None:
        """Lane `i` gets the state of the kept lane `source[i]`."""
        ...


def to_action(space: gymnasium.Space[Any], choice: Ints, bins: int) -> Any:
    """A choice per part as an action of the task; a number is one of `bins` steps of its range."""
    if isinstance(space, Discrete):
        return int(choice[0]) + int(space.start)
    if isinstance(space, MultiDiscrete):
        return choice.reshape(space.shape).astype(space.dtype) + space.start
    assert isinstance(space, Box)  # the world has looked at it before
    share = choice.reshape(space.shape) / (bins - 1)
    return (space.low + share * (space.high - space.low)).astype(space.dtype)


class PlainLanes:
    """Ordinary environments, stepped one by one."""

    def __init__(
        self, task: str, lanes: int, bins: int, env_kwargs: Mapping[str, Any] | None = None
    ) -> None:
        self._name = f"gym:{task}"
        self.envs = [make_task(task, env_kwargs or {}) for _ in range(lanes)]
        self._space, self._bins = self.envs[0].action_space, bins
        self._seen = self.envs[0].observation_space

    def _flat(self, shown: Any) -> AnyArray:
        flat = np.asarray(flatten(self._seen, shown), dtype=np.float32)
        size = flatdim(self._seen)
        if flat.shape != (size,):
            raise ContractError(
                f"{self._name} must show {size} number{'s' * (size != 1)}, as its "
                f"observation_space says, not {flat.size}."
            )
        return flat

    def reset(self, lane: int, seed: int) -> AnyArray:
        """Seed the lane's environment.

        Raises:
            ContractError: The environment raised, or returned what Gymnasium does not allow.
        """
        with self._failures_named("reset"):
            found = self.envs[lane].reset(seed=seed)
            self._require_values("reset", found, ("observation", "info"))
            return self._flat(found[0])

    def step(self, actions: Ints, active: Bools) -> Outcome:
        """Step those that are active.

        Raises:
            ContractError: An environment raised, or returned what Gymnasium does not allow.
        """
        rest = (np.zeros(flatdim(self._seen), dtype=np.float32), 0.0, False, False)
        found: list[Any] = [rest] * len(self.envs)
        for lane in np.flatnonzero(active).tolist():
            action = to_action(self._space, actions[lane], self._bins)
            with self._failures_named("step"):
                found[lane] = self._outcome(self.envs[lane].step(action))
        return Outcome(*(np.array(column) for column in zip(*found, strict=True)))

    def _outcome(self, found: Any) -> tuple[AnyArray, float, bool, bool]:
        self._require_values(
            "step", found, ("observation", "reward", "terminated", "truncated", "info")
        )
        shown, reward, terminated, truncated, _ = found
        try:
            number = float(reward)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ContractError(
                f"{self._name} must give a finite number as reward, not {reward!r}."
            )
        return self._flat(shown), number, bool(terminated), bool(truncated)

    def _require_values(self, method: str, found: Any, names: tuple[str, ...]) -> None:
        if isinstance(found, tuple) and len(found) == len(names):
            return
        got = str(len(found)) if isinstance(found, tuple) else f"one {type(found).__name__}"
        raise ContractError(
            f"{self._name} must return {len(names)} values from {method} ({', '.join(names)}), "
            f"not {got}."
        )

    @contextmanager
    def _failures_named(self, method: str) -> Iterator[None]:
        """Say which task raised, and where in its author's code."""
        try:
            yield
        except KinfolkError:
            raise
        except Exception as error:
            what, where, _ = explain(error)
            raise ContractError(f"{self._name} failed in {method}: {what} ({where}).") from error

    def keep(self) -> dict[str, AnyArray]:
        """Packed, a row of bytes each."""
        return {"packed": to_rows([pack(env) for env in self.envs])}

    def put(self, kept: Arrays, source: Ints) -> None:
        """Unpack."""
        for env, which in zip(self.envs, source.tolist(), strict=True):
            unpack(env, kept["packed"][which].tobytes())


class ArrayLanes:
    """An array environment whose `state` is `[numbers, lanes]`, such as CartPole's.

    It resets lanes by itself and draws for all of them from one generator; here each lane begins
    from its own seed, as an environment by itself would, and one that has ended rests.
    """

    def __init__(self, task: str, lanes: int) -> None:
        self._task = task
        self._env: Any = _vector(task, lanes).unwrapped
        self._env.reset(seed=0)

    def reset(self, lane: int, seed: int) -> AnyArray:
        """Begin where an environment with this seed begins."""
        start, shown = _beginning(self._task, seed)
        self._env.state[:, lane] = start
        self._env.steps[lane] = 0
        return shown

    def step(self, actions: Ints, active: Bools) -> Outcome:
        """Step all, and put those back that rest."""
        env = self._env
        state, steps = env.state.copy(), env.steps.copy()
        env.prev_done[:] = False
        shown, reward, terminated, truncated, _ = env.step(actions[:, 0])
        np.copyto(env.state, state, where=~active)
        np.copyto(env.steps, steps, where=~active)
        return Outcome(shown, reward.astype(np.float64), terminated, truncated)

    def keep(self) -> dict[str, AnyArray]:
        """Copies of the arrays."""
        return {"numbers": self._env.state.T.copy(), "steps": self._env.steps.copy()}

    def put(self, kept: Arrays, source: Ints) -> None:
        """Take the arrays."""
        self._env.state = np.ascontiguousarray(kept["numbers"][source].T)
        self._env.steps = kept["steps"][source].copy()


def make_lanes(
    task: str, lanes: int, bins: int, env_kwargs: Mapping[str, Any] | None = None
) -> Lanes:
    """An array environment if the task has one we can seed lane by lane, else ordinary ones.

    With keywords they are always ordinary ones: the array form of a task may take others, or take
    them to mean something else.

    Args:
        task: `ID`, or `MODULE:ID`.
        lanes: How many run side by side.
        bins: Steps of a number to act with.
        env_kwargs: Keywords for `gymnasium.make`.
    """
    name = find_task(task)
    if not env_kwargs and gymnasium.spec(name).vector_entry_point is not None and _has_state(name):
        return ArrayLanes(name, lanes)
    return PlainLanes(task, lanes, bins, env_kwargs)


def _vector(task: str, lanes: int) -> Any:
    return gymnasium.make_vec(task, num_envs=lanes, vectorization_mode="vector_entry_point")


@cache
def _has_state(task: str) -> bool:
    env: Any = _vector(task, 3).unwrapped
    env.reset(seed=0)
    names = ("state", "steps", "prev_done")
    return all(isinstance(getattr(env, n, None), np.ndarray) for n in names) and (
        env.state.ndim == 2 and env.state.shape[1] == 3
    )


@cache
def _single(task: str) -> Any:
    return _vector(task, 1)


def _beginning(task: str, seed: int) -> tuple[AnyArray, AnyArray]:
    env = _single(task)
    shown, _ = env.reset(seed=seed)
    return env.unwrapped.state[:, 0].copy(), shown[0]
