"""Contract tests of policies: subclass `PolicyContract` and give it a `uri` and a `world`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.random import fold_in
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot
from kinfolk.play.task import EpisodeRunner, PlainObserver, RolloutTask, WorldRef
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout, Policy
from kinfolk.policies.build import build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.policies.single_agent import SingleAgentPolicy
from kinfolk.testing.inspection import episode_digests


class RecordingPolicy:
    """Acts as another policy and records the observations and actions of each agent.

    Args:
        policy: The policy that acts.

    Attributes:
        founders: Groups of the agents without parents, by world and uid.
        trajectories: Observation and action of each step of an agent, by world and uid.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.founders: dict[tuple[int, int], int] = {}
        self.trajectories: dict[tuple[int, int], list[tuple[Bytes, Ints]]] = {}

    @property
    def memory_layout(self) -> MemoryLayout:
        """Memory layout of the policy."""
        return self._policy.memory_layout

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Reset agents, and note founders: only their actions do not depend on other agents."""
        agents = zip(batch.world, batch.uid, batch.group, batch.parents, strict=True)
        for world, uid, group, parents in agents:
            if parents[0] < 0:
                self.founders[int(world), int(uid)] = int(group)
        self._policy.reset_agents(batch, memory, keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Record the observations and request actions."""
        self._acting = [(int(w), int(u)) for w, u in zip(batch.world, batch.uid, strict=True)]
        self._observations = observations.copy()
        self._policy.act_async(observations, batch, memory, keys)

    def act_wait(self) -> Ints:
        """Return the actions, and record them."""
        actions = self._policy.act_wait()
        steps = zip(self._acting, self._observations, actions, strict=True)
        for agent, observation, action in steps:
            self.trajectories.setdefault(agent, []).append((observation, action.copy()))
        return actions

    def close(self) -> None:
        """Close the policy that is recorded."""
        self._policy.close()


class RecordedSlot(PlainObserver):
    """Records the policy of the first slot."""

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Return the slots, the first with its policy recorded."""
        slot, *others = super().build_slots()
        return [LoadedSlot(slot.id, RecordingPolicy(slot.policy)), *others]


class PolicyContract:
    """Tests of what `kinfolk.policies.base.Policy` promises.

    Attributes:
        world: Name of the world that the policy plays.
        world_settings: Settings of that world; make it small, as many episodes are played.
        groups: Groups of that world which the policy plays, while the others do nothing; empty: all.
    """

    world = "probe"
    groups: ClassVar[Sequence[str]] = ()
    world_settings: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture
    def uri(self) -> str:
        """Return the URI of the policy under test."""
        raise NotImplementedError

    def _build_loop(self, uri: str, n_worlds: int) -> tuple[EpisodeLoop, RecordingPolicy]:
        """Return a loop in which the policy plays its groups, and the recorder around it."""
        slots, slot_map = self._assign_slots(uri)
        policies = {slot: resolve(each) for slot, each in slots.items()}
        ref = WorldRef(self.world, settings=self.world_settings)
        task = RolloutTask(ref, policies, 5, range(n_worlds), slot_map, observer=RecordedSlot)
        runner = EpisodeRunner(task)
        policy = runner.observer.slots[0].policy
        assert isinstance(policy, RecordingPolicy)
        return runner.loop, policy

    def _assign_slots(self, uri: str) -> tuple[dict[str, str], dict[str, str] | None]:
        """Return the policy of each slot, and the slot of each group; None: one slot for all."""
        if not self.groups:
            return {"all": uri}, None
        spec = WorldRef(self.world, settings=self.world_settings).spec
        for group in self.groups:
            spec.group_index(group)  # refuses names of groups that the world has not
        names = [group.name for group in spec.groups]
        slot_map = {name: "all" if name in self.groups else "others" for name in names}
        return {"all": uri, "others": "kin://noop"}, slot_map

    @pytest.mark.parametrize("batch", [1, 2, 31])
    def test_the_batch_size_has_no_effect(self, uri: str, batch: int) -> None:
        slots, slot_map = self._assign_slots(uri)
        arguments: dict[str, Any] = {"seed": 3, "episodes": range(31), **self.world_settings}
        arguments |= {"slot_map": slot_map}
        digests = episode_digests(self.world, slots, batch=batch, **arguments)
        assert digests == episode_digests(self.world, slots, batch=64, **arguments)

    def test_the_same_inputs_give_the_same_actions(self, uri: str) -> None:
        loop, policy = self._build_loop(uri, 4)
        batch, memory, keys = _batch_after_ticks(loop)
        actions = []
        for _ in range(2):
            copies = {name: array.copy() for name, array in memory.items()}
            policy.act_async(loop.observations[batch.memory_index], batch, copies, keys)
            actions.append(policy.act_wait().copy())
        assert np.array_equal(actions[0], actions[1])

    def test_it_writes_only_the_memory_of_its_batch(self, uri: str) -> None:
        loop, policy = self._build_loop(uri, 4)
        batch, memory, keys = _batch_after_ticks(loop)
        half = AgentBatch(*(column[::2].copy() for column in batch))
        before = {name: array.copy() for name, array in memory.items()}
        policy.act_async(loop.observations[half.memory_index], half, memory, keys[::2].copy())
        policy.act_wait()
        others = np.setdiff1d(np.arange(len(loop.row_state.uid)), half.memory_index)
        for name, array in memory.items():
            assert np.array_equal(array[others], before[name][others]), name

    def test_single_agents_act_as_in_the_batch(self, uri: str) -> None:
        loop, recorded = self._build_loop(uri, 3)
        while not loop.is_done:
            loop.tick()
        policy = build_policy(resolve(uri), loop.world.spec)
        for (world, uid), group in recorded.founders.items():
            agent = SingleAgentPolicy(policy, loop.world.spec, group)
            agent.reset(loop.seed, world, uid)  # world w played episode w
            for observation, action in recorded.trajectories[world, uid]:
                assert agent.step(observation).tolist() == action.tolist()
        assert recorded.founders, "no agent without parents acted"


def _batch_after_ticks(loop: EpisodeLoop) -> tuple[AgentBatch, Memory, Ints]:
    """Play some ticks; return the batch of the first slot, its memory and random keys to act with."""
    for _ in range(5):
        loop.tick()
    n, rows = int(loop.slot_rows.n_rows[0]), loop.slot_rows
    columns = (rows.memory_index, rows.world, rows.row, rows.uid, rows.group, rows.member)
    index, world, row, uid, group, member = (column[0, :n].copy() for column in columns)
    no_parents = np.full((n, 2), -1, dtype=np.int64)
    batch = AgentBatch(index, world, row, uid, group, member, no_parents, no_parents)
    keys = fold_in(loop.row_state.key[index], loop.row_state.n_steps[index])
    return batch, loop.memory[0], keys
