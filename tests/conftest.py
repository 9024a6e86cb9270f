"""Shared by all tests: nothing but where things are."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("COLUMNS", "100")


@pytest.fixture
def root() -> Path:
    return ROOT
