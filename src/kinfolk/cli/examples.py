"""An example of every command, shown below its help, and what `kinfolk` alone suggests."""

from __future__ import annotations

import typer

FIRST_STEPS = (
    ("kinfolk play --world savanna", "watch a game in the terminal"),
    ("kinfolk eval --world cogsguard --episodes 20", "evaluate a team, with intervals"),
    ("kinfolk evolve roles --generations 20 --out runs/roles", "evolve roles"),
    ("kinfolk view runs/roles", "look at it in the browser"),
    ("kinfolk doctor", "see what this machine supports"),
)

EXAMPLES = {
    "play": "kinfolk play --world savanna --slot all=kin://random --record --out runs/game",
    "eval": "kinfolk eval --world savanna --slot all=kin://random --episodes 20 --out runs/random",
    "compare": "kinfolk compare kin://smart kin://random --world cogsguard --episodes 20",
    "tournament": "kinfolk tournament submissions/ --world cogsguard --preset head_to_head --jobs 2",
    "crossplay": "kinfolk crossplay kin://smart kin://random --world cogsguard --preset head_to_head",
    "train": "kinfolk train --world gym:CartPole-v1 --steps 100000 --out runs/cartpole",
    "exploit": "kinfolk exploit kin://smart --world cogsguard --preset head_to_head --steps 100000",
    "worlds": "kinfolk worlds",
    "scenarios": "kinfolk scenarios",
    "policies": "kinfolk policies",
    "behaviors": "kinfolk behaviors --facts",
    "metrics": "kinfolk metrics savanna lifetime",
    "explain": "kinfolk explain --world cogsguard --tick 300 --agent 3",
    "runs": "kinfolk runs --job evaluate --sort headline",
    "plot": "kinfolk plot runs/cartpole --out curve.pdf",
    "rerun": "kinfolk rerun runs/random",
    "capsule": "kinfolk capsule runs/random",
    "verify": "kinfolk verify random.capsule.zip",
    "settings": "kinfolk settings savanna reproduction",
    "bench": "kinfolk bench worlds roles",
    "doctor": "kinfolk doctor",
    "presets": "kinfolk presets",
    "compile": "kinfolk compile",
    "replay-trace": "kinfolk replay-trace recordings/*.json.gz",
    "view": "kinfolk view runs/roles",
    "export png": "kinfolk export png runs/game --out frame.png",
    "export gif": "kinfolk export gif runs/game --out game.gif",
    "export mp4": "kinfolk export mp4 runs/game --out game.mp4",
    "export html": "kinfolk export html runs/game --out game.html",
    "export metrics": "kinfolk export metrics runs/random --format csv --out episodes.csv",
    "export events": "kinfolk export events runs/random --out log",
    "export role": "kinfolk export role runs/roles --out champion.json",
    "export phylogeny": "kinfolk export phylogeny runs/roles --out roles.csv",
    "export policy": "kinfolk export policy runs/cartpole --format onnx --out cartpole.onnx",
    "new policy": "kinfolk new policy wanderer",
    "new world": "kinfolk new world orchard",
    "new behavior": "kinfolk new behavior sleep_at_night",
    "new study": "kinfolk new study grass_and_herds",
    "evolve roles": "kinfolk evolve roles --generations 20 --jobs 2 --out runs/roles",
    "evolve nets": "kinfolk evolve nets --task gym:CartPole-v1 --generations 20 --out runs/nets",
    "study": "kinfolk study stag_hunt --quick --out runs/stag-hunt",
    "sweep eval": "kinfolk sweep eval --world probe --vary growth=0.1,0.3,0.5 --seeds 5 --out runs/growth",
    "sweep train": "kinfolk sweep train --world probe --steps 2000 --vary ppo.gamma=0.9,0.99 --seeds 3",
    "sweep evolve roles": "kinfolk sweep evolve roles --generations 5 --vary n_teams=12,24 --seeds 3",
    "sweep evolve nets": "kinfolk sweep evolve nets --generations 5 --vary sigma=0.01,0.1 --seeds 3",
}


def add_examples(app: typer.Typer, path: str = "") -> None:
    """Show the example of every command below its help.

    Args:
        app: The commands.
        path: Words before their names, each followed by a blank.
    """
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "").replace("_", "-")
        example = EXAMPLES.get(f"{path}{name}")
        if example is not None:
            command.epilog = f"Example:\n\n\b\n  {example}"
    for group in app.registered_groups:
        if group.typer_instance is not None:
            add_examples(group.typer_instance, f"{path}{group.name} ")


def format_first_steps() -> str:
    """Return what to try first, a command a line, as it stands below the list of commands."""
    width = max(len(command) for command, _ in FIRST_STEPS)
    lines = [f"  {command:{width}}  {purpose}" for command, purpose in FIRST_STEPS]
    return "\n".join(["\b\nTry first:", *lines])
