"""Shared by all tests: where things are, and how hypothesis looks for counter-examples."""

import os
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("COLUMNS", "100")
# The same examples every time, and no clock: the machine is shared and the first call compiles.
hypothesis.settings.register_profile("kinfolk", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("kinfolk")


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def golden() -> Path:
    """Recordings of the published savanna, which lie beside the project and not in it."""
    folder = Path(os.environ.get("KINFOLK_GOLDEN", ROOT.parent / "shared" / "golden")) / "savanna"
    if not folder.is_dir():
        pytest.skip(f"There are no golden recordings in {folder}.")
    return folder
