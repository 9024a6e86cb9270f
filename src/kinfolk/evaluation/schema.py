"""The form of an evaluation as a JSON document, for those who read it with other tools.

A field that is added keeps the version; one that changes its meaning or goes raises it.
"""

from __future__ import annotations

from typing import Any

NAME = "kinfolk.evaluation"
VERSION = 1

_ESTIMATE: dict[str, Any] = {
    "type": "array",
    "items": {"type": "number"},
    "minItems": 3,
    "maxItems": 3,
    "description": "mean, and the lower and upper end of its 95 % interval",
}
_ESTIMATES: dict[str, Any] = {"type": "object", "additionalProperties": _ESTIMATE}
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}


def _table(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_FAILURE = _table(
    {
        "episode": _COUNT,
        "slot": {"type": "string"},
        "policy": {"type": "string"},
        "agent": {"type": "integer", "minimum": -1, "description": "uid; -1: the whole slot"},
        "tick": _COUNT,
        "cause": {"enum": ["raised", "hung", "died"]},
        "sentence": {"type": "string"},
        "traceback": {"type": "string"},
        "restarted": {"type": "boolean"},
        "where": {"type": "string", "description": "file, line and function of the author's code"},
    }
)
_FAILED_SLOT = _table(
    {
        "failures": _COUNT,
        "episodes": {**_COUNT, "description": "in which the policy failed"},
        "never_acted": {**_COUNT, "description": "episodes in which it took no action of its own"},
        "first": {"oneOf": [_FAILURE, {"type": "null"}]},
    }
)
_SUMMARY = _table(
    {
        "kind": {"const": "evaluated"},
        "episodes": _COUNT,
        "ticks": _ESTIMATE,
        **dict.fromkeys(("returns", "lives", "reward_per_tick", "measures", "return_per_life", "group_returns", "win_rate", "differences"), _ESTIMATES),
        "failures": _COUNT,
        "faults": _COUNT,
        "failed_slots": {"type": "object", "additionalProperties": _FAILED_SLOT},
    }
)  # fmt: skip
RESULT_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "An evaluation of kinfolk",
    **_table(
        {
            "schema": {"const": NAME},
            "version": {"const": VERSION},
            "run": {"type": "string"},
            "settings": {"type": "object"},
            "summary": _SUMMARY,
            "failures": {"type": "array", "items": _FAILURE},
            "sandbox": _table(
                {"asked": {"type": "boolean"}, "enforced": _TEXTS, "not_enforced": _TEXTS}
            ),
            "timings": _table(
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
