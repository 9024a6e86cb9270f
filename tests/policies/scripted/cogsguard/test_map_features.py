"""Map features of agents on hand-drawn maps, compared with values worked out by hand."""

import numpy as np
import pytest
from cogs_harness import SMALL_GAME, Cogs
from cogs_scenes import give, set_store

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import fold_in, seed_key
from kinfolk.policies.base import AgentBatch, allocate_memory
from kinfolk.policies.build import build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.policies.scripted.cogsguard.distance_map import LANDMARKS
from kinfolk.policies.scripted.cogsguard.map_features import COLUMN_NAMES, COLUMNS, MapFeatures
from kinfolk.testing.contracts.policy import PolicyContract
from kinfolk.worlds import build_world as build_world


class TestNetWithMapFeatures(PolicyContract):
    world, world_settings = "cogsguard", SMALL_GAME | {"max_steps": 25}

    @pytest.fixture
    def uri(self):
        return "kin://gru?transform=map_features&hidden=[16]&state_size=16"


PATH_NET = (
    "kin://net?module=kinfolk.policies.scripted.cogsguard.path_net.PathNet&transform=map_features"
    '&settings={"hidden":16}'
)


@pytest.mark.train
class TestPathNet(PolicyContract):
    world, world_settings = "cogsguard", SMALL_GAME | {"max_steps": 25}

    @pytest.fixture
    def uri(self):
        return PATH_NET


class FirstAgent:
    """The map features of the first agent on a drawn map."""

    def __init__(self, text, **settings):
        self.cogs = Cogs(text, **settings)
        self.transform = MapFeatures(self.cogs.world.spec)
        self.memory = allocate_memory(self.transform.memory_layout, self.cogs.world.spec.rows)
        batch = self.cogs.batch
        self.transform.reset_agents(batch, self.memory, batch.memory_index)

    def features(self):
        self.cogs.world.observe(self.cogs.observations)
        batch, keys = self.cogs.batch, fold_in(seed_key(5), self.cogs.batch.memory_index)
        rows = self.transform.transform(self.cogs.observations, batch, self.memory, keys)
        return dict(zip(COLUMN_NAMES, rows.view(np.float32)[0].tolist(), strict=False))

    def moves(self, landmark):
        features = self.features()
        return [m for m in ("north", "south", "west", "east") if features[f"{landmark}_{m}"]]

    def step(self, move):
        actions = np.zeros((self.cogs.world.spec.rows, 2), dtype=np.int64)
        actions[0, 0] = move
        self.cogs.world.step(actions)


def test_all_first_moves_of_shortest_paths_around_walls_are_given():
    agent = FirstAgent("""
.....
.@...
.###.
...H.
""")
    assert agent.moves("hub") == ["west", "east"]  # 6 steps either way around
    assert agent.features()["hub_proximity"] == pytest.approx(1 - 6 / 40)
    open_ground = FirstAgent("""
@....
.....
...H.
""")
    assert open_ground.moves("hub") == ["south", "east"]
    assert open_ground.features()["hub_adjacent"] == 0.0


def test_an_adjacent_landmark_is_marked_with_the_move_into_it():
    agent = FirstAgent("H@.c")
    features = agent.features()
    assert (features["hub_adjacent"], features["hub_west"], features["hub_east"]) == (1.0, 1.0, 0.0)
    assert agent.moves("carbon_extractor") == ["east"]
    assert features["carbon_extractor_proximity"] == pytest.approx(1 - 2 / 40)
    assert (features["west_is_free"], features["east_is_free"]) == (0.0, 1.0)


def test_landmarks_are_known_once_they_were_observed():
    agent = FirstAgent("c....@..........o\n.....H...........", window_radius=5)
    features = agent.features()
    assert (features["carbon_extractor_reachable"], features["oxygen_extractor_reachable"]) == (
        1.0,
        0.0,
    )
    for _ in range(6):
        agent.step(4)
        features = agent.features()
    assert (features["carbon_extractor_reachable"], features["oxygen_extractor_reachable"]) == (
        1.0,
        1.0,
    )
    assert agent.moves("carbon_extractor") == ["west"]
    assert features["carbon_extractor_proximity"] == pytest.approx(1 - 11 / 40)


def test_an_adjacent_team_mate_is_marked_and_does_not_block_paths():
    agent = FirstAgent("@@.H")
    features = agent.features()
    assert (features["east_is_taken"], features["hub_east"]) == (1.0, 1.0)


def test_features_derived_from_the_facts():
    agent = FirstAgent("H.@...J", free_moves=False)
    give(agent.cogs.world, 0, energy=3, hp=50)
    features = agent.features()
    assert features["can_move"] == 0.0
    assert features["energy_share"] == pytest.approx(3 / 20)
    assert features["hp_share"] == pytest.approx(0.5)
    assert features["wears_none"] == 1.0
    set_store(agent.cogs.world, 100)
    assert agent.features()["store_pays_heart"] == 1.0


