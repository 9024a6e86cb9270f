import numpy as np
import pytest

from kinfolk.core.errors import ContractError, PolicyFailedError, SettingsError, UnknownNameError
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.policies.base import MemoryField, NoopPolicy, RandomPolicy, StatelessPolicy
from kinfolk.testing.inspection import play_to_end
from kinfolk.testing.probe.policies.scripted import PythonForager
from kinfolk.testing.probe.state import Probe
from kinfolk.testing.probe.world import ProbeWorld


def make(policies, worlds=2, episodes=4, mapping=None, rules=None, **options):
    world = ProbeWorld(Probe(**(rules or {})), worlds)
    slots = [LoadedSlot(name, policy(world.spec)) for name, policy in policies.items()]
    table = build_slot_assignment(world.spec, [slot.id for slot in slots], mapping)
    return EpisodeLoop(world, slots, table, 0, range(episodes), **options)


class Breeder(StatelessPolicy):
    """Founders have the gene 2**uid; a child has the sum of its parents' genes."""

    def __init__(self, spec):
        self.born = []

    @property
    def memory_layout(self):
        return {"gene": MemoryField((), "int64")}

    def reset_agents(self, batch, memory, keys):
        for place, uid, parents in zip(
            batch.memory_index, batch.uid, batch.parent_memory_index, strict=True
        ):
            if parents[0] < 0:
                memory["gene"][place] = 2**uid
            else:
                memory["gene"][place] = memory["gene"][parents].sum()
                self.born.append((int(uid), int(memory["gene"][place])))

    def act_async(self, observations, batch, memory, keys):
        self._actions = np.ones((len(keys), 2), dtype=np.int64)


def test_a_newborn_is_bred_from_what_both_parents_remember():
    rules = {
        "cells": 3, "growth": 1.0, "grazers": 6, "hunters": 0, "rows": 16, "meal": 9,
        "birth_energy": 2, "birth_cost": 1, "max_age": 8, "max_ticks": 30,
    }  # fmt: skip
    loop = make({"all": Breeder}, worlds=1, episodes=1, rules=rules)
    genes = {uid: 2**uid for uid in range(6)}
    expected = []
    known = set(genes)
    while not loop.is_done:
        loop.tick()
        columns = loop.world.columns
        newborn = [
            p
            for p in np.argsort(columns.uid)
            if columns.uid[p] >= 0 and int(columns.uid[p]) not in known
        ]
        for place in newborn:
            uid, (first, second) = int(columns.uid[place]), columns.parents[place].tolist()
            assert first != second
            genes[uid] = genes[first] + genes[second]
            known.add(uid)
            if not loop.world.done[0]:
                expected.append((uid, genes[uid]))
    born = loop.slots[0].policy.born
    assert len(born) > 20
    assert sorted(born) == expected


class Asked(NoopPolicy):
    """Writes into a shared list when it is asked and when it answers."""

    def __init__(self, spec, name, log):
        super().__init__(spec)
        self.name, self.log = name, log

    def act_async(self, *arguments):
        self.log.append(("act_async", self.name))
        super().act_async(*arguments)

    def act_wait(self):
        self.log.append(("act_wait", self.name))
        return super().act_wait()


def test_all_slots_are_asked_before_the_first_answer_is_taken():
    log = []
    loop = make(
        {"a": lambda spec: Asked(spec, "a", log), "b": lambda spec: Asked(spec, "b", log)},
        mapping={"grazer": "a", "hunter": "b"},
    )
    loop.tick()
    assert log == [("act_async", "a"), ("act_async", "b"), ("act_wait", "a"), ("act_wait", "b")]


def test_more_worlds_than_episodes_leaves_some_idle():
    results = play_to_end(make({"all": RandomPolicy}, worlds=8, episodes=3))
    assert results == play_to_end(make({"all": RandomPolicy}, worlds=1, episodes=3))


def test_returns_add_up_to_what_the_world_paid():
    loop = make(
        {"g": PythonForager, "h": PythonForager}, worlds=1, episodes=1, mapping={"hunter": "h"}
    )
    paid, results = np.zeros(2), []
    while not loop.is_done:
        results += loop.tick()
        for group in (0, 1):
            paid[group] += loop.world.columns.reward[loop.world.columns.group == group].sum()
    assert list(results[0].returns.values()) == paid.tolist()
    assert paid.min() > 0
    assert results[0].lives["g"] + results[0].lives["h"] == 8 + results[0].counters["births"]


