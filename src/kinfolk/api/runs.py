"""`kf.load_run` and `kf.runs`: what earlier jobs have stored."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kinfolk.store.run import Run, open_run
from kinfolk.store.run_list import DamagedRun, list_runs


class StoredRun(Run):
    """A run of an earlier job: its settings, its events and its checkpoints."""

    @property
    def job(self) -> str:
        """Return the name of the job."""
        return str(self.config["job"])

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the settings of the job as plain values."""
        settings: Mapping[str, Any] = self.config["settings"]
        return settings

    def to_dict(self) -> dict[str, Any]:
        """Return what is known of the run as plain values, without its events."""
        return {"folder": str(self.folder), "status": self.status, **self.config}

    def __repr__(self) -> str:
        return f"StoredRun({str(self.folder)!r}: {self.job}, {self.status})"


def load_run(folder: str | Path) -> StoredRun:
    """Open a stored run for reading.

    Raises:
        UsageError: There is no such run.
        DamagedRunError: The folder is not a whole run.
    """
    return _stored(open_run(Path(folder)))


def runs(root: str | Path = "runs") -> list[StoredRun]:
    """List the runs in a folder, newest first; warn of those that are damaged."""
    stored_runs = []
    for run in list_runs(Path(root)):
        if isinstance(run, DamagedRun):
            warnings.warn(f"{run.name} is damaged. {run.problem}", stacklevel=2)
        else:
            stored_runs.append(_stored(run))
    return stored_runs


def _stored(run: Run) -> StoredRun:
    return StoredRun(run.folder, run.config)
