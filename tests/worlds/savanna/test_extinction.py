"""What happens when a species dies out: `on_extinction`, and means over the whole horizon."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.errors import SettingsError
from kinfolk.worlds import build_world

# Prey that cannot be caught; predators starve in their third step.
STARVING = {
    "max_steps": 20,
    "n_initial_active_type_1_predator": 4,
    "n_initial_active_type_1_prey": 6,
    "initial_energy_predator": 0.5,
    "prey_creation_energy_threshold": 1000.0,
    "team_capture_margin": 1000.0,
}


def play(**changed):
    """Play an episode without moves, and return the length, the last flags and the environment."""
    env = kf.pettingzoo("savanna", **(STARVING | changed))
    env.reset(seed=1)
    steps = 0
    while env.agents:
        _, _, terminations, truncations, _ = env.step(dict.fromkeys(env.agents, 4))
        steps += 1
    return steps, terminations, truncations, env


@pytest.mark.parametrize(
    ("on_extinction", "steps", "terminated"),
    [("end", 3, 4), ("terminate", 3, 10), ("continue", 20, 0)],
)
def test_an_extinction_ends_the_episode_or_not(on_extinction, steps, terminated):
    length, terminations, truncations, env = play(on_extinction=on_extinction)
    assert length == steps
    assert sum(terminations.values()) == terminated
    assert all(terminations[name] != truncations[name] for name in terminations)
    assert env.counters["deaths_starved_predator"] == 4


def test_an_empty_world_goes_on_to_its_time_limit():
    empty = {"initial_energy_prey": 0.1, "initial_num_grass": 0, "on_extinction": "continue"}
    world = build_world("savanna", STARVING | empty, 1)
    world.reset(np.array([3]))
    actions = np.full((world.spec.rows, 1), 4)
    for _ in range(20):
        assert not world.done[0]
        world.step(actions)
    assert world.done[0]
    assert not world.columns.alive.any()


def evaluate(on_extinction):
    return kf.evaluate(
        "savanna",
        world_settings=STARVING | {"on_extinction": on_extinction},
        slots={"all": "kin://noop"},
        episodes=3,
        seed=1,
    )


def test_means_are_over_the_whole_horizon():
    result = evaluate("continue")
    assert result.ticks.mean == 20
    assert result.metrics["mean_prey_alive"] == (6.0, 6.0, 6.0, 3)
    # Four predators live for three of 20 ticks.
    assert result.metrics["mean_predator_alive"] == (0.6, 0.6, 0.6, 3)
    assert not [note for note in result.notes if "rests on" in note]


def test_what_an_extinction_hides_is_left_out_and_said():
    result = evaluate("end")
    assert result.ticks.mean == 3
    assert result.metrics["mean_predator_alive"] == (0.6, 0.6, 0.6, 3), "known: they are extinct"
    assert result.metrics["mean_prey_alive"] is None, "unknown: they might have lived on or not"
    assert result.metrics["mean_lifetime_prey"].mean == 3
    notes = [note for note in result.notes if "rests on" in note]
    assert len(notes) == 1
    assert notes[0].startswith("mean_prey_alive rests on 0 of 3 episodes: ")
    assert "on_extinction = continue" in notes[0]


def test_a_comparison_says_that_episodes_are_left_out():
    result = kf.compare(
        world="savanna",
        world_settings=STARVING,
        policies=["kin://noop", "kin://random"],
        slots={"herd": "kin://noop"},
        agent_slot_map={"type_1_predator": "candidate", "type_1_prey": "herd"},
        metric="mean_prey_alive",
        episodes=3,
    )
    assert any(note.startswith("mean_prey_alive rests on 0 of 3") for note in result.notes)


def test_a_sweep_says_that_episodes_are_left_out():
    result = kf.sweep(
        world="savanna",
        world_settings=STARVING,
        vary={"initial_num_grass": [0, 100]},
        slots={"all": "kin://noop"},
        metric="mean_prey_alive",
        episodes=2,
        seeds=2,
    )
    assert any(note.startswith("mean_prey_alive rests on 0 of 8 episodes") for note in result.notes)


def test_the_old_setting_is_refused():
    with pytest.raises(SettingsError, match="extinction_terminates"):
        kf.pettingzoo("savanna", quirks={"extinction_terminates": True})
