"""Read the archive of a stored run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.store.files import parse_json_object, read_text

ARCHIVE_FILE = "archive.json"


class StoredArchive(NamedTuple):
    """The archive of a run as it is stored.

    Attributes:
        metric: Name of the scores.
        axes: Name, ends and number of cells of every axis.
        elites: Elites by kind, `teams` and `roles`, each with `cell`, `fresh_score`, `believed`
            and others.
    """

    metric: str
    axes: Sequence[Mapping[str, Any]]
    elites: Mapping[str, Sequence[Mapping[str, Any]]]

    def score_grid(self, kind: str) -> Floats:
        """Return the score of each cell in fresh games; NaN where it is empty."""
        grid = np.full([int(axis["cells"]) for axis in self.axes], np.nan)
        for elite in self.elites[kind]:
            grid[tuple(int(place) for place in elite["cell"].split("-"))] = elite["fresh_score"]
        return grid


def load_archive(folder: Path) -> StoredArchive:
    """Return the archive of a run.

    Raises:
        UsageError: The run has no archive.
        DamagedRunError: The file lacks something.
    """
    path = folder / ARCHIVE_FILE
    if not path.is_file():
        problem = "it was not evolved with --archive, or has not ended"
        raise UsageError(f"The run {folder} has no archive: {problem}.")
    document = parse_json_object(read_text(path), str(path))
    try:
        elites = {kind: list(document[kind]) for kind in ("teams", "roles")}
        archive = StoredArchive(str(document["metric"]), list(document["axes"]), elites)
        archive.score_grid("teams")
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise DamagedRunError(f"The archive {path} is damaged ({problem}).") from None
    return archive
