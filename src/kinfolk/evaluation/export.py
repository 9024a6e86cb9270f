"""Export results as flat tables: a row per episode, per agent or per failure."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from kinfolk.core.csv_text import write_csv
from kinfolk.core.imports import make_missing_library_error
from kinfolk.core.spaces import WorldSpec
from kinfolk.evaluation.failures import iter_failures
from kinfolk.play.results import SCALAR_FIELDS, TABLE_FIELDS, AgentRecord, Failure
from kinfolk.worlds.adapters.infos import name_agents

SCHEMA_NAME = "kinfolk.evaluation"
SCHEMA_VERSION = 5
COMPARISON_SCHEMA_NAME = "kinfolk.comparison"
COMPARISON_SCHEMA_VERSION = 4

_NUMBER_OR_NULL: dict[str, Any] = {"type": ["number", "null"]}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}
_BOOLEAN: dict[str, Any] = {"type": "boolean"}
_ESTIMATE: dict[str, Any] = {
    "type": "array",
    "prefixItems": [{"type": "number"}, _NUMBER_OR_NULL, _NUMBER_OR_NULL, {**_COUNT, "minimum": 1}],
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


def _object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object in which all properties are required."""
    return {"type": "object", "properties": properties, "required": list(properties)}


_TRACEBACK = "a frame per line, outermost first; the author's and the last one with source"
_FAILURE_FIELDS = {
    "episode": _COUNT,
    "slot": _TEXT,
    "policy": {**_TEXT, "description": "class path"},
    "agent": {"type": "integer", "minimum": -1, "description": "uid; -1: the whole slot"},
    "tick": _COUNT,
    "cause": {**_TEXT, "description": "raised, timeout, exited, or the limit that was exceeded"},
    "message": _TEXT,
    "traceback": {**_TEXT, "description": _TRACEBACK},
    "restarted": _BOOLEAN,
    "location": {**_TEXT, "description": "file, line and function in the policy author's code"},
}
_FAILURE = _object_schema(_FAILURE_FIELDS)
_URI = {**_TEXT, "description": "the policy that failed, as it was asked for"}
_FAILURE_RECORD = _object_schema({"uri": _URI, **_FAILURE_FIELDS})
_FAILED_SLOT = _object_schema(
    {
        "failures": _COUNT,
        "episodes": {**_COUNT, "description": "in which the policy failed"},
        "never_acted": {**_COUNT, "description": "episodes in which it gave no valid action"},
        "first": {"oneOf": [_FAILURE, {"type": "null"}]},
    }
)
# Not required: runs of earlier versions have not counted them.
_FAILED_SLOT["properties"]["causes"] = {"type": "object", "additionalProperties": _COUNT}
_SUMMARY = _object_schema(
    {
        "kind": {"const": "evaluated"},
        "episodes": _COUNT,
        "ticks": _ESTIMATE,
        **dict.fromkeys(("returns", "lives", "reward_per_tick", "group_returns"), _ESTIMATES),
        **dict.fromkeys(("metrics", "return_per_life", "win_rate", "differences"), _OPTIONAL_ESTIMATES),
        "failures": _COUNT,
        "invalid_actions": _COUNT,
        "notes": {**_TEXTS, "description": "intervals that may cover less than 90 %, and why"},
        "failed_slots": {"type": "object", "additionalProperties": _FAILED_SLOT},
    }
)  # fmt: skip
# Not required: runs of earlier versions have not counted them.
_SUMMARY["properties"]["slot_metrics"] = _ESTIMATES
_SANDBOX = {"requested": _BOOLEAN, "enforced": _TEXTS, "not_enforced": _TEXTS}
_TIMING_NUMBERS = {"episodes": _COUNT, "ticks": _COUNT, "seconds": {"type": "number"}}
_TIMINGS = {**_TIMING_NUMBERS, "slots": {"type": "object"}, "warnings": _TEXTS}
RESULT_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "An evaluation of kinfolk",
    **_object_schema(
        {
            "schema": {"const": SCHEMA_NAME},
            "version": {"const": SCHEMA_VERSION},
            "run": _TEXT,
            "settings": {"type": "object"},
            "summary": _SUMMARY,
            "failures": {"type": "array", "items": _FAILURE_RECORD},
            "sandbox": _object_schema(_SANDBOX),
            "timings": _object_schema(_TIMINGS),
        }
    ),
}
_FAILED_SLOTS = {"type": "object", "additionalProperties": _FAILED_SLOT}
_PAIR: dict[str, Any] = {
    "type": "array",
    "prefixItems": [
        {"anyOf": [_ESTIMATE, {"type": "null"}]},
        {"type": "number"},
        {"enum": ["first", "second", "neither"]},
        _COUNT,
        {"type": "number"},
        {"type": "number"},
    ],
    "minItems": 6,
    "maxItems": 6,
    "description": "the difference, its p-value, who is better, the number of common episodes, the "
    "smallest p-value they allow, and the p-value adjusted for all pairs by Holm",
}
_COMPARISON_FIELDS = {
    "schema": {"const": COMPARISON_SCHEMA_NAME},
    "version": {"const": COMPARISON_SCHEMA_VERSION},
    "run": _TEXT,
    "settings": {"type": "object"},
    "step": _COUNT,
    "policies": _TEXTS,
    "failures": {"type": "array", "items": _COUNT, "description": "number, by policy"},
    "failed_slots": {"type": "array", "items": _FAILED_SLOTS, "description": "by policy"},
    "failure_records": {
        "type": "array",
        "items": _FAILURE_RECORD,
        "description": "every failure; of a comparison with `candidate`, of a round robin with "
        "`opponent` and `mirrored` (sides exchanged)",
    },
    "sandbox": _object_schema(_SANDBOX),
    "timings": _object_schema(_TIMINGS),
}
COMPARISON_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A comparison or a round robin of kinfolk",
    "oneOf": [
        _object_schema(
            {
                **_COMPARISON_FIELDS,
                "kind": {"const": "compared"},
                "metric": _TEXT,
                "means": {"type": "array", "items": {"anyOf": [_ESTIMATE, {"type": "null"}]}},
                "pairs": {"type": "object", "additionalProperties": _PAIR},
                "episodes_needed": _COUNT,
                "notes": _TEXTS,
            }
        ),
        _object_schema(
            {
                **_COMPARISON_FIELDS,
                "kind": {"const": "rated"},
                "ratings": {"type": "array", "items": {"type": "array"}},
            }
        ),
    ],
}


