"""JSON schema of the document that an evaluation prints with `--json`.

Adding a field keeps the version; removing a field or changing its meaning increments it.
"""

from __future__ import annotations

from typing import Any

SCHEMA_NAME = "kinfolk.evaluation"
SCHEMA_VERSION = 3

_NUMBER_OR_NULL: dict[str, Any] = {"type": ["number", "null"]}
_ESTIMATE: dict[str, Any] = {
    "type": "array",
    "prefixItems": [
        {"type": "number"},
        _NUMBER_OR_NULL,
        _NUMBER_OR_NULL,
        {"type": "integer", "minimum": 1},
    ],
    "minItems": 4,
    "maxItems": 4,
    "description": "mean, the lower and upper end of its 95 % confidence interval, and the number "
    "of episodes; one episode has no interval, and both ends are null",
}
_ESTIMATES: dict[str, Any] = {"type": "object", "additionalProperties": _ESTIMATE}
# Null where no episode has such a value, as for a slot that never had an agent.
_OPTIONAL_ESTIMATES: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {"anyOf": [_ESTIMATE, {"type": "null"}]},
}
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}


def _object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object in which all properties are required."""
    return {"type": "object", "properties": properties, "required": list(properties)}


_FAILURE = _object_schema(
    {
        "episode": _COUNT,
        "slot": {"type": "string"},
        "policy": {"type": "string"},
        "agent": {"type": "integer", "minimum": -1, "description": "uid; -1: the whole slot"},
        "tick": _COUNT,
        "cause": {"enum": ["raised", "timeout", "exited"]},
        "message": {"type": "string"},
        "traceback": {"type": "string"},
        "restarted": {"type": "boolean"},
        "location": {
            "type": "string",
            "description": "file, line and function in the policy author's code",
        },
    }
)
_FAILED_SLOT = _object_schema(
    {
        "failures": _COUNT,
        "episodes": {**_COUNT, "description": "in which the policy failed"},
        "never_acted": {**_COUNT, "description": "episodes in which it gave no valid action"},
        "first": {"oneOf": [_FAILURE, {"type": "null"}]},
    }
)
_SUMMARY = _object_schema(
    {
        "kind": {"const": "evaluated"},
        "episodes": _COUNT,
        "ticks": _ESTIMATE,
        **dict.fromkeys(("returns", "lives", "reward_per_tick", "group_returns"), _ESTIMATES),
        **dict.fromkeys(("metrics", "return_per_life", "win_rate", "differences"), _OPTIONAL_ESTIMATES),
        "failures": _COUNT,
        "invalid_actions": _COUNT,
        "failed_slots": {"type": "object", "additionalProperties": _FAILED_SLOT},
    }
)  # fmt: skip
RESULT_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "An evaluation of kinfolk",
    **_object_schema(
        {
            "schema": {"const": SCHEMA_NAME},
            "version": {"const": SCHEMA_VERSION},
            "run": {"type": "string"},
            "settings": {"type": "object"},
            "summary": _SUMMARY,
            "failures": {"type": "array", "items": _FAILURE},
            "sandbox": _object_schema(
                {"requested": {"type": "boolean"}, "enforced": _TEXTS, "not_enforced": _TEXTS}
            ),
            "timings": _object_schema(
                {
                    "episodes": _COUNT,
                    "ticks": _COUNT,
                    "seconds": {"type": "number"},
                    "slots": {"type": "object"},
                    "warnings": _TEXTS,
                }
            ),
        }
    ),
}
