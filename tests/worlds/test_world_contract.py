"""Contract tests of every registered world."""

import pytest

from kinfolk.testing.contracts.world import WorldContract
from kinfolk.worlds import WORLDS, build_world


class TestEveryWorld(WorldContract):
    @pytest.fixture(params=list(WORLDS))
    def make(self, request):
        return lambda n_worlds: build_world(request.param, {}, n_worlds)
