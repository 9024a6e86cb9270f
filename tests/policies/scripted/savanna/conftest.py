"""Hand-drawn windows, and games between savanna policies."""

import numpy as np
import pytest

from kinfolk.core.random import fold_in, seed_key
from kinfolk.core.settings import validate_settings
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.policies.base import allocate_memory, single_agent_batch
from kinfolk.policies.build import build_policy
from kinfolk.testing.inspection import play_to_end
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.spec import make_spec
from kinfolk.worlds.savanna.world import SavannaWorld

WALL, PREDATOR, PREY, GRASS, SEEN = range(5)


class Scene:
    """The window of one agent; cells are offsets from it."""

    def __init__(self, form="float32", window=9, reach=3, species="prey", type_=1):
        self.settings = validate_settings(
            Savanna,
            {"observation": form, "predator_obs_range": window, "prey_obs_range": window,
             "type_1_action_range": reach if type_ == 1 else 3,
             "type_2_action_range": reach if type_ == 2 else 0},
        )  # fmt: skip
        self.spec = make_spec(self.settings)
        self.group = self.spec.group_index(f"type_{type_}_{species}")
        self.half = window // 2
        self.planes = np.zeros((5, window, window), dtype=np.float32)
        self.planes[SEEN] = 1.0

    def put(self, plane, *cells, energy=1.0):
        for dx, dy in cells:
            self.planes[plane, self.half + dx, self.half + dy] = energy
        return self

    @property
    def row(self):
        """The observation, quantised by hand in the compact format."""
        window = self.planes
        if self.settings.observation == "compact":
            code = np.ceil(window.astype(np.float64) * 32).astype(np.uint32)
            grass = np.ceil(window[GRASS].astype(np.float64) * 1023 / 2).astype(np.uint32)
            walls = window[WALL].astype(np.uint32)
            window = 1 | walls << 1 | code[PREDATOR] << 2 | code[PREY] << 12 | grass << 22
        flat = np.zeros(self.spec.row_bytes, dtype=np.uint8)
        flat[: window.nbytes] = np.ascontiguousarray(window).reshape(-1).view(np.uint8)
        return flat

    def act(self, policy_class, ticks=1, seed=0, **settings):
        """Return the names of the moves in some ticks in which the window does not change."""
        policy = policy_class(self.spec, **settings)
        memory = allocate_memory(policy.memory_layout, 1)
        batch = single_agent_batch(0, self.group)
        policy.reset_agents(batch, memory, batch.uid)
        names = self.spec.groups[self.group].heads[0].choices
        moves = []
        for tick in range(ticks):
            key = np.array([fold_in(seed_key(seed), tick)], dtype=np.int64)
            policy.act_async(self.row.reshape(1, -1), batch, memory, key)
            moves.append(names[int(policy.act_wait()[0, 0])])
        return moves[0] if ticks == 1 else moves


@pytest.fixture(params=["float32", "compact"])
def draw(request):
    """Return a function that makes scenes, in each observation format in turn."""
    return lambda **kwargs: Scene(form=request.param, **kwargs)


@pytest.fixture
def scene():
    return Scene


def _play(settings, predator, prey, episodes, seed=0):
    world = SavannaWorld(validate_settings(Savanna, settings), episodes)
    loaded = [
        LoadedSlot(n, build_policy(r, world.spec))
        for n, r in (("predator", predator), ("prey", prey))
    ]
    table = build_slot_assignment(world.spec, ["predator", "prey"], {"type_1_prey": "prey"})
    return play_to_end(EpisodeLoop(world, loaded, table, seed, range(episodes)))


@pytest.fixture
def play():
    return _play
