"""Action masks of Gymnasium tasks: choices that a state does not allow are never taken."""

import gymnasium
import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.core.random import fold_in
from kinfolk.core.spaces import ActionHead, AgentGroup, ObservationField, WorldSpec
from kinfolk.policies.base import AgentBatch, RandomPolicy


class Doors(gymnasium.Env):
    """One of three doors is open; a closed one must not be tried."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def _show(self):
        self.mask = np.ones(3, np.int8)
        self.mask[self.np_random.integers(0, 3)] = 0
        return np.zeros(1, np.float32), {"action_mask": self.mask}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.age = 0
        return self._show()

    def step(self, action):
        if not self.mask[action]:
            raise ValueError("the door is closed")
        self.age += 1
        shown, info = self._show()
        return shown, float(action == 2), self.age >= 10, False, info


TASK = f"gym:{__name__}:Doors"
MASKED = {"world_settings": {"action_masks": True}}


def test_a_masked_choice_is_never_taken_in_training_or_evaluation(tmp_path):
    result = kf.train(TASK, steps=8000, out=tmp_path / "run", **MASKED)
    assert result.score > 5.5  # the third door is open in two of three steps
    score = kf.evaluate(TASK, slots={"all": f"run:{tmp_path / 'run'}"}, episodes=20, **MASKED)
    assert 5.0 < score.returns["all"].mean < 8.5


def test_a_random_policy_takes_allowed_choices_only():
    result = kf.evaluate(TASK, slots={"all": "kin://random"}, episodes=200, **MASKED)
    assert result.failures == 0
    assert 3.0 < result.returns["all"].mean < 3.7  # one of two open doors in two of three steps


def draw_actions(n, fields, mask=None):
    """Let the random policy act for `n` agents with 3 choices, a number and 2 choices."""
    door = ActionHead("door", ("a", "b", "c"))
    force = ActionHead("force", (), 0.0, 1.0)
    knock = ActionHead("knock", ("no", "yes"))
    heads = (door, force, knock)
    policy = RandomPolicy(WorldSpec("doors", n, (AgentGroup("agent", fields, heads),), 10))
    zeros = np.zeros(n, dtype=np.int64)
    parents = np.full((n, 2), -1)
    batch = AgentBatch(
        np.arange(n), zeros, np.arange(n), np.arange(n), zeros, zeros, parents, parents
    )
    observations = np.zeros((n, 24), dtype=np.uint8)
    if mask is not None:
        observations[:, :20] = np.tile(np.array(mask, np.float32), (n, 1)).view(np.uint8)
    policy.act_async(observations, batch, {}, fold_in(7, np.arange(n)))
    return policy.act_wait()


def test_a_random_policy_reads_the_mask_of_each_head():
    mask = (ObservationField("action_mask", (5,), "float32"),)
    unmasked = draw_actions(500, (ObservationField("cells", (5,), "float32"),))
    doors, forces, knocks = draw_actions(500, mask, [1, 0, 1, 0, 1]).T
    assert np.array_equal(forces, unmasked[:, 1])
    assert set(doors) == {0, 2}
    assert 200 < np.count_nonzero(doors == 0) < 300
    assert set(knocks) == {1}
    assert np.array_equal(draw_actions(500, mask, [1, 1, 1, 1, 1]), unmasked)
    # A head with no allowed choice is drawn as without a mask, as networks do.
    assert np.array_equal(draw_actions(500, mask, [0, 0, 0, 1, 1]), unmasked)


def test_masked_choices_have_probability_zero_in_the_learner():
    trainer = kf.Trainer(TASK, steps=100, worlds=4, rollout_length=8, **MASKED)
    rows = trainer.collect().slots["main"]
    learner = trainer.state.learners["main"]
    assert np.allclose(learner._compute_log_prob(rows), rows["log_prob"], atol=1e-5)
    spec = learner.policy.spec.groups[0]
    allowed = spec.read_field(rows["observations"], "action_mask") > 0
    assert allowed[np.arange(len(allowed)), rows["action"][:, 0]].all()
    assert np.allclose(np.exp(rows["log_prob"]), 0.5, atol=0.05)  # two of three are open


def test_a_task_without_masks_says_so():
    with pytest.raises(ContractError) as caught:
        kf.make("gym:Acrobot-v1", settings={"action_masks": True})
    assert str(caught.value).startswith(
        "gym:Acrobot-v1 must give an action_mask of 3 numbers in info, not none. Leave action_masks "
        "out if it has none (acrobot.py:"
    )
    with pytest.raises(SettingsError, match=r"masks are for Discrete ones \(pendulum\.py:"):
        kf.make("gym:Pendulum-v1", settings={"action_masks": True})
