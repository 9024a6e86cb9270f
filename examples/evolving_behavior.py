"""Add a behavior with a parameter in ten lines, and let it evolve.

`rest` goes home when energy is below `low_energy`, which every role sets for itself. Run

    python examples/evolving_behavior.py

or, in the folder that contains this file, `kinfolk evolve roles --catalog evolving_behavior.catalog`.
"""

import sys
from pathlib import Path

import kinfolk as kf
from kinfolk.policies.scripted.cogsguard.catalog import cogs_catalog
from kinfolk.roles.model import BehaviorParameter


def catalog():
    """Return the game's behaviors and roles, and the behavior `rest`."""
    roles = cogs_catalog()
    roles.add_behavior(
        name="rest",
        source="common",
        can_start=lambda agent: agent["energy"] < agent.parameter("low_energy"),
        act=lambda agent: agent.go_home(),
        should_terminate=lambda agent: agent["energy"] >= 20,
        parameters=[BehaviorParameter("low_energy", default=8, low=1, high=19)],
    )
    return roles


def evolve(out, generations=5, ticks=100):
    """Evolve roles with the behavior, and return those that have it, as text.

    Args:
        out: Folder for the run.
        generations: Number of generations.
        ticks: Length of a game.
    """
    sys.path.insert(0, str(Path(__file__).parent))  # where the catalog is imported from
    kf.evolve_roles(
        catalog="evolving_behavior.catalog",
        preset="tutorial",
        world_settings={"max_steps": ticks},
        generations=generations,
        n_teams=8,
        racing=(1, 1),
        eval_games=4,
        finalist_games=2,
        replay_every=0,
        evolution={"insertion_chance": 0.6, "parameter_rate": 0.9},
        out=out,
    )
    history = (Path(out) / "role_history.json").read_text()
    return [line.strip(" ,") for line in history.splitlines() if '"rest"' in line]


if __name__ == "__main__":
    found = evolve("runs/evolving_behavior")
    print(f"{len(found) - 1} roles have the behavior; its own record: {found[0]}")
    for line in [line for line in found if '"low_energy"' in line][:5]:
        print(line)
