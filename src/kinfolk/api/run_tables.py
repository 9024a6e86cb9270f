"""Tables of stored runs, and their replays in a notebook."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kinfolk.core.errors import UsageError, format_suggestion
from kinfolk.core.settings import validate_settings
from kinfolk.evaluation.export import ColumnTable, build_failure_table, build_table
from kinfolk.jobs.evaluate import Evaluate
from kinfolk.store.run_job import flatten_metrics

# A page within a frame has no address, and browsers raise an error when it is changed.
_NO_ADDRESS = "<script>history.replaceState = history.pushState = () => {}</script>"
_FAILURE_JOBS = ("evaluate", "compare", "round_robin", "tournament", "crossplay")


def build_run_table(
    job: str, settings: Mapping[str, Any], events: Sequence[Mapping[str, Any]], name: str | None
) -> ColumnTable:
    """Return a table of a run as columns.

    Args:
        job: Name of the job.
        settings: Settings of the run, as JSON values.
        events: Events of the run, as JSON values.
        name: `episodes`, `agents`, `failures`, `rows`, `events` or a kind of event; None takes what
            one would look at first.

    Raises:
        UsageError: The run has no such table.
    """
    is_swept = job == "sweep" and bool(events) and events[-1]["kind"] == "swept"
    if name is None:
        name = "episodes" if job == "evaluate" else "rows" if is_swept else "events"
    if job == "evaluate" and name in ("episodes", "agents"):
        chosen = validate_settings(Evaluate, settings)
        spec = chosen.world_ref.spec if name == "agents" else None  # which names the groups
        return build_table(name, events, chosen.slot_ids, spec)
    if job in _FAILURE_JOBS and name == "failures":
        return build_failure_table(job, settings, events)
    if is_swept and name == "rows":
        done = events[-1]
        table: ColumnTable = done["table"]
        # Events hold their keys in alphabetical order; `table.csv` begins like this too.
        first = [key for key in (*done["vary"], "seed", "episode") if key in table]
        return {key: table[key] for key in dict.fromkeys([*first, *table])}
    counts = Counter(str(event["kind"]) for event in events)
    if name == "events" and counts:
        name = counts.most_common(1)[0][0]
    if name not in counts:
        tables = {"evaluate": ["episodes", "agents", "failures"], "sweep": ["rows"]}.get(job, [])
        hint = format_suggestion(name, [*tables, *counts])
        raise UsageError(f"A run of {job} has no table '{name}'.{hint}")
    return _build_event_table([event for event in events if event["kind"] == name])


def _build_event_table(events: Sequence[Mapping[str, Any]]) -> ColumnTable:
    """Return the numbers of events of one kind: a row per event, None where it lacks one."""
    rows = [
        {path.partition("/")[2]: value for path, value in flatten_metrics(event, "event")}
        for event in events
    ]
    names = list(dict.fromkeys(["step", *(name for row in rows for name in row)]))
    table: dict[str, list[Any]] = {name: [row.get(name) for row in rows] for name in names}
    table["step"] = [event["step"] for event in events]
    return table


class ReplayFrame:
    """A run's first replay as a self-contained page in a frame, which a notebook shows.

    Args:
        folder: Folder of the run.
        height: Height of the frame in pixels.

    Raises:
        UsageError: The run has no replay.
    """

    def __init__(self, folder: Path, height: int) -> None:
        from kinfolk.replay.reader import find_replay
        from kinfolk.viewer.export import export_page

        find_replay(folder, None)  # raises if there is none
        page = export_page([(folder, None)]).decode()
        self._page, self._height = page.replace("<head>", f"<head>{_NO_ADDRESS}", 1), height
        self._folder = folder

    def _repr_html_(self) -> str:
        source = html.escape(self._page, quote=True)
        style = f"width: 100%; height: {self._height}px; border: 0"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{source}"></iframe>'

    def __repr__(self) -> str:
        return f"ReplayFrame({str(self._folder)!r}); a notebook plays it"
