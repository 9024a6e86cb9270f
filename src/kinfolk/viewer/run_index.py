"""Read access to the runs of one folder by name, and to nothing outside it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.replay.reader import REPLAY_FOLDER, REPLAY_SUFFIX, Replay, list_replays
from kinfolk.roles.history_file import read_history_document
from kinfolk.store.files import as_store_error, parse_json_object, read_text, resolve_inside
from kinfolk.store.run import Run, open_run
from kinfolk.store.run_list import DamagedRun, list_runs
from kinfolk.viewer.metrics import collect_metrics
from kinfolk.viewer.results import build_failures, build_family, build_results

ROLE_HISTORY_FILE, ROLE_ARCHIVE_FILE = "role_history.json", "archive.json"
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
        self._replays: OrderedDict[Path, Replay] = OrderedDict()
        self._lock = threading.Lock()

    def list_runs(self) -> list[dict[str, Any]]:
        """Return a summary of each run, newest first."""
        inside = filter(self._is_inside_root, list_runs(self.root))
        return [self._summarize_run(run) for run in inside]

    def _is_inside_root(self, run: Run | DamagedRun) -> bool:
        """Return whether a run's folder lies in the root, and not behind a link to elsewhere."""
        try:
            resolve_inside(self.root, run.folder.name)
        except UsageError:
            return False
        return True

    def _summarize_run(self, run: Run | DamagedRun) -> dict[str, Any]:
        """Return the description of a run with its `problem`, empty unless it is damaged."""
        problem = run.problem if isinstance(run, DamagedRun) else ""
        if isinstance(run, Run):
            try:
                return self.describe_run(run) | {"problem": ""}
            except KinfolkError as error:
                problem = str(error)
        return {
            "name": run.name, "job": "", "status": "damaged", "world": "", "settings": {},
            "replays": [], "roles": False, "problem": problem,
        }  # fmt: skip

    def get_run(self, name: str) -> Run:
        """Return a run by its name.

        Raises:
            UsageError: There is no run of that name in the folder.
            DamagedRunError: Its settings cannot be read.
        """
        return open_run(resolve_inside(self.root, name))

    def describe_run(self, run: Run) -> dict[str, Any]:
        """Return the entry of a run in the list of runs, as plain values."""
        settings: Mapping[str, Any] = run.config["settings"]
        return {
            "name": run.name,
            "job": run.config["job"],
            "status": run.status,
            "world": str(settings.get("world") or settings.get("task") or ""),
            "settings": settings,
            "replays": self.list_replays(run),
            "roles": (run.folder / ROLE_HISTORY_FILE).is_file(),
        }

    def list_replays(self, run: Run) -> list[dict[str, Any]]:
        """Return name and size in bytes of each replay of a run."""
        with as_store_error(f"The replays of {run.folder} could not be read"):
            return [
                {"name": path.name.removesuffix(REPLAY_SUFFIX), "bytes": path.stat().st_size}
                for path in list_replays(run.folder)
            ]

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

    def get_results(self, run: str) -> dict[str, Any]:
        """Return the result table of a comparison or a round robin, as `build_results` does."""
        stored = self.get_run(run)
        return build_results(stored.config["job"], stored.config["settings"], stored.events())

    def get_failures(self, run: str) -> dict[str, Any]:
        """Return the failures of policies in a run, as `build_failures` does."""
        stored = self.get_run(run)
        return build_failures(stored.config["job"], stored.config["settings"], stored.events())

    def get_family(self, run: str) -> dict[str, Any]:
        """Return the family tree of an evolution of nets, as `build_family` does.

        Raises:
            UsageError: The run is not an evolution of nets.
        """
        stored = self.get_run(run)
        job = stored.config["job"]
        if job != "evolve_nets":
            raise UsageError(f"A run of {job} has no family tree of nets.")
        return build_family(stored.config["settings"], stored.events())

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
