"""What a net is shown of its agent's own map: hand-drawn maps, known answers."""

import numpy as np
import pytest
from cogs import Cogs
from cogs_scenes import give, set_store
from test_cogs_policy_contract import SMALL

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import fold_in, seed_key
from kinfolk.policies.base import AgentBatch, allocate_memory
from kinfolk.policies.resolve import build_policy, resolve
from kinfolk.policies.scripted.cogsguard.map_features.columns import COLUMN_NAMES, LANDMARKS
from kinfolk.policies.scripted.cogsguard.map_features.transform import MapFeatures
from kinfolk.testing.contracts.policy import PolicyContract
from kinfolk.worlds import build_world as build_world


class TestANetWithAnAtlas(PolicyContract):
    world, world_settings = "cogsguard", SMALL | {"max_steps": 25}

    @pytest.fixture
    def uri(self):
        return "kin://gru?transform=map_features&hidden=[16]&state_size=16"


class Sees:
    """What the first agent of a drawn map is shown."""

    def __init__(self, text, **settings):
        self.cogs = Cogs(text, **settings)
        self.atlas = MapFeatures(self.cogs.world.spec)
        self.memory = allocate_memory(self.atlas.memory_layout, self.cogs.world.spec.rows)
        self.atlas.reset_agents(self.cogs.rows, self.memory, self.cogs.rows.memory_index)

    def now(self):
        self.cogs.world.observe(self.cogs.shown)
        rows, keys = self.cogs.rows, fold_in(seed_key(5), self.cogs.rows.memory_index)
        shown = self.atlas.transform(self.cogs.shown, rows, self.memory, keys)
        return dict(zip(COLUMN_NAMES, shown.view(np.float32)[0].tolist(), strict=False))

    def moves(self, thing):
        found = self.now()
        return [way for way in ("north", "south", "west", "east") if found[f"{thing}_{way}"]]

    def step(self, move):
        actions = np.zeros((self.cogs.world.spec.rows, 2), dtype=np.int64)
        actions[0, 0] = move
        self.cogs.world.step(actions)


def test_the_way_goes_around_walls_and_all_first_moves_of_shortest_ways_are_told():
    sees = Sees("""
.....
.@...
.###.
...H.
""")
    assert sees.moves("hub") == ["west", "east"]  # 6 steps either way around
    assert sees.now()["hub_proximity"] == pytest.approx(1 - 6 / 40)
    open_ground = Sees("""
@....
.....
...H.
""")
    assert open_ground.moves("hub") == ["south", "east"]
    assert open_ground.now()["hub_adjacent"] == 0.0


def test_what_is_beside_is_bumped_into():
    sees = Sees("H@.c")
    found = sees.now()
    assert (found["hub_adjacent"], found["hub_west"], found["hub_east"]) == (1.0, 1.0, 0.0)
    assert sees.moves("carbon_extractor") == ["east"]
    assert found["carbon_extractor_proximity"] == pytest.approx(1 - 2 / 40)
    assert (found["west_is_free"], found["east_is_free"]) == (0.0, 1.0)


def test_only_what_was_seen_is_known_and_it_stays_known():
    sees = Sees("c....@..........o\n.....H...........", window_radius=5)
    found = sees.now()
    assert (found["carbon_extractor_reachable"], found["oxygen_extractor_reachable"]) == (1.0, 0.0)
    for _ in range(6):
        sees.step(4)
        found = sees.now()
    assert (found["carbon_extractor_reachable"], found["oxygen_extractor_reachable"]) == (1.0, 1.0)
    assert sees.moves("carbon_extractor") == ["west"]
    assert found["carbon_extractor_proximity"] == pytest.approx(1 - 11 / 40)


def test_a_team_mate_beside_is_told_and_is_no_wall():
    sees = Sees("@@.H")
    found = sees.now()
    assert (found["east_is_taken"], found["hub_east"]) == (1.0, 1.0)


def test_what_follows_from_the_facts_is_told():
    sees = Sees("H.@...J", free_moves=False)
    give(sees.cogs.world, 0, energy=3, hp=50)
    found = sees.now()
    assert found["can_move"] == 0.0
    assert found["energy_share"] == pytest.approx(3 / 20)
    assert found["hp_share"] == pytest.approx(0.5)
    assert found["wears_none"] == 1.0
    set_store(sees.cogs.world, 100)
    assert sees.now()["store_pays_heart"] == 1.0


def test_every_thing_has_its_columns_and_names_are_unique():
    assert len(set(COLUMN_NAMES)) == len(COLUMN_NAMES)
    assert [n for n in COLUMN_NAMES if n.endswith("_reachable")] == [
        f"{thing}_reachable" for thing in LANDMARKS
    ]


def test_looking_ahead_leaves_the_memory_as_it_was():
    world = build_world("cogsguard", SMALL, 1)
    net = build_policy(
        resolve("kin://gru?transform=map_features&hidden=[16]&state_size=16"), world.spec
    )
    at = np.arange(world.spec.rows)
    nobody = np.full((len(at), 2), -1, dtype=np.int64)
    rows = AgentBatch(at, at * 0, at, at, at * 0, at * 0, nobody, nobody)
    memory = allocate_memory(net.memory_layout, len(at))
    net.reset_agents(rows, memory, at)
    world.reset(np.array([7]))
    shown = np.zeros((len(at), world.spec.row_bytes), dtype=np.uint8)
    world.observe(shown)
    before = {name: array.copy() for name, array in memory.items()}
    ahead = net.observe_next(shown, rows, memory)
    assert all(np.array_equal(memory[name], before[name]) for name in before)
    net.act_async(shown, rows, memory, at)
    assert np.array_equal(ahead, net.seen)


def test_a_sight_that_there_is_not_is_refused():
    spec = build_world("cogsguard", SMALL, 1).spec
    with pytest.raises(SettingsError) as refused:
        build_policy(resolve("kin://mlp?transform=map_featurs"), spec)
    assert str(refused.value) == (
        "There is no transform 'map_featurs', and it is no class path either. "
        "Did you mean 'map_features'? Known: identity, map_features."
    )


def test_an_atlas_of_another_world_is_refused():
    spec = build_world("savanna", {}, 1).spec
    with pytest.raises(SettingsError) as refused:
        build_policy(resolve("kin://mlp?transform=map_features"), spec)
    assert str(refused.value) == "This policy plays cogsguard; savanna shows other things."
