"""Output of commands: results on stdout, progress on stderr."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from itertools import pairwise
from typing import Annotated, Any

import typer

from kinfolk.core.errors import escape_text

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]

_BARS = " ▁▂▃▄▅▆▇█"  # of a plot, from empty to full
_STDOUT, _STDERR = 1, 2  # descriptors
_quiet = False  # of this command line; set at its start
_LINE_SECONDS = 60  # between two lines of progress, unless a quarter is over
_LONG_JSON = 100_000  # characters; beyond them nobody reads, and indenting takes ten times as long


def set_quiet(on: bool) -> None:
    """Set whether progress, notes and hints are left out from now on."""
    global _quiet
    _quiet = on


def echo(text: object = "", err: bool = False, end: str = "\n") -> None:
    """Print lines in which nothing but line breaks controls the terminal.

    Names of runs, policies and files may be a stranger's. All that commands print goes through here
    or through `print_table`.

    Args:
        text: The lines.
        err: Whether they go to stderr.
        end: Printed after them.
    """
    lines = (_escape(line) for line in str(text).split("\n"))
    print("\n".join(lines), file=sys.stderr if err else sys.stdout, end=end, flush=True)


def _escape(text: str) -> str:
    """Return a text without characters that control the terminal, however long it is."""
    return escape_text(text, sys.maxsize - 1)


def note(text: str) -> None:
    """Print a line about progress on stderr, unless --quiet is set."""
    if not _quiet:
        echo(text, err=True)


def hint(text: str) -> None:
    """Print a line about what to do next after a result, unless --quiet is set."""
    if not _quiet:
        echo(text)


@contextmanager
def stdout_for_document(json: bool) -> Iterator[None]:
    """Send to stderr what policies print, so that stdout holds the JSON document only.

    Args:
        json: Whether a JSON document will be printed; if not, nothing is redirected.
    """
    if not json:
        yield
        return
    sys.stdout.flush()
    saved = os.dup(_STDOUT)  # workers and libraries write to the descriptor, not to `sys.stdout`
    try:
        os.dup2(_STDERR, _STDOUT)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(saved, _STDOUT)
        os.close(saved)


def print_json(document: Any) -> None:
    """Print a JSON document on stdout, indented unless it is long."""
    text = json.dumps(document, sort_keys=True)
    print(text if len(text) > _LONG_JSON else json.dumps(document, indent=2, sort_keys=True))


def print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table that fits the terminal; the first column is text, the others are numbers.

    Args:
        title: Line above the table; empty for none.
        headings: Headings of the columns.
        rows: Cells of each row.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for i, heading in enumerate(headings):
        table.add_column(_escape(heading), justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*(_escape(str(cell)) for cell in row))
    # Piped output has no width of its own; cut nothing that a script may look for.
    width = None if sys.stdout.isatty() else 100
    # Names of slots and policies are shown as they are: "[bold]" and ":smile:" mean nothing.
    console = Console(width=width, markup=False, emoji=False)
    if title:
        console.print(_escape(title), style="bold", highlight=False)
    console.print(table)


def print_list(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Print a list of names, each with its description."""
    entries = list(rows)
    width = max((len(name) for name, _ in entries), default=0)
    echo(title)
    for name, about in entries:
        echo(f"  {name:<{width}}  {about}")


def command(*words: object) -> str:
    """Return a kinfolk command that can be pasted into a shell, whatever is in its paths.

    >>> command("view", "runs/my first run")
    "kinfolk view 'runs/my first run'"
    """
    return shlex.join(["kinfolk", *(str(word) for word in words)])


@contextmanager
def progress(label: str, total: int, done: int = 0) -> Iterator[Callable[..., None]]:
    """Show a progress bar; if stderr is not a terminal, a line at each quarter and each minute.

    Both say how long the rest will take.

    Args:
        label: What is counted, such as "Episodes".
        total: Number at which the progress is complete.
        done: Number that is done at the start.

    Yields:
        A function to call with the number done so far and, optionally, a note to show.
    """
    if _quiet:
        yield lambda *_done: None
        return
    if not sys.stderr.isatty():
        yield _progress_lines(label, total, done)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )  # fmt: skip

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TimeRemainingColumn(), TextColumn("{task.fields[note]}", markup=False),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=total, completed=done, note="")
        yield lambda now, note="": bar.update(task, completed=now, note=_escape(note))


def _progress_lines(label: str, total: int, done: int) -> Callable[..., None]:
    """Return the function that prints progress where there is no terminal.

    Args:
        label: What is counted.
        total: Number at which the progress is complete.
        done: Number that is done at the start.
    """
    from kinfolk.evaluation.formatting import describe_time_left

    start = time.monotonic()
    shown = [4 * done // total, start]  # the last quarter, and the time of the last line

    def tell(now: int, note: str = "") -> None:
        """Print a line if a quarter or a minute is over, with an optional note."""
        clock = time.monotonic()
        if 4 * now // total > shown[0] or (now > done and clock - shown[1] >= _LINE_SECONDS):
            shown[:] = 4 * now // total, clock
            left = describe_time_left(now - done, total - done, clock - start)
            more = [left] * (now < total) + [note] * bool(note)
            text = ", ".join([f"{label}: {now} of {total}", *more])
            echo(text, err=True)

    return tell


def plot(series: Sequence[float], width: int = 60, height: int = 5) -> list[str]:
    """Return the lines of a bar chart from 0 to the largest value.

    Args:
        series: Values to plot; a column is the mean of consecutive values if there are many.
        width: Maximum number of columns.
        height: Number of lines.

    >>> plot([0, 4, 8], width=3, height=1)
    [' ▄█']
    """
    width = min(width, len(series))
    cuts = [len(series) * i // width for i in range(width + 1)]
    means = [sum(series[a:b]) / (b - a) for a, b in pairwise(cuts)]
    top = max(means) or 1.0
    eighths = [round(8 * height * mean / top) for mean in means]
    return [
        "".join(_BARS[min(8, max(0, eighth - 8 * level))] for eighth in eighths)
        for level in reversed(range(height))
    ]


def print_plot(title: str, series: Sequence[float]) -> None:
    """Print a plot with its title and its scale."""
    top = max(series)
    echo(f"{title}, 0 to {f'{top:,.0f}' if top >= 100 else f'{top:g}'}")
    for line in plot(series):
        echo(f"  |{line}")
    echo(f"  +{'-' * min(60, len(series))}")
