from pathlib import Path

import pytest

from kinfolk.isolation.worker_pool import close_pools

ZOO = Path(__file__).parent / "zoo"
collect_ignore = ["attacks"]  # no doctests: policies import each other as a user's package would


@pytest.fixture
def zoo(monkeypatch):
    """Bad policies in a module of their own, as a user's would be."""
    monkeypatch.syspath_prepend(str(ZOO))
    return "class:bad_policies."


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left():
    """Processes are reused from test to test; after the last of a file none is there."""
    yield
    close_pools()
