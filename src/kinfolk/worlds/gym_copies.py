"""The state of a Gymnasium task as bytes, for tasks whose state is plain numbers.

Classic control and toy text are such. Tasks of Box2D and MuJoCo hold bodies of another library
and are refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import SettingsError
from kinfolk.worlds.gym_tasks import find_task

_FOREIGN = {"box2d": "Box2D", "mujoco": "MuJoCo"}
_PLAIN = (bool, int, float, str, type(None))
_FIXED = (gymnasium.Space, gymnasium.envs.registration.EnvSpec, type)  # same in every copy


def refuse_uncopyable(task: str) -> None:
    """Find out whether a task can be copied in the middle of an episode, without making it.

    Raises:
        UsageError: It is not found.
        SettingsError: It cannot.
    """
    spec = gymnasium.spec(find_task(task))
    module = str(spec.entry_point).partition(":")[0].split(".")
    for part, library in _FOREIGN.items():
        if part in module:
            raise SettingsError(
                f"gym:{task} cannot be copied in the middle of an episode: its bodies belong to "
                f"{library}. Leave `env` out of --inherit, or choose a task of classic control."
            )


def pack(env: gymnasium.Env[Any, Any]) -> bytes:
    """All that changes in a task and its wrappers, to the last bit.

    Raises:
        SettingsError: Something in it is no plain number; the message names it.
    """
    layers = [
        {n: _told(env, n, v) for n, v in vars(e).items() if _changes(n, v)} for e in _each(env)
    ]
    return json.dumps(layers).encode()


def unpack(env: gymnasium.Env[Any, Any], data: bytes) -> None:
    """Give a task the state that `pack` wrote of another of the same kind."""
    for layer, kept in zip(_each(env), json.loads(data.rstrip(b"\0")), strict=True):
        for name, value in kept.items():
            if isinstance(value, dict) and "generator" in value:
                generator = np.random.Generator(np.random.PCG64())
                generator.bit_generator.state = value["generator"]
                setattr(layer, name, generator)
            else:
                setattr(layer, name, _untold(value))


def to_rows(packed: list[bytes]) -> AnyArray:
    """Bytes as rows of one array, filled up with zeros."""
    width = max(map(len, packed))
    return np.array([np.frombuffer(one.ljust(width, b"\0"), dtype=np.uint8) for one in packed])


def _each(env: Any) -> Iterator[Any]:
    """The wrappers from outside in, and the task itself."""
    while isinstance(env, gymnasium.Wrapper):
        yield env
        env = env.env
    yield env


def _changes(name: str, value: Any) -> bool:
    return name not in ("env", "spec", "metadata", "render_mode") and not isinstance(value, _FIXED)


def _told(env: Any, name: str, value: Any) -> Any:
    if isinstance(value, np.random.Generator):
        return {"generator": value.bit_generator.state}
    if isinstance(value, np.generic | np.ndarray):
        array = np.asarray(value)
        plain = array.astype(str) if array.dtype.kind == "S" else array  # letters of a map
        return {"array": plain.ravel().tolist(), "shape": array.shape, "dtype": array.dtype.str,
                "scalar": isinstance(value, np.generic)}  # fmt: skip
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_told(env, name, part) for part in value]}
    if isinstance(value, dict):
        return {"table": [[_told(env, name, k), _told(env, name, v)] for k, v in value.items()]}
    if isinstance(value, _PLAIN):
        return value
    task = env.spec.id if env.spec else type(env).__name__
    raise SettingsError(
        f"gym:{task} cannot be copied in the middle of an episode: its {name} is a "
        f"{type(value).__name__}, not a number."
    )


def _untold(told: Any) -> Any:
    if not isinstance(told, dict):
        return told
    if "array" in told:
        array = np.array(told["array"], dtype=told["dtype"]).reshape(told["shape"])
        return array[()] if told["scalar"] else array
    if "table" in told:
        return {_untold(key): _untold(value) for key, value in told["table"]}
    kind, parts = next(iter(told.items()))
    found = [_untold(part) for part in parts]
    return tuple(found) if kind == "tuple" else found
