"""A large world, stepped in parts that threads share, has the numbers of a world stepped as a whole."""

import numpy as np
import pytest
from savanna_rule_sets import BITING, LIVELY, VARIED, play
from savanna_scenes import random_actions

from kinfolk.core.errors import ContractError
from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna.memory import describe_memory
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.sight.writer import WindowWriter
from kinfolk.worlds.savanna.step import runner
from kinfolk.worlds.savanna.step.parts import runner as parts_runner
from kinfolk.worlds.savanna.step.parts.bands import StampCounter
from kinfolk.worlds.savanna.step.parts.runner import LargeStep
from kinfolk.worlds.savanna.world import SavannaWorld

AGEING = LIVELY | {"max_agent_age": 15, "move_energy_cost_factor": 0.01}
COMPACT = LIVELY | {"observation": "compact"}
SPARSE = COMPACT | {"grid_size": 40, "initial_num_grass": 10}
WALLED = COMPACT | {"manual_wall_positions": [(4, y) for y in range(3, 12)], "forward_view": False}
ALL_RULES = [LIVELY, BITING, VARIED, AGEING, COMPACT, SPARSE]
NAMES = ["teams", "bites", "variants", "ageing", "compact", "sparse"]
VARIED_RULES = {name: VARIED[name] for name in VARIED if VARIED[name] != LIVELY.get(name)}
# So many agents that their moves and hunts depend on each other across the bands of threads.
CROWDED = LIVELY | {
    "grid_size": 36,
    "max_rows": 1200,
    "n_initial_active_type_1_predator": 150,
    "n_initial_active_type_2_predator": 40,
    "n_initial_active_type_1_prey": 300,
    "n_initial_active_type_2_prey": 100,
    "initial_num_grass": 500,
    "energy_loss_per_step_predator": 0.4,
    "lineage_reward_coeff": 0.3,
}


@pytest.fixture
def in_parts(monkeypatch):
    def play_in_parts(rules, keys, rows_of_many_parts=1, **options):
        monkeypatch.setattr(runner, "_LARGE_WORLD_ROWS", 1)
        monkeypatch.setattr(parts_runner, "_MANY_ROWS", rows_of_many_parts)
        result = play(rules, keys, **options)
        monkeypatch.undo()
        return result

    return play_in_parts


@pytest.mark.parametrize("rules", ALL_RULES, ids=NAMES)
def test_a_world_in_parts_equals_a_whole_world_for_any_number_of_threads(rules, in_parts):
    whole, world = play(rules, [3, 8])
    assert int(world.counters()["spawned_prey"].sum()) > 0
    split = [in_parts(rules, [3, 8], threads=threads) for threads in (1, 2, 3)]
    expected = world.counters()
    sums = [name for name, count in expected.items() if count.dtype == np.float64]
    for trail, other in split:
        assert trail == whole
        for name, count in other.counters().items():
            if name in sums:  # added up in another order
                assert count == pytest.approx(expected[name], rel=1e-12)
                assert np.array_equal(count, split[0][1].counters()[name])
            else:
                assert np.array_equal(count, expected[name]), name


def count_whole_numbers(world):
    """Return the counters of a single world, without sums of energies."""
    counters = world.counters()
    return {name: int(counters[name][0]) for name in counters if counters[name].dtype == np.int64}


@pytest.mark.parametrize("rules", [CROWDED, CROWDED | VARIED_RULES], ids=["teams", "variants"])
def test_agents_that_meet_across_bands_have_their_turns_in_order(rules, in_parts):
    whole, world = play(rules, [7], steps=15)
    counters = count_whole_numbers(world)
    assert counters["deaths_starved_predator"] > 20
    assert min(counters["deaths_eaten_prey"], counters["moves_blocked_occupied"]) > 500
    assert counters["spawned_prey"] > 100
    snapshots = {}
    for threads, rows in ((1, 1), (2, 1), (3, 1), (4, 1), (1, 2000), (2, 2000), (4, 2000)):
        trail, other = in_parts(rules, [7], rows, steps=15, threads=threads)
        assert trail == whole
        assert count_whole_numbers(other) == counters
        saved = other.snapshot()
        for name, values in snapshots.setdefault(rows, saved).items():
            assert np.array_equal(saved[name], values), (name, threads)


def test_recording_events_changes_no_number_of_a_large_world(monkeypatch):
    monkeypatch.setattr(runner, "_LARGE_WORLD_ROWS", 1)
    counters, events = [], []
    for record, threads in ((False, 2), (True, 2), (True, 1)):
        world = SavannaWorld(validate_settings(Savanna, LIVELY), 1, threads)
        world.record_events(record)
        world.reset(np.array([4]))
        rng = np.random.default_rng(1)
        for _ in range(20):
            world.step(random_actions(world, rng))
            events.append(world.events())
        counters.append({name: count.tolist() for name, count in world.counters().items()})
    assert counters[0] == counters[1] == counters[2]
    assert not any(events[:20])
    assert any(events[20:40])
    assert events[20:40] == events[40:]


