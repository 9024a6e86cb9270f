"""Find and make Gymnasium tasks: `CartPole-v1`, or `mymodule:MyEnv-v0` as Gymnasium writes it."""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.envs.registration import load_env_creator

from kinfolk.core.errors import SettingsError, UnknownNameError, UsageError, format_suggestion


def resolve_task_id(task: str) -> str:
    """Return the id of a task in Gymnasium's registry, importing the module that registers it.

    Args:
        task: `ID`, or `MODULE:ID`.

    Raises:
        UsageError: The module cannot be imported.
        UnknownNameError: No such task is registered.
    """
    module, _, name = task.rpartition(":")
    if module:
        _import_module(task, module)
    if name not in gymnasium.registry:
        close = difflib.get_close_matches(name, gymnasium.registry, n=1, cutoff=0.6)
        after = f" after importing {module}" if module else ""
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise UnknownNameError(f"Gymnasium has no task '{name}'{after}.{hint}")
    return name


def _import_module(task: str, module: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            raise UsageError(
                f"gym:{task} names the module '{module}', which is not found in the working "
                f"folder, {os.getcwd()}, nor among the installed packages."
            ) from None
        raise UsageError(
            f"gym:{task} cannot be used: its module '{module}' needs '{error.name}', which is not "
            f"installed."
        ) from error
    except Exception as error:
        raise UsageError(
            f"gym:{task} cannot be used: importing '{module}' raised {_describe_error(error)}."
        ) from error


def make_env(task: str, env_kwargs: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """Make one environment of a task.

    Args:
        task: `ID`, or `MODULE:ID`.
        env_kwargs: Keywords for `gymnasium.make`, which passes on what it does not know.

    Raises:
        UsageError: It is not found, or needs something that is not installed.
        SettingsError: It does not take these keywords.
    """
    name = resolve_task_id(task)
    try:
        return gymnasium.make(name, **{"disable_env_checker": True, **env_kwargs})
    except gymnasium.error.DependencyNotInstalled as error:
        raise UsageError(f"gym:{task} needs a package that is not installed: {error}.") from None
    except Exception as error:
        if not env_kwargs:
            raise UsageError(f"gym:{task} cannot be made: {_describe_error(error)}.") from error
        known = _constructor_keywords(name)
        unknown = [key for key in env_kwargs if known and key not in known]
        hint = f"{format_suggestion(unknown[0], known)}" if unknown else ""
        raise SettingsError(
            f"gym:{task} cannot be made with the env_kwargs "
            f"{', '.join(f'{key}={value!r}' for key, value in env_kwargs.items())}. "
            f"Gymnasium says: {_describe_error(error)}.{hint}"
        ) from error


def _constructor_keywords(name: str) -> list[str]:
    """Return the keywords of a task's constructor; empty if it accepts any."""
    entry: Any = gymnasium.spec(name).entry_point
    creator = entry if callable(entry) else load_env_creator(entry)
    parameters = [p for n, p in inspect.signature(creator).parameters.items() if n != "self"]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return []
    return [*(p.name for p in parameters), "max_episode_steps"]


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).rstrip('.')}"
