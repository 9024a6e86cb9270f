"""What every policy promises, as tests: subclass, and give a `uri` and the `world` it plays.

`world_settings` make that world small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.random import fold_in
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.observer import PlainObserver
from kinfolk.play.slots import LoadedSlot
from kinfolk.play.task import EpisodeRunner, RolloutTask, WorldRef
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout, Policy
from kinfolk.policies.resolve import build_policy, resolve
from kinfolk.policies.single_agent import SingleAgentPolicy
from kinfolk.testing.episode_digest import episode_digests


class RecordingPolicy:
    """Plays as `policy` does and keeps, life by life, what it saw and what it did."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.founders: dict[tuple[int, int], int] = {}  # (world, uid) -> group
        self.lives: dict[tuple[int, int], list[tuple[Bytes, Ints]]] = {}

    @property
    def memory_layout(self) -> MemoryLayout:
        """What the policy remembers."""
        return self._policy.memory_layout

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Note who has no parents: a life that can be played by itself."""
        for world, uid, group, parents in zip(
            batch.world, batch.uid, batch.group, batch.parents, strict=True
        ):
            if parents[0] < 0:
                self.founders[int(world), int(uid)] = int(group)
        self._policy.reset_agents(batch, memory, keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Keep what is seen."""
        self._asked = [(int(w), int(u)) for w, u in zip(batch.world, batch.uid, strict=True)]
        self._seen = observations.copy()
        self._policy.act_async(observations, batch, memory, keys)

    def act_wait(self) -> Ints:
        """Keep what is done."""
        actions = self._policy.act_wait()
        for life, seen, action in zip(self._asked, self._seen, actions, strict=True):
            self.lives.setdefault(life, []).append((seen, action.copy()))
        return actions

    def close(self) -> None:
        """Close the policy."""
        self._policy.close()


class RecordedSlot(PlainObserver):
    """Records the policy of the only slot."""

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Return the slot with its policy recorded."""
        [slot] = super().build_slots()
        return [LoadedSlot(slot.id, RecordingPolicy(slot.policy))]


class PolicyContract:
    """The promises of `kinfolk.policies.base.Policy`."""

    world = "probe"
    world_settings: ClassVar[Mapping[str, Any]] = {}  # keep it small: many episodes are played

    @pytest.fixture
    def uri(self) -> str:
        """The policy under test."""
        raise NotImplementedError

    def _play(self, uri: str, worlds: int) -> tuple[EpisodeLoop, RecordingPolicy]:
        ref = WorldRef(self.world, settings=self.world_settings)
        task = RolloutTask(ref, {"all": resolve(uri)}, 5, range(worlds), observer=RecordedSlot)
        runner = EpisodeRunner(task)
        policy = runner.observer.slots[0].policy
        assert isinstance(policy, RecordingPolicy)
        return runner.loop, policy

    @pytest.mark.parametrize("batch", [1, 2, 31])
    def test_the_size_of_the_batch_has_no_effect(self, uri: str, batch: int) -> None:
        arguments: dict[str, Any] = {"seed": 3, "episodes": range(31), **self.world_settings}
        one = episode_digests(self.world, {"all": uri}, batch=batch, **arguments)
        assert one == episode_digests(self.world, {"all": uri}, batch=64, **arguments)

    def test_asked_again_with_the_same_memory_it_answers_the_same(self, uri: str) -> None:
        play, policy = self._play(uri, 4)
        rows, memory, keys = _batch_after_ticks(play)
        answers = []
        for _ in range(2):
            copies = {name: array.copy() for name, array in memory.items()}
            policy.act_async(play.observations[rows.memory_index], rows, copies, keys)
            answers.append(policy.act_wait().copy())
        assert np.array_equal(answers[0], answers[1])

    def test_it_touches_no_memory_but_that_of_its_rows(self, uri: str) -> None:
        play, policy = self._play(uri, 4)
        rows, memory, keys = _batch_after_ticks(play)
        some = AgentBatch(*(column[::2].copy() for column in rows))
        before = {name: array.copy() for name, array in memory.items()}
        policy.act_async(play.observations[some.memory_index], some, memory, keys[::2].copy())
        policy.act_wait()
        others = np.setdiff1d(np.arange(len(play.row_state.uid)), some.memory_index)
        for name, array in memory.items():
            assert np.array_equal(array[others], before[name][others]), name

    def test_one_agent_at_a_time_gives_the_actions_of_the_batch(self, uri: str) -> None:
        play, recorded = self._play(uri, 3)
        while not play.is_done:
            play.tick()
        policy = build_policy(resolve(uri), play.world.spec)
        for (world, uid), group in recorded.founders.items():
            agent = SingleAgentPolicy(policy, group)
            agent.reset(play.seed, world, uid)  # world w played episode w
            for seen, action in recorded.lives[world, uid]:
                assert agent.step(seen).tolist() == action.tolist()
        assert len(recorded.founders) > 3


def _batch_after_ticks(play: EpisodeLoop) -> tuple[AgentBatch, Memory, Ints]:
    """The rows of the only slot, its memory, and keys to ask them with once more."""
    for _ in range(5):
        play.tick()
    n, lists = int(play.slot_rows.n_rows[0]), play.slot_rows
    columns = (lists.memory_index, lists.world, lists.row, lists.uid, lists.group, lists.member)
    place, world, row, uid, group, member = (column[0, :n].copy() for column in columns)
    nobody = np.full((n, 2), -1, dtype=np.int64)
    rows = AgentBatch(place, world, row, uid, group, member, nobody, nobody)
    return rows, play.memory[0], fold_in(play.row_state.key[place], play.row_state.n_steps[place])
