"""Tasks that a user brings: an environment class, a function that makes one, or one instance.

A class or function with a parameter `num_envs` makes a vector environment of so many tasks.

What can be imported is named by its path, `gym:mymodule:MyEnv`, and works in every process. Anything
else (a lambda, a class of a notebook, an instance) is kept here, in this process only.
"""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import gymnasium
import numpy as np

from kinfolk.core.arrays import Bools
from kinfolk.core.errors import SettingsError, require, summarize_error
from kinfolk.core.local_objects import LOCAL_PREFIX, LocalObjects

EnvSource: TypeAlias = (
    gymnasium.Env[Any, Any] | type[gymnasium.Env[Any, Any]] | Callable[..., gymnasium.Env[Any, Any]]
)
_local_sources = LocalObjects()


def register_env(env: EnvSource) -> str:
    """Make a Gymnasium environment of your own a world, and return the world's name.

    Args:
        env: A class, a function that returns an environment, or an instance. A training of several
            worlds copies an instance with `copy.deepcopy`. With a parameter `num_envs` it is a vector
            environment, whose `autoreset_mode` must be `DISABLED`.

    Returns:
        A name for `--world` and for the functions of `kf`: `gym:MODULE:NAME` for a class or function
        that other processes can import, else one that is valid in this process only.

    Raises:
        SettingsError: `env` is none of these.
    """
    is_instance = isinstance(env, gymnasium.Env)
    require(
        not isinstance(env, gymnasium.vector.VectorEnv),
        f"{env} is one vector environment, and training makes as many as it needs. Pass its class or "
        f"a function of num_envs.",
    )
    require(
        is_instance or callable(env),
        f"An environment is a gymnasium.Env, its class or a function that makes one, not {env!r}.",
    )
    return f"gym:{_local_sources.register(env, is_instance)}"


def find_source(module: str, name: str) -> Callable[..., Any] | None:
    """Return what makes the environments of a user's task; None if the task is not of this kind.

    Args:
        module: Imported module of `gym:MODULE:NAME`; empty for a name without one.
        name: Name of the class or function, or of a task that `register_env` keeps.

    Raises:
        SettingsError: The task was kept by another process.
    """
    if module:
        source = getattr(importlib.import_module(module), name, None)
        return source if callable(source) else None
    if not name.startswith(LOCAL_PREFIX):
        return None
    require(
        name in _local_sources,
        f"gym:{name} is an environment of another process. Pass kf.train the environment again or, "
        f"for --engine processes and for --resume, a class or function that can be imported.",
    )
    source = _local_sources[name]
    return _CopyEnv(name, source) if isinstance(source, gymnasium.Env) else source


class VectorTask:
    """A vector environment, with the spaces of a single one.

    Args:
        env: The vector environment.

    Attributes:
        is_over: `[tasks]`, whether a task has to be reset before the next step.
    """

    def __init__(self, env: gymnasium.vector.VectorEnv[Any, Any, Any]) -> None:
        self.env, self.unwrapped, self.spec = env, env.unwrapped, env.spec
        self.observation_space = env.single_observation_space
        self.action_space = env.single_action_space
        self.is_over: Bools = np.zeros(env.num_envs, dtype=np.bool_)
        self._has_begun = False

    def reset(self, seed: int, mask: Bools) -> Any:
        """Reset the tasks of a mask, or all before the first step, with one seed."""
        # Before the first reset there is no observation that tasks outside of the mask could keep.
        options = {"reset_mask": mask.copy()} if self._has_begun else None
        self._has_begun = True
        self.is_over[mask] = False
        seeds: Any = [seed] * self.env.num_envs  # Gymnasium's own take a list, and say an int
        return self.env.reset(seed=seeds, options=options)


def makes_vector_env(source: Any) -> bool:
    """Return whether a class or function has a parameter `num_envs`."""
    try:
        return "num_envs" in inspect.signature(source).parameters
    except (TypeError, ValueError):
        return False


def make_own_env(task: str, source: Any, env_kwargs: Mapping[str, Any]) -> Any:
    """Make an environment of a user's class or function, with its errors named.

    Args:
        task: Name of the task in error messages.
        source: The class or function.
        env_kwargs: Its keyword arguments.

    Raises:
        SettingsError: It failed, or returned no environment.
    """
    number = {"num_envs": 1} if makes_vector_env(source) else {}
    try:
        env = source(**{**number, **env_kwargs})
    except SettingsError:
        raise
    except Exception as error:
        description, location, _ = summarize_error(error)
        given = ", ".join(f"{key}={value!r}" for key, value in env_kwargs.items())
        arguments = f" with the env_kwargs {given}" if given else ""
        raise SettingsError(
            f"gym:{task} cannot be made{arguments}: {description} ({location})."
        ) from error
    if isinstance(env, gymnasium.vector.VectorEnv):
        return VectorTask(env)
    require(
        isinstance(env, gymnasium.Env),
        f"gym:{task} must make a gymnasium.Env, not one {type(env).__name__}.",
    )
    return env


class _CopyEnv:
    """Makes copies of a user's instance."""

    def __init__(self, name: str, env: gymnasium.Env[Any, Any]) -> None:
        self._name, self._env = name, env

    def __call__(self, **env_kwargs: Any) -> Any:
        """Return a copy of the instance.

        Raises:
            SettingsError: There are keywords, or the instance cannot be copied.
        """
        require(
            not env_kwargs,
            f"gym:{self._name} is an instance and takes no env_kwargs. Pass its class instead.",
        )
        try:
            return copy.deepcopy(self._env)
        except Exception as error:
            raise SettingsError(
                f"gym:{self._name} is an instance that cannot be copied "
                f"({type(error).__name__}: {error}). Pass its class or a function that makes one."
            ) from None
