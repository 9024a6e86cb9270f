"""What every policy promises, as tests: subclass, and give a `uri` and the `world` it plays.

`world_settings` make that world small.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.keys import fold
from kinfolk.play.episode import Play
from kinfolk.play.slots import Slot, slot_table
from kinfolk.policies.base import Memory, MemoryLayout, Policy, Rows
from kinfolk.policies.one_agent import agent_policy
from kinfolk.policies.resolve import build, resolve
from kinfolk.testing.transcript import transcript
from kinfolk.worlds import build as build_world


class Recorded:
    """Plays as `policy` does and keeps, life by life, what it saw and what it did."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.founders: dict[tuple[int, int], int] = {}  # (world, uid) -> group
        self.lives: dict[tuple[int, int], list[tuple[Bytes, Ints]]] = {}

    @property
    def memory(self) -> MemoryLayout:
        """What the policy remembers."""
        return self._policy.memory

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Note who has no parents: a life that can be played by itself."""
        for world, uid, group, parents in zip(
            rows.world, rows.uid, rows.group, rows.parents, strict=True
        ):
            if parents[0] < 0:
                self.founders[int(world), int(uid)] = int(group)
        self._policy.begin(rows, memory, keys)

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Keep what is seen."""
        self._asked = [(int(w), int(u)) for w, u in zip(rows.world, rows.uid, strict=True)]
        self._seen = observations.copy()
        self._policy.ask(observations, rows, memory, keys)

    def answer(self) -> Ints:
        """Keep what is done."""
        actions = self._policy.answer()
        for life, seen, action in zip(self._asked, self._seen, actions, strict=True):
            self.lives.setdefault(life, []).append((seen, action.copy()))
        return actions

    def close(self) -> None:
        """Close the policy."""
        self._policy.close()


class PolicyContract:
    """The promises of `kinfolk.policies.base.Policy`."""

    world = "probe"
    world_settings: ClassVar[Mapping[str, Any]] = {}  # keep it small: many episodes are played

    @pytest.fixture
    def uri(self) -> str:
        """The policy under test."""
        raise NotImplementedError

    def _play(self, uri: str, worlds: int) -> tuple[Play, Recorded]:
        game = build_world(self.world, self.world_settings, worlds)
        policy = Recorded(build(resolve(uri), game.spec))
        slots = [Slot("all", policy)]
        return Play(game, slots, slot_table(game.spec, ["all"]), 5, range(worlds)), policy

    @pytest.mark.parametrize("batch", [1, 2, 31])
    def test_the_size_of_the_batch_has_no_effect(self, uri: str, batch: int) -> None:
        arguments: dict[str, Any] = {"seed": 3, "episodes": range(31), **self.world_settings}
        one = transcript(self.world, {"all": uri}, batch=batch, **arguments)
        assert one == transcript(self.world, {"all": uri}, batch=64, **arguments)

    def test_asked_again_with_the_same_memory_it_answers_the_same(self, uri: str) -> None:
        play, policy = self._play(uri, 4)
        rows, memory, keys = _after_some_ticks(play)
        answers = []
        for _ in range(2):
            copies = {name: array.copy() for name, array in memory.items()}
            policy.ask(play.observations[rows.place], rows, copies, keys)
            answers.append(policy.answer().copy())
        assert np.array_equal(answers[0], answers[1])

    def test_it_touches_no_memory_but_that_of_its_rows(self, uri: str) -> None:
        play, policy = self._play(uri, 4)
        rows, memory, keys = _after_some_ticks(play)
        some = Rows(*(column[::2].copy() for column in rows))
        before = {name: array.copy() for name, array in memory.items()}
        policy.ask(play.observations[some.place], some, memory, keys[::2].copy())
        policy.answer()
        others = np.setdiff1d(np.arange(len(play.seats.uid)), some.place)
        for name, array in memory.items():
            assert np.array_equal(array[others], before[name][others]), name

    def test_one_agent_at_a_time_gives_the_actions_of_the_batch(self, uri: str) -> None:
        play, recorded = self._play(uri, 3)
        while not play.over:
            play.tick()
        policy = build(resolve(uri), play.world.spec)
        for (world, uid), group in recorded.founders.items():
            agent = agent_policy(policy, group)
            agent.reset(play.seed, world, uid)  # world w played episode w
            for seen, action in recorded.lives[world, uid]:
                assert agent.step(seen).tolist() == action.tolist()
        assert len(recorded.founders) > 3


def _after_some_ticks(play: Play) -> tuple[Rows, Memory, Ints]:
    """The rows of the only slot, its memory, and keys to ask them with once more."""
    for _ in range(5):
        play.tick()
    n, lists = int(play.lists.asked[0]), play.lists
    columns = (lists.place, lists.world, lists.row, lists.uid, lists.group, lists.member)
    place, world, row, uid, group, member = (column[0, :n].copy() for column in columns)
    nobody = np.full((n, 2), -1, dtype=np.int64)
    rows = Rows(place, world, row, uid, group, member, nobody, nobody)
    return rows, play.memory[0], fold(play.seats.key[place], play.seats.age[place])
