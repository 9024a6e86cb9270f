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
