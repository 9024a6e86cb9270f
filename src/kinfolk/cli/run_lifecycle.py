"""How commands of jobs open a run, close it and are ended by signals."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, TypeVar

import typer

from kinfolk.cli.completion import complete_engine, complete_run
from kinfolk.cli.output import JsonOption, note
from kinfolk.cli.output import command as shell_command
from kinfolk.core.errors import UsageError

_SIGNALS = {signal.SIGTERM: "Terminated.", signal.SIGHUP: "Hung up."}  # with their messages
_SIGNAL_EXIT_CODE = 128  # what shells add to the number of a signal to make an exit code
_RETRY_SECONDS = 0.05  # until an interrupt that was dropped is sent again

S = TypeVar("S", bound=Any)


def run_argument(description: str) -> Any:
    """Return the command-line argument that names a run, with its completion."""
    return typer.Argument(help=description, autocompletion=complete_run)


def job_options(
    engine: Annotated[
        str | None,
        typer.Option(
            help="local, processes or ray; by default processes if --jobs is more than 1.",
            autocompletion=complete_engine,
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Tasks that run at once; by default 2 if not local.")
    ] = None,
    address: Annotated[str | None, typer.Option(help="Address of a Ray cluster to join.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Settings from a .toml or .json; flags override it."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the run.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Run to resume.", autocompletion=complete_run)
    ] = None,
    json: JsonOption = False,
) -> None:
    """Declare the options that commands of jobs share; `JobCall` holds their values."""


@dataclass(frozen=True)
class JobCall:
    """Settings and options of a job that were given on the command line.

    Args:
        flags: Settings that flags were given for.
        config: File of settings, .toml or .json, which flags override.
        out: Folder of a new run; by default one in `runs`.
        resume: Folder of a run to resume.
        json: Whether one JSON document is all that goes to stdout.
        engine: Name of the engine that runs the tasks; None for that of `jobs`.
        jobs: Tasks that run at once; None for the engine's own number.
        address: Address of a Ray cluster to join.
    """

    flags: dict[str, Any]
    config: Path | None = None
    out: Path | None = None
    resume: Path | None = None
    json: bool = False
    engine: str | None = None
    jobs: int | None = None
    address: str | None = None

    def make_engine(self) -> Any:
        """Return the engine that the options name."""
        from kinfolk.engines import make_engine

        return make_engine(self.engine, self.jobs, self.address)

    def read_settings(self, model: type[S]) -> S:
        """Read settings from the file, if there is one, and from flags, which override it.

        Raises:
            SettingsError: A setting is wrong, in the file or on the command line.
        """
        from kinfolk.core.settings import merge_settings, validate_settings
        from kinfolk.store.files import read_settings_file

        base = read_settings_file(self.config) if self.config else {}
        settings: S = validate_settings(model, merge_settings(base, self.flags))
        return settings

    def open_run(
        self,
        job: str,
        model: type[S],
        check: Callable[[S], None],
        digest_policies: Callable[[S], dict[str, str]] | None = None,
    ) -> tuple[Any, S]:
        """Create a run for new settings, or open one to resume.

        Args:
            job: Name of the job in the run's folder.
            model: Class of its settings.
            check: Raises `UsageError` if new settings are wrong, before a folder is created.
            digest_policies: Returns a digest of each policy by name; a run is not continued with
                policies that have changed. None: nothing is compared.

        Returns:
            The run and its settings.

        Raises:
            UsageError: Settings were given together with `resume`, it is a run of another job, or a
                policy has changed.
        """
        from kinfolk.core.settings import validate_settings
        from kinfolk.store.files import write_atomic
        from kinfolk.store.run import create_run, new_run_folder, open_run
        from kinfolk.store.run_list import COMMAND_FILE

        if self.resume is None:
            settings = self.read_settings(model)
            check(settings)
            folder, is_unnamed = self.out or new_run_folder(job), self.out is None
            digests = None if digest_policies is None else digest_policies(settings)
            run = create_run(folder, job, settings.model_dump(), is_unnamed, digests)
            words = shlex.join(["kinfolk", *sys.argv[1:]])
            write_atomic(run.folder / COMMAND_FILE, f"{words}\n".encode())
            return run, settings
        if self.flags or self.config or self.out:
            rule = "--resume continues with the run's own settings"
            raise UsageError(f"{rule}; give no others with it.")
        run = open_run(self.resume)
        other = run.config["job"]
        if other != job:
            raise UsageError(f"{self.resume} is a run of {other}; its own command resumes it.")
        settings = validate_settings(model, run.config["settings"])
        if digest_policies is not None and run.status != "done" and "policies" in run.config:
            _require_same_policies(run, digest_policies(settings))
        return run, settings


def _require_same_policies(run: Any, digests: dict[str, str]) -> None:
    """Check that the policies of a run are what they were when it was started.

    Raises:
        UsageError: They are not.
    """
    before = run.config["policies"]
    changed = [name for name, digest in digests.items() if before.get(name) != digest]
    if changed:
        names = " and ".join(changed)
        raise UsageError(
            f"{run.folder} cannot be resumed: {names} changed since it was started, so that its episodes "
            "would be of different policies. Restore the old files, or start a new run."
        )


def format_policy_uris(run: Any, names: Sequence[str], moment: str = "") -> str:
    """Return the URIs that refer to the policies of a run, quoted for a shell.

    Args:
        run: Run folder that holds the policies.
        names: Slots or populations of the run; a single one needs no name in its URI.
        moment: Version of the policies, such as `@best`.
    """
    folder = str(run.folder).replace("%", "%25").replace("?", "%3F")  # what ends the path of a URI
    uris = [f"run:{folder}/{name}{moment}" for name in names]
    return ", ".join(map(shlex.quote, [f"run:{folder}{moment}"] if len(names) == 1 else uris))


@contextmanager
def interruptible(command: str, run: Any, *opened: Any) -> Iterator[None]:
    """Close resources when a job ends; if it is interrupted, print how to resume it.

    Args:
        command: Command that resumes the run, such as "evolve roles".
        run: Run folder of the job.
        opened: Engines and loggers to close at the end.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            again = shell_command(*command.split(), "--resume", run.folder)
            note(f"Stopped; resume with: {again}")
        for resource in opened:
            with suppress(Exception):  # the first error is the one to report
                resource.close()
        raise
    for resource in opened:
        resource.close()


