"""Settings of an evolution of nets that would have no effect are refused."""

import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.settings import validate_settings
from kinfolk.jobs.evolve_nets.settings import _SCOPES, EvolveNets
from kinfolk.jobs.evolve_nets.state import initial_state

ARCHIVE = {"archive": "ticks=0..9"}
DYNAMIC = {"net": "dynamic"}
SNES = {"algorithm": "snes"}
# By setting: a value, settings with which it has an effect, and settings with which it has none.
CASES = {
    "hidden": ((4,), [{}, {"net": "recurrent"}], [DYNAMIC]),
    "zero_init": (True, [{}, SNES], [DYNAMIC]),
    "normalize": (False, [{}], [DYNAMIC]),
    "sigma": (0.3, [{}, SNES, {"algorithm": "ga"}], [DYNAMIC]),
    "self_adaptive": (True, [{}, ARCHIVE], [SNES, DYNAMIC, {"algorithm": "cma"}]),
    "learning_rate": (0.1, [{"algorithm": "openai-es"}], [{}, SNES, {"algorithm": "ga"}]),
    "selection": ("tournament", [{}, {"novelty": ("ticks",)}],
                  [SNES, ARCHIVE, DYNAMIC | {"species_distance": 0.5}]),
    "tournament_size": (5, [{"selection": "tournament"}], [{}, {"algorithm": "ga"}]),
    "elites": (2, [{}], [SNES, ARCHIVE]),
    "crossover": (0.5, [{}], [SNES, ARCHIVE]),
    "novelty": (("ticks",), [{}], [SNES, ARCHIVE]),
    "species_distance": (0.5, [DYNAMIC], [{}, DYNAMIC | ARCHIVE, {"algorithm": "ga"}]),
    "keep_running_stats": (False, [DYNAMIC, {"algorithm": "ga", "normalize": True}],
                           [{}, SNES, {"algorithm": "ga"}, DYNAMIC | ARCHIVE]),
    "matches": (3, [{}, {"adversarial": "kin://cartpole"}], [{"imitate": "kin://cartpole"}]),
    "steps": (9, [{}, {"adversarial": "kin://cartpole"}], [{"imitate": "kin://cartpole"}]),
    "adversarial_fitness": ("mean", [{"adversarial": "kin://cartpole"}],
                            [{}, {"imitate": "kin://cartpole"}]),
    "target_episodes": (3, [{"imitate": "kin://cartpole"}], [{}, {"imitate": "shown.npz"}]),
    "n_emitters": (8, [ARCHIVE | {"emitter": "improvement"}], [{}, ARCHIVE]),
    "held_out_opponents": ({"grazer": "kin://noop"}, [{"task": "probe"}],
                           [{"task": "probe", "held_out_episodes": 0}]),
    "held_out_every": (3, [{}], [{"held_out_episodes": 0}]),
    "fitness": ({"agent": "life"}, [{}, {"imitate": "kin://cartpole"}],
                [{"imitate": "kin://cartpole", "held_out_episodes": 0}]),
    "goal_of": ("mean", [{"goal": 9.0}], [{}]),
}  # fmt: skip
# These have an effect in every evolution, or their combinations have messages of their own.
OTHERS = {
    "task", "preset", "world_settings", "fixed", "populations_per_group", "net", "head", "algorithm",
    "population", "generations", "max_evaluations", "inherit", "hall_every", "imitate", "adversarial",
    "archive", "emitter", "min_fitness", "held_out_episodes", "goal", "seed", "chunk_size",
    "checkpoint_every",
}  # fmt: skip


def test_every_setting_is_classified():
    assert set(CASES) == set(_SCOPES)
    assert set(CASES) | OTHERS == set(EvolveNets.model_fields)


@pytest.mark.parametrize("name", CASES)
def test_a_setting_without_effect_is_refused(name):
    value, effective, ineffective = CASES[name]
    for others in effective:
        assert getattr(validate_settings(EvolveNets, {**others, name: value}), name) == value
    for others in ineffective:
        validate_settings(EvolveNets, others)
        with pytest.raises(SettingsError) as caught:
            validate_settings(EvolveNets, {**others, name: value})
        start = f"EvolveNets.{name} has an effect {_SCOPES[name].where} only. Here "
        assert str(caught.value).startswith(start)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"learning_rate": 0.1},
         "EvolveNets.learning_rate has an effect with the algorithm openai-es only. Here feedforward "
         "nets evolve by snes: leave it out."),
        ({"inherit": ("mem",)},
         "Feedforward nets have no memory to inherit: leave out mem, or change net."),
        ({"inherit": ("fit",), "novelty": ("ticks",)},
         "Novelty selects without fitness: leave out fit of inherit, or novelty."),
        ({"archive": "ticks=0..9", "inherit": ("fit",)},
         "Parents from an archive are its elites: leave out inherit."),
        ({"goal": 9.0, "held_out_episodes": 0},
         "The goal of elite is scored on held-out episodes: set some."),
        ({"crossover": 3.0}, "EvolveNets.crossover must be at most 1.0, not 3.0."),
        ({"net": "dynamic", "species_distance": 2.0},
         "EvolveNets.species_distance must be at most 1.0, not 2.0."),
    ],
)  # fmt: skip
def test_combinations_that_do_nothing_have_a_message(given, sentence):
    with pytest.raises(SettingsError) as caught:
        validate_settings(EvolveNets, given)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"held_out_opponents": {"agent": "kin://noop"}},
         "Rivals are for populations that meet each other; gym:CartPole-v1 has one. "
         "Give the other groups a policy with fixed."),
        ({"task": "probe", "novelty": ("ticks",)},
         "Novelty is of one population; here are grazer, hunter. "
         "Give the other groups a policy that does not evolve, with fixed."),
    ],
)  # fmt: skip
def test_what_needs_other_populations_is_refused(given, sentence):
    with pytest.raises(SettingsError) as caught:
        initial_state(validate_settings(EvolveNets, given))
    assert str(caught.value) == sentence


def test_a_tournament_is_by_ga():
    assert validate_settings(EvolveNets, {"selection": "tournament"}).search_algorithm == "ga"
