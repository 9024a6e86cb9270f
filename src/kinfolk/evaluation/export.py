"""Results as flat tables, for notebooks: a row per episode, per agent, or per failure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from kinfolk.core.optional_dependencies import make_missing_library_error
from kinfolk.evaluation.results import AGENT_COLUMNS
from kinfolk.isolation.failures import Failure

TABLE_NAMES = ("episodes", "agents", "failures")
ColumnTable = Mapping[str, list[Any]]  # column by column
_TABLE_FIELDS = (
    "returns",
    "lives",
    "ticks_lived",
    "group_returns",
    "group_lives",
    "mean_alive",
    "counters",
)


def build_table(
    name: str,
    events: Iterable[Mapping[str, Any]],
    slots: Sequence[str],
    groups: Sequence[str],
) -> ColumnTable:
    """One table from the events of an evaluation.

    Columns of the episodes that belong to a slot, a group or a counter are called `returns.herd`.
    """
    played = [event for event in events if event["kind"] == "episode_played"]
    if name == "episodes":
        rows = [_episode_row(event) for event in played]
    elif name == "agents":
        rows = [row for event in played for row in _agent_rows(event, slots, groups)]
    else:
        names = [field.name for field in fields(Failure)]
        rows = [
            {"episode": event["step"], **{name: failure.get(name, "") for name in names}}
            for event in played
            for failure in event["failures"]
        ]
    if not rows:
        return {}
    return {column: [row[column] for row in rows] for column in rows[0]}


def _episode_row(event: Mapping[str, Any]) -> dict[str, Any]:
    row = {
        "episode": event["step"],
        "seed": event["seed"],
        "ticks": event["ticks"],
        "full_length": event["full_length"],
        "failures": len(event["failures"]),
        "invalid_actions": sum(sum(n.values()) for n in event["invalid_actions"].values()),
    }
    return row | {
        f"{table}.{name}": event[table][name] for table in _TABLE_FIELDS for name in event[table]
    }


def _agent_rows(
    event: Mapping[str, Any], slots: Sequence[str], groups: Sequence[str]
) -> Iterable[dict[str, Any]]:
    columns = [event["agents"][name] for name in AGENT_COLUMNS]
    for uid, group, slot, born, ticks, earned in zip(*columns, strict=True):
        yield {
            "episode": event["step"],
            "uid": uid,
            "group": groups[group],
            "slot": slots[slot],
            "birth_tick": born,
            "ticks": ticks,
            "return": earned,
        }


def to_csv(table: ColumnTable) -> bytes:
    """Comma-separated, with a line of names; numbers keep every digit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue().encode()


def to_parquet(table: ColumnTable) -> bytes:
    """Parquet, by the extra of that name.

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