def test_final_observations_can_be_read_between_ticks():
    loop = make({"all": RandomPolicy}, worlds=1, episodes=2, rules={"max_ticks": 5})
    for _ in range(5):
        ended = loop.tick()
    assert [result.ticks for result in ended] == [5]
    truncated = loop.world.columns.truncated
    assert truncated.any()
    shown = loop.world.spec.groups[0].read_field(loop.observations, "body")
    assert (shown[truncated & (loop.world.columns.group == 0), 3] == 1.0).all(), "all time is gone"
    loop.tick()
    assert loop.world.tick[0] == 1


def test_a_newborn_may_inherit_its_parents_slot():
    rules = {
        "cells": 3,
        "growth": 1.0,
        "grazers": 6,
        "hunters": 0,
        "rows": 16,
        "meal": 9,
        "max_ticks": 12,
    }
    mapping = ["a"] * 6 + ["b"] * 10

    def lives(inherit):
        loop = make({"a": Breeder, "b": Breeder}, 1, 1, mapping, rules, inherit_slot=inherit)
        [result] = play_to_end(loop)
        return result.lives

    assert lives(False)["a"] == 6
    assert lives(False)["b"] > 0
    assert lives(True)["b"] == 0
    assert lives(True)["a"] > 6


class Wrong(NoopPolicy):
    def act_wait(self):
        return np.zeros((1, 9))


def test_an_answer_of_the_wrong_shape_is_refused_by_the_slots_name():
    with pytest.raises(ContractError) as refused:
        make({"bad": Wrong}, worlds=1).tick()
    assert str(refused.value) == (
        "Slot 'bad' returned actions of type float64 and shape (1, 9); actions are whole numbers of shape "
        "(8, 2)."
    )


class Raises(NoopPolicy):
    def act_async(self, *arguments):
        raise ZeroDivisionError("boom")


def test_a_policy_that_raises_is_named_by_its_slot():
    with pytest.raises(PolicyFailedError) as failed:
        make({"bad": Raises}, worlds=1).tick()
    line = Raises.act_async.__code__.co_firstlineno + 1
    assert str(failed.value) == (
        f"Slot 'bad' failed in act_async: ZeroDivisionError: boom (test_loop.py:{line} in act_async)"
    )


def test_a_snapshot_restores_the_loop_with_all_memory():
    loop = make({"all": PythonForager}, worlds=3, episodes=6)
    for _ in range(25):
        loop.tick()
    saved = loop.snapshot()
    went_on = play_to_end(loop)
    other = make({"all": PythonForager}, worlds=3, episodes=6)
    other.restore(saved)
    assert play_to_end(other) == went_on


def test_a_snapshot_of_other_slots_is_refused():
    with pytest.raises(ContractError) as refused:
        make({"all": PythonForager}).restore(make({"all": NoopPolicy}).snapshot())
    assert str(refused.value) == "The snapshot does not fit: 'memory/all/lived' should be (32,)."


SPEC = ProbeWorld(Probe()).spec


@pytest.mark.parametrize(
    ("slots", "mapping", "error", "sentence"),
    [
        (["a", "a"], None, SettingsError, "Two slots have the id 'a'. Give each slot its own id."),
        (["herd"], {"grazer": "hred"}, SettingsError,
         "The slot map names no known slot 'hred'. Did you mean 'herd'? Known: herd."),
        (["herd"], {"grazr": "herd"}, UnknownNameError,
         "World probe has no group 'grazr'. Did you mean 'grazer'? Known: grazer, hunter."),
        (["herd"], ["herd"] * 3, SettingsError,
         "The slot map has 3 entries; world probe has 16 rows."),
    ],
)  # fmt: skip
def test_a_wrong_map_is_refused(slots, mapping, error, sentence):
    with pytest.raises(error) as refused:
        build_slot_assignment(SPEC, slots, mapping)
    assert str(refused.value) == sentence
