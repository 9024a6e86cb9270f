"""Several copies of a Gymnasium task, stepped one after the other, with checks of what they return."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces.utils import flatdim, flatten

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Floats, Ints
from kinfolk.core.errors import ContractError, KinfolkError, find_definition, summarize_error
from kinfolk.core.spaces import ACTION_MASK
from kinfolk.worlds.gymnasium_task.actions import MaskLayout, decode_action
from kinfolk.worlds.gymnasium_task.env import deserialize_env, make_env, serialize_env, stack_bytes
from kinfolk.worlds.gymnasium_task.spaces import name_number


class TaskStep(NamedTuple):
    """Result of a step, one row per task; rows of inactive tasks are meaningless."""

    observation: AnyArray  # [tasks, size] float32
    reward: Floats  # [tasks], as are those below
    terminated: Bools
    truncated: Bools


class LoopTasks:
    """Step ordinary environments one after the other.

    Environments that cannot be serialised can be *parked* instead: they stay alive in this object
    under a ticket, with which `set_states` takes them back, once.

    Args:
        task: `ID`, or `MODULE:ID`.
        n_tasks: Number of environments.
        bins: Number of values of a continuous action component; None leaves it continuous.
        env_kwargs: Keywords for `gymnasium.make`.
        mask: Where the action mask goes; None if masks are not used.
    """

    def __init__(
        self,
        task: str,
        n_tasks: int,
        bins: int | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        mask: MaskLayout | None = None,
    ) -> None:
        self._mask = mask
        self._name = f"gym:{task}"
        self._task, self._env_kwargs, self._bins = task, dict(env_kwargs or {}), bins
        self._n_tasks = n_tasks
        self._n_steps = [0] * n_tasks  # of the current episodes, for error messages
        self._parked: dict[int, list[Any]] = {}  # by ticket
        self.envs = self._make_envs()
        self._action_space = self.envs[0].action_space
        self._observation_space = self.envs[0].observation_space

    def _make_envs(self) -> list[Any]:
        """Make new environments, one per task."""
        return [make_env(self._task, self._env_kwargs) for _ in range(self._n_tasks)]

    def _flatten(self, index: int, observation: Any, info: Any) -> AnyArray:
        """Return the observation of an environment as a float32 vector, with its action mask.

        Args:
            index: Which environment.
            observation: As it returned it.
            info: As it returned it; with the mask if masks are used.

        Raises:
            ContractError: Its size is wrong, it has NaN, or there is no mask.
        """
        flat = np.asarray(flatten(self._observation_space, observation), dtype=np.float32)
        size = flatdim(self._observation_space)
        if flat.shape != (size,):
            raise ContractError(
                f"{self._name} must return observations of {size} number{'s' * (size != 1)}, as "
                f"its observation_space says, not {flat.size}.",
                self._locate(index),
            )
        wrong = np.flatnonzero(np.isnan(flat))
        if len(wrong):
            raise ContractError(
                f"{self._name} must return numbers as observation, not NaN: "
                f"{name_number(self._observation_space, int(wrong[0]))} is NaN "
                f"{self._describe_step(index)}.",
                self._locate(index),
            )
        return flat if self._mask is None else self._append_mask(index, flat, info)

    def _append_mask(self, index: int, flat: AnyArray, info: Any) -> AnyArray:
        """Return an observation followed by the action mask of `info`.

        Args:
            index: Which environment.
            flat: Its observation.
            info: As it returned it.

        Raises:
            ContractError: The task gives no mask, or one of another size.
        """
        assert self._mask is not None
        offset, n_choices = self._mask
        mask = np.asarray(info.get(ACTION_MASK, ()), dtype=np.float32).ravel()
        if mask.shape != (n_choices,):
            raise ContractError(
                f"{self._name} must give an action_mask of {n_choices} numbers in info, not "
                f"{mask.size or 'none'}. Leave action_masks out if it has none.",
                self._locate(index),
            )
        out = np.zeros(offset + n_choices + n_choices % 2, dtype=np.float32)
        out[: len(flat)], out[offset : offset + n_choices] = flat, mask != 0
        return out

    def _describe_step(self, index: int) -> str:
        """Return in which step of its episode the environment `index` is, as text."""
        return f"in step {self._n_steps[index]}" if self._n_steps[index] else "after the reset"

    def _locate(self, index: int) -> str:
        """Return where the method that the environment `index` ran last is defined."""
        kind = type(self.envs[index].unwrapped)
        return find_definition(kind.step if self._n_steps[index] else kind.reset)

    def reset(self, index: int, seed: int) -> AnyArray:
        """Reset the environment `index` with a seed, and return its first observation.

        Raises:
            ContractError: The environment raised, or returned what Gymnasium does not allow.
        """
        if not self.envs:  # those of the last episodes are parked
            self.envs = self._make_envs()
        self._n_steps[index] = 0
        with self._name_failures("reset"):
            values = self.envs[index].reset(seed=seed)
            self._require_values(index, values, ("observation", "info"))
            return self._flatten(index, *values)

    def step(self, actions: Ints, active: Bools) -> TaskStep:
        """Step the environments that are active with `[tasks, heads]` actions.

        Raises:
            ContractError: An environment raised, or returned what Gymnasium does not allow.
        """
        size = flatdim(self._observation_space)
        if self._mask is not None:
            size = self._mask.offset + self._mask.n_choices + self._mask.n_choices % 2
        inactive = (np.zeros(size, dtype=np.float32), 0.0, False, False)
        results: list[Any] = [inactive] * len(self.envs)
        for index in np.flatnonzero(active).tolist():
            action = decode_action(self._action_space, actions[index], self._bins)
            with self._name_failures("step"):
                self._n_steps[index] += 1
                results[index] = self._check_step(index, self.envs[index].step(action))
        return TaskStep(*(np.array(column) for column in zip(*results, strict=True)))

    def _check_step(self, index: int, values: Any) -> tuple[AnyArray, float, bool, bool]:
        """Return observation, reward, terminated, truncated of a step, or raise ContractError."""
        names = ("observation", "reward", "terminated", "truncated", "info")
        self._require_values(index, values, names)
        observation, reward, terminated, truncated, info = values
        try:
            number = float(reward)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            step = self._describe_step(index)
            message = f"{self._name} must give a finite number as reward, not {reward!r}, {step}."
            raise ContractError(message, self._locate(index))
        return self._flatten(index, observation, info), number, bool(terminated), bool(truncated)

    def _require_values(self, index: int, values: Any, names: tuple[str, ...]) -> None:
        """Raise ContractError unless `reset` or `step` returned a tuple of the expected values.

        Args:
            index: Which environment.
            values: What it returned.
            names: Names of the values that Gymnasium expects.
        """
        if isinstance(values, tuple) and len(values) == len(names):
            return
        got = str(len(values)) if isinstance(values, tuple) else f"one {type(values).__name__}"
        method = "step" if self._n_steps[index] else "reset"
        raise ContractError(
            f"{self._name} must return {len(names)} values from {method} ({', '.join(names)}), "
            f"not {got}.",
            self._locate(index),
        )

    @contextmanager
    def _name_failures(self, method: str) -> Iterator[None]:
        """Re-raise errors of the task's own code as ContractError with their file and line."""
        try:
            yield
        except KinfolkError:
            raise
        except Exception as error:
            description, location, _ = summarize_error(error)
            *_, (last, _) = walk_tb(error.__traceback__)
            if str(last.f_globals.get("__name__")).startswith("kinfolk."):  # the call itself failed
                kind = type(self.envs[0].unwrapped)
                location = find_definition(getattr(kind, method)) or location
            message = f"{self._name} failed in {method}: {description} ({location})."
            raise ContractError(message) from error

    def get_states(self) -> dict[str, AnyArray]:
        """Return the serialised environments, one row of bytes each.

        Raises:
            SettingsError: They cannot be serialised.
        """
        return {"serialized": stack_bytes([serialize_env(env) for env in self.envs])}

    def park(self) -> dict[str, AnyArray]:
        """Set the environments aside, alive, and return their ticket, one row per task."""
        ticket = secrets.randbits(62)
        self._parked[ticket], self.envs = self.envs, []
        return {"ticket": np.full(self._n_tasks, ticket, dtype=np.int64)}

    def set_states(self, states: Arrays, source: Ints) -> bool:
        """Restore serialised or parked environments.

        Args:
            states: What `get_states` or `park` returned.
            source: Task `i` gets the saved state of task `source[i]`. Parked environments cannot be
                copied, so each must go to its own task.

        Returns:
            False if the environments were parked by another process, or have been taken back before.
        """
        if "ticket" in states:
            envs = self._parked.pop(int(states["ticket"][0]), None)
            if envs is None or not np.array_equal(source, np.arange(self._n_tasks)):
                return False
            self.envs = envs
            return True
        if not self.envs:
            self.envs = self._make_envs()
        for env, index in zip(self.envs, source.tolist(), strict=True):
            deserialize_env(env, states["serialized"][index].tobytes())
        return True
