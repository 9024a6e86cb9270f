"""Every command has an example below its help, and its flags exist."""

import shlex

import pytest
import typer

from kinfolk.cli.app import app, main
from kinfolk.cli.examples import EXAMPLES, FIRST_STEPS

pytest.importorskip("torch", reason="`kinfolk train --help` needs torch")


def leaves(command, path=()):
    """Yield the words and the object of every command that has no commands below it."""
    if not hasattr(command, "commands"):
        yield " ".join(path), command
        return
    for name, child in command.commands.items():
        yield from leaves(child, (*path, name))


COMMANDS = dict(leaves(typer.main.get_command(app)))


def test_every_command_has_an_example():
    assert sorted(EXAMPLES) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_words_of_an_example_are_those_of_its_command(name):
    words = shlex.split(EXAMPLES[name])
    assert words[: 1 + len(name.split())] == ["kinfolk", *name.split()]
    with COMMANDS[name].make_context(name, words[1 + len(name.split()) :]):
        pass


def test_help_ends_with_the_example(capsys):
    with pytest.raises(SystemExit):
        main(["runs", "--help"])
    end = "Example:\n\n    kinfolk runs --job evaluate --sort headline\n"
    assert capsys.readouterr().out.endswith(end)


def test_kinfolk_alone_says_what_to_try_first(capsys):
    with pytest.raises(SystemExit) as left:
        main([])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert (left.value.code, lines[-6]) == (0, "Try first:")
    assert [line.split("  ")[0] for line in lines[-5:]] == [command for command, _ in FIRST_STEPS]