class ReceivedSignal:
    """The signal that has ended the command, if one has."""

    number: signal.Signals | None = None

    def describe(self) -> tuple[str, int] | None:
        """Return the message and the exit code (143 for SIGTERM, 129 for SIGHUP) of the signal.

        None if no signal was received.
        """
        return (
            None
            if self.number is None
            else (_SIGNALS[self.number], _SIGNAL_EXIT_CODE + self.number)
        )


@contextmanager
def interrupt_on_signals() -> Iterator[ReceivedSignal]:
    """Raise `KeyboardInterrupt` within the context when SIGTERM or SIGHUP is received.

    Libraries clean up after it as after Ctrl-C. A signal that is ignored (`nohup`) stays ignored. An
    interrupt within a callback that C code calls, such as that of the compiler, is dropped by Python,
    so it is sent again.

    Yields:
        An object that holds the signal once it was received.
    """
    received = ReceivedSignal()

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001, signature of signal handlers
        """Note the signal, ignore further ones, and interrupt the command."""
        # A session that ends sends both, and a supervisor repeats itself: closing goes on.
        for other in _SIGNALS:
            signal.signal(other, signal.SIG_IGN)
        received.number = signal.Signals(number)
        raise KeyboardInterrupt

    def interrupt_again(dropped: sys.UnraisableHookArgs) -> None:
        """Send a signal again whose interrupt was dropped; report other dropped exceptions."""
        if dropped.exc_type is not KeyboardInterrupt:
            report(dropped)
            return
        if received.number is not None:
            signal.signal(received.number, end)
        sent = received.number or signal.SIGINT
        threading.Timer(_RETRY_SECONDS, os.kill, (os.getpid(), sent)).start()

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    report, sys.unraisablehook = sys.unraisablehook, interrupt_again
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, end)
    try:
        yield received
    finally:
        sys.unraisablehook = report
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
