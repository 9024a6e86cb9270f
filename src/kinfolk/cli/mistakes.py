"""Words of other programs that people write for commands and options of kinfolk."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Collection, Sequence

# Command that does not exist -> what may have been meant, most likely first.
COMMANDS = {
    "evaluate": ("eval",),
    "evaluation": ("eval",),
    "score": ("eval",),
    "run": ("play", "eval", "train", "evolve roles"),
    "simulate": ("play",),
    "start": ("play",),
    "watch": ("view",),
    "show": ("view",),
    "open": ("view",),
    "replay": ("view",),
    "league": ("tournament",),
    "competition": ("tournament",),
    "match": ("compare", "tournament"),
    "benchmark": ("bench",),
    "create": ("new",),
    "init": ("new",),
    "generate": ("new",),
    "list": ("runs", "worlds", "policies"),
    "ls": ("runs",),
    "config": ("settings",),
    "options": ("settings",),
    "roles": ("evolve roles",),
    "nets": ("evolve nets",),
    "learn": ("train",),
    "ppo": ("train",),
    "search": ("sweep",),
    "grid": ("sweep",),
    "gif": ("export gif",),
    "video": ("export mp4",),
    "film": ("export mp4",),
}
# Format of `kinfolk export` that does not exist -> the one that was meant.
FORMATS = {"csv": "metrics", "json": "metrics", "parquet": "metrics", "table": "metrics", "onnx": "policy",
           "video": "mp4", "film": "mp4", "image": "png", "picture": "png", "page": "html"}  # fmt: skip
# Option that does not exist -> options that may have been meant; the first that the command has counts.
OPTIONS = {
    "-n": ("--episodes", "--games", "--generations"),
    "--num": ("--episodes", "--games", "--generations"),
    "--runs": ("--episodes",),
    "--matches": ("--games", "--episodes"),
    "-o": ("--out",),
    "--output": ("--out",),
    "--output-dir": ("--out",),
    "--save": ("--out",),
    "--env": ("--world", "--task"),
    "--environment": ("--world", "--task"),
    "--task": ("--world",),
    "--agent-slot-map": ("--map",),
    "--world-settings": ("--set",),
    "--world": ("--task",),
    "-w": ("--world", "--task"),
    "-s": ("--seed",),
    "--random-seed": ("--seed",),
    "--workers": ("--jobs",),
    "--num-workers": ("--jobs",),
    "--n-jobs": ("--jobs",),
    "--processes": ("--jobs",),
    "-j": ("--jobs",),
    "--backend": ("--engine",),
    "--lr": ("--ppo.learning-rate", "--learning-rate"),
    "--epochs": ("--ppo.n-epochs", "--generations"),
    "--batch-size": ("--ppo.minibatch-size", "--population"),
    "--timesteps": ("--steps",),
    "--total-timesteps": ("--steps",),
    "--popsize": ("--population",),
    "--pop-size": ("--population",),
    "--checkpoint": ("--resume",),
    "--continue": ("--resume",),
    "--file": ("--config",),
    "-c": ("--config",),
}
POLICY_OPTIONS = ("--policy", "--policies", "--agent", "--agents", "-p")
DEVICE_OPTIONS = ("--gpu", "--cuda", "--device")


def suggest_commands(words: Sequence[str]) -> str | None:
    """Return the commands that a line with an unknown command was probably meant to be.

    Args:
        words: The unknown command and what stands behind it.

    Returns:
        Command lines, joined by commas; None if no other program has such a command.
    """
    from kinfolk.worlds import WORLDS

    name, rest = words[0], list(words[1:])
    if name == "help":
        return shlex.join(["kinfolk", *rest, "--help"])
    if rest and rest[0] in WORLDS:
        rest.insert(0, "--world")
    meant = COMMANDS.get(name, ())
    lines = [" ".join(["kinfolk", command, *map(shlex.quote, rest)]) for command in meant]
    return ", or ".join(lines) or None


def suggest_options(
    path: Sequence[str], rest: Sequence[str], option: str, options: Collection[str]
) -> str | None:
    """Return the command line that one with an unknown option was probably meant to be.

    Args:
        path: Words of the command.
        rest: Arguments behind them.
        option: The unknown option, without its value.
        options: Options that the command has.

    Returns:
        A command line, or None if there is no likely one.
    """
    place = next((i for i, word in enumerate(rest) if word.partition("=")[0] == option), None)
    if place is None:
        return None
    word, equals, value = rest[place].partition("=")
    if not equals and place + 1 < len(rest) and not rest[place + 1].startswith("-"):
        value = rest[place + 1]
    end = place + 1 + (bool(value) and not equals)
    commands = list(path)
    if word == "--seeds" and "--seed" in options and path[0] != "sweep":
        commands, meant = ["sweep", *path], [word, value]
    else:
        meant = _suggest_option(word, value, rest, options)
    if not meant:
        return None
    return shlex.join(["kinfolk", *commands, *rest[:place], *filter(None, meant), *rest[end:]])


def _suggest_option(
    word: str, value: str, rest: Sequence[str], options: Collection[str]
) -> list[str]:
    """Return the words that an unknown option and its value were probably meant to be.

    Args:
        word: The option.
        value: Its value; empty if there is none.
        rest: All arguments of the command.
        options: Options that the command has.
    """
    if word in POLICY_OPTIONS and "--slot" in options and value:
        return [
            "--slot",
            value if "=" in value.partition("?")[0] else f"all={_write_policy(value)}",
        ]
    meant = [known for known in OPTIONS.get(word, ()) if known in options]
    meant += sorted(known for known in options if known.endswith(f".{word.lstrip('-')}"))
    if not meant and "--set" in options and value:
        setting = _find_world_setting(word.lstrip("-").replace("-", "_"), rest)
        if setting is not None:
            return ["--set", f"{setting}={value}"]
    meant += difflib.get_close_matches(word, sorted(options), n=1, cutoff=0.7)
    return [meant[0], value] if meant else []


def _write_policy(value: str) -> str:
    """Return a policy as a URI, if it is the name of one or a file."""
    from kinfolk.policies.resolve import POLICIES

    if value.endswith((".py", ".safetensors")) and ":" not in value:
        return f"file:{value}"
    return f"kin://{value}" if value.partition("?")[0] in POLICIES else value


def _find_world_setting(name: str, rest: Sequence[str]) -> str | None:
    """Return a name if it is a setting of the world that a command line names.

    Args:
        name: Possible name of a setting.
        rest: Arguments of the command.
    """
    from kinfolk.core.settings import fields_of
    from kinfolk.worlds import WORLDS

    flat = [part for word in rest for part in word.split("=", 1)]
    world = next((flat[i + 1] for i in range(len(flat) - 1) if flat[i] == "--world"), "probe")
    if world not in WORLDS:
        return None
    names = [field.name for field in fields_of(WORLDS.load(world).settings_type)]
    return name if name in names else None
