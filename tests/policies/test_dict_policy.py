"""Policies that read named arrays: what they are given, what they may answer, what they remember."""

import random
import re
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.errors import ContractError, summarize_error
from kinfolk.core.random import uniform
from kinfolk.policies.base import MemoryField, single_agent_batch
from kinfolk.testing.contracts.policy import PolicyContract

SHORT = {"world_settings": {"max_ticks": 12}, "episodes": 4, "seed": 3}


class Walker(kf.DictPolicy):
    """Walks towards food, calls now and then, and turns every `turn` steps."""

    def __init__(self, spec, turn=3):
        super().__init__(spec)
        self.turn = turn

    @property
    def memory_layout(self):
        return {"steps": MemoryField((), "int64"), "trail": MemoryField((2,), "float32")}

    def reset(self, info):
        info.memory["steps"] = info.agent_id % 2

    def step(self, observation, info):
        info.memory["steps"] += 1
        info.memory["trail"][0] = observation["body"][0]
        ahead = "right" if info.memory["steps"] // self.turn % 2 else "left"
        voice = random.Random(info.key).randrange(2)
        return {"move": ahead, "voice": voice} if info.group == "grazer" else [ahead, voice]


class BatchWalker(kf.BatchDictPolicy):
    """Plays as a walker that never calls, all agents at once."""

    @property
    def memory_layout(self):
        return {"steps": MemoryField((), "int64")}

    def reset(self, info):
        info.memory["steps"] = info.agent_id % 2

    def step(self, observation, info):
        info.memory["steps"] += 1
        assert observation["window"].shape[1:] == (5, 3) if info.group == "grazer" else (3, 3)
        return {"move": np.where(info.memory["steps"] // 3 % 2, 2, 0)}


class QuietWalker(Walker):
    def step(self, observation, info):
        answer = super().step(observation, info)
        return {"move": answer["move"] if isinstance(answer, dict) else answer[0]}


class Fickle(kf.BatchDictPolicy):
    def step(self, observation, info):
        draws = uniform(info.key, 0)
        return np.stack([(draws * 3).astype(int), (uniform(info.key, 1) * 2).astype(int)], axis=1)


class TestWalker(PolicyContract):
    @pytest.fixture
    def uri(self):
        return kf.register_policy(Walker)


@pytest.mark.more
class TestFickle(PolicyContract):
    @pytest.fixture
    def uri(self):
        return kf.register_policy(Fickle)


def play(policy):
    return kf.evaluate("probe", slots={"all": policy}, **SHORT)


def test_a_policy_written_per_agent_and_one_for_batches_play_the_same():
    assert play(QuietWalker) == play(BatchWalker)
    assert play(QuietWalker) != play("kin://noop")


def test_heads_that_are_left_out_do_nothing():
    class Silent(kf.DictPolicy):
        def step(self, observation, info):
            return {}

    assert play(Silent) == play("kin://noop")


def test_a_choice_in_a_world_of_one_head_is_its_index_or_its_name():
    def make(answer):
        class Constant(kf.DictPolicy):
            def step(self, observation, info):
                assert observation["window"].shape == (5, 9, 9)
                return answer

        return Constant

    def play(answer):
        settings = {"world_settings": {"max_steps": 5}, "episodes": 1}
        return kf.evaluate("savanna", slots={"all": make(answer)}, **settings)

    assert play("+0+1") == play(5) == play([5]) == play({"move": 5})
    assert play("+0+1") != play("stay")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (1, "1; an action of a grazer has 2 values."),
        (["left"], "['left']; an action of a grazer has 2 values."),
        ({"mve": 1}, "{'mve': 1}; a grazer has no head 'mve'. Did you mean 'move'?"),
        (
            {"move": "lft"},
            "'lft'; head 'move' of a grazer has no such choice. Did you mean 'left'?",
        ),
        ({"move": 0.5}, "0.5; head 'move' takes the index or the name of a choice for each agent."),
        (None, "None; an action of a grazer has 2 values."),
    ],
)
def test_answers_that_are_no_action_name_the_author_s_method_and_line(answer, problem):
    class Wrong(kf.DictPolicy):
        def step(self, observation, info):
            return answer

    spec = kf.make("probe").spec
    observations = np.zeros((1, spec.row_bytes), dtype=np.uint8)
    with pytest.raises(ContractError) as caught:
        Wrong(spec).act_async(observations, single_agent_batch(0, 0), {}, np.zeros(1, np.int64))
    text = str(caught.value)
    assert text.startswith(f"{Wrong.step.__qualname__} returned {problem.rstrip('.')}")
    assert f"({Path(__file__).name}:" in text


def test_an_answer_that_is_no_action_is_a_failure_of_its_agents():
    class Wrong(kf.DictPolicy):
        def step(self, observation, info):
            return "north"

    assert play(Wrong).failures > 0


@pytest.mark.parametrize("base", [kf.DictPolicy, kf.BatchDictPolicy])
def test_a_field_that_an_observation_lacks_is_refused_with_the_list_of_fields(base):
    class Wrong(base):
        def step(self, observation, info):
            assert observation.get("boddy") is None
            return observation["boddy"]

    spec = kf.make("probe").spec
    observations = np.zeros((1, spec.row_bytes), dtype=np.uint8)
    with pytest.raises(KeyError) as caught:
        Wrong(spec).act_async(observations, single_agent_batch(0, 0), {}, np.zeros(1, np.int64))
    summary = summarize_error(caught.value)
    sentences = "a grazer has no field 'boddy'. Did you mean 'body'? Known: window, body."
    assert summary.message == f"UnknownFieldError: {sentences}"
    assert re.fullmatch(rf"{Path(__file__).name}:\d+ in step", summary.location)
