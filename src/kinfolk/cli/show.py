"""How things are shown: results on stdout, progress on stderr."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


_LONG_JSON = 100_000  # characters; beyond them nobody reads, and indenting takes ten times as long


def print_json(document: Any) -> None:
    """One document, nothing else; indented, unless it is long."""
    text = json.dumps(document, sort_keys=True)
    print(text if len(text) > _LONG_JSON else json.dumps(document, indent=2, sort_keys=True))


def print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table that fits the terminal; the first column is text, the others are figures."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    # Piped output has no width of its own; cut nothing that a script may look for.
    width = None if sys.stdout.isatty() else 100
    # Names of slots and policies are shown as they are: "[bold]" and ":smile:" mean nothing.
    console = Console(width=width, markup=False, emoji=False)
    if title:
        console.print(title, style="bold", highlight=False)
    console.print(table)


def print_list(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Names with a line about each."""
    found = list(rows)
    width = max((len(name) for name, _ in found), default=0)
    print(title)
    for name, about in found:
        print(f"  {name:<{width}}  {about}")


def command(*words: object) -> str:
    """A command of ours that can be pasted into a shell, whatever is in its paths.

    >>> command("view", "runs/my first run")
    "kinfolk view 'runs/my first run'"
    """
    return shlex.join(["kinfolk", *(str(word) for word in words)])


def interval(estimate: Sequence[float]) -> str:
    """A mean with its interval.

    >>> interval((12.345, 10.0, 15.5))
    '12.3 (10.0 to 15.5)'
    """
    mean, low, high = estimate
    return f"{mean:,.1f} ({low:,.1f} to {high:,.1f})"


def figures(estimate: Sequence[float]) -> str:
    """An interval with three digits, for measures of any size.

    >>> figures((0.6534, 0.61, 0.7)), figures((5993.2, 700.0, 12345.6))
    ('0.653 (0.61 to 0.7)', '5,993 (700 to 12,346)')
    """
    mean, low, high = (f"{v:,.0f}" if abs(v) >= 100 else f"{v:.3g}" for v in estimate)
    return f"{mean} ({low} to {high})"


@contextmanager
def progress(label: str, total: int, done: int = 0) -> Iterator[Callable[..., None]]:
    """A bar on a terminal; elsewhere a line at each quarter.

    Call it with what is done, and with a note if there is more to say.
    """
    if not sys.stderr.isatty():
        said = [4 * done // total]

        def tell(now: int, note: str = "") -> None:
            if 4 * now // total > said[0]:
                said[0] = 4 * now // total
                more = f", {note}" if note else ""
                print(f"{label}: {now} of {total}{more}", file=sys.stderr, flush=True)

        yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        "{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        "{task.fields[note]}",
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=total, completed=done, note="")
        yield lambda now, note="": bar.update(task, completed=now, note=note)
