"""Where a run is stored if nobody says."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path


def new_run_folder(job: str) -> Path:
    """Return a folder in `runs` that does not exist yet, named after the job and the time."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    name, again = f"{job.replace('_', '-')}-{stamp}", 1
    folder = Path("runs") / name
    while folder.exists():
        again += 1
        folder = Path("runs") / f"{name}-{again}"
    return folder
