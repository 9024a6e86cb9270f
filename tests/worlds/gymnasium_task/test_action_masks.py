"""Action masks of Gymnasium tasks: choices that a state does not allow are never taken."""

import gymnasium
import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.errors import ContractError, SettingsError


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
