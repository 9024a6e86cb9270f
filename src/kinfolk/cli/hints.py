"""Suggestions for command lines that cannot be parsed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from kinfolk.cli.examples import EXAMPLES
from kinfolk.cli.mistakes import DEVICE_OPTIONS, FORMATS, suggest_commands, suggest_options
from kinfolk.core.errors import UsageError, format_suggestion

_EXTRA = re.compile(r"^Got unexpected extra argument(?:\(s\)|s)? \((.*)\)$")
_UNKNOWN_OPTION = re.compile(r"^No such option: (\S+)")
# A missing argument, an option without a value, too few policies.
_MISSING = re.compile(
    r"Missing argument|Option '(?P<option>[^']+)' requires|\w+\.policies (needs|is missing)"
)
_PAIRED = ("--vary", "--set", "--map", "--slot", "--search", "--side")  # written NAME=VALUE
_NAME_WORLD_FIRST = ("metrics", "settings")  # commands whose first argument may be a world
_TASK = re.compile(r"[A-Za-z][\w/]*-v\d+$")  # how Gymnasium names its tasks
_URI = re.compile(r"(kin://|metta://|class:|run:|file:).")


def find_command(root: Any, words: Sequence[str]) -> tuple[list[str], Any]:
    """Return the leading words that name a command, and its click command.

    Args:
        root: Click command of the whole program.
        words: Command-line arguments after `kinfolk`.
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
    """Return an error message about a command line, with the command that was probably meant.

    Args:
        root: Click command of the whole program.
        words: Command-line arguments after `kinfolk`.
        message: Error message of click.
    """
    path, command = find_command(root, words)
    rest = list(words[len(path) :])
    full_name = " ".join(["kinfolk", *path])
    if hasattr(command, "commands") and path:
        return _explain_group(full_name, command.commands, rest, message)
    if hasattr(command, "commands"):
        return _explain_root(command.commands, rest, message)
    extra, unknown = _EXTRA.match(message), _UNKNOWN_OPTION.match(message)
    if extra:
        return _explain_extra(full_name, command, rest, extra[1].split(" "))
    if unknown:
        return _explain_option(path, command, rest, unknown[1])
    return add_example(path, message)


def add_example(path: Sequence[str], message: str) -> str:
    """Return an error message with the example of its command, if that shows what is missing.

    Args:
        path: Words of the command.
        message: An error message.
    """
    example = EXAMPLES.get(" ".join(path), "")
    missing = _MISSING.match(message)
    is_shown = missing is not None and (missing["option"] or "") in example
    return f"{message} For example: {example}" if example and is_shown else message


def _explain_root(commands: dict[str, Any], rest: list[str], message: str) -> str:
    """Return the error message for a line whose first word is no command.

    Args:
        commands: All click commands, by name.
        rest: Words of the line.
        message: Error message of click.
    """
    if message.startswith("No such option") and "--world" in rest:
        line = shlex.join(["kinfolk", "eval", *rest])
        return f"A command comes first, such as play, eval or train. Did you mean: {line}"
    if not message.startswith("No such command"):
        return message
    words = rest[next(i for i, word in enumerate(rest) if not word.startswith("-")) :]
    meant = suggest_commands(words)
    hint = f" Did you mean: {meant}" if meant else format_suggestion(words[0], commands)
    return f"There is no command '{words[0]}'.{hint}"


def _explain_option(path: list[str], command: Any, rest: list[str], option: str) -> str:
    """Return the error message for an option that a command does not have.

    Args:
        path: Words of the command.
        command: Click command.
        rest: Arguments behind its name.
        option: The unknown option.
    """
    name = " ".join(["kinfolk", *path])
    problem = f"{name} has no option {option}."
    if option in DEVICE_OPTIONS:
        return f"{problem} Policies play and learn on the CPU; --jobs N uses several cores."
    if option == "--world" and " ".join(path) in _NAME_WORLD_FIRST:  # `metrics --world savanna`
        i = next(i for i, word in enumerate(rest) if word.partition("=")[0] == option)
        parts = rest[i].split("=", 1) + rest[i + 1 :]
        if len(parts) > 1:
            return f"{problem} Did you mean: {shlex.join([*name.split(), parts[1], *rest[:i], *parts[2:]])}"
    meant = suggest_options(path, rest, option, _list_options(command))
    return f"{problem} Did you mean: {meant}" if meant else f"{problem} Its options: {name} --help"


def _explain_group(name: str, commands: dict[str, Any], rest: list[str], message: str) -> str:
    """Return the error message for a group without a command, such as `evolve` without `roles`.

    Args:
        name: Name of the group, with `kinfolk` before it.
        commands: Click commands of the group, by name.
        rest: Arguments after the name of the group.
        message: Error message of click.
    """
    if rest and not rest[0].startswith("-"):
        if not message.startswith("No such command"):
            return message
        if (Path(rest[0]) / "settings.json").exists():  # `export RUN`
            line = shlex.join([*name.split(), "FORMAT", *rest])
            return f"{name} takes a format before the run: {line}. Formats: {', '.join(commands)}."
        known = format_suggestion(rest[0], commands)
        if name == "kinfolk export" and rest[0] in FORMATS:  # `export csv RUN`
            known = f" Did you mean: {shlex.join([*name.split(), FORMATS[rest[0]], *rest[1:]])}"
        if name == "kinfolk new" and "Did you mean" not in known:  # `new wanderer`
            known = f" Did you mean: {shlex.join([*name.split(), next(iter(commands)), *rest])}"
        return f"There is no command '{name} {rest[0]}'.{known}"
    options = {word.partition("=")[0] for word in rest if word.startswith("-")}
    fitting = [inner for inner, command in commands.items() if options <= _list_options(command)]
    meant = ", or ".join(shlex.join([*name.split(), inner, *rest]) for inner in fitting)
    hint = f" Did you mean: {meant}" if rest and fitting else ""
    return f"{name} needs a command behind it: {' or '.join(commands)}.{hint}"


def _explain_extra(name: str, command: Any, rest: list[str], extras: list[str]) -> str:
    """Return the error message for unexpected arguments, such as `eval savanna`.

    Args:
        name: Name of the command, with `kinfolk` before it.
        command: Click command.
        rest: Arguments after the name of the command.
        extras: Those arguments that the command does not take.
    """
    meant = list(rest)
    for extra in extras:
        i = meant.index(extra) if extra in meant else 0
        if i > 1 and meant[i - 2] in _PAIRED and "=" not in meant[i - 1]:  # `--vary growth 0.1,0.2`
            meant[i - 1 : i + 1] = [f"{meant[i - 1]}={extra}"]
            continue
        flag = suggest_flag(extra, _list_options(command))
        if flag is None or extra not in meant:
            return f"{name} takes no argument '{extra}'. Its options: {name} --help"
        meant[i : i + 1] = flag
    suggestion = shlex.join([*name.split(), *meant])
    return f"{name} takes no argument '{extras[0]}'. Did you mean: {suggestion}"


def suggest_flag(word: str, options: set[str]) -> list[str] | None:
    """Return the option, with its value, that an unexpected argument was probably meant for.

    Args:
        word: The unexpected argument.
        options: Options of the command.

    Returns:
        Words for the command line; None if no option fits.
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
    """Refuse a name in place of a settings file: `train savanna` is `train --world savanna`.

    Raises:
        UsageError: The file does not exist, and its name is that of a world or a policy.
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
    """Return the long and short options of a click command."""
    parameters = command.get_params(typer.Context(command))
    names = (name for option in parameters for name in (*option.opts, *option.secondary_opts))
    return {name for name in names if name.startswith("-")}  # not those of arguments
