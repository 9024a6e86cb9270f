"""The format of a golden trace: how it is parsed, and which keys it must have."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from typing import Any

from kinfolk.core.errors import DamagedRunError, KinfolkError
from kinfolk.store.event_log import decompress_gzip
from kinfolk.store.files import parse_json


class TraceError(KinfolkError):
    """A file is not a trace that can be replayed."""


_KEYS = (
    "upstream",
    "seed",
    "config",
    "grass_pos",
    "walls",
    "initial",
    "steps",
    "event_log",
    "stats",
)
_STEP_KEYS = (
    *("actions", "state", "rewards", "terminated", "truncated", "obs_sha1", "n_pred"),
    "n_prey",
)
_STATE_KEYS = ("pos", "energy", "age", "grass")


def parse_trace(data: bytes, name: str = "The trace") -> dict[str, Any]:
    """Parse the content of a gzip file that holds a trace.

    Args:
        data: Content of the file.
        name: Name of the file in error messages.

    Raises:
        TraceError: The data is not gzip, is cut short, or holds something else.
    """
    if not data:
        raise TraceError(f"{name} is empty.")
    try:
        trace = parse_json(decompress_gzip(data, name))
    except EOFError:
        raise TraceError(f"{name} is cut short.") from None
    except (gzip.BadGzipFile, zlib.error):
        raise TraceError(f"{name} is not a gzip file, or it is damaged.") from None
    except DamagedRunError as error:
        raise TraceError(str(error)) from None
    except ValueError:
        raise TraceError(f"{name} is not valid JSON.") from None
    if not isinstance(trace, dict):
        raise TraceError(f"{name} is not a trace: its JSON is no object.")
    return trace


def check_trace(trace: Mapping[str, Any]) -> None:
    """Check that a trace has all keys, with values of the right types.

    Raises:
        TraceError: Something is missing or of a wrong type.
    """
    for key in _KEYS:
        if key not in trace:
            raise TraceError(f"The trace has no '{key}': it is not a savanna trace, or incomplete.")
    for key in ("module", "rev"):
        if not isinstance(trace["upstream"], Mapping) or key not in trace["upstream"]:
            raise TraceError(f"The trace's 'upstream' has no '{key}'.")
    if not isinstance(trace["seed"], int) or trace["seed"] < 0:
        raise TraceError(f"The trace's seed must be a whole number, not {trace['seed']!r}.")
    if not isinstance(trace["config"], Mapping):
        raise TraceError("The trace's 'config' is not an object.")
    if not isinstance(trace["steps"], list) or not trace["steps"]:
        raise TraceError("The trace has no steps.")
    _check_state(trace["initial"], "initial state")
    for t, step in enumerate(trace["steps"]):
        for key in _STEP_KEYS:
            if not isinstance(step, Mapping) or key not in step:
                raise TraceError(f"Step {t} of the trace has no '{key}'.")
        if not all(_is_pair(pair, str, int) for pair in step["actions"]):
            raise TraceError(f"Step {t} of the trace has actions that are not [agent, action].")
        _check_state(step["state"], f"state after step {t}")


def _is_pair(value: Any, first: type, second: type) -> bool:
    """Return whether a value is a list of two elements of the given types.

    Args:
        value: Any JSON value.
        first: Type of its first element.
        second: Type of its second element.
    """
    pair = isinstance(value, list | tuple) and len(value) == 2
    return pair and isinstance(value[0], first) and isinstance(value[1], second)


def _check_state(state: Any, name: str) -> None:
    """Raise TraceError unless a state, called `name` in the message, has all keys and cells."""
    for key in _STATE_KEYS:
        if not isinstance(state, Mapping) or not isinstance(state.get(key), Mapping):
            raise TraceError(f"The trace's {name} has no '{key}'.")
    for agent, position in state["pos"].items():
        if not _is_pair(position, int, int):
            raise TraceError(f"The trace's {name} gives no cell for {agent}, but {position!r}.")
