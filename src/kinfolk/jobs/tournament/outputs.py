"""Result files of tournaments and cross-play: tables as CSV, and one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kinfolk.core.events import FileChunk
from kinfolk.evaluation.export import to_csv
from kinfolk.evaluation.payoffs import PayoffTable
from kinfolk.jobs.tournament.meetings import MeetingPlan, MeetingRecord
from kinfolk.jobs.tournament.settings import MeetingSettings
from kinfolk.jobs.tournament.standings import Standing

SCHEMA_VERSION = 2  # 1: intervals took games as independent, ratings had them too
_WORLD_FIELDS = ("world", "preset", "world_settings", "seed", "metric", "games", "refused")


def write_result_files(
    name: str, settings: MeetingSettings, tables: Mapping[str, Sequence[Mapping[str, Any]]],
    **facts: Any,
) -> Iterator[FileChunk]:  # fmt: skip
    """Yield each table as `TABLE.csv`, and all of them as `NAME.json`.

    Args:
        name: Name of the document, and of its schema `kinfolk.NAME`.
        settings: Settings of the job.
        tables: Rows of equal fields by the name of their table; empty tables have no CSV.
        facts: Further entries of the document, JSON values.
    """
    for table, rows in tables.items():
        if rows:
            columns = {column: [row[column] for row in rows] for column in rows[0]}
            yield FileChunk(path=f"{table}.csv", data=to_csv(columns))
    played = {f"{field}_per_pairing" if field == "games" else field: getattr(settings, field)
              for field in _WORLD_FIELDS}  # fmt: skip
    document = {"schema": f"kinfolk.{name}", "version": SCHEMA_VERSION, **played, **facts, **tables}
    text = json.dumps(document, indent=1, allow_nan=False)
    yield FileChunk(path=f"{name}.json", data=f"{text}\n".encode())


def name_failed(policies: Sequence[str], failed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the failure counts of the players that failed, by their names."""
    pairs = zip(policies, failed, strict=True)
    return {name: counts for name, slots in pairs for counts in slots.values()}


def game_rows(plan: MeetingPlan, record: MeetingRecord) -> Iterator[dict[str, Any]]:
    """Yield a flat row for each game: pairing, number, and the name and score of each slot."""
    for pairing, (players, scores, game) in record.rows():
        row: dict[str, Any] = {"pairing": pairing, "game": game}
        for slot, player, score in zip(plan.sides.slots, players, scores, strict=True):
            row |= {slot: plan.labels[player], f"{slot}_score": score}
        yield row


def standing_row(ranked: Standing) -> dict[str, Any]:
    """Return a standing as a flat row; estimates have columns `NAME`, `NAME_low` and `NAME_high`."""
    row: dict[str, Any] = {}
    for name, value in ranked._asdict().items():
        row[name] = value
        if name in ("rating", "win_rate", "score"):
            mean, low, high, n = value or (None, None, None, 0)
            row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
            row |= {"seeds": n} if name == "score" else {}
    return row


def payoff_rows(table: PayoffTable) -> Iterator[dict[str, Any]]:
    """Yield a flat row for each two players of a payoff matrix who have met."""
    for name, estimates in zip(table.rows, table.cells, strict=True):
        for other, estimate in zip(table.columns, estimates, strict=True):
            if estimate is not None:
                yield {"side": table.side, "policy": name, "against": other, **estimate._asdict()}
