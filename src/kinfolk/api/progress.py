"""Progress bars below the cells of notebooks."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kinfolk.core.events import Event
from kinfolk.core.settings import Settings
from kinfolk.evaluation.formatting import describe_time_left, format_duration
from kinfolk.jobs.progress import JobProgress

_SECONDS_BETWEEN = 0.2  # two updates of the bar


@contextmanager
def showing_progress(job: str, settings: Settings) -> Iterator[Callable[[Event], None]]:
    """Show a progress bar below the cell of a notebook; elsewhere nothing.

    Args:
        job: Name of the job in a run's folder.
        settings: Settings of the job.

    Yields:
        A function to call with every event of the job.
    """
    if not _is_notebook():
        yield lambda _event: None
        return
    bar = _ProgressBar(JobProgress(job, settings))
    try:
        yield bar.update
    except BaseException:
        bar.close("stopped")
        raise
    bar.close("done")


def _is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, which shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class _ProgressBar:
    """A bar in HTML that is updated in place.

    Args:
        progress: Counts how far the job is.
    """

    def __init__(self, progress: JobProgress) -> None:
        from IPython.display import display

        self._progress, self._start = progress, time.monotonic()
        self._shown = self._start
        self._handle: Any = display(self._render("starting"), display_id=True)

    def update(self, event: Event) -> None:
        """Count an event, and redraw the bar if the last time was long ago."""
        done, now = self._progress.update(event), time.monotonic()
        if now - self._shown >= _SECONDS_BETWEEN:
            self._shown = now
            left = describe_time_left(done, self._progress.total, now - self._start)
            self._handle.update(self._render(left))

    def close(self, state: str) -> None:
        """Show how the job ended and how long it took."""
        seconds = format_duration(time.monotonic() - self._start)
        self._handle.update(self._render(f"{state} after {seconds}"))

    def _render(self, note: str) -> Any:
        """Return the bar with a note behind it."""
        from IPython.display import HTML

        label, done, total = self._progress.label, self._progress.done, self._progress.total
        text = html.escape(f"{label}: {done:,} of {total:,}, {note}")
        return HTML(f'<progress value="{done}" max="{total}"></progress> {text}')
