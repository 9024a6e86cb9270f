"""Rules of the probe world, on hand-made states."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.testing.contracts.world import episode_world_keys, observe_all, random_actions
from kinfolk.testing.probe.state import Probe
from kinfolk.testing.probe.world import ProbeWorld

LEFT, STAY, RIGHT = 0, 1, 2
QUIET, CALL = 0, 1


def make_world(cells, energies, groups=None, food=(), **settings):
    """Return one world with agents in given cells, and its state."""
    groups = groups or [0] * len(cells)
    grazers = groups.count(0)
    defaults = {"cells": 8, "rows": 4, "growth": 0.0}
    probe = Probe(**{**defaults, **settings, "grazers": grazers, "hunters": len(cells) - grazers})
    world = ProbeWorld(probe)
    world.record_events(True)
    world.reset(episode_world_keys(range(1)))
    state = world._state
    state.cell[0, : len(cells)] = cells
    state.energy[0, : len(cells)] = energies
    for cell in food:
        state.food[0, cell] = 1
    return world, state


def step(world, *choices):
    """Step with an action for each of the first rows; the others stay and are quiet."""
    actions = np.zeros((world.spec.rows, 2), dtype=np.int64)
    actions[:, 0] = STAY
    for row, choice in enumerate(choices):
        actions[row] = choice
    world.step(actions)


def test_a_move_costs_one_energy_and_wraps_around_the_ring():
    world, state = make_world([0, 7], [5, 5])
    step(world, (LEFT, QUIET), (RIGHT, QUIET))
    assert state.cell[0, :2].tolist() == [7, 0]
    assert state.energy[0, :2].tolist() == [4, 4]
    assert world.counters()["spent"].tolist() == [2]


def test_of_two_grazers_in_one_cell_the_one_with_the_lower_uid_eats():
    world, state = make_world([3, 3], [5, 5], food=[3])
    step(world)
    assert state.energy[0, :2].tolist() == [9, 5]
    assert world.columns.reward[:2].tolist() == [4.0, 0.0]
    assert state.food[0].sum() == 0


def test_a_hunter_bites_the_first_grazer_in_its_cell():
    world, state = make_world([2, 2, 2], [2, 9, 5], groups=[0, 0, 1])
    step(world)
    assert state.energy[0, :3].tolist() == [0, 9, 7]
    assert world.columns.terminated[:3].tolist() == [True, False, False]
    events = [(e.kind, e.uid, e.other, e.value) for e in world.events()]
    assert events == [("bite", 2, 0, 2.0), ("death", 0, -1, 1.0)]


def test_two_agents_that_call_in_one_cell_have_a_child_and_share_its_cost():
    world, state = make_world([4, 4], [10, 12])
    step(world, (STAY, CALL), (STAY, CALL))
    assert state.energy[0, :3].tolist() == [6, 8, 8]
    assert world.columns.uid[:4].tolist() == [0, 1, 2, -1]
    assert world.columns.parents[2].tolist() == [0, 1]
    assert world.columns.parent_rows[2].tolist() == [0, 1]
    assert world.columns.reward[:3].tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("cells", "energies", "voices", "groups"),
    [
        ([4, 5], [10, 10], (CALL, CALL), [0, 0]),
        ([4, 4], [10, 9], (CALL, CALL), [0, 0]),
        ([4, 4], [10, 10], (CALL, QUIET), [0, 0]),
        ([4, 4], [13, 13], (CALL, CALL), [0, 1]),
    ],
    ids=["other cells", "too little energy", "one is quiet", "other groups"],
)
def test_there_is_no_child(cells, energies, voices, groups):
    world, _ = make_world(cells, energies, groups)
    step(world, *((STAY, voice) for voice in voices))
    assert world.counters()["births"].tolist() == [0]


def test_a_birth_without_a_free_row_is_counted_as_blocked_and_costs_nothing():
    world, state = make_world([1, 1, 5, 6], [10, 10, 9, 9], rows=4)
    step(world, (STAY, CALL), (STAY, CALL))
    assert world.counters()["blocked"].tolist() == [1]
    assert state.energy[0, :2].tolist() == [10, 10]


def test_the_row_of_a_dead_agent_is_reused_one_step_later():
    world, _ = make_world([1, 1, 5, 6], [10, 10, 1, 9], rows=4)
    step(world, (STAY, QUIET), (STAY, QUIET), (LEFT, QUIET))
    assert world.columns.terminated.tolist() == [False, False, True, False]
    assert world.columns.uid.tolist() == [0, 1, 2, 3]
    step(world, (STAY, CALL), (STAY, CALL))
    assert world.columns.uid.tolist() == [0, 1, 4, 3]
    assert world.columns.terminated.tolist() == [False] * 4


def test_a_dead_agent_is_observed_until_the_next_step():
    world, _ = make_world([5, 1], [1, 9], food=[6])
    step(world, (LEFT, QUIET))
    window = world.spec.groups[0].read_field(observe_all(world), "window")
    assert not world.columns.alive[0]
    assert window[0, 4, 0] == 1, "two cells to the right of cell 4 lies the food of cell 6"
    step(world)
    assert not observe_all(world)[0].any()


def test_groups_have_different_observations():
    world, _ = make_world([3, 4], [7, 5], groups=[0, 1], food=[5])
    grazer, hunter = world.spec.groups
    observations = observe_all(world)
    assert grazer.read_field(observations, "window")[0].tolist() == [
        [0, 0, 0],
        [0, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [1, 0, 0],
    ]
    assert hunter.read_field(observations, "window")[1].tolist() == [
        [0, 1, 0],
        [0, 0, 1],
        [1, 0, 0],
    ]
    assert grazer.read_field(observations, "body")[0].tolist() == [7.0, 0.0, 0.0, 0.0]


def test_the_time_limit_truncates_agents_and_extinction_ends_the_episode():
    world, _ = make_world([1, 2], [9, 9], max_ticks=1)
    step(world)
    assert (world.done[0], world.columns.truncated[:2].tolist()) == (True, [True, True])
    world, _ = make_world([1], [1])
    step(world, (LEFT, QUIET))
    assert (world.done[0], world.tick[0], world.columns.truncated.any()) == (True, 1, False)


@settings(max_examples=25, deadline=None)
@given(
    st.builds(
        Probe,
        cells=st.integers(3, 9),
        rows=st.integers(8, 20),
        grazers=st.integers(0, 5),
        hunters=st.integers(0, 3),
        meal=st.integers(1, 9),
        bite=st.integers(1, 9),
        birth_energy=st.integers(4, 12),
        birth_cost=st.integers(1, 4),
        max_age=st.integers(2, 40),
        growth=st.floats(0, 1),
    ),
    st.integers(0, 1000),
)
def test_the_energy_balance_is_exact(probe, salt):
    world = ProbeWorld(probe, 3)
    world.reset(episode_world_keys(range(3), seed=salt))
    start = world.total_energy()
    for _ in range(probe.max_ticks):
        world.step(random_actions(world, salt))
        counters = world.counters()
        balance = start + probe.meal * counters["grown"] - counters["spent"] - counters["lost"]
        assert world.total_energy().tolist() == balance.tolist()


def test_rows_are_reused_and_uids_are_not_over_ten_thousand_births():
    probe = Probe(
        cells=3, rows=16, grazers=8, hunters=0, growth=1.0, birth_energy=2, birth_cost=1,
        meal=9, max_age=8, max_ticks=100_000,
    )  # fmt: skip
    world = ProbeWorld(probe)
    world.reset(episode_world_keys(range(1)))
    actions = np.ones((16, 2), dtype=np.int64)
    uids, rows_used = [], set()
    previous = np.full(16, -1)
    while world.counters()["births"][0] < 10_000:
        assert not world.done[0]
        world.step(actions)
        current = world.columns.uid
        for row in np.flatnonzero((current != previous) & (current >= 0)):
            uids.append(int(current[row]))
            rows_used.add(int(row))
        previous = current.copy()
    born = [uid for uid in uids if uid >= 8]
    assert len(born) >= 10_000
    assert len(set(born)) == len(born)
    assert sorted(born) == list(range(8, 8 + len(born)))
    assert rows_used == set(range(16))


def test_more_founders_than_rows_are_refused():
    with pytest.raises(SettingsError) as refused:
        ProbeWorld(Probe(rows=4, grazers=3, hunters=2))
    assert str(refused.value) == "Probe.rows must hold all 5 founders, not 4."


def test_an_invalid_action_is_refused_with_agent_and_head():
    world, _ = make_world([1, 2], [9, 9], groups=[0, 1])
    actions = np.zeros((4, 2), dtype=np.int64)
    actions[1, 1] = 2
    with pytest.raises(ContractError) as refused:
        world.step(actions)
    assert str(refused.value) == "Agent 1 of world 0 chose 2 for voice; a hunter has 0 to 1."
