"""Five studies in miniature, one per variant of the savanna, in a minute.

    python examples/variant_studies.py --out variants.png

* stag hunt: how many captures of large and of small prey took a team?
* defection: what do free riders earn, by the fraction of a prey that is left to them?
* heritable traits: where does a trait go with selection, and where by drift alone?
* seasons: do births follow the growth of grass?
* donation: do donors spread or vanish among prey that only take?
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import kinfolk as kf
from kinfolk.evaluation.rollout import evaluation_task
from kinfolk.evaluation.trajectory import replay_episode
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.worlds.savanna.agent_log import SavannaAgentLog

SCAVENGER_FRACTIONS = (0.4, 0.2, 0.1, 0.05, 0.0)
SEASON = 40
# A larger world in which grass alone limits the prey: its one predator lives on and catches nothing.
WILD = {
    "grid_size": 40,
    "n_initial_active_type_1_predator": 1,
    "energy_loss_per_step_predator": 0.0,
    "team_capture_enabled": True,
    "team_capture_margin": 1e6,
    "n_initial_active_type_1_prey": 150,
    "initial_num_grass": 500,
    "energy_gain_per_step_grass": 0.04,
    "energy_loss_per_step_prey": 0.1,
    "max_rows": 2000,
    "quirks": {},
}


def record_hunts(
    preset: str, slots: Mapping[str, str], settings: Mapping[str, Any], episodes: int
) -> list[SavannaAgentLog]:
    """Play episodes of a stag hunt, and return what happened to each agent.

    Args:
        preset: Preset of the savanna.
        slots: Policy of each group of agents.
        settings: Settings that differ from the preset.
        episodes: How many episodes.
    """
    world = WorldRef("savanna", preset, {"max_steps": 150, **settings})
    policies = {group: resolve(policy) for group, policy in slots.items()}
    task = evaluation_task(world, policies, 0, range(episodes), {group: group for group in slots})
    return [replay_episode(task, episode, SavannaAgentLog)[1] for episode in range(episodes)]


def study_stag_hunt(episodes: int) -> dict[str, float]:
    """Return the fraction of captures that took a team, by type of prey."""
    slots = {"type_1_predator": "kin://hunter"}
    slots |= dict.fromkeys(("type_1_prey", "type_2_prey"), "kin://grazer")
    team_sizes: dict[str, list[int]] = {"type_1_prey": [], "type_2_prey": []}
    for log in record_hunts("stag_hunt", slots, {}, episodes):
        captures = {}
        for record in log.by_uid.values():
            for meal in record.eating_events:
                if meal["kind"] == "capture":
                    captures[meal["other"]] = len(meal["predators"])
        for prey, size in captures.items():
            team_sizes[log.by_uid[prey].policy_group].append(size)
    return {prey: float(np.mean(np.array(sizes) > 1)) for prey, sizes in team_sizes.items()}


def study_defection(episodes: int) -> dict[str, list[float]]:
    """Return the energy that joiners and free riders gain per step, by `SCAVENGER_FRACTIONS`."""
    slots = {"type_1_predator": "kin://hunter", "type_2_predator": "kin://hunter?join=never"}
    slots |= dict.fromkeys(("type_1_prey", "type_2_prey"), "kin://grazer")
    income: dict[str, list[float]] = {"joiner": [], "free rider": []}
    for fraction in SCAVENGER_FRACTIONS:
        settings = {
            "n_initial_active_type_1_predator": 8,
            "n_initial_active_type_2_predator": 8,
            "type_2_action_range": 3,
            "team_capture_scavenger_fraction": fraction,
        }
        gained, lived = {"joiner": 0.0, "free rider": 0.0}, {"joiner": 0, "free rider": 0}
        for log in record_hunts("stag_hunt_defection", slots, settings, episodes):
            for record in log.by_uid.values():
                if record.policy_group.endswith("predator"):
                    kind = "joiner" if record.policy_group.startswith("type_1") else "free rider"
                    gained[kind] += record.energy_gained
                    lived[kind] += record.avg_energy_steps
        for kind, energies in income.items():
            energies.append(gained[kind] / max(lived[kind], 1))
    return income


def play_random_moves(
    preset: str, settings: Mapping[str, Any], counters: tuple[str, ...], steps: int, worlds: int
) -> np.ndarray:
    """Step worlds with random moves, and return counters after each step.

    Args:
        preset: Preset of the savanna.
        settings: Settings that differ from the preset.
        counters: Names of counters.
        steps: How many steps.
        worlds: How many worlds.

    Returns:
        `[steps, counters, worlds]`; NaN from the end of an episode on.
    """
    chosen = {**WILD, "max_steps": steps + 1, **settings}
    world = kf.make("savanna", preset=preset, worlds=worlds, seed=0, **chosen)
    generator, values = np.random.default_rng(0), []
    for _ in range(steps):
        shape = (worlds * world.spec.rows, world.spec.n_heads)
        world.step(generator.integers(0, 9, shape))
        now = world.counters()
        values.append([np.where(world.done, np.nan, now[name]) for name in counters])
    return np.array(values)


def study_traits(steps: int, worlds: int) -> dict[str, np.ndarray]:
    """Return the mean of a trait of prey, `[steps, worlds]`, with selection and without.

    A marker without effect shows drift. The published control, whose children get the trait of a
    random agent that is alive, takes selection from births only: those with a costly trait still die
    first, so its mean moves too.
    """
    trait = {"low": 0.25, "high": 4.0, "std_prey": 0.3, "mutation_rate": 0.5, "mutation_std": 0.1}
    means = {}
    for kind, name, is_neutral in (
        ("selection", "metabolic_rate", False),
        ("drift (a marker)", "marker", False),
        ("published control", "metabolic_rate", True),
    ):
        settings = {"traits": {name: trait}, "neutral_drift": is_neutral}
        counters = (f"trait_{name}_mean_prey",)
        means[kind] = play_random_moves("metabolic_rate", settings, counters, steps, worlds)[:, 0]
    return means


def study_seasons(steps: int, worlds: int) -> dict[str, np.ndarray]:
    """Return the number of prey per world after each step, with seasons and without."""
    return {
        kind: np.nanmean(
            play_random_moves(
                "seasonal",
                {
                    "season_length_steps": length,
                    "season_low_multiplier": 0.1,
                    "season_high_multiplier": 1.9,
                },
                ("active_num_prey",),
                steps,
                worlds,
            )[:, 0],
            axis=1,
        )
        for kind, length in (("seasons", SEASON), ("no seasons", 0))
    }


def study_donation(steps: int, worlds: int) -> dict[str, np.ndarray]:
    """Return the fraction of donors among the prey after each step, with gifts and without."""
    fractions = {}
    for kind, fraction in (("gifts", 0.05), ("no gifts", 0.0)):
        settings = {
            "n_initial_active_type_1_prey": 75,
            "n_initial_active_type_2_prey": 75,
            "donation_fraction": {"type_1_prey": fraction},
        }
        chosen = {**WILD, "max_steps": steps + 1, **settings}
        world = kf.make("savanna", preset="donation", worlds=worlds, seed=0, **chosen)
        generator, shares = np.random.default_rng(0), []
        for _ in range(steps):
            world.step(generator.integers(0, 9, (worlds * world.spec.rows, 1)))
            columns = world.columns
            groups = np.array([group.name for group in world.spec.groups])[columns.group]
            donors = (columns.alive & (groups == "type_1_prey")).sum()
            prey = donors + (columns.alive & (groups == "type_2_prey")).sum()
            shares.append(donors / max(prey, 1))
        fractions[kind] = np.array(shares)
    return fractions


def draw(results: Mapping[str, Any], out: Path) -> None:
    """Draw a panel per study, and save the figure."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 5, figsize=(22, 4), layout="constrained")
    teams = results["stag_hunt"]
    panels[0].bar(["large prey", "small prey"], [teams["type_1_prey"], teams["type_2_prey"]])
    panels[0].set(title="Stag hunt", ylabel="captures that took a team", ylim=(0, 1))
    riders, joiners = results["defection"]["free rider"], results["defection"]["joiner"]
    label = f"free rider (joiners: {min(joiners):.2f} to {max(joiners):.2f})"
    panels[1].plot(SCAVENGER_FRACTIONS, riders, "o-", label=label)
    panels[1].set(title="Defection", xlabel="scavenger's fraction", ylabel="energy gained per step")
    for color, (kind, means) in zip(("C0", "C1", "C7"), results["traits"].items(), strict=True):
        panels[2].plot(means, color=color, alpha=0.25, linewidth=0.7)
        panels[2].plot(np.nanmean(means, axis=1), color=color, linewidth=2.5, label=kind)
    panels[2].set(title="Heritable trait", xlabel="step", ylabel="mean trait of prey")
    for kind, prey in results["seasons"].items():
        panels[3].plot(prey, label=kind)
    for first in range(0, len(prey), 2 * SEASON):
        panels[3].axvspan(first, first + SEASON, color="C2", alpha=0.12)
    panels[3].set(title="Seasons (shaded: good)", xlabel="step", ylabel="prey per world")
    for kind, share in results["donation"].items():
        panels[4].plot(share, label=kind)
    panels[4].set(title="Donation", xlabel="step", ylabel="donors among prey", ylim=(0, 1))
    for panel in panels[1:]:
        panel.legend()
    figure.savefig(out, dpi=110)
    plt.close(figure)


