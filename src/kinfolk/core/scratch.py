"""Folders for what nobody keeps."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path


class Scratch:
    """A fresh folder with a short path, until it is removed."""

    def __init__(self, prefix: str) -> None:
        # Sockets lie in some of them, and their paths may not be longer than 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix=f"kin-{prefix}"))

    def remove(self) -> None:
        """Take it away with all that is in it. May be called twice."""
        shutil.rmtree(self.folder, ignore_errors=True)
