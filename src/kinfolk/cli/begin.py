"""How every command with a run begins, goes on and stops."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from kinfolk.cli.completion import complete_run
from kinfolk.cli.folders import fresh_folder
from kinfolk.cli.show import command as shell_command
from kinfolk.cli.show import note
from kinfolk.core.errors import UsageError

ConfigOption = Annotated[Path | None, typer.Option(help="Settings from a .toml or .json.")]
OutOption = Annotated[Path | None, typer.Option(help="Folder for the run.")]
ResumeOption = Annotated[
    Path | None, typer.Option(help="Go on with this run.", autocompletion=complete_run)
]

_NOT_RESUMED = ("compare", "round_robin")  # their command has no --resume

S = TypeVar("S", bound=Any)


def given(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The flags that were given; the others leave the settings' own defaults."""
    return {name: value for name, value in flags.items() if value is not None}


def begin(
    job: str,
    kind: type[S],
    flags: Mapping[str, Any],
    config: Path | None,
    out: Path | None,
    resume: Path | None,
    try_out: Callable[[S], None],
) -> tuple[Any, S]:
    """A run and its settings: a new one, or one to go on with.

    `try_out` finds what is wrong with settings before a folder is made for them.
    """
    from kinfolk.core.settings import merge_settings, validate_settings
    from kinfolk.store.files import read_settings_file
    from kinfolk.store.run import create_run, open_run

    if resume is not None:
        if flags or config or out:
            raise UsageError(
                "--resume goes on with the run's own settings; give no others with it."
            )
        run = open_run(resume)
        if run.config["job"] != job:
            other = run.config["job"]
            rest = "start it again" if other in _NOT_RESUMED else "its own command goes on with it"
            raise UsageError(f"{resume} is a run of {other}; {rest}.")
        return run, validate_settings(kind, run.config["settings"])
    settings = validate_settings(
        kind, merge_settings(read_settings_file(config) if config else {}, flags)
    )
    try_out(settings)
    folder = out or fresh_folder(job.replace("_", "-"))
    return create_run(folder, job, settings.model_dump()), settings


def as_uris(run: Any, names: Sequence[str], moment: str = "") -> str:
    """How the policies of a run are played, ready for a shell: a single one needs no name."""
    folder = str(run.folder).replace("%", "%25").replace("?", "%3F")  # what ends the path of a URI
    uris = [f"run:{folder}/{name}{moment}" for name in names]
    return ", ".join(map(shlex.quote, [f"run:{folder}{moment}"] if len(names) == 1 else uris))


@contextmanager
def going(command: str, run: Any, *opened: Any) -> Iterator[None]:
    """While a job runs: a signal says how to go on, and what was opened for it is closed."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            again = shell_command(command, "--resume", run.folder)
            note(f"Stopped; go on with: {again}")
        for each in opened:
            with suppress(Exception):  # the error that came first is the one to tell
                each.close()
        raise
    for each in opened:
        each.close()
