"""Export results as flat tables: a row per episode, per agent or per failure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from kinfolk.core.optional_dependencies import make_missing_library_error
from kinfolk.play.agent_log import AgentRecord
from kinfolk.play.results import SCALAR_FIELDS, TABLE_FIELDS, Failure

TABLE_NAMES = ("episodes", "agents", "failures")
ColumnTable = Mapping[str, list[Any]]  # columns by name, of equal length


def build_table(
    name: str,
    events: Iterable[Mapping[str, Any]],
    slots: Sequence[str],
    groups: Sequence[str],
) -> ColumnTable:
    """Build a table from the events of an evaluation.

    Args:
        name: One of `TABLE_NAMES`.
        events: Events of the run, as JSON values.
        slots: Ids of the slots, in order.
        groups: Names of the world's groups, in order.

    Returns:
        The columns, none if there are no rows. Values of a slot, group or counter have columns such
        as `returns.herd`.
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
    """Return the row of an episode from its event."""
    row = {"episode": event["step"]} | {n: event[n] for n in SCALAR_FIELDS if n != "episode"}
    row["failures"] = len(event["failures"])
    row["invalid_actions"] = sum(sum(n.values()) for n in event["invalid_actions"].values())
    return row | {
        f"{table}.{name}": value for table in TABLE_FIELDS for name, value in event[table].items()
    }


def _agent_rows(
    event: Mapping[str, Any], slots: Sequence[str], groups: Sequence[str]
) -> Iterable[dict[str, Any]]:
    """Yield a row per agent of an episode, with names of groups and slots for their indices.

    Args:
        event: Event of the episode.
        slots: Ids of the slots, in order.
        groups: Names of the world's groups, in order.
    """
    columns = [event["agents"].get(name, ()) for name in AgentRecord._fields]
    for values in zip(*columns, strict=True):
        row = {"episode": event["step"], **AgentRecord(*values)._asdict()}
        row |= {"group": groups[row["group"]], "slot": slots[row["slot"]]}
        row["return"] = row.pop("total_reward")
        yield row


def to_csv(table: ColumnTable) -> bytes:
    """Return a table as CSV with a header line; numbers keep all digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue().encode()


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
