"""What the viewer may show: the runs of one folder, by name, and nothing beside them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.store.documents import parse_document, read_text
from kinfolk.store.files import inside, saying
from kinfolk.store.replay import FOLDER, SUFFIX, Replay, replays_of
from kinfolk.store.run import DamagedRun, Run, list_runs, open_run
from kinfolk.viewer.metrics import metrics_of
from kinfolk.viewer.results import results_of

ROLES = "role_history.json"
_KEPT_REPLAYS = 32


class Library:
    """The runs in `root`. Nothing is read before it is asked for; names never leave the folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._replays: OrderedDict[Path, Replay] = OrderedDict()
        self._lock = threading.Lock()

    def runs(self) -> list[dict[str, Any]]:
        """A line about each run, newest first."""
        return [self._line(run) for run in list_runs(self.root) if self._is_own(run)]

    def _is_own(self, run: Run | DamagedRun) -> bool:
        try:
            inside(self.root, run.folder.name)
        except UsageError:
            return False
        return True

    def _line(self, run: Run | DamagedRun) -> dict[str, Any]:
        """What the list says of a run; of a damaged one, what is wrong with it."""
        problem = run.problem if isinstance(run, DamagedRun) else ""
        if isinstance(run, Run):
            try:
                return self.about(run) | {"problem": ""}
            except KinfolkError as error:
                problem = str(error)
        return {
            "name": run.name, "job": "", "status": "damaged", "world": "", "about": {},
            "replays": [], "roles": False, "problem": problem,
        }  # fmt: skip

    def run(self, name: str) -> Run:
        """A run by name.

        Raises:
            UsageError: There is none of that name here.
        """
        return open_run(inside(self.root, name))

    def about(self, run: Run) -> dict[str, Any]:
        """What the list of runs says of one."""
        settings: Mapping[str, Any] = run.about["settings"]
        return {
            "name": run.name,
            "job": run.about["job"],
            "status": run.status,
            "world": str(settings.get("world") or settings.get("task") or ""),
            "about": settings,
            "replays": self.replays(run),
            "roles": (run.folder / ROLES).is_file(),
        }

    def replays(self, run: Run) -> list[dict[str, Any]]:
        """The replays of a run, with their sizes."""
        with saying(f"The replays of {run.folder} could not be read"):
            return [
                {"name": path.name.removesuffix(SUFFIX), "bytes": path.stat().st_size}
                for path in replays_of(run.folder)
            ]

    def replay(self, run: str, name: str) -> Replay:
        """A replay, with all that is written of it by now."""
        folder = self.run(run).folder
        path = inside(folder, FOLDER, f"{name}{SUFFIX}")
        with self._lock:
            found = self._replays.pop(path, None)
            if found is None or not path.is_file():
                found = Replay(path)
            else:
                found.refresh()
            self._replays[path] = found
            while len(self._replays) > _KEPT_REPLAYS:
                self._replays.popitem(last=False)
            return found

    def metrics(self, run: str) -> dict[str, Any]:
        """The numbers among a run's events, by kind."""
        return metrics_of(self.run(run).events())

    def results(self, run: str) -> dict[str, Any]:
        """The table and the verdict of a comparison or a round robin."""
        kept = self.run(run)
        return results_of(kept.about["job"], kept.about["settings"], kept.events())

    def roles(self, run: str) -> dict[str, Any]:
        """The history of a run's roles.

        Raises:
            UsageError: The run has none.
            DamagedRunError: It is damaged.
        """
        path = inside(self.run(run).folder, ROLES)
        return parse_document(read_text(path), str(path))