@pytest.mark.parametrize("n_worlds", [1, 2])
@pytest.mark.parametrize("rules", [*ALL_RULES, WALLED], ids=[*NAMES, "walled"])
def test_windows_on_demand_are_those_of_all_agents(rules, n_worlds):
    world = SavannaWorld(validate_settings(Savanna, rules), n_worlds, 2)
    world.reset(np.arange(n_worlds))
    everybody = np.zeros((n_worlds * world.spec.rows, world.spec.row_bytes), dtype=np.uint8)
    rng = np.random.default_rng(2)
    rows = rng.permutation(len(everybody))
    asked = np.full((40, world.spec.row_bytes), 7, dtype=np.uint8)
    deaths = 0
    for _ in range(12):
        world.step(random_actions(world, rng))
        deaths += int(world.columns.terminated.sum())
        world.observe(everybody)
        for first in range(0, len(rows) - 40, 40):
            world.observe_rows(rows[first : first + 40], asked)
            assert np.array_equal(asked, everybody[rows[first : first + 40]])
    assert deaths > 0
    world.reset(np.arange(5, 5 + n_worlds))
    world.observe(everybody)
    world.observe_rows(rows[:40], asked)
    assert np.array_equal(asked, everybody[rows[:40]])


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("rules", [LIVELY, BITING], ids=["teams", "bites"])
def test_rows_by_cell_are_all_living_agents_in_the_order_of_the_grid(rules, threads):
    world = SavannaWorld(validate_settings(Savanna, rules), 2, threads)
    world.reset(np.arange(2))
    rng, s = np.random.default_rng(2), world._arrays
    for _ in range(15):
        world.step(random_actions(world, rng))
        rows = world.list_rows_by_cell()
        assert sorted(rows.tolist()) == np.flatnonzero(world.columns.alive).tolist()
        cells = (s.x * world.settings.grid_size + s.y).reshape(-1)[rows]
        places = list(zip((rows // world.spec.rows).tolist(), cells.tolist(), strict=True))
        assert places == sorted(places)


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_by_cell_hold_both_agents_of_a_shared_cell(threads):
    world = SavannaWorld(validate_settings(Savanna, LIVELY), 1, threads)
    world.reset(np.array([3]))
    size, s = world.settings.grid_size, world._arrays
    *_, first, second = np.flatnonzero(world.columns.alive).tolist()  # two prey
    cell, left = (int(s.x[0, row] * size + s.y[0, row]) for row in (first, second))
    s.x[0, second], s.y[0, second] = s.x[0, first], s.y[0, first]
    s.first_in_cell[0, 1, left], s.first_in_cell[0, 1, cell] = -1, second
    s.next_in_cell[0, second] = first
    rows = world.list_rows_by_cell().tolist()
    assert sorted(rows) == np.flatnonzero(world.columns.alive).tolist()
    assert rows.index(first) == rows.index(second) + 1


def test_stamps_of_predators_reach_are_cleared_after_the_last_one():
    rules = LIVELY | {"max_steps": 600}
    world = SavannaWorld(validate_settings(Savanna, rules), 1)
    fresh = SavannaWorld(validate_settings(Savanna, rules), 1)
    stamps = world._runner._scratch[0].reach_stamps
    stamps[:] = np.arange(len(stamps)) % 256
    stamps[-1] = 255
    for each in (world, fresh):
        each.reset(np.array([6]))
        rng = np.random.default_rng(6)
        for _ in range(10):
            each.step(random_actions(each, rng))
    assert world.counters()["team_capture_successes"][0] > 0
    assert all(np.array_equal(a, b) for a, b in zip(world._arrays, fresh._arrays, strict=True))


def test_claims_of_cells_are_cleared_before_a_stamp_is_used_again():
    claimed, stamps = np.zeros(4, dtype=np.uint8), StampCounter()
    used = [stamps.advance(claimed) for _ in range(85)]
    claimed[:] = used[0]
    assert used == list(range(1, 254, 3))
    assert (stamps.advance(claimed), claimed.tolist()) == (1, [0, 0, 0, 0])


def test_a_wrong_buffer_and_a_row_that_does_not_exist_get_an_error_message():
    world = SavannaWorld(validate_settings(Savanna, LIVELY), 1)
    world.reset(np.array([1]))
    width = world.spec.row_bytes
    with pytest.raises(ContractError) as caught:
        world.observe_rows(np.arange(3), np.zeros((2, width), dtype=np.uint8))
    assert str(caught.value) == (
        f"Observations need a contiguous, writable uint8 array of shape (3, {width}); "
        f"this one is uint8 of shape (2, {width})."
    )
    with pytest.raises(ContractError, match=r"^Batch rows must be from 0 to 63\.$"):
        world.observe_rows(np.array([64]), np.zeros((1, width), dtype=np.uint8))
    with pytest.raises(ContractError, match=r"^Observations need a contiguous, writable uint8"):
        world.observe(np.zeros((64, 2 * width), dtype=np.uint8)[:, ::2])


def list_arrays(owner):
    """Return all arrays that an object and the tuples and lists in it hold, each once."""
    if isinstance(owner, np.ndarray):
        return {owner.__array_interface__["data"][0]: owner.nbytes} if owner.nbytes else {}
    items = owner if isinstance(owner, tuple | list) else []
    if type(owner) in (SavannaWorld, runner.StepRunner, WindowWriter, LargeStep):
        items = vars(owner).values()
    return {key: size for item in items for key, size in list_arrays(item).items()}


@pytest.mark.parametrize("rows", [6000, 20_000])
def test_the_stated_memory_is_what_a_world_takes(rows):
    size = 120
    rules = {"grid_size": size, "max_rows": rows, "observation": "compact"}
    settings = validate_settings(Savanna, rules | {"manual_wall_positions": []})
    world, use = SavannaWorld(settings, 1), describe_memory(settings)
    lives = world._arrays.parent.shape[1]
    stated = use.per_row * rows + use.per_cell * size**2 + use.per_patch * 100
    taken = sum(list_arrays(world).values())
    assert taken == pytest.approx(stated + use.per_life * lives, rel=0.05)
