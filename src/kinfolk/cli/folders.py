"""Where a run goes if nobody says."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path


def fresh_folder(job: str) -> Path:
    """A folder in `runs` that does not exist yet, named after the job and the time."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder, again = Path("runs") / f"{job}-{stamp}", 1
    while folder.exists():
        again += 1
        folder = Path("runs") / f"{job}-{stamp}-{again}"
    return folder
