import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from role_helpers import make_catalog, parse_role


@pytest.fixture
def catalog():
    """CogsGuard's thirteen behaviors and four seeded roles, without a world."""
    return make_catalog()


@pytest.fixture
def role_of(catalog):
    """Parses a role of the catalog from text."""
    return lambda text, **fields: parse_role(catalog, text, **fields)
