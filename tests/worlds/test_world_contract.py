"""Contract tests of every registered world."""

import pytest

from kinfolk.testing.contracts.world import (
    WorldContract,
    find_effect_of_keys,
    start_worlds,
    step_frames,
)
from kinfolk.worlds import WORLDS, build_world


class TestEveryWorld(WorldContract):
    @pytest.fixture(params=list(WORLDS))
    def make(self, request):
        return lambda n_worlds: build_world(request.param, {}, n_worlds)

    def test_it_has_chance(self, make):
        assert find_effect_of_keys(make) is not None

    def test_it_has_events(self, make):
        world = start_worlds(make, range(2))
        world.record_events(True)
        assert any(world.events() for _ in step_frames(world))