TABLE_NAMES = ("episodes", "agents", "failures")
_FAILURE_COLUMNS = [field.name for field in fields(Failure)]
ColumnTable = Mapping[str, list[Any]]  # columns by name, of equal length


def build_table(
    name: str, events: Iterable[Mapping[str, Any]], slots: Sequence[str], spec: WorldSpec | None
) -> ColumnTable:
    """Build a table of episodes or agents from the events of an evaluation.

    Args:
        name: `episodes` or `agents`.
        events: Events of the run, as JSON values.
        slots: Ids of the slots, in order.
        spec: Names the world and its groups; None for `episodes`, which need no names.

    Returns:
        The columns by name; empty if there are no rows. Values of a slot, group or counter have
        columns such as `returns.herd`.
    """
    played = [event for event in events if event["kind"] == "episode_played"]
    if name == "episodes":
        rows = [_episode_row(event) for event in played]
    else:
        assert spec is not None
        rows = [row for event in played for row in _agent_rows(event, slots, spec)]
    return _to_columns(rows)


def build_failure_table(
    job: str, settings: Mapping[str, Any], events: Iterable[Mapping[str, Any]]
) -> ColumnTable:
    """Build the table of failures of an evaluation, a comparison or a round robin.

    Args:
        job: Name of the job: `evaluate`, `compare` or `round_robin`.
        settings: Settings of the run, as JSON values.
        events: Events of the run, as JSON values.

    Returns:
        The columns by name, those of `iter_failures`; empty if there are no failures.
    """
    rows = []
    for record in iter_failures(job, settings, events):
        # Records of older runs have fewer fields, and those in events are sorted by name.
        row = {name: record.get(name, "") for name in ("episode", *_FAILURE_COLUMNS)}
        rows.append(row | {name: value for name, value in record.items() if name not in row})
    return _to_columns(rows)


def _to_columns(rows: Sequence[Mapping[str, Any]]) -> ColumnTable:
    """Return rows of equal fields as columns by name; empty if there are no rows."""
    return {column: [row[column] for row in rows] for column in (rows[0] if rows else ())}


def _episode_row(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of an episode from its event."""
    # Runs of earlier versions have no `max_ticks`.
    scalars = {name: event[name] for name in SCALAR_FIELDS if name in event}
    row = {"episode": event["step"]} | scalars
    row["failures"] = len(event["failures"])
    row["invalid_actions"] = sum(sum(n.values()) for n in event["invalid_actions"].values())
    return row | {
        f"{table}.{name}": value
        for table in TABLE_FIELDS
        for name, value in event.get(
            table, {}
        ).items()  # runs of earlier versions have fewer tables
    }


def _agent_rows(
    event: Mapping[str, Any], slots: Sequence[str], spec: WorldSpec
) -> Iterable[dict[str, Any]]:
    """Yield a row per agent of an episode, with names of groups and slots for their indices.

    Args:
        event: Event of the episode.
        slots: Ids of the slots, in order.
        spec: Names the world and its groups.
    """
    columns = [event["agents"].get(name, ()) for name in AgentRecord._fields]
    records = [AgentRecord(*values) for values in zip(*columns, strict=True)]
    groups = {record.uid: spec.groups[record.group].name for record in records}
    names = name_agents(spec.world, groups)
    for record in records:
        yield {
            "episode": event["step"],
            "agent_id": names[record.uid],
            "uid": record.uid,
            "group": groups[record.uid],
            "slot": slots[record.slot],
            "birth_tick": record.birth_tick,
            "ticks": record.ticks,
            "return": record.total_reward,
        }


def to_csv(table: ColumnTable) -> bytes:
    """Return a table as CSV with a header line, as `write_csv` writes it."""
    return write_csv([[*table], *zip(*table.values(), strict=True)]).encode()


def to_parquet(table: ColumnTable) -> bytes:
    """Return a table as a Parquet file.

    Raises:
        MissingLibraryError: pyarrow is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise make_missing_library_error("Parquet", "pyarrow") from None
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(dict(table)), buffer)
    return buffer.getvalue()
