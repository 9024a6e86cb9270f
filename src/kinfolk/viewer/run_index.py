"""What the viewer may show: the runs of one folder, by name, and nothing beside them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.replay.reader import REPLAY_FOLDER, REPLAY_SUFFIX, Replay, list_replays
from kinfolk.store.files import as_store_error, resolve_inside
from kinfolk.store.json_files import parse_json_object, read_text
from kinfolk.store.run import Run, open_run
from kinfolk.store.run_list import DamagedRun, list_runs
from kinfolk.viewer.metrics import collect_metrics
from kinfolk.viewer.results import build_results

ROLE_HISTORY_FILE = "role_history.json"
_MAX_OPEN_REPLAYS = 32


class RunIndex:
    """The runs in `root`. Nothing is read before it is asked for; names never leave the folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._replays: OrderedDict[Path, Replay] = OrderedDict()
        self._lock = threading.Lock()

    def list_runs(self) -> list[dict[str, Any]]:
        """A line about each run, newest first."""
        return [
            self._summarize_run(run) for run in list_runs(self.root) if self._is_inside_root(run)
        ]

    def _is_inside_root(self, run: Run | DamagedRun) -> bool:
        try:
            resolve_inside(self.root, run.folder.name)
        except UsageError:
            return False
        return True

    def _summarize_run(self, run: Run | DamagedRun) -> dict[str, Any]:
        """What the list says of a run; of a damaged one, what is wrong with it."""
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
        """A run by name.

        Raises:
            UsageError: There is none of that name here.
        """
        return open_run(resolve_inside(self.root, name))

    def describe_run(self, run: Run) -> dict[str, Any]:
        """What the list of runs says of one."""
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
        """The replays of a run, with their sizes."""
        with as_store_error(f"The replays of {run.folder} could not be read"):
            return [
                {"name": path.name.removesuffix(REPLAY_SUFFIX), "bytes": path.stat().st_size}
                for path in list_replays(run.folder)
            ]

    def get_replay(self, run: str, name: str) -> Replay:
        """A replay, with all that is written of it by now."""
        folder = self.get_run(run).folder
        path = resolve_inside(folder, REPLAY_FOLDER, f"{name}{REPLAY_SUFFIX}")
        with self._lock:
            found = self._replays.pop(path, None)
            if found is None or not path.is_file():
                found = Replay(path)
            else:
                found.refresh()
            self._replays[path] = found
            while len(self._replays) > _MAX_OPEN_REPLAYS:
                self._replays.popitem(last=False)
            return found

    def get_metrics(self, run: str) -> dict[str, Any]:
        """The numbers among a run's events, by kind."""
        return collect_metrics(self.get_run(run).events())

    def get_results(self, run: str) -> dict[str, Any]:
        """The table and the verdict of a comparison or a round robin."""
        kept = self.get_run(run)
        return build_results(kept.config["job"], kept.config["settings"], kept.events())

    def get_role_history(self, run: str) -> dict[str, Any]:
        """The history of a run's roles.

        Raises:
            UsageError: The run has none.
            DamagedRunError: It is damaged.
        """
        path = resolve_inside(self.get_run(run).folder, ROLE_HISTORY_FILE)
        return parse_json_object(read_text(path), str(path))
