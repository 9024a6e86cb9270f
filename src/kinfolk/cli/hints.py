"""Suggestions for command lines that cannot be parsed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from kinfolk.core.errors import UsageError, format_suggestion

_EXTRA = re.compile(r"^Got unexpected extra argument(?:\(s\)|s)? \((.*)\)$")
_TASK = re.compile(r"[A-Za-z][\w/]*-v\d+$")  # how Gymnasium names its tasks
_URI = re.compile(r"(kin://|metta://|class:|run:|file:).")


def find_command(root: Any, words: Sequence[str]) -> tuple[list[str], Any]:
    """Return the words that name a command, and the command.

    Args:
        root: The whole command line, as click has it.
        words: What was typed after `kinfolk`.
    """
    path: list[str] = []
    command = root
    for word in words:
        inner = getattr(command, "commands", {}).get(word)
        if inner is None:
            break
        path.append(word)
        command = inner
    return path, command


def explain_usage(root: Any, words: Sequence[str], message: str) -> str:
    """Return what is wrong with a command line, with the command that may have been meant.

    Args:
        root: The whole command line, as click has it.
        words: What was typed after `kinfolk`.
        message: Error message of click.
    """
    path, command = find_command(root, words)
    rest = list(words[len(path) :])
    full_name = " ".join(["kinfolk", *path])
    if hasattr(command, "commands") and path:
        return _explain_group(full_name, command.commands, rest, message)
    if hasattr(command, "commands"):
        if not message.startswith("No such command"):
            return message
        name = next(word for word in rest if not word.startswith("-"))
        return f"There is no command '{name}'.{format_suggestion(name, command.commands)}"
    extra = _EXTRA.match(message)
    return _explain_extra(full_name, command, rest, extra[1].split(" ")) if extra else message


def _explain_group(name: str, commands: dict[str, Any], rest: list[str], message: str) -> str:
    """Explain a group without its command: `evolve` needs `roles` or `nets` behind it.

    Args:
        name: The group with `kinfolk` before it.
        commands: Its commands.
        rest: What was typed behind it.
        message: Error message of click.
    """
    if rest and not rest[0].startswith("-"):
        if not message.startswith("No such command"):
            return message
        return f"There is no command '{name} {rest[0]}'.{format_suggestion(rest[0], commands)}"
    options = {word.partition("=")[0] for word in rest if word.startswith("-")}
    fitting = [inner for inner, command in commands.items() if options <= _list_options(command)]
    meant = ", or ".join(shlex.join([*name.split(), inner, *rest]) for inner in fitting)
    hint = f" Did you mean: {meant}" if rest and fitting else ""
    return f"{name} needs a command behind it: {' or '.join(commands)}.{hint}"


def _explain_extra(name: str, command: Any, rest: list[str], extras: list[str]) -> str:
    """Explain arguments that a command does not take: `eval savanna` is `eval --world savanna`.

    Args:
        name: The command with `kinfolk` before it.
        command: The command.
        rest: What was typed behind it.
        extras: The arguments that it does not take.
    """
    meant = list(rest)
    for extra in extras:
        flag = suggest_flag(extra, _list_options(command))
        if flag is None or extra not in meant:
            return f"{name} takes no argument '{extra}'. Its options: {name} --help"
        i = meant.index(extra)
        meant[i : i + 1] = flag
    suggestion = shlex.join([*name.split(), *meant])
    return f"{name} takes no argument '{extras[0]}'. Did you mean: {suggestion}"


def suggest_flag(word: str, options: set[str]) -> list[str] | None:
    """Return the option that an argument was meant for; None if there is none.

    Args:
        word: What was typed where nothing was expected.
        options: Options that the command has.
    """
    from kinfolk.worlds import WORLDS

    world = next((flag for flag in ("--world", "--task") if flag in options), None)
    if world and word in WORLDS:
        return [world, word]
    if world and _TASK.match(word):
        return [world, f"gym:{word}"]
    if "--slot" in options and (_URI.match(word) or word.endswith(".py")):
        return ["--slot", f"all={word}"]
    if "--config" in options and word.endswith((".toml", ".json")):
        return ["--config", word]
    if "--resume" in options and (Path(word) / "settings.json").exists():
        return ["--resume", word]
    if "--root" in options and Path(word).is_dir():
        return ["--root", word]
    return None


def refuse_name_as_config(config: Path | None) -> None:
    """Refuse `train savanna`, which is `train --world savanna`: the argument is a settings file.

    Raises:
        UsageError: There is no such file, and it is the name of a world or a policy.
    """
    if config is None or config.exists():
        return
    flag = suggest_flag(str(config), {"--world", "--slot"})
    if flag is not None:
        raise UsageError(
            f"There is no file {config}; kinfolk train takes a file of settings. "
            f"Did you mean: kinfolk train {shlex.join(flag)}"
        )


def _list_options(command: Any) -> set[str]:
    parameters = command.get_params(typer.Context(command))
    return {name for option in parameters for name in (*option.opts, *option.secondary_opts)}
