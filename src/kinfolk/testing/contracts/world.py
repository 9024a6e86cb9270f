"""Contract tests that every world must pass.

Subclass `WorldContract` in a test file and give it a fixture `make` that builds a batch of worlds:

    class TestMyWorld(WorldContract):
        @pytest.fixture
        def make(self):
            return lambda n_worlds: MyWorld(MySettings(), n_worlds)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

import numpy as np
import pytest

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.errors import ContractError
from kinfolk.core.random import WORLD_STREAM, episode_key, fold_in
from kinfolk.core.spaces import WorldSpec, encode_numbers
from kinfolk.policies.base import AgentBatch, RandomPolicy
from kinfolk.worlds.base import World
from kinfolk.worlds.render import Renderable
from kinfolk.worlds.render_check import CheckedRenderer, find_missing_member

WorldFactory = Callable[[int], World]
Frame = dict[str, AnyArray]  # what agents and observers can see of a batch, by name
TICKS = 50


def episode_world_keys(episodes: range, seed: int = 0) -> Ints:
    """Return the random keys of worlds that play some episodes of a seed."""
    keys = [fold_in(episode_key(seed, episode), WORLD_STREAM) for episode in episodes]
    return np.array(keys, dtype=np.int64)


def random_actions(world: World, salt: int) -> Ints:
    """Return valid actions that depend on uid, tick and `salt`, but not on the batch."""
    columns = world.columns
    n_rows = len(columns.uid)
    ticks = np.repeat(world.tick, world.spec.rows)
    keys = np.maximum(columns.uid, 0) * 1_000_003 + ticks * 7919 + salt
    group = np.ascontiguousarray(columns.group)
    index = np.arange(n_rows)
    parents = np.full((n_rows, 2), -1)
    batch = AgentBatch(index, index, index, columns.uid, group, index, parents, parents)
    policy = RandomPolicy(world.spec)
    policy.act_async(observe_all(world), batch, {}, keys)
    return policy.act_wait()


def observe_all(world: World) -> Bytes:
    """Return the observations of all rows, `[worlds * rows, bytes]`."""
    out = np.zeros((world.n_worlds * world.spec.rows, world.spec.row_bytes), dtype=np.uint8)
    world.observe(out)
    return out


def read_frame(world: World) -> Frame:
    """Return columns, observations and `done`; the first axis is the world, empty rows are 0."""
    columns = world.columns
    occupied = columns.uid >= 0
    observations = observe_all(world)
    rows = {name: _blank(column, occupied) for name, column in columns._asdict().items()}
    for index, group in enumerate(world.spec.groups):
        members = occupied & (columns.group == index)
        for field in group.fields:
            values = group.read_field(observations, field.name)
            rows[f"{field.name} of a {group.name}'s observation"] = _blank(values, members)
    rows["observation in bytes"] = observations
    shape = (world.n_worlds, world.spec.rows)
    frame = {name: array.reshape(*shape, *array.shape[1:]) for name, array in rows.items()}
    frame["done"] = world.done.copy()
    return frame


def _blank(rows: AnyArray, kept: AnyArray) -> AnyArray:
    """Return a copy of `rows` with 0 in all rows that are not `kept`."""
    copy = np.zeros_like(rows)
    copy[kept] = rows[kept]
    return copy


def step_frames(world: World, ticks: int = TICKS, salt: int = 1) -> Iterator[Frame]:
    """Step with random actions; yield a frame after each step.

    Args:
        world: A batch of worlds that are reset.
        ticks: How many steps.
        salt: Other salts give other actions.
    """
    for _ in range(ticks):
        world.step(random_actions(world, salt))
        yield read_frame(world)


def select_worlds(frames: Iterable[Frame], worlds: Any) -> Iterator[Frame]:
    """Yield frames of some worlds of a batch."""
    for frame in frames:
        yield {name: array[worlds] for name, array in frame.items()}


def find_difference(actual: Mapping[str, AnyArray], expected: Mapping[str, AnyArray]) -> str | None:
    """Return where the first array that is not as expected differs; None if all are equal."""
    for name, wanted in expected.items():
        array = actual[name]
        if array.shape != wanted.shape:
            return f"{name} has shape {array.shape}, not {wanted.shape}"
        both_nan = (array != array) & (wanted != wanted)
        different = np.argwhere(~((array == wanted) | both_nan))
        if len(different):
            index = tuple(different[0].tolist())
            return f"{name}{list(index)} is {array[index]}, not {wanted[index]}"
    return None


def require_equal(
    actual: Mapping[str, AnyArray], expected: Mapping[str, AnyArray], what: str
) -> None:
    """Raise AssertionError that names the first array which is not as expected."""
    __tracebackhide__ = True
    difference = find_difference(actual, expected)
    if difference is not None:
        raise AssertionError(f"{what}: {difference}.")


def require_equal_frames(actual: Iterable[Frame], expected: Iterable[Frame], what: str) -> None:
    """Raise AssertionError that names the first step and array which is not as expected."""
    __tracebackhide__ = True
    for step, frames in enumerate(zip(actual, expected, strict=True), start=1):
        require_equal(*frames, f"{what} differ after step {step}")


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


def find_effect_of_keys(make: WorldFactory) -> str | None:
    """Return what differs first between episodes with different keys; None if nothing does."""
    first = step_frames(start_worlds(make, range(1)))
    second = step_frames(start_worlds(make, range(1), seed=1))
    differences = map(find_difference, first, second)
    return next((difference for difference in differences if difference), None)


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
        for group in make(1).spec.groups:
            for field in group.fields:
                if field.labels:
                    assert len(field.labels) == field.shape[0], f"{group.name}: {field.name}"

    def test_a_new_world_is_done_until_its_reset(self, make: WorldFactory) -> None:
        assert make(2).done.tolist() == [True, True]

    def test_the_same_keys_give_the_same_episodes(self, make: WorldFactory) -> None:
        first, second = (step_frames(start_worlds(make, range(3))) for _ in range(2))
        require_equal_frames(first, second, "Two batches with the same keys")

    def test_another_key_gives_another_episode(self, make: WorldFactory) -> None:
        if find_effect_of_keys(make) is None:
            pytest.skip(f"Keys have no effect in {TICKS} steps: right for a world without chance.")

    @pytest.mark.parametrize("batch", [2, 31, 64])
    def test_a_single_world_equals_that_world_in_a_batch(
        self, make: WorldFactory, batch: int
    ) -> None:
        batched = step_frames(start_worlds(make, range(batch)))
        single = step_frames(start_worlds(make, range(batch - 1, batch)))
        last = select_worlds(batched, slice(-1, None))
        require_equal_frames(last, single, f"The last of {batch} worlds and that world alone")

    def test_an_episode_does_not_depend_on_the_one_before(self, make: WorldFactory) -> None:
        used = start_worlds(make, range(7, 9), ticks=TICKS)
        used.reset(episode_world_keys(range(2)))
        new = start_worlds(make, range(2))
        require_equal_frames(step_frames(used), step_frames(new), "Used and new worlds")

    def test_resetting_one_world_does_not_change_the_others(self, make: WorldFactory) -> None:
        first, second = (start_worlds(make, range(2), ticks=5) for _ in range(2))
        first.reset(episode_world_keys(range(5, 6)), np.array([0], dtype=np.int64))
        beside_reset = select_worlds(step_frames(first), slice(1, None))
        beside_other = select_worlds(step_frames(second), slice(1, None))
        what = "Worlds beside one that was and one that was not reset"
        require_equal_frames(beside_reset, beside_other, what)

    def test_a_restored_snapshot_continues_the_episode(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(3), ticks=10)
        snapshot = world.snapshot()
        continued = list(step_frames(world))
        restored = make(3)
        restored.restore(snapshot)
        require_equal_frames(step_frames(restored), continued, "Restored and continued worlds")

    def test_a_snapshot_is_restored_into_worlds_chosen_by_source(self, make: WorldFactory) -> None:
        world, copies = start_worlds(make, range(3), ticks=10), make(4)
        source = np.array([2, 0, 2, 1], dtype=np.int64)
        copies.restore(world.snapshot(), source)
        continued = select_worlds(step_frames(world), source)
        require_equal_frames(step_frames(copies), continued, "Restored and continued worlds")

    def test_new_keys_change_only_the_random_key_of_a_restored_world(
        self, make: WorldFactory
    ) -> None:
        world, copy = start_worlds(make, range(1)), make(1)
        expected = world.snapshot()
        keys = episode_world_keys(range(9, 10))
        copy.restore(expected, keys=keys)
        if "key" in expected:
            expected["key"] = keys
        else:
            effect = find_effect_of_keys(make)
            assert effect is None, "a world with chance keeps its random key in the array 'key'"
        require_equal(copy.snapshot(), expected, "A world restored with a new key")

    def test_a_snapshot_of_another_shape_is_refused(self, make: WorldFactory) -> None:
        with pytest.raises(ContractError, match=r"^The snapshot's '\w+' has shape"):
            make(2).restore(make(3).snapshot())

    def test_its_arrays_are_read_only(self, make: WorldFactory) -> None:
        world = make(1)
        views = {**world.columns._asdict(), "done": world.done, "tick": world.tick}
        assert [name for name, view in views.items() if view.flags.writeable] == []

    def test_uids_are_never_reused_and_rows_are_freed_one_step_after_death(
        self, make: WorldFactory
    ) -> None:
        world = start_worlds(make, range(4))
        shape = (4, world.spec.rows)
        seen = [set(row[row >= 0].tolist()) for row in world.columns.uid.reshape(shape)]
        before, was_alive = world.columns.uid.copy(), world.columns.alive.copy()
        for _ in step_frames(world):
            uids, alive = world.columns.uid, world.columns.alive
            stays = was_alive & ~np.repeat(world.tick == 0, world.spec.rows)
            same = np.array_equal(uids[stays], before[stays])
            assert same, "the row of a living agent was reused"
            for number, row in enumerate(uids.reshape(shape)):
                present = row[row >= 0].tolist()
                assert len(set(present)) == len(present), "two agents have the same uid"
                new = set(present) - seen[number]
                reused = [uid for uid in new if uid <= max(seen[number], default=-1)]
                assert reused == [], "a newborn's uid is not above all uids before"
                seen[number] |= new
            assert not (alive & (uids < 0)).any(), "an empty row is alive"
            assert not (alive & world.columns.terminated).any(), "an agent is alive and terminated"
            before, was_alive = uids.copy(), alive.copy()

    def test_stepping_a_done_world_changes_nothing(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(1))
        for _ in range(world.spec.max_ticks):
            if world.done[0]:
                break
            world.step(random_actions(world, 3))
        assert world.done[0], (
            f"the world is not done after max_ticks = {world.spec.max_ticks} steps"
        )
        before = world.snapshot()
        world.step(random_actions(world, 4))
        require_equal(world.snapshot(), before, "A step changed a world that is done")

    def test_observing_some_worlds_writes_only_their_rows(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(3))
        whole = observe_all(world)
        part = np.full_like(whole, 7)
        world.observe(part, np.array([1], dtype=np.int64))
        rows = world.spec.rows
        written = {"observation of world 1": part[rows : 2 * rows]}
        expected = {"observation of world 1": whole[rows : 2 * rows]}
        require_equal(written, expected, "Observed alone and with the others")
        assert (part[:rows] == 7).all(), "world 0 was written"
        assert (part[2 * rows :] == 7).all(), "world 2 was written"

    def test_observations_of_empty_rows_are_zero(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(2))
        out = observe_all(world)
        for _ in range(TICKS):
            world.step(random_actions(world, 1))
            world.observe(out)  # into the same buffer, as the loop does
            empty = np.flatnonzero(world.columns.uid < 0)
            assert empty[out[empty].any(axis=1)].tolist() == [], "empty rows are observed"

    def test_an_action_out_of_range_is_refused_and_changes_nothing(
        self, make: WorldFactory
    ) -> None:
        world = start_worlds(make, range(2))
        row = int(np.flatnonzero(world.columns.alive)[-1])
        group = world.spec.groups[int(world.columns.group[row])]
        before = world.snapshot()
        for index, head in enumerate(group.heads):
            actions = random_actions(world, 1)
            actions[row, index] = len(head.choices)
            chosen = str(len(head.choices))
            if head.is_continuous:
                actions[row, index] = encode_numbers(np.array([np.inf]))[0]
                chosen = "inf"
            message = rf"^Agent \d+ of world 1 chose {chosen} for {head.name}"
            with pytest.raises(ContractError, match=message):
                world.step(actions)
            require_equal(world.snapshot(), before, "A refused step changed the world")

    def test_actions_of_a_wrong_shape_are_refused(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(1))
        with pytest.raises(ContractError, match="Actions must be int64 of shape"):
            world.step(np.zeros((world.spec.rows + 1, world.spec.n_heads), dtype=np.int64))

    def test_events_are_recorded_only_when_enabled(self, make: WorldFactory) -> None:
        events: dict[bool, list[Any]] = {}
        for enabled in (False, True):
            world = make(2)
            world.record_events(enabled)
            world.reset(episode_world_keys(range(2)))
            events[enabled] = []
            for _ in step_frames(world):
                events[enabled] += world.events()
        assert events[False] == []
        if not events[True]:
            pytest.skip(f"There was no event in {TICKS} steps: right for a world without events.")

    def test_recording_events_changes_no_result(self, make: WorldFactory) -> None:
        recorded = make(2)
        recorded.record_events(True)
        recorded.reset(episode_world_keys(range(2)))
        silent = start_worlds(make, range(2))
        require_equal_frames(step_frames(recorded), step_frames(silent), "With and without events")

    def test_it_renders_text(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(2))
        assert world.render_text(1).strip()

    def test_its_frames_fit_its_render_spec(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(2))
        renderer = make_renderer(world)
        renderer.render(1, with_values=True)
        for _ in step_frames(world):
            for index in range(2):
                renderer.render(index, with_values=True)

    def test_a_frame_does_not_change_when_the_world_does(self, make: WorldFactory) -> None:
        world = start_worlds(make, range(1))
        frame = make_renderer(world).render(0)
        arrays: list[AnyArray] = [*frame]
        copies = [array.copy() for array in arrays]
        for _ in step_frames(world):
            pass
        for name, array, copy in zip(frame._fields, arrays, copies, strict=True):
            assert np.array_equal(array, copy, equal_nan=name == "series"), f"{name} is no copy"
