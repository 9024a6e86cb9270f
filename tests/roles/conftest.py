import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from role_scenes import make_catalog, written


@pytest.fixture
def catalog():
    """The thirteen behaviours and the four seeded roles, without a world behind them."""
    return make_catalog()


@pytest.fixture
def write(catalog):
    """Roles of the catalogue, as text."""
    return lambda text, **fields: written(catalog, text, **fields)
