"""Find, make and serialise Gymnasium tasks: `CartPole-v1`, `mymodule:MyEnv-v0`, `mymodule:MyEnv`.

Only tasks whose state is plain numbers can be serialised: classic control and toy text. Those of
Box2D and MuJoCo hold objects of other libraries, and `--inherit env` refuses them by name.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import load_env_creator

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import SettingsError, UnknownNameError, UsageError, format_suggestion
from kinfolk.core.imports import search_working_folder
from kinfolk.core.trust import get_untrusted_source, make_untrusted_error
from kinfolk.worlds.gymnasium_task.own_tasks import (
    find_source,
    make_own_env,
    makes_vector_env,
)

_GYMNASIUM_ENVS = "gymnasium.envs."  # tasks that come with Gymnasium


def resolve_task_id(task: str) -> str:
    """Return the id of a task in Gymnasium's registry, importing the module that registers it.

    Args:
        task: `ID`, `MODULE:ID`, or `MODULE:NAME` of a class or function that makes environments.

    Raises:
        UsageError: The module cannot be imported.
        UnknownNameError: No such task is registered.
    """
    return _find_task(task)[0]


def is_vector_task(task: str) -> bool:
    """Return whether a task of the user's own makes vector environments."""
    source = _find_task(task)[1]
    return source is not None and makes_vector_env(source)


def _find_task(task: str) -> tuple[str, Any]:
    """Return the id of a task and, if it is not registered, what makes its environments."""
    module, _, name = task.rpartition(":")
    if module:
        _import_module(task, module)
    if name not in gymnasium.registry:
        source = find_source(module, name)
        if source is not None:
            return name, source
        close = difflib.get_close_matches(name, gymnasium.registry, n=1, cutoff=0.6)
        after = f" after importing {module}" if module else ""
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise UnknownNameError(f"Gymnasium has no task '{name}'{after}.{hint}")
    if not str(gymnasium.registry[name].entry_point).startswith(_GYMNASIUM_ENVS):
        _refuse_untrusted(str(gymnasium.registry[name].entry_point))
    return name, None


def _refuse_untrusted(path: str) -> None:
    """Raise an error if a file that is not trusted names this code."""
    source = get_untrusted_source()
    if source is not None:
        raise make_untrusted_error(source, path)


def _import_module(task: str, module: str) -> None:
    """Import the module that registers a task, or raise UsageError with the reason."""
    _refuse_untrusted(task)
    search_working_folder(module)
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
        task: `ID`, `MODULE:ID` or `MODULE:NAME`.
        env_kwargs: Keywords for `gymnasium.make`, which passes on what it does not know.

    Raises:
        UsageError: The task is not found, or needs something that is not installed.
        SettingsError: The task does not take these keywords.
    """
    name, source = _find_task(task)
    if source is not None:
        made: gymnasium.Env[Any, Any] = make_own_env(task, source, env_kwargs)
        return made
    try:
        return gymnasium.make(name, **{"disable_env_checker": True, **env_kwargs})
    except gymnasium.error.DependencyNotInstalled as error:
        module = str(gymnasium.spec(name).entry_point)
        hint = " Run pip install 'kinfolk[box2d]'." if ".box2d" in module else ""
        raise UsageError(
            f"gym:{task} needs a package that is not installed: {error}.{hint}"
        ) from None
    except Exception as error:
        if not env_kwargs:
            raise UsageError(f"gym:{task} cannot be made: {_describe_error(error)}.") from error
        known = _get_constructor_keywords(name)
        unknown = [key for key in env_kwargs if known and key not in known]
        hint = format_suggestion(unknown[0], known) if unknown else ""
        given = ", ".join(f"{key}={value!r}" for key, value in env_kwargs.items())
        raise SettingsError(
            f"gym:{task} cannot be made with the env_kwargs {given}. "
            f"Gymnasium says: {_describe_error(error)}.{hint}"
        ) from error


def _get_constructor_keywords(name: str) -> list[str]:
    """Return the keywords of a task's constructor; empty if it accepts any."""
    entry: Any = gymnasium.spec(name).entry_point
    creator = entry if callable(entry) else load_env_creator(entry)
    parameters = [p for n, p in inspect.signature(creator).parameters.items() if n != "self"]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return []
    return [*(p.name for p in parameters), "max_episode_steps"]


def _describe_error(error: Exception) -> str:
    """Return the type and message of an exception, without a full stop."""
    return f"{type(error).__name__}: {str(error).rstrip('.')}"


