"""Potential-based reward shaping: what is added telescopes, and only the learner sees it."""

import numpy as np
import pytest
from small_trainings import TWO, collected, same, settings_of

from kinfolk.core.errors import SettingsError
from kinfolk.training.buffer import NO_ROW, link_next_rows
from kinfolk.training.potential import Potential

GAMMA = 0.5  # a power of two, as the weights are: so that sums of small numbers are exact
WEIGHTS = {"energy": 0.25, "age": -2.0}


@pytest.fixture(scope="module")
def shaped():
    """State, rows of the slot `herd` after a rollout, and potential and next row of each."""
    settings = settings_of(TWO, ppo={"potential": WEIGHTS, "gamma": GAMMA}, rollout_length=48)
    state, blocks = collected(settings)
    rows = blocks["herd"]
    potential = Potential(settings.world_ref.spec, WEIGHTS)(rows["observations"], rows["group"])
    following = np.empty(len(potential), dtype=np.int64)
    scratch = np.empty(rows["memory_index"].max() + 1, dtype=np.int64)
    link_next_rows(rows["memory_index"], rows["done"], rows["bootstrap_index"], scratch, following)
    return state, rows, potential, following


def test_a_potential_is_the_weighted_sum_of_numbers_that_the_agent_observes(shaped):
    _, rows, potential, _ = shaped
    body = settings_of(TWO).world_ref.spec.groups[0].read_field(rows["observations"], "body")
    assert np.array_equal(potential, 0.25 * body[:, 0].astype(float) - 2.0 * body[:, 1])
    assert len(np.unique(potential)) > 10


def test_what_is_added_over_a_life_is_minus_the_potential_of_its_first_observation(shaped):
    _, rows, potential, following = shaped
    deaths = np.flatnonzero(rows["done"] & (rows["bootstrap_index"] == NO_ROW))
    previous = {after: row for row, after in enumerate(following.tolist()) if after != NO_ROW}
    lengths = []
    for row in deaths.tolist():
        total, length = float(rows["shaping"][row]), 1
        while row in previous:
            row, length = previous[row], length + 1
            total = float(rows["shaping"][row]) + GAMMA * total
        assert total == pytest.approx(-potential[row], abs=1e-5)
        lengths.append(length)
    assert max(lengths) > 3


def test_a_critic_that_is_lower_by_the_potential_finds_the_same_advantages(shaped):
    """So no action is preferred that was not before: deltas are those of the rewards alone."""
    state, rows, potential, _ = shaped
    learner = state.learners["herd"]
    unshaped = {name: column for name, column in rows.items() if name != "shaping"}
    cut = np.flatnonzero(rows["bootstrap_index"] != NO_ROW)
    after = (rows["shaping"][cut] + potential[cut]) / GAMMA
    bootstrap = rows["bootstrap_value"].copy()
    bootstrap[rows["bootstrap_index"][cut]] -= after.astype(np.float32)
    lower = {**rows, "value": (rows["value"] - potential).astype(np.float32),
             "bootstrap_value": bootstrap}  # fmt: skip
    expected = learner._compute_advantages(unshaped)
    assert np.allclose(learner._compute_advantages(lower), expected, atol=1e-4)
    assert not np.allclose(learner._compute_advantages(rows), expected, atol=0.1)
    assert len(cut) > 0


def test_the_rewards_and_returns_that_are_reported_are_those_of_the_world(shaped):
    _, rows, _, _ = shaped
    _, blocks = collected(settings_of(TWO, ppo={"gamma": GAMMA}, rollout_length=48))
    assert "shaping" not in blocks["herd"]
    assert same({name: rows[name] for name in blocks["herd"]}, blocks["herd"])


def test_numbers_without_labels_are_named_by_field_and_index():
    settings = settings_of(
        {"world": "gym:CartPole-v1", "ppo": {"potential": {"observation.2": -1.0}}}
    )
    observations = np.array([[1.0, 2.0, 3.0, 4.0]], dtype=np.float32).view(np.uint8)
    group = np.zeros(1, dtype=np.int64)
    spec, weights = settings.world_ref.spec, settings.ppo.potential
    assert Potential(spec, weights)(observations, group).tolist() == [-3.0]
    assert Potential(spec, weights, limit=2.5)(observations, group).tolist() == [-2.5]


def test_a_number_that_nobody_observes_is_refused():
    with pytest.raises(SettingsError) as refusal:
        collected(settings_of(TWO, ppo={"potential": {"energie": 1.0}}))
    assert str(refusal.value) == (
        "ppo.potential weighs 'energie', and agents of probe observe no number of this name. Did you "
        "mean 'energy'? Known: age, callers_in_view, energy, episode_fraction_elapsed."
    )
