"""Read access to the runs of one folder by name, and to nothing outside it."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from kinfolk.core.errors import KinfolkError
from kinfolk.replay.reader import REPLAY_FOLDER, REPLAY_SUFFIX, Replay, list_replays
from kinfolk.roles.history_file import read_history_document
from kinfolk.store.files import parse_json_object, read_bytes, read_text, resolve_inside
from kinfolk.store.run import Run, open_run
from kinfolk.viewer.metrics import collect_metrics
from kinfolk.viewer.reports.report import build_report, find_page_file
from kinfolk.viewer.run_table import ROLE_HISTORY_FILE, RunTable, make_row

# Run and replay in the address of the page, of the first game and of a second one beside it.
ADDRESS_KEYS = (("run", "replay"), ("with", "withReplay"))
ROLE_ARCHIVE_FILE = "archive.json"
_MAX_OPEN_REPLAYS = 32  # whose record headers are kept in memory


class RunIndex:
    """Looks up runs, replays and results in a folder; files are read when they are requested.

    Names with `..`, absolute paths and links never lead out of the folder. Methods may be called
    from several threads.

    Args:
        root: Folder that holds the runs.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._table = RunTable(root)
        self._replays: OrderedDict[Path, Replay] = OrderedDict()
        self._lock = threading.Lock()

    def list_runs(self) -> list[dict[str, Any]]:
        """Return the row of each run in the list of runs, newest first, as `RunTable` does."""
        return self._table.list_rows()

    def get_run(self, name: str) -> Run:
        """Return a run by its name.

        Raises:
            UsageError: There is no run of that name in the folder.
            DamagedRunError: Its settings cannot be read.
        """
        return open_run(resolve_inside(self.root, name))

    def get_info(self, name: str) -> dict[str, Any]:
        """Return the row of a run in the list of runs, as `make_row` does, and its `settings`.

        Raises:
            UsageError: There is no run of that name in the folder.
            DamagedRunError: Its settings cannot be read.
        """
        run = self.get_run(name)
        return {**make_row(run), "settings": run.config["settings"]}

    def get_replay(self, run: str, name: str) -> Replay:
        """Return a replay with all records that have been written by now.

        Raises:
            UsageError: There is no such run or replay.
            DamagedRunError: The replay is damaged.
        """
        stored = self.get_run(run)
        path = resolve_inside(stored.folder, REPLAY_FOLDER, f"{name}{REPLAY_SUFFIX}")
        with self._lock:
            replay = self._replays.pop(path, None)
            if replay is None or not path.is_file():
                replay = Replay(path)
            else:
                replay.refresh()
            self._replays[path] = replay  # at the end: the least recently used is dropped first
            while len(self._replays) > _MAX_OPEN_REPLAYS:
                self._replays.popitem(last=False)
            if stored.status == "done":
                replay.require_complete()
            return replay

    def get_metrics(self, run: str) -> dict[str, Any]:
        """Return the numeric fields of a run's events, as `collect_metrics` does."""
        return collect_metrics(self.get_run(run).events())

    def get_report(self, run: str) -> dict[str, Any]:
        """Return the page of a run, as `build_report` does, and the styles of its groups.

        Returns:
            What `build_report` returns, and `symbols`: how the world draws what it names, as in the
            head of a replay; empty without a replay.
        """
        stored = self.get_run(run)
        return {**build_report(stored), "symbols": read_symbols(stored.folder)}

    def get_page(self, run: str, name: str) -> bytes:
        """Return a page that a run holds, such as that of a tournament.

        Raises:
            UsageError: There is no such run or page.
        """
        return read_bytes(find_page_file(self.get_run(run).folder, name))

    def get_role_history(self, run: str) -> dict[str, Any]:
        """Return the role history of a run as it is stored, with its archive, if it has one.

        Raises:
            UsageError: The run has no role history.
            DamagedRunError: The file is damaged.
        """
        return read_roles(self.get_run(run).folder)


def read_roles(folder: Path) -> dict[str, Any]:
    """Return the role history of a run folder; `archive` in it is that of the run, if it has one.

    Raises:
        UsageError: The run has no role history.
        DamagedRunError: A file is damaged.
    """
    document = read_history_document(resolve_inside(folder, ROLE_HISTORY_FILE))
    archive = resolve_inside(folder, ROLE_ARCHIVE_FILE)
    if archive.is_file():
        document["archive"] = parse_json_object(read_text(archive), str(archive))
    return document


def read_symbols(folder: Path) -> list[dict[str, Any]]:
    """Return how the world of a run draws what it names, from its first replay; else nothing."""
    for path in list_replays(folder)[:1]:
        with contextlib.suppress(KinfolkError):  # the page of the replay says what is wrong with it
            symbols: list[dict[str, Any]] = Replay(path).head()["render_spec"].get("symbols", [])
            return symbols
    return []