_UNCOPYABLE_LIBRARIES = {"box2d": "Box2D", "mujoco": "MuJoCo"}
_JSON_TYPES = (bool, int, float, str, type(None))
_SHARED_TYPES = (gymnasium.Space, gymnasium.envs.registration.EnvSpec, type)  # same in every copy


def check_copyable(task: str) -> None:
    """Check that a task can be copied in the middle of an episode, without making it.

    Raises:
        UsageError: The task is not found.
        SettingsError: The task cannot be copied.
    """
    name, source = _find_task(task)
    if source is not None:
        return
    spec = gymnasium.spec(name)
    module = str(spec.entry_point).partition(":")[0].split(".")
    for part, library in _UNCOPYABLE_LIBRARIES.items():
        if part in module:
            raise SettingsError(
                f"gym:{task} cannot be copied in the middle of an episode: its state is held by "
                f"{library}. Leave `env` out of --inherit, or choose a classic control task."
            )


def serialize_env(env: gymnasium.Env[Any, Any]) -> bytes:
    """Serialise everything that changes in a task and its wrappers, bit for bit.

    Raises:
        SettingsError: An attribute is no plain number; the message names it.
    """
    layers = [
        {n: _encode(env, n, v) for n, v in vars(e).items() if _is_mutable(n, v)}
        for e in _iterate_wrappers(env)
    ]
    return json.dumps(layers).encode()


def deserialize_env(env: gymnasium.Env[Any, Any], data: bytes) -> None:
    """Restore the state that `serialize_env` wrote for an environment of the same task."""
    layers = json.loads(data.rstrip(b"\0"))
    for layer, attributes in zip(_iterate_wrappers(env), layers, strict=True):
        for name, value in attributes.items():
            setattr(layer, name, _decode(value))


def stack_bytes(states: list[bytes]) -> AnyArray:
    """Return the states as rows of one array, padded with zeros."""
    width = max(map(len, states))
    return np.array([np.frombuffer(state.ljust(width, b"\0"), dtype=np.uint8) for state in states])


def _iterate_wrappers(env: Any) -> Iterator[Any]:
    """Yield the wrappers from outside in, then the task itself."""
    while isinstance(env, gymnasium.Wrapper):
        yield env
        env = env.env
    yield env


def _is_mutable(name: str, value: Any) -> bool:
    """Return whether an attribute of an environment may differ between two of the same task."""
    is_constant = name in ("env", "spec", "metadata", "render_mode")
    return not is_constant and not isinstance(value, _SHARED_TYPES)


def _encode(env: Any, name: str, value: Any) -> Any:
    """Return a JSON-compatible encoding of an attribute's value.

    Args:
        env: Environment named in the error message.
        name: Name of the attribute.
        value: Value of the attribute.

    Raises:
        SettingsError: The value cannot be encoded.
    """
    if isinstance(value, np.random.Generator):
        return {"generator": value.bit_generator.state}
    if isinstance(value, np.generic | np.ndarray):
        array = np.asarray(value)
        plain = array.astype(str) if array.dtype.kind == "S" else array  # toy text maps
        return {"array": plain.ravel().tolist(), "shape": array.shape, "dtype": array.dtype.str,
                "scalar": isinstance(value, np.generic)}  # fmt: skip
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_encode(env, name, part) for part in value]}
    if isinstance(value, dict):
        return {"table": [[_encode(env, name, k), _encode(env, name, v)] for k, v in value.items()]}
    if isinstance(value, _JSON_TYPES):
        return value
    task = env.spec.id if env.spec else type(env).__name__
    raise SettingsError(
        f"gym:{task} cannot be copied in the middle of an episode: its {name} is a "
        f"{type(value).__name__}, not a number."
    )


def _decode(encoded: Any) -> Any:
    """Return the value that `_encode` encoded."""
    if not isinstance(encoded, dict):
        return encoded
    if "generator" in encoded:
        generator = np.random.Generator(np.random.PCG64())
        generator.bit_generator.state = encoded["generator"]
        return generator
    if "array" in encoded:
        array = np.array(encoded["array"], dtype=encoded["dtype"]).reshape(encoded["shape"])
        return array[()] if encoded["scalar"] else array
    if "table" in encoded:
        return {_decode(key): _decode(value) for key, value in encoded["table"]}
    type_name, parts = next(iter(encoded.items()))
    items = [_decode(part) for part in parts]
    return tuple(items) if type_name == "tuple" else items