def test_known_objects_are_counted_and_the_last_step_is_told():
    agent = FirstAgent("H.@..JJ.c")
    features = agent.features()
    assert features["junctions_of_nobody_known"] == pytest.approx(0.2)
    assert features["carbon_extractors_known"] == pytest.approx(0.1)
    assert features["is_number_0"] == 1.0
    assert [features[f"heading_{move}"] for move in ("west", "east")] == [0.0, 0.0]
    agent.step(4)
    features = agent.features()
    assert (features["moved"], features["heading_west"], features["heading_east"]) == (
        1.0,
        0.0,
        1.0,
    )
    agent.step(0)
    features = agent.features()
    assert (features["moved"], features["heading_east"]) == (0.0, 1.0), "the heading is kept"


def test_a_target_is_kept_while_the_agent_approaches_it_and_chosen_anew_when_it_leaves():
    agent = FirstAgent("""
J.....@....J
.....H......
""")
    give(agent.cogs.world, 0, gear="aligner", influence=20, hearts=1)
    assert agent.moves("junction_to_align") == ["east"], "5 steps, not 6"
    agent.step(3)
    assert agent.moves("junction_to_align") == ["west"], "it left the eastern one, and both are 5.5"
    agent.step(3)
    assert agent.moves("junction_to_align") == ["west"]


def test_the_depot_is_the_one_that_a_miner_with_full_cargo_would_choose():
    agent = FirstAgent("H...@.c")
    assert agent.features()["depot_reachable"] == 0.0, "nothing to deposit yet"
    give(agent.cogs.world, 0, carbon=4)
    assert agent.moves("depot") == ["west"]


def test_every_landmark_has_its_columns_and_names_are_unique():
    assert len(set(COLUMN_NAMES)) == len(COLUMN_NAMES)
    assert [n for n in COLUMN_NAMES if n.endswith("_reachable")] == [
        f"{landmark}_reachable" for landmark in LANDMARKS
    ]


def test_observe_next_does_not_change_memory():
    world = build_world("cogsguard", SMALL_GAME, 1)
    net = build_policy(
        resolve("kin://gru?transform=map_features&hidden=[16]&state_size=16"), world.spec
    )
    rows = np.arange(world.spec.rows)
    no_parents = np.full((len(rows), 2), -1, dtype=np.int64)
    batch = AgentBatch(rows, rows * 0, rows, rows, rows * 0, rows * 0, no_parents, no_parents)
    memory = allocate_memory(net.memory_layout, len(rows))
    net.reset_agents(batch, memory, rows)
    world.reset(np.array([7]))
    observations = np.zeros((len(rows), world.spec.row_bytes), dtype=np.uint8)
    world.observe(observations)
    before = {name: array.copy() for name, array in memory.items()}
    inputs = net.observe_next(observations, batch, memory)
    assert all(np.array_equal(memory[name], before[name]) for name in before)
    net.act_async(observations, batch, memory, rows)
    assert np.array_equal(inputs, net.last_inputs)


def test_an_unknown_transform_is_refused():
    spec = build_world("cogsguard", SMALL_GAME, 1).spec
    with pytest.raises(SettingsError) as refused:
        build_policy(resolve("kin://mlp?transform=map_featurs"), spec)
    assert str(refused.value) == (
        "There is no transform 'map_featurs', and it is not a class path either. "
        "Did you mean 'map_features'? Known: identity, map_features."
    )


def test_map_features_of_another_world_are_refused():
    spec = build_world("savanna", {}, 1).spec
    with pytest.raises(SettingsError) as refused:
        build_policy(resolve("kin://mlp?transform=map_features"), spec)
    assert str(refused.value) == "This policy plays cogsguard; savanna has other observations."


@pytest.mark.train
def test_path_net_rates_a_move_by_the_landmarks_to_which_it_leads():
    import torch

    agent = FirstAgent("c.@.H")
    net = build_policy(resolve(PATH_NET), agent.cogs.world.spec)
    x = torch.tensor([list(agent.features().values())])
    x = torch.nn.functional.pad(x, (0, COLUMNS - x.shape[1]))
    with torch.no_grad():
        for parameter in net.module.parameters():
            parameter.zero_()
        net.module.weights.bias[LANDMARKS.index("hub")] = 2.0
        net.module.weights.bias[LANDMARKS.index("carbon_extractor")] = 1.0
        logits, value = net.module(x)
    assert logits[0, :5].tolist() == [0.0, 0.0, 0.0, 1.0, 2.0], "noop, north, south, west, east"
    assert value.tolist() == [0.0]


@pytest.mark.train
def test_path_net_without_map_features_is_refused():
    spec = build_world("cogsguard", SMALL_GAME, 1).spec
    with pytest.raises(SettingsError) as refused:
        build_policy(resolve(PATH_NET.replace("&transform=map_features", "")), spec)
    assert str(refused.value).startswith(f"PathNet reads {COLUMNS} map features, not ")
    assert str(refused.value).endswith(" inputs: give transform=map_features.")
