"""Serialise the state of a Gymnasium task, for tasks whose state is plain numbers.

Classic control and toy text are such tasks. Those of Box2D and MuJoCo hold objects of other
libraries and are refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import SettingsError
from kinfolk.worlds.gymnasium_task.factory import resolve_task_id

_UNCOPYABLE_LIBRARIES = {"box2d": "Box2D", "mujoco": "MuJoCo"}
_JSON_TYPES = (bool, int, float, str, type(None))
_SHARED_TYPES = (gymnasium.Space, gymnasium.envs.registration.EnvSpec, type)  # same in every copy


def check_copyable(task: str) -> None:
    """Check that a task can be copied in the middle of an episode, without making it.

    Raises:
        UsageError: The task is not found.
        SettingsError: The task cannot be copied.
    """
    spec = gymnasium.spec(resolve_task_id(task))
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
    for layer, attributes in zip(
        _iterate_wrappers(env), json.loads(data.rstrip(b"\0")), strict=True
    ):
        for name, value in attributes.items():
            if isinstance(value, dict) and "generator" in value:
                generator = np.random.Generator(np.random.PCG64())
                generator.bit_generator.state = value["generator"]
                setattr(layer, name, generator)
            else:
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
    return name not in ("env", "spec", "metadata", "render_mode") and not isinstance(
        value, _SHARED_TYPES
    )


def _encode(env: Any, name: str, value: Any) -> Any:
    """Return a JSON-compatible encoding of an attribute's value.

    Args:
        env: Environment named in the error message.
        name: Name of the attribute.
        value: Its value.

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
    if not isinstance(encoded, dict):
        return encoded
    if "array" in encoded:
        array = np.array(encoded["array"], dtype=encoded["dtype"]).reshape(encoded["shape"])
        return array[()] if encoded["scalar"] else array
    if "table" in encoded:
        return {_decode(key): _decode(value) for key, value in encoded["table"]}
    type_name, parts = next(iter(encoded.items()))
    items = [_decode(part) for part in parts]
    return tuple(items) if type_name == "tuple" else items
