import pytest

from kinfolk.testing.world_contract import WorldContract
from kinfolk.worlds import WORLDS, build


class TestEveryWorld(WorldContract):
    @pytest.fixture(params=list(WORLDS))
    def make(self, request):
        return lambda worlds: build(request.param, {}, worlds)
