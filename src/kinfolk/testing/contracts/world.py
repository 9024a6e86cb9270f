"""Contract tests that every world must pass.

Subclass `WorldContract` in a test file and give it a fixture `make` that builds a batch of worlds:

    class TestMyWorld(WorldContract):
        @pytest.fixture
        def make(self):
            return lambda n_worlds: MyWorld(MySettings(), n_worlds)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Ints
from kinfolk.core.errors import ContractError
from kinfolk.core.random import WORLD_STREAM, episode_key, fold_in
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.random_kernel import sample_uniform
from kinfolk.worlds.base import World
from kinfolk.worlds.render import Renderable
from kinfolk.worlds.render_check import CheckedRenderer, find_missing_member

WorldFactory = Callable[[int], World]
TICKS = 50


def episode_world_keys(episodes: range, seed: int = 0) -> Ints:
    """Return the random keys of worlds that play some episodes of a seed."""
    keys = [fold_in(episode_key(seed, episode), WORLD_STREAM) for episode in episodes]
    return np.array(keys, dtype=np.int64)


def random_actions(world: World, salt: int) -> Ints:
    """Return valid actions that depend on uid, tick and `salt`, but not on the batch."""
    spec, columns = world.spec, world.columns
    keys = np.maximum(columns.uid, 0) * 1_000_003 + np.repeat(world.tick, spec.rows) * 7919 + salt
    out = np.zeros((len(keys), spec.n_heads), dtype=np.int64)
    sample_uniform(keys, np.ascontiguousarray(columns.group), spec.n_choices, out)
    return out


def observe_all(world: World) -> Bytes:
    """Return the observations of all rows, `[worlds * rows, bytes]`."""
    out = np.zeros((world.n_worlds * world.spec.rows, world.spec.row_bytes), dtype=np.uint8)
    world.observe(out)
    return out


def step_frames(world: World, ticks: int, salt: int = 1) -> Iterator[list[AnyArray]]:
    """Step with random actions; yield all columns, observations and `done` after each step.

    Args:
        world: A batch of worlds that are reset.
        ticks: How many steps.
        salt: Other salts give other actions.

    Yields:
        Arrays whose first axis is the world; columns of empty rows are 0.
    """
    for _ in range(ticks):
        world.step(random_actions(world, salt))
        shape = (world.n_worlds, world.spec.rows)
        occupied = (world.columns.uid >= 0).reshape(shape)
        columns = [column.reshape(*shape, *column.shape[1:]) for column in world.columns]
        masked = [np.where(occupied.reshape(*shape, *[1] * (c.ndim - 2)), c, 0) for c in columns]
        yield [*masked, observe_all(world).reshape(*shape, -1), world.done.copy()]


def frames_equal(a: list[AnyArray], b: list[AnyArray]) -> bool:
    """Return whether two frames of `step_frames` are exactly equal."""
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def start_worlds(make: WorldFactory, episodes: range, seed: int = 0, ticks: int = 0) -> World:
    """Build a batch of worlds, start an episode in each, and play some ticks.

    Args:
        make: Builds a batch, given its size.
        episodes: Numbers of the episodes.
        seed: Seed of the episodes.
        ticks: How many steps with random actions.
    """
    world = make(len(episodes))
    world.reset(episode_world_keys(episodes, seed))
    for _ in step_frames(world, ticks):
        pass
    return world


def play_equally(first: World, second: World) -> bool:
    """Return whether two batches of worlds have equal frames in the next `TICKS` steps."""
    return all(map(frames_equal, step_frames(first, TICKS), step_frames(second, TICKS)))


def snapshots_equal(a: Arrays, b: Arrays) -> bool:
    """Return whether two snapshots hold the same values."""
    return all(np.array_equal(a[name], b[name]) for name in a)


def make_renderer(world: World) -> CheckedRenderer:
    """Return what renders a world and checks its frames; skip the test if it cannot be rendered."""
    if missing := find_missing_member(world):
        pytest.skip(f"{type(world).__name__} has no {missing}, so it cannot be recorded.")
    return CheckedRenderer(cast("Renderable", world))


class WorldContract:
    """Tests of what `kinfolk.worlds.base.World` promises."""

    @pytest.fixture
    def make(self) -> WorldFactory:
        """Return a function that builds a batch of the world under test, given its size."""
        raise NotImplementedError

    def test_its_spec_can_be_serialised(self, make: WorldFactory) -> None:
        spec = make(1).spec
        assert WorldSpec.from_dict(spec.to_dict()) == spec

    def test_all_groups_have_action_heads_of_the_same_names(self, make: WorldFactory) -> None:
        names = {tuple(head.name for head in group.heads) for group in make(1).spec.groups}
        assert len(names) == 1

    def test_labels_name_each_index_of_a_fields_first_axis(self, make: WorldFactory) -> None:
        fields = [field for group in make(1).spec.groups for field in group.fields]
        lengths = [(len(field.labels), field.shape[0]) for field in fields if field.labels]
        assert all(labels == size for labels, size in lengths)

    def test_a_new_world_is_done_until_its_reset(self, make: WorldFactory) -> None:
        assert make(2).done.tolist() == [True, True]

    def test_the_same_keys_give_the_same_episodes(self, make: WorldFactory) -> None:
        assert play_equally(start_worlds(make, range(3)), start_worlds(make, range(3)))

    def test_another_key_gives_another_episode(self, make: WorldFactory) -> None:
        assert not play_equally(start_worlds(make, range(1)), start_worlds(make, range(1), seed=1))

    @pytest.mark.parametrize("batch", [2, 31, 64])
    def test_a_single_world_equals_that_world_in_a_batch(
        self, make: WorldFactory, batch: int
    ) -> None:
        batched = step_frames(start_worlds(make, range(batch)), TICKS)
        single = step_frames(start_worlds(make, range(batch - 1, batch)), TICKS)
        for many, alone in zip(batched, single, strict=True):
            assert frames_equal([array[-1:] for array in many], alone)

    def test_an_episode_does_not_depend_on_the_one_before(self, make: WorldFactory) -> None:
        used = start_worlds(make, range(7, 9), ticks=TICKS)
        used.reset(episode_world_keys(range(2)))
        assert play_equally(used, start_worlds(make, range(2)))

    def test_resetting_one_world_does_not_change_the_others(self, make: WorldFactory) -> None:
        first, second = (start_worlds(make, range(2), ticks=5) for _ in range(2))
        first.reset(episode_world_keys(range(5, 6)), np.array([0], dtype=np.int64))
        for a, b in zip(step_frames(first, TICKS), step_frames(second, TICKS), strict=True):
            assert frames_equal([array[1:] for array in a], [array[1:] for array in b])

    def test_a_restored_snapshot_continues_the_episode(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(3), ticks=10)
        snapshot = world.snapshot()
        continued = list(step_frames(world, TICKS))
        restored = make(3)
        restored.restore(snapshot)
        assert all(map(frames_equal, step_frames(restored, TICKS), continued))

    def test_a_snapshot_is_restored_into_worlds_chosen_by_source(self, make: WorldFactory) -> None:
        world, copies = start_worlds(make, range(3), ticks=10), make(4)
        source = np.array([2, 0, 2, 1], dtype=np.int64)
        copies.restore(world.snapshot(), source)
        for a, b in zip(step_frames(copies, TICKS), step_frames(world, TICKS), strict=True):
            assert frames_equal(a, [array[source] for array in b])

    def test_new_keys_change_only_the_random_key_of_a_restored_world(
        self, make: WorldFactory
    ) -> None:
        world, copy = start_worlds(make, range(1)), make(1)
        copy.restore(world.snapshot(), keys=episode_world_keys(range(9, 10)))
        for name, saved in world.snapshot().items():
            restored = copy.snapshot()[name]
            assert np.array_equal(restored, saved) == (name != "key"), name

    def test_a_snapshot_of_another_shape_is_refused(self, make: WorldFactory) -> None:
        with pytest.raises(ContractError, match=r"^The snapshot's '\w+' has shape"):
            make(2).restore(make(3).snapshot())

    def test_its_arrays_are_read_only(self, make: WorldFactory) -> None:
        world = make(1)
        for view in (*world.columns, world.done, world.tick):
            with pytest.raises(ValueError, match="read-only"):
                view[...] = 0

    def test_uids_are_never_reused_and_rows_are_freed_one_step_after_death(
        self, make: WorldFactory
    ) -> None:
        world = start_worlds(make, range(4))
        shape = (4, world.spec.rows)
        seen = [set(row[row >= 0].tolist()) for row in world.columns.uid.reshape(shape)]
        before, was_alive = world.columns.uid.copy(), world.columns.alive.copy()
        for _ in step_frames(world, TICKS):
            uids, alive = world.columns.uid, world.columns.alive
            stays = was_alive & ~np.repeat(world.tick == 0, world.spec.rows)
            same = np.array_equal(uids[stays], before[stays])
            assert same, "the row of a living agent was reused"
            for number, row in enumerate(uids.reshape(shape)):
                present = row[row >= 0].tolist()
                assert len(set(present)) == len(present)
                new = set(present) - seen[number]
                assert all(uid > max(seen[number], default=-1) for uid in new)
                seen[number] |= new
            assert not (alive & (uids < 0)).any()
            assert not (alive & world.columns.terminated).any()
            before, was_alive = uids.copy(), alive.copy()

    def test_stepping_a_done_world_changes_nothing(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(1))
        for _ in range(world.spec.max_ticks):
            if world.done[0]:
                break
            world.step(random_actions(world, 3))
        assert world.done[0]
        before = world.snapshot()
        world.step(random_actions(world, 4))
        assert snapshots_equal(before, world.snapshot())

    def test_observing_some_worlds_writes_only_their_rows(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(3))
        whole = observe_all(world)
        part = np.full_like(whole, 7)
        world.observe(part, np.array([1], dtype=np.int64))
        rows = world.spec.rows
        assert np.array_equal(part[rows : 2 * rows], whole[rows : 2 * rows])
        assert (part[:rows] == 7).all()
        assert (part[2 * rows :] == 7).all()

    def test_observations_of_empty_rows_are_zero(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(2))
        out = observe_all(world)
        for _ in range(TICKS):
            world.step(random_actions(world, 1))
            world.observe(out)  # into the same buffer, as the loop does
            assert not out[world.columns.uid < 0].any()

    def test_an_action_out_of_range_is_refused_and_changes_nothing(
        self, make: WorldFactory
    ) -> None:
        world = start_worlds(make, range(2))
        actions = random_actions(world, 1)
        row = int(np.flatnonzero(world.columns.alive)[-1])
        actions[row, 0] = 99_999
        before = world.snapshot()
        with pytest.raises(ContractError, match=r"^Agent \d+ of world 1 chose 99999 for "):
            world.step(actions)
        assert snapshots_equal(before, world.snapshot())

    def test_actions_of_a_wrong_shape_are_refused(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(1))
        with pytest.raises(ContractError, match="Actions must be int64 of shape"):
            world.step(np.zeros((3, 1), dtype=np.int64))

    def test_events_are_recorded_only_when_enabled(self, make: WorldFactory) -> None:
        events: dict[bool, list[Any]] = {}
        for enabled in (False, True):
            world = make(2)
            world.record_events(enabled)
            world.reset(episode_world_keys(range(2)))
            events[enabled] = []
            for _ in step_frames(world, TICKS):
                events[enabled] += world.events()
        assert events[False] == []
        assert events[True]

    def test_recording_events_changes_no_result(self, make: WorldFactory) -> None:
        recorded = make(2)
        recorded.record_events(True)
        recorded.reset(episode_world_keys(range(2)))
        assert play_equally(recorded, start_worlds(make, range(2)))

    def test_it_renders_text(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(2))
        assert world.render_text(1).strip()

    def test_its_frames_fit_its_render_spec(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(2))
        renderer = make_renderer(world)
        renderer.render(1, with_values=True)
        for _ in step_frames(world, TICKS):
            for index in range(2):
                renderer.render(index, with_values=True)

    def test_a_frame_does_not_change_when_the_world_does(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(1))
        frame = make_renderer(world).render(0)
        arrays: list[AnyArray] = [*frame]
        copies = [array.copy() for array in arrays]
        for _ in step_frames(world, TICKS):
            pass
        for name, array, copy in zip(frame._fields, arrays, copies, strict=True):
            assert np.array_equal(array, copy, equal_nan=name == "series"), f"{name} is no copy"
