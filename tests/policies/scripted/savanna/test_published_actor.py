import numpy as np
import pytest

import kinfolk
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.core.settings import validate_settings
from kinfolk.policies.scripted.savanna.published_actor import WEIGHT_SHAPES, PublishedActor
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.spec import make_spec


def random_weights():
    rng = np.random.default_rng(5)
    return {
        name: (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        for name, shape in WEIGHT_SHAPES.items()
    }


def logits_by_hand(weights, planes):
    """Compute the net as it is documented, cell by cell in float64; planes `[5, 9, 9]`."""
    image = planes.astype(np.float64)  # height 5, width 9, nine channels
    for layer in ("cnn.1", "cnn.4", "cnn.7", "cnn.10"):
        kernel, bias = weights[f"{layer}.weight"], weights[f"{layer}.bias"]
        padded = np.pad(image, ((1, 1), (1, 1), (0, 0)))
        out = np.zeros((5, 9, len(kernel)))
        for h in range(5):
            for w in range(9):
                patch = padded[h : h + 3, w : w + 3]  # [3, 3, channels]
                out[h, w] = np.einsum("hwc,fchw->f", patch, kernel) + bias
        image = np.maximum(out, 0.0)
    return weights["pi.net.mlp.0.weight"] @ image.reshape(-1) + weights["pi.net.mlp.0.bias"]


@pytest.fixture
def actor():
    policy = PublishedActor(make_spec(validate_settings(Savanna, {})))
    policy.load(random_weights())
    return policy


def test_the_net_equals_its_description(actor, scene):
    import torch

    rng = np.random.default_rng(1)
    planes = rng.uniform(0.0, 3.0, (40, 5, 9, 9)).astype(np.float32)
    (logits,) = actor._forward(torch.from_numpy(planes))
    by_hand = np.array([logits_by_hand(random_weights(), row) for row in planes])
    assert np.abs(logits.numpy() - by_hand).max() < 1e-5


def test_it_takes_the_action_with_the_largest_logit(scene):
    def loaded(spec):
        made = PublishedActor(spec)
        made.load(random_weights())
        return made

    seen = scene(species="prey").put(2, (0, 0), energy=3.0).put(3, (1, 2), (-3, 0), energy=2.0)
    best = int(logits_by_hand(random_weights(), seen.planes).argmax())
    assert seen.act(loaded) == seen.spec.groups[seen.group].heads[0].choices[best]


def test_it_does_not_play_without_weights(scene):
    with pytest.raises(ContractError, match="plays only with weights"):
        scene().act(PublishedActor)


@pytest.mark.parametrize(
    "settings",
    [
        {"observation": "compact"},
        {"predator_obs_range": 7, "prey_obs_range": 7},
        {"type_1_action_range": 5},
        {"include_visibility_channel": False},
    ],
)
def test_a_savanna_with_other_observations_or_moves_is_refused(settings):
    with pytest.raises(SettingsError, match=r"sees float32 planes \(5, 9, 9\) and has 9 moves"):
        PublishedActor(make_spec(validate_settings(Savanna, settings)))


def test_a_group_with_other_observations_or_moves_is_refused(scene):
    def loaded(spec):
        made = PublishedActor(spec)
        made.load(random_weights())
        return made

    with pytest.raises(ContractError, match="cannot play type_2_prey"):
        scene(species="prey", type_=2, reach=5).act(loaded)


@pytest.mark.parametrize("name", ["cnn.4.bias", "pi.net.mlp.0.weight"])
def test_weights_that_do_not_fit_are_refused(name):
    actor, weights = PublishedActor(make_spec(validate_settings(Savanna, {}))), random_weights()
    with pytest.raises(SettingsError, match=f"'{name}' must have shape"):
        actor.load(weights | {name: np.zeros((2, 2), dtype=np.float32)})
    del weights[name]
    with pytest.raises(SettingsError, match=f"lack '{name}'"):
        actor.load(weights)


def play_published(golden, episodes, run):
    """Evaluate as the command of docs/savanna.md does."""
    actor = "class:kinfolk.policies.scripted.savanna.published_actor.PublishedActor"
    return kinfolk.evaluate(
        engine="processes",
        jobs=2,
        world="savanna",
        preset="shared_prey_trained",
        slots={
            kind: f"{actor}?weights={golden}/weights_ppo_{kind}.npz"
            for kind in ("predator", "prey")
        },
        agent_slot_map={"type_1_predator": "predator", "type_1_prey": "prey"},
        episodes=episodes,
        chunk_size=episodes // 2,
        out=run,
    )


def mean_alive(run):
    """Return the living agents of both species, means over the ticks that were played."""
    table = kinfolk.load_run(run).table("episodes")
    groups = ("type_1_predator", "type_1_prey")
    return [float(np.mean(table[f"mean_alive.{group}"])) for group in groups]


@pytest.mark.more
def test_the_published_actors_coexist(golden, tmp_path):
    summary = play_published(golden, 2, tmp_path / "run")
    assert summary.ticks.mean > 300
    assert 0.5 < summary.metrics["capture_success_rate_all_episodes"][0] < 0.8
    predators, prey = mean_alive(tmp_path / "run")
    assert 5 < predators < 20
    assert 15 < prey < 50


ACCEPTED = {
    "capture_success_rate_full_length_episodes": (0.60, 0.70),
    "cooperative_meal_fraction_full_length_episodes": (0.10, 0.17),
    "total_predator_full_length_episodes": (165, 215),
    "total_prey_full_length_episodes": (660, 810),
}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_over_30_seeds_the_published_actors_land_in_the_published_ranges(golden, tmp_path):
    summary = play_published(golden, 30, tmp_path / "run")
    assert 650 <= summary.ticks.mean <= 900
    predators, prey = mean_alive(tmp_path / "run")
    assert 9 <= predators <= 13
    assert 23 <= prey <= 36
    means = {name: summary.metrics[name][0] for name in ACCEPTED}
    outside = {n: v for n, v in means.items() if not ACCEPTED[n][0] <= v <= ACCEPTED[n][1]}
    assert outside == {}
