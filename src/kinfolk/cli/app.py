"""The `kinfolk` command: its table of commands, and how errors leave it.

Exit codes: 0 done, 1 the thing failed, 2 wrong use, 129 hung up, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from importlib.metadata import version
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from kinfolk.cli.commands.bench import bench
from kinfolk.cli.commands.compare import compare
from kinfolk.cli.commands.crossplay import crossplay
from kinfolk.cli.commands.doctor import doctor
from kinfolk.cli.commands.evaluate import eval_command
from kinfolk.cli.commands.evolve_nets import nets
from kinfolk.cli.commands.evolve_roles import roles
from kinfolk.cli.commands.export import export
from kinfolk.cli.commands.list_commands import (
    behaviors,
    metrics,
    policies,
    presets,
    settings,
    worlds,
)
from kinfolk.cli.commands.pictures import plot
from kinfolk.cli.commands.play import explain, play
from kinfolk.cli.commands.replay_trace import replay_trace
from kinfolk.cli.commands.runs import capsule, rerun, runs, verify
from kinfolk.cli.commands.sweep import sweep
from kinfolk.cli.commands.tournament import tournament
from kinfolk.cli.commands.train import train_command
from kinfolk.cli.commands.view import view
from kinfolk.cli.compile import compile_command
from kinfolk.cli.examples import add_examples, format_first_steps
from kinfolk.cli.exploit import exploit_command
from kinfolk.cli.flags import refuse_repeated_options, settings_command
from kinfolk.cli.hints import add_example, explain_usage, find_command
from kinfolk.cli.new import new
from kinfolk.cli.output import echo, set_quiet
from kinfolk.cli.run_lifecycle import ReceivedSignal, interrupt_on_signals
from kinfolk.cli.scenarios import scenarios
from kinfolk.cli.studies import study
from kinfolk.core.errors import KinfolkError, UsageError, escape_lines
from kinfolk.core.imports import get_install_command, make_missing_library_error
from kinfolk.core.trust import find_modules_in, trust_files

INTERRUPTED = 130

# No rich markup in help: it would double the time of `kinfolk --help`.
app = typer.Typer(
    name="kinfolk",
    help="A laboratory for populations of agents that live together.",
    rich_markup_mode=None,
    no_args_is_help=False,
    epilog=format_first_steps(),
)
app.command(cls=settings_command("play", "config", "out", "json"))(play)
app.command("eval", cls=settings_command("eval"))(eval_command)
app.command(cls=settings_command("compare"))(compare)
app.command(cls=settings_command("tournament", engine="processes"))(tournament)
app.command(cls=settings_command("crossplay", engine="processes"))(crossplay)
app.command("train", cls=settings_command("train"))(train_command)
app.command("exploit", cls=settings_command("exploit"))(exploit_command)
for listing in (worlds, scenarios, policies, behaviors, metrics):
    app.command()(listing)
app.command(cls=settings_command("explain", "config", "json"))(explain)
for plain_command in (runs, plot, rerun, capsule, verify, settings, bench, doctor, presets):
    app.command()(plain_command)
app.command("compile")(compile_command)
app.command()(replay_trace)
app.command()(view)
app.add_typer(export, name="export")
app.add_typer(new, name="new")
evolve = typer.Typer(help="Evolve roles or networks.", rich_markup_mode=None)
evolve.command(cls=settings_command("evolve-roles", engine="processes"))(roles)
evolve.command(cls=settings_command("evolve-nets"))(nets)
app.add_typer(evolve, name="evolve")
app.add_typer(sweep, name="sweep")
app.command()(study)
add_examples(app)
refuse_repeated_options(app)

_GLOBAL_OPTIONS = ("--debug", "--quiet", "-q", "--trust")
_SHOWN_PATH = 100  # characters of a path that is too long
_GC_THRESHOLD = 50_000  # new objects between two garbage collections; Python's default is 700


def _print_version(requested: bool) -> None:
    """Print the version and exit, if it was asked for."""
    if requested:
        echo(f"kinfolk {version('kinfolk')}")
        raise typer.Exit


@app.callback()
def options(
    debug: bool = typer.Option(False, "--debug", help="Show tracebacks; may stand anywhere."),
    quiet: bool = typer.Option(
        False, "--quiet", "-q", help="Only results and errors; may stand anywhere."
    ),
    trust: bool = typer.Option(
        False,
        "--trust",
        help="Let runs, policy files, capsules and plans name code to import; may stand anywhere.",
    ),
    version: bool = typer.Option(
        False, "--version", help="Show the version.", is_eager=True, callback=_print_version
    ),
) -> None:
    """Declare the global options; `main` itself acts on --debug, --quiet and --trust."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a kinfolk command and exit with its exit code.

    Args:
        arguments: Command-line arguments after `kinfolk`; None takes those of this process.
    """
    # Imports make many objects that stay; collecting garbage among them at the default rate takes a
    # seventh of the start.
    gc.set_threshold(_GC_THRESHOLD)
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    set_quiet(not {"--quiet", "-q"}.isdisjoint(words))
    is_trusting = "--trust" in words
    words = [word for word in words if word not in _GLOBAL_OPTIONS] or ["--help"]
    with (
        interrupt_on_signals() as received,
        trust_files(is_trusting),
        find_modules_in(os.getcwd()),
    ):
        _run(words, debug, received)


def _run(words: list[str], debug: bool, received: ReceivedSignal) -> NoReturn:
    """Run a command and exit with its exit code; errors are printed on stderr.

    Args:
        words: Command-line arguments, without global options.
        debug: Whether errors are raised with their tracebacks instead.
        received: Set by the signal handler if a signal ends the command.
    """
    try:
        _check_arguments(words)
        # An exit inside a command comes back as a number; so does Ctrl-C, as 130.
        code = app(words, prog_name="kinfolk", standalone_mode=False) or 0
        sys.stdout.flush()
        if code == INTERRUPTED:
            raise KeyboardInterrupt
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (KinfolkError, TyperException, KeyboardInterrupt, Exception) as error:
        if debug:
            raise
        message, code = received.describe() or _explain(error, words)
        echo(escape_lines(message), err=True)  # it may quote a policy
        sys.exit(code)
    sys.exit(code)


def _check_arguments(words: list[str]) -> None:
    """Check that arguments are text, which a run stores and pages show.

    Raises:
        UsageError: One is not UTF-8.
    """
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(f"The argument {word!r} is not valid UTF-8.") from None


def _explain(error: BaseException, words: list[str]) -> tuple[str, int]:
    """Return the message to print for an error, and the exit code of the program.

    Args:
        error: The error that ended the command.
        words: Command-line arguments, without global options.
    """
    root = typer.main.get_command(app)
    if isinstance(error, KinfolkError):
        return add_example(find_command(root, words)[0], str(error)), error.exit_code
    if isinstance(error, TyperException):
        return explain_usage(root, words, error.format_message()), 2
    if isinstance(error, ModuleNotFoundError) and error.name and get_install_command(error.name):
        path, _ = find_command(root, words)
        missing = make_missing_library_error(" ".join(["kinfolk", *path]), error.name)
        return str(missing), missing.exit_code
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return "Interrupted.", INTERRUPTED
    if isinstance(error, MemoryError):
        smaller = "Make the world, the batch or the number of jobs smaller"
        return f"This needs more memory than there is: {error or 'none is left'}. {smaller}.", 1
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        name = str(error.filename)
        return f"A path of {len(name):,} characters is too long: {name[:_SHOWN_PATH]}...", 2
    cause = f"{type(error).__name__}: {error}"
    return f"kinfolk itself failed, with {cause}. Run it again with --debug to see where.", 1
