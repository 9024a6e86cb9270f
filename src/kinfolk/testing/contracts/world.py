"""What every world promises, as tests.

Subclass `WorldContract` in a test file and give it a fixture `make` that builds a batch:

    class TestMyWorld(WorldContract):
        @pytest.fixture
        def make(self):
            return lambda worlds: MyWorld(MySettings(), worlds)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.errors import ContractError
from kinfolk.core.random import WORLD_STREAM, episode_key, fold_in
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.stateless import _sample_uniform
from kinfolk.worlds.base import World

WorldFactory = Callable[[int], World]
TICKS = 50


def episode_world_keys(episodes: range, seed: int = 0) -> Ints:
    """World keys of some episodes."""
    found = [fold_in(episode_key(seed, episode), WORLD_STREAM) for episode in episodes]
    return np.array(found, dtype=np.int64)


def random_actions(world: World, salt: int) -> Ints:
    """Legal actions that follow from each life, the tick and `salt`, not from the batch."""
    spec, columns = world.spec, world.columns
    keys = np.maximum(columns.uid, 0) * 1_000_003 + np.repeat(world.tick, spec.rows) * 7919 + salt
    out = np.zeros((len(keys), spec.n_heads), dtype=np.int64)
    _sample_uniform(keys, np.ascontiguousarray(columns.group), spec.n_choices, out)
    return out


def observe_all(world: World) -> Bytes:
    """What all rows see now."""
    out = np.zeros((world.n_worlds * world.spec.rows, world.spec.row_bytes), dtype=np.uint8)
    world.observe(out)
    return out


def step_frames(world: World, ticks: int, salt: int = 1) -> Iterator[list[AnyArray]]:
    """Step with random actions; after each step all columns and observations, per world."""
    for _ in range(ticks):
        world.step(random_actions(world, salt))
        shape = (world.n_worlds, world.spec.rows)
        present = (world.columns.uid >= 0).reshape(shape)
        parts = [column.reshape(*shape, *column.shape[1:]) for column in world.columns]
        shown = [np.where(present.reshape(*shape, *[1] * (p.ndim - 2)), p, 0) for p in parts]
        yield [*shown, observe_all(world).reshape(*shape, -1), world.done.copy()]


def frames_equal(a: list[AnyArray], b: list[AnyArray]) -> bool:
    """Whether two frames are equal to the last bit."""
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


class WorldContract:
    """The promises of `kinfolk.worlds.base.World`."""

    @pytest.fixture
    def make(self) -> WorldFactory:
        """How to build a batch of the world under test."""
        raise NotImplementedError

    def test_its_spec_survives_the_way_to_another_process(self, make: WorldFactory) -> None:
        spec = make(1).spec
        assert WorldSpec.from_dict(spec.to_dict()) == spec

    def test_all_groups_have_heads_of_the_same_names(self, make: WorldFactory) -> None:
        names = {tuple(head.name for head in group.heads) for group in make(1).spec.groups}
        assert len(names) == 1

    def test_it_waits_for_a_reset(self, make: WorldFactory) -> None:
        assert make(2).done.tolist() == [True, True]

    def test_the_same_keys_give_the_same_episodes(self, make: WorldFactory) -> None:
        one, two = make(3), make(3)
        one.reset(episode_world_keys(range(3)))
        two.reset(episode_world_keys(range(3)))
        assert all(map(frames_equal, step_frames(one, TICKS), step_frames(two, TICKS)))

    def test_another_key_gives_another_episode(self, make: WorldFactory) -> None:
        one, two = make(1), make(1)
        one.reset(episode_world_keys(range(1)))
        two.reset(episode_world_keys(range(1), seed=1))
        assert not all(map(frames_equal, step_frames(one, TICKS), step_frames(two, TICKS)))

    @pytest.mark.parametrize("batch", [2, 31, 64])
    def test_a_world_alone_equals_that_world_among_others(
        self, make: WorldFactory, batch: int
    ) -> None:
        among, alone = make(batch), make(1)
        among.reset(episode_world_keys(range(batch)))
        alone.reset(episode_world_keys(range(batch - 1, batch)))
        for many, one in zip(step_frames(among, TICKS), step_frames(alone, TICKS), strict=True):
            assert frames_equal([part[-1:] for part in many], one)

    def test_a_second_episode_is_as_fresh_as_the_first(self, make: WorldFactory) -> None:
        used, new = make(2), make(2)
        used.reset(episode_world_keys(range(7, 9)))
        for _ in step_frames(used, TICKS):
            pass
        used.reset(episode_world_keys(range(2)))
        new.reset(episode_world_keys(range(2)))
        assert all(map(frames_equal, step_frames(used, TICKS), step_frames(new, TICKS)))

    def test_resetting_one_world_leaves_the_others_alone(self, make: WorldFactory) -> None:
        one, two = make(2), make(2)
        for world in (one, two):
            world.reset(episode_world_keys(range(2)))
            for _ in step_frames(world, 5):
                pass
        one.reset(episode_world_keys(range(5, 6)), np.array([0], dtype=np.int64))
        for a, b in zip(step_frames(one, TICKS), step_frames(two, TICKS), strict=True):
            assert frames_equal([part[1:] for part in a], [part[1:] for part in b])

    def test_restoring_a_snapshot_equals_going_on(self, make: WorldFactory) -> None:
        world = make(3)
        world.reset(episode_world_keys(range(3)))
        for _ in step_frames(world, 10):
            pass
        saved = world.snapshot()
        went_on = list(step_frames(world, TICKS))
        fresh = make(3)
        fresh.restore(saved)
        assert all(map(frames_equal, step_frames(fresh, TICKS), went_on))

    def test_snapshots_restore_by_source(self, make: WorldFactory) -> None:
        world, copies = make(3), make(4)
        world.reset(episode_world_keys(range(3)))
        for _ in step_frames(world, 10):
            pass
        source = np.array([2, 0, 2, 1], dtype=np.int64)
        copies.restore(world.snapshot(), source)
        for a, b in zip(step_frames(copies, TICKS), step_frames(world, TICKS), strict=True):
            assert frames_equal(a, [part[source] for part in b])

    def test_new_keys_give_copies_chance_of_their_own(self, make: WorldFactory) -> None:
        world, copy = make(1), make(1)
        world.reset(episode_world_keys(range(1)))
        copy.restore(world.snapshot(), keys=episode_world_keys(range(9, 10)))
        for name, saved in world.snapshot().items():
            mine = copy.snapshot()[name]
            assert np.array_equal(mine, saved) == (name != "key"), name

    def test_a_snapshot_of_another_shape_is_refused(self, make: WorldFactory) -> None:
        with pytest.raises(ContractError, match=r"^The snapshot's '\w+' has shape"):
            make(2).restore(make(3).snapshot())

    def test_its_views_cannot_be_written(self, make: WorldFactory) -> None:
        world = make(1)
        for view in (*world.columns, world.done, world.tick):
            with pytest.raises(ValueError, match="read-only"):
                view[...] = 0

    def test_lives_are_numbered_once_and_rows_are_given_away_a_step_later(
        self, make: WorldFactory
    ) -> None:
        world = make(4)
        world.reset(episode_world_keys(range(4)))
        shape = (4, world.spec.rows)
        seen: list[set[int]] = [
            set(row[row >= 0].tolist()) for row in world.columns.uid.reshape(shape)
        ]
        before, was_alive = world.columns.uid.copy(), world.columns.alive.copy()
        for _ in step_frames(world, TICKS):
            uid, alive = world.columns.uid, world.columns.alive
            stays = was_alive & ~np.repeat(world.tick == 0, world.spec.rows)
            assert np.array_equal(uid[stays], before[stays]), "a living row changed hands"
            for number, row in enumerate(uid.reshape(shape)):
                living = row[row >= 0].tolist()
                assert len(set(living)) == len(living)
                new = set(living) - seen[number]
                assert all(life > max(seen[number], default=-1) for life in new)
                seen[number] |= new
            assert not (alive & (uid < 0)).any()
            assert not (alive & world.columns.terminated).any()
            before, was_alive = uid.copy(), alive.copy()

    def test_a_world_that_is_done_stands_still(self, make: WorldFactory) -> None:
        world = make(1)
        world.reset(episode_world_keys(range(1)))
        for _ in range(world.spec.max_ticks):
            if world.done[0]:
                break
            world.step(random_actions(world, 3))
        assert world.done[0]
        before = world.snapshot()
        world.step(random_actions(world, 4))
        after = world.snapshot()
        assert all(np.array_equal(before[name], after[name]) for name in before)

    def test_observing_some_worlds_writes_only_those(self, make: WorldFactory) -> None:
        world = make(3)
        world.reset(episode_world_keys(range(3)))
        whole = observe_all(world)
        part = np.full_like(whole, 7)
        world.observe(part, np.array([1], dtype=np.int64))
        rows = world.spec.rows
        assert np.array_equal(part[rows : 2 * rows], whole[rows : 2 * rows])
        assert (part[:rows] == 7).all()
        assert (part[2 * rows :] == 7).all()

    def test_empty_rows_are_seen_as_zero(self, make: WorldFactory) -> None:
        world = make(2)
        world.reset(episode_world_keys(range(2)))
        shown = np.zeros((2 * world.spec.rows, world.spec.row_bytes), dtype=np.uint8)
        world.observe(shown)
        for _ in range(TICKS):
            world.step(random_actions(world, 1))
            world.observe(shown)  # into the same buffer, as the loop does
            assert not shown[world.columns.uid < 0].any()

    def test_an_action_out_of_range_is_refused_and_changes_nothing(
        self, make: WorldFactory
    ) -> None:
        world = make(2)
        world.reset(episode_world_keys(range(2)))
        actions = random_actions(world, 1)
        place = int(np.flatnonzero(world.columns.alive)[-1])
        actions[place, 0] = 99_999
        before = world.snapshot()
        with pytest.raises(ContractError, match=r"^Agent \d+ of world 1 chose 99999 for "):
            world.step(actions)
        after = world.snapshot()
        assert all(np.array_equal(before[name], after[name]) for name in before)

    def test_actions_of_a_wrong_shape_are_refused(self, make: WorldFactory) -> None:
        world = make(1)
        world.reset(episode_world_keys(range(1)))
        with pytest.raises(ContractError, match="Actions must be int64 of shape"):
            world.step(np.zeros((3, 1), dtype=np.int64))

    def test_happenings_come_only_when_watched(self, make: WorldFactory) -> None:
        counted: dict[bool, list[Any]] = {}
        for watched in (False, True):
            world = make(2)
            world.record_events(watched)
            world.reset(episode_world_keys(range(2)))
            counted[watched] = []
            for _ in step_frames(world, TICKS):
                counted[watched] += world.events()
        assert counted[False] == []
        assert counted[True]

    def test_watching_changes_no_result(self, make: WorldFactory) -> None:
        watched, plain = make(2), make(2)
        watched.record_events(True)
        watched.reset(episode_world_keys(range(2)))
        plain.reset(episode_world_keys(range(2)))
        assert all(map(frames_equal, step_frames(watched, TICKS), step_frames(plain, TICKS)))

    def test_its_picture_is_text(self, make: WorldFactory) -> None:
        world = make(2)
        world.reset(episode_world_keys(range(2)))
        assert world.render_text(1).strip()