def study(episodes: int = 6, steps: int = 320, worlds: int = 12) -> dict[str, Any]:
    """Run all five studies.

    Args:
        episodes: Episodes of each stag hunt.
        steps: Steps of the other studies.
        worlds: Worlds of the other studies.
    """
    return {
        "stag_hunt": study_stag_hunt(episodes),
        "defection": study_defection(episodes),
        "traits": study_traits(steps, worlds),
        "seasons": study_seasons(steps, worlds),
        "donation": study_donation(steps, worlds),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=6)
    parser.add_argument("--steps", type=int, default=320)
    parser.add_argument("--worlds", type=int, default=12)
    parser.add_argument("--out", type=Path, default=Path("variants.png"))
    args = parser.parse_args()
    found = study(args.episodes, args.steps, args.worlds)
    print("Captures that took a team:", found["stag_hunt"])
    print("Energy gained per step, by scavenger's fraction", SCAVENGER_FRACTIONS)
    for who, income in found["defection"].items():
        print(f"  {who}:", " ".join(f"{energy:.3f}" for energy in income))
    for kind, means in found["traits"].items():
        last = means[-1][~np.isnan(means[-1])]
        print(f"Mean trait, {kind}: {last.mean():.2f} +- {last.std():.2f} in {len(last)} worlds")
    draw(found, args.out)
    print(f"The figure is in {args.out}.")
