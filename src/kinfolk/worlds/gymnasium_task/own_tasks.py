"""Tasks that a user brings: an environment class, a function that makes one, or one instance.

What can be imported is named by its path, `gym:mymodule:MyEnv`, and works in every process. Anything
else (a lambda, a class of a notebook, an instance) is kept here, in this process only.
"""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import gymnasium

from kinfolk.core.errors import SettingsError, require, summarize_error

EnvSource: TypeAlias = (
    gymnasium.Env[Any, Any] | type[gymnasium.Env[Any, Any]] | Callable[..., gymnasium.Env[Any, Any]]
)
_LOCAL_PREFIX = "local/"
_local_sources: dict[str, Any] = {}  # by the name of the task


def register_env(env: EnvSource) -> str:
    """Make a Gymnasium environment of your own a world, and return the world's name.

    Args:
        env: A class, a function that returns an environment, or an instance. A training of several
            worlds copies an instance with `copy.deepcopy`.

    Returns:
        A name for `--world` and for the functions of `kf`: `gym:MODULE:NAME` for a class or function
        that other processes can import, else one that is valid in this process only.

    Raises:
        SettingsError: `env` is none of these.
    """
    is_instance = isinstance(env, gymnasium.Env)
    require(
        is_instance or callable(env),
        f"An environment is a gymnasium.Env, its class or a function that makes one, not {env!r}.",
    )
    if not is_instance:
        module, name = str(getattr(env, "__module__", "")), str(getattr(env, "__qualname__", ""))
        if module != "__main__" and getattr(sys.modules.get(module), name, None) is env:
            return f"gym:{module}:{name}"
    label = type(env).__name__ if is_instance else getattr(env, "__name__", type(env).__name__)
    number = 1 + len(_local_sources)
    for known, source in _local_sources.items():
        if source is env:
            return f"gym:{known}"
    name = f"{_LOCAL_PREFIX}{label.strip('<>')}-{number}"
    _local_sources[name] = env
    return f"gym:{name}"


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
    if not name.startswith(_LOCAL_PREFIX):
        return None
    require(
        name in _local_sources,
        f"gym:{name} is an environment of another process. Pass kf.train the environment again or, "
        f"for --engine processes and for --resume, a class or function that can be imported.",
    )
    source = _local_sources[name]
    return _CopyEnv(name, source) if isinstance(source, gymnasium.Env) else source


def make_own_env(task: str, source: Any, env_kwargs: Mapping[str, Any]) -> Any:
    """Make an environment of a user's class or function, with its errors named.

    Args:
        task: Name of the task in error messages.
        source: The class or function.
        env_kwargs: Its keyword arguments.

    Raises:
        SettingsError: It failed, or returned no environment.
    """
    try:
        env = source(**env_kwargs)
    except SettingsError:
        raise
    except Exception as error:
        description, location, _ = summarize_error(error)
        given = ", ".join(f"{key}={value!r}" for key, value in env_kwargs.items())
        arguments = f" with the env_kwargs {given}" if given else ""
        raise SettingsError(
            f"gym:{task} cannot be made{arguments}: {description} ({location})."
        ) from error
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
