"""Results as flat tables, for notebooks: a row per episode, per agent, or per failure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from kinfolk.core.optional_dependencies import make_missing_library_error
from kinfolk.play.agent_log import AgentRecord
from kinfolk.play.results import SCALARS, Failure
from kinfolk.play.results import TABLES as VALUES_BY_NAME

TABLE_NAMES = ("episodes", "agents", "failures")
ColumnTable = Mapping[str, list[Any]]  # column by column


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
    row = {"episode": event["step"]} | {n: event[n] for n in SCALARS if n != "episode"}
    row["failures"] = len(event["failures"])
    row["faults"] = sum(sum(faults.values()) for faults in event["faults"].values())
    return row | {
        f"{table}.{name}": value for table in VALUES_BY_NAME for name, value in event[table].items()
    }


def _agent_rows(
    event: Mapping[str, Any], slots: Sequence[str], groups: Sequence[str]
) -> Iterable[dict[str, Any]]:
    columns = [event["agents"].get(name, ()) for name in AgentRecord._fields]
    for values in zip(*columns, strict=True):
        row = {"episode": event["step"], **AgentRecord(*values)._asdict()}
        row |= {"group": groups[row["group"]], "slot": slots[row["slot"]]}
        row["return"] = row.pop("earned")
        yield row


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
